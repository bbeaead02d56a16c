# make paper   set up .venv and run the whole workflow
# make quick   after an edit: ruff, import contracts and the quick tests, in under two minutes
# make test    set up .venv and run the whole test suite (TESTS=tests/core: only these)
# make fuzz    throw generated inputs at everything for an hour (MINUTES=5: for five minutes)
# make verify  run a small study in several ways and compare every number
# make readme  run the whole workflow and bring the README's verdicts, costs and pictures up to date
# make archive the whole workflow, then all of it in one zip, results/archive.zip
# make check-archive ZIP=archive.zip CELLS=3   check such a zip and make some of its cells anew
# make track-record  bring what the README says of real tables up to date with its file
# make docs    build the documentation as one offline site, in site
# make compat  install ours alone, then fastai, Keras, torchrec and others beside it, and train with
#              both (PEERS="base keras": only these)
# make lowest  the tests of core, data and command line with the lowest versions that are allowed
#              (PART=quick: those of them that are quick)
# make lint    the linters that CI runs
# make lock    renew requirements.lock and environment.yml, run the tests and note where they passed
# make clean   remove results and figures (they are made again by `make paper`)

SHELL := /bin/bash
.DEFAULT_GOAL := paper
.PHONY: paper quick test fuzz verify readme archive track-record check-archive docs compat \
  lowest lint lock clean

PYTHON ?= python3
MINUTES ?= 60
CORES ?= $(shell nproc 2>/dev/null || echo 1)
BIN := .venv/bin
READY := .venv/ready

paper: $(READY)
	$(BIN)/snakemake --cores $(CORES)

verify: $(READY)
	$(BIN)/python -m tests.verify

readme: paper
	$(BIN)/python -m embedalloc.study.page.readme

track-record: $(READY)
	$(BIN)/python -c "from pathlib import Path; from embedalloc.study.page.readme import refresh_track_record; refresh_track_record(Path('.'))"

docs: $(READY)
	$(BIN)/python -m mkdocs build --quiet

# Environments of their own, made by pip: these need the network.
compat: $(READY)
	$(BIN)/python -m tests.compat peers $(PEERS)

lowest: $(READY)
	$(BIN)/python -m tests.compat lowest $(PART)

archive: $(READY)
	$(BIN)/snakemake --cores $(CORES) results/archive.zip

CELLS ?= 3
check-archive: $(READY)
	$(BIN)/python -m embedalloc.study.archive $(ZIP) --cells $(CELLS)

quick: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python -m pytest -m "not slow" -q

test: $(READY)
	$(BIN)/python -m pytest $(TESTS)

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

# The second make installs the new versions first.
lock: $(READY)
	$(BIN)/python -m tests.lock resolve
	$(MAKE) test
	$(BIN)/python -m tests.lock tried

clean:
	rm -rf results figures

# Written last, so an interrupted installation is taken up again.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "embedalloc needs Python 3.11 or newer, but '$(PYTHON)' is" \
	    "$$($(PYTHON) --version 2>&1 | head -n 1); name another with: make PYTHON=/path/to/python3" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON) -m venv' does not work; on Debian and Ubuntu: sudo apt install python3-venv" >&2; \
	  exit 1; }
	@echo "Installing the locked versions into .venv (about 2 GB; some minutes the first time)."
	@$(PYTHON) -m venv .venv
	@{ $(BIN)/pip install --progress-bar off --retries 1 -r requirements.lock && \
	   $(BIN)/pip install --no-deps --no-build-isolation -e .; } >.venv/install.log 2>&1 || { \
	  if grep -qiE 'connection|resolution|unreachable|timed out|no matching distribution' .venv/install.log; \
	  then echo "The packages could not be fetched: the first installation needs the network" \
	    "(details in .venv/install.log)." >&2; \
	  else echo "The installation failed; the reason stands in .venv/install.log." >&2; fi; exit 1; }
	@touch $@

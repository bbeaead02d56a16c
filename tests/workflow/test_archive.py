"""A finished run in one zip: the same bytes anywhere, and whoever has it can check it."""

import getpass
import json
import platform
import shutil
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
import yaml

from embedalloc.study import exp1_contracts
from embedalloc.study.archive.__main__ import report
from embedalloc.study.archive.container import unzip_files, zip_files
from embedalloc.study.archive.contents import CONFIGURATION, MANIFEST, METADATA, write_manifest
from embedalloc.study.workflow.receipts import digest_file, read_receipt, write_receipt
from embedalloc.study.workflow.tables import write_table
from tests.workflow.runner import complete

TABLE = "results/exp1/exponential/fits0.parquet"
CELL = "simulate_exp1/exponential_0"


def pack(project):
    """Pack the finished run of a project, of which nothing else is made again."""
    said = complete(project, "results/archive.zip", project=project)
    assert "runs again" not in said
    return project / "results/archive.zip"


@pytest.fixture(scope="module")
def archive(finished_run, tmp_path_factory):
    project = tmp_path_factory.mktemp("copy") / "study"
    shutil.copytree(finished_run.project, project, symlinks=True)
    return pack(project)


def check(path, folder, **options):
    said = []
    folder.mkdir()
    sound = report(path, folder, **{"cells": 1} | options, say=said.append)
    return sound, "\n".join(said)


def rewritten(files, path, **changes):
    """Write an archive with other files, listed as if nothing had happened."""
    files = dict(files) | changes
    entities = json.loads(files[METADATA])
    for entity in entities["@graph"]:
        if entity["@type"] == "File":
            entity["sha256"] = digest_of_bytes(files[entity["@id"]], path)
    files[METADATA] = json.dumps(entities).encode()
    files[MANIFEST] = write_manifest({n: c for n, c in files.items() if n != MANIFEST})
    path.write_bytes(zip_files(files))
    return path


def digest_of_bytes(content, scratch):
    scratch.write_bytes(content)
    return digest_file(scratch)


def test_the_same_run_gives_the_same_bytes_elsewhere(archive, tmp_path):
    shutil.copytree(archive.parents[1], tmp_path / "moved", symlinks=True)
    (tmp_path / "moved/results/archive.zip").unlink()
    for path in (tmp_path / "moved").rglob("*.py"):
        path.touch()
    assert pack(tmp_path / "moved").read_bytes() == archive.read_bytes()


def test_it_names_no_machine_and_no_user(archive, finished_run):
    files = unzip_files(archive)
    ours = {name: c for name, c in files.items() if not name.startswith("source/")}
    private = [str(Path.home()), str(archive.parents[1]), str(finished_run.project)]
    private += [f"/home/{getpass.getuser()}", f'"{platform.node()}"']
    for name, content in ours.items():
        for word in private:
            assert word.encode() not in content, (name, word)
    assert {"figures/report.html", "figures/table1.tex", TABLE} <= {*ours}
    assert not any("logs" in name or "timings" in name for name in ours)


def test_the_crate_has_what_its_specification_asks_for(archive):
    files = unzip_files(archive)
    crate = json.loads(files[METADATA])
    entities = {entity["@id"]: entity for entity in crate["@graph"]}
    assert len(entities) == len(crate["@graph"])
    assert crate["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    about = entities[METADATA]
    assert about["@type"] == "CreativeWork"
    assert about["about"] == {"@id": "./"}
    assert about["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = entities["./"]
    assert root["@type"] == "Dataset"
    for needed in ("name", "description", "datePublished", "license"):
        assert root[needed], needed
    assert {part["@id"] for part in root["hasPart"]} == {*files} - {METADATA, MANIFEST}

    def references(value):
        if isinstance(value, dict):
            if set(value) == {"@id"}:
                yield value["@id"]
            for child in value.values():
                yield from references(child)
        elif isinstance(value, list):
            for child in value:
                yield from references(child)

    assert {*references(crate["@graph"])} <= {*entities} | {"https://w3id.org/ro/crate/1.1"}
    assert entities["#numpy"]["version"]


def test_a_sound_archive_holds(archive, tmp_path):
    sound, said = check(archive, tmp_path / "a", named=[CELL])
    assert sound, said
    assert f"{CELL}: the same bits" in said
    assert "exp1.replications is 3, not 150" in said


def test_another_configuration_and_other_source_are_named(archive, tmp_path):
    files = unzip_files(archive)
    values = yaml.safe_load(files[CONFIGURATION])
    values["exp1"]["noise"] *= 2
    other = {CONFIGURATION: yaml.safe_dump(values).encode()}
    sound, said = check(rewritten(files, tmp_path / "c.zip", **other), tmp_path / "c")
    assert not sound
    foreign = said.split("Configuration.yaml is not what made the results of:\n")[1]
    assert "  simulate_exp1" in foreign.splitlines()
    assert "simulate_exp2" not in foreign
    name = "source/src/embedalloc/study/exp1.py"
    spoilt = {name: files[name] + b"\nOTHER = 1\n"}
    sound, said = check(rewritten(files, tmp_path / "s.zip", **spoilt), tmp_path / "s")
    assert not sound
    assert "The source in the archive is not what made the results of:\n" in said
    assert "simulate_exp1" in said


def test_a_changed_table_is_found_however_it_is_hidden(archive, tmp_path):
    files = unzip_files(archive)
    frame = pd.read_parquet(BytesIO(files[TABLE]))
    frame["coefficient"] += 1e-12
    forged = tmp_path / "forged.parquet"
    write_table(forged, frame, exp1_contracts.FITS, settings={}, seed=1)
    listed = rewritten(files, tmp_path / "l.zip", **{TABLE: forged.read_bytes()})
    sound, said = check(listed, tmp_path / "l")
    assert not sound
    assert f"{TABLE}: not what {CELL} made" in said
    # With receipts forged as well only making the table anew tells.
    changes = {TABLE: forged.read_bytes()}
    for name in [name for name in files if name.startswith("results/receipts/")]:
        scratch = tmp_path / "receipt.json"
        scratch.write_bytes(files[name])
        receipt = read_receipt(scratch)
        for part in ("inputs", "outputs"):
            if TABLE in receipt[part]:
                receipt[part][TABLE] = digest_file(forged)
        write_receipt(scratch, receipt)
        changes[name] = scratch.read_bytes()
    hidden = rewritten(files, tmp_path / "h.zip", **changes)
    sound, said = check(hidden, tmp_path / "h", named=[CELL])
    assert not sound
    assert f"{CELL}: {TABLE} differs in last bits" in said

"""The README's examples run, and its figure table lists what the workflow makes."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_examples_run():
    failed, tried = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert tried >= 5
    assert failed == 0


def test_the_figure_table_is_the_list_of_targets():
    snakefile = (ROOT / "Snakefile").read_text()
    targets = re.findall(r'"figures/(\w+)\.pdf"', snakefile)
    listed = re.findall(r"^\| `(\w+)` \|.*\| `plot_(\w+)` \|", README, flags=re.MULTILINE)
    assert [name for name, _ in listed] == targets
    assert all(name == rule for name, rule in listed)

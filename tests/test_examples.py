"""The scripts of docs/examples end as docs/examples.md says; `make compat` runs the others."""

import re
import subprocess
import sys

import pytest

from tests.compat.__main__ import PEERS
from tests.places import ROOT

EXAMPLES = ROOT / "docs/examples"
PAGE = (ROOT / "docs/examples.md").read_text()
#: The end of each script, as the page shows it.
ENDS = dict(re.findall(r"\]\(examples/(\w+\.py)\).*?^```text\n(.*?)^```", PAGE, re.M | re.S))
#: Scripts of libraries that are not installed here.
ELSEWHERE = {peer.script.name for peer in PEERS.values() if peer.script.parent == EXAMPLES}
NUMBER = r"\d[\d,]*(?:\.\d+)?"


def numbers_of(text):
    return [float(each.replace(",", "")) for each in re.findall(NUMBER, text)]


def test_the_page_shows_every_example():
    assert {*ENDS} == {path.name for path in EXAMPLES.glob("*.py")} - {"make_sales.py"}
    assert {"fastai_model.py", "keras_model.py"} == ELSEWHERE


def test_the_table_is_what_its_script_writes(tmp_path):
    script = EXAMPLES / "make_sales.py"
    (tmp_path / script.name).write_text(script.read_text())
    subprocess.run([sys.executable, str(tmp_path / script.name)], check=True)
    assert (tmp_path / "sales.csv").read_text() == (EXAMPLES / "sales.csv").read_text()


@pytest.mark.parametrize("name", sorted({*ENDS} - ELSEWHERE))
def test_an_example_ends_as_the_page_says(name):
    """The words are the same; numbers may differ a little, as trainings do between machines."""
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shown = ENDS[name].strip()
    found = "\n".join(done.stdout.strip().splitlines()[-len(shown.splitlines()) :])
    assert re.sub(NUMBER, "#", found) == re.sub(NUMBER, "#", shown)
    assert numbers_of(found) == pytest.approx(numbers_of(shown), rel=0.1), found

"""`--sdm conda` with a stand-in for conda: what is asked of it, and where the jobs then run.

The stand-in makes an environment that has the packages of this one, but not this project: the
code of the project must come from the workflow itself. Channels are out of reach of a test.
"""

import os
import sys
import sysconfig
from pathlib import Path

from tests.places import ROOT
from tests.workflow.runner import complete, planned

CONDA = f"""#!{sys.executable}
import json, pathlib, subprocess, sys
here, asked = pathlib.Path(__file__).parent, sys.argv[1:]
if asked == ["info", "--json"]:
    print(json.dumps({{"conda_prefix": str(here.parent), "platform": "linux-64"}}))
elif asked == ["--version"]:
    print("conda 25.5.1")
elif asked[:2] == ["config", "--get"]:
    print(json.dumps({{"get": {{"channel_priority": "strict"}}}}))
elif asked[:2] == ["env", "create"]:
    value = dict(zip(asked, asked[1:]))
    (here / "asked.yml").write_text(pathlib.Path(value["--file"]).read_text())
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", value["--prefix"]], check=True)
    packages = next(pathlib.Path(value["--prefix"]).glob("lib/python3*/site-packages"))
    (packages / "others.pth").write_text({sysconfig.get_path("purelib")!r})
    (packages / "sitecustomize.py").write_text(
        f"import sys; open({{str(here / 'jobs.txt')!r}}, 'a').write(sys.prefix + '\\\\n')"
    )
"""
ACTIVATE = 'source "$1/bin/activate"\n'


def test_jobs_run_in_the_environment_that_conda_makes(tmp_path):
    programs = tmp_path / "conda/bin"
    programs.mkdir(parents=True)
    (programs / "conda").write_text(CONDA)
    (programs / "conda").chmod(0o755)
    (programs / "activate").write_text(ACTIVATE)
    project = tmp_path / "study"
    project.mkdir()
    target = "figures/theory_allocation.pdf"
    path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    complete(project, "--sdm", "conda", "--", target, environment=path)
    assert (project / target).exists()
    assert (programs / "asked.yml").read_text() == (ROOT / "environment.yml").read_text()
    (made,) = (project / ".snakemake/conda").glob("*/pyvenv.cfg")
    assert {Path(line) for line in (programs / "jobs.txt").read_text().split()} == {made.parent}
    # Who uses conda and who does not share results.
    assert planned(project, target) == {}
    assert planned(project, "--sdm", "conda", "--", target, environment=path) == {}

"""Run `snakemake --lint` and fail on anything but the exceptions written down here."""

import re
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

#: Advice that is wrong for this project, with the reason.
EXCEPTIONS = {
    "Specify a conda environment or container for each rule.": (
        "all rules share one environment, locked in requirements.lock and environment.yml; one "
        "per rule would install the same two gigabytes again and again"
    ),
}


def main() -> int:
    command = [str(Path(sys.executable).with_name("snakemake")), "--lint"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    found = re.findall(r"^    \* (.+?):$", output, flags=re.MULTILINE)
    serious = [title for title in found if title not in EXCEPTIONS]
    if serious or (done.returncode and not found):
        print(output, file=sys.stderr)
        return 1
    print(f"snakemake --lint: nothing but {len(found)} excepted findings")
    return 0


if __name__ == "__main__":
    sys.exit(main())

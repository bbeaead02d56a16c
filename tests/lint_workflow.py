"""Run `snakemake --lint` and fail on anything but the exceptions written down here."""

import re
import sys

from tests.places import ROOT
from tests.workflow.runner import run

#: Advice that is wrong for this project, with the reason.
EXCEPTIONS = {
    "Specify a conda environment or container for each rule.": (
        "all rules share one environment, locked in requirements.lock and environment.yml; one "
        "per rule would install the same two gigabytes again and again"
    ),
}


def main() -> int:
    done = run(ROOT, "--lint", config=None)
    found = re.findall(r"^    \* (.+?):$", done.stdout, flags=re.MULTILINE)
    serious = [title for title in found if title not in EXCEPTIONS]
    if serious or (done.returncode and not found):
        print(done.stdout, file=sys.stderr)
        return 1
    print(f"snakemake --lint: nothing but {len(found)} excepted findings")
    return 0


if __name__ == "__main__":
    sys.exit(main())

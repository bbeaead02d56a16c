"""The long run: new seeds, target after target, until the time is over."""

import argparse
import random
import sys
import time
import traceback
from collections.abc import Sequence

from tests.fuzz.targets import TARGETS, attack


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 if something failed, after printing the commands that bring it back."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--target", choices=TARGETS, help="this one only")
    parser.add_argument("--seed", type=int, help="this one only, once")
    parser.add_argument("--examples", type=int, help="per round; by default as in `make test`")
    given = parser.parse_args(arguments)
    names = [given.target] if given.target else list(TARGETS)
    failed: list[str] = []
    end = time.monotonic() + 60 * given.minutes
    while True:
        for name in names:
            seed = random.SystemRandom().randrange(2**32) if given.seed is None else given.seed
            examples = given.examples or TARGETS[name].examples
            command = f"python -m tests.fuzz --target {name} --seed {seed} --examples {examples}"
            print(command, flush=True)
            try:
                attack(name, seed, examples)
            except Exception as error:
                failed.append(command)
                print(
                    "".join(traceback.format_exception(error)), f"again with: {command}", sep="\n"
                )
            if time.monotonic() > end:
                break
        if given.seed is not None or time.monotonic() > end:
            break
    print(f"{len(failed)} failed", *failed, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

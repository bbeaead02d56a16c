"""How far a command is: a bar on a terminal, one line per step elsewhere."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from embedalloc.visible import make_visible


@contextmanager
def show_progress(step: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what is called with the steps that are done and how many there are at most."""
    begin = time.monotonic()
    if not sys.stderr.isatty():

        def tell(done: int, most: int) -> None:
            passed = time.monotonic() - begin
            click.echo(f"{step} {done} of at most {most} done after {passed:.0f} s", err=True)

        yield tell
        return
    with click.progressbar(length=1000, label=step, file=sys.stderr, show_pos=False) as bar:
        # Never back: the number of steps is known only at most.
        yield lambda done, most: bar.update(max(0, int(1000 * done / (most + 1)) - bar.pos))
        bar.update(1000 - bar.pos)


@contextmanager
def tell_warnings() -> Iterator[None]:
    """Print warnings on standard error as they come, each in one line and once."""
    told = set()

    def tell(message: Warning | str, *about: object, **words: object) -> None:
        text = make_visible(" ".join(str(message).split()))
        if text not in told:
            told.add(text)
            click.echo(f"Warning: {text}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = tell
        yield

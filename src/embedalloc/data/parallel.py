"""The same work in one process or in several, with the same results in the same order."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed

Result = TypeVar("Result")


def run_all(
    function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], *, jobs: int
) -> Iterator[Result]:
    """Yield what a function returns for each tuple of arguments, in their order.

    Every call names its random numbers itself, so nothing depends on who runs it when.
    """
    if jobs == 1 or len(arguments) < 2:
        yield from (function(*each) for each in arguments)
        return
    yield from Parallel(n_jobs=min(jobs, len(arguments)), return_as="generator")(
        delayed(function)(*each) for each in arguments
    )

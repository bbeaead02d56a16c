"""What to install for a feature whose packages are not here."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

#: The extra of `pip install "embedalloc[…]"` that brings a package.
EXTRAS: Mapping[str, str] = {
    "pandas": "data",
    "pyarrow": "data",
    "scipy": "data",
    "sklearn": "data",
    "threadpoolctl": "data",
    "yaml": "data",
    "torch": "torch",
    "matplotlib": "plot",
    "openpyxl": "excel",
}


class MissingExtraError(ModuleNotFoundError):
    """A package that belongs to an extra is not installed."""


@contextmanager
def needed_for(feature: str) -> Iterator[None]:
    """Name the extra to install, where an import inside fails for want of it.

    Parameters
    ----------
    feature
        What the imports are for, as the user calls it.

    Examples
    --------
    >>> with needed_for("--plot"):
    ...     raise ModuleNotFoundError(name="matplotlib.figure")
    Traceback (most recent call last):
        ...
    embedalloc.extras.MissingExtraError: --plot needs matplotlib: pip install "embedalloc[plot]"
    """
    try:
        yield
    except MissingExtraError:
        raise
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise MissingExtraError(
            f'{feature} needs {package}: pip install "embedalloc[{EXTRAS[package]}]"', name=package
        ) from None

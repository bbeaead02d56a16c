"""Check an archive of a finished run: `make check-archive ZIP=archive.zip CELLS=3`."""

import secrets
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import click
import yaml

from embedalloc.study.archive import check
from embedalloc.study.archive.container import ArchiveError, unzip_files
from embedalloc.study.archive.contents import SOURCE
from embedalloc.study.workflow.places import PROJECT

#: Problems and differences that are shown of very many.
SHOWN = 20


@click.command()
@click.argument("archive", type=click.Path(path_type=Path))
@click.option(
    "--cells",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Cells made anew, drawn at random.",
)
@click.option("--cell", "named", multiple=True, help="A cell made anew, such as simulate_exp1/…")
@click.option("--seed", type=int, help="Draws the same cells again.")
def main(archive: Path, cells: int, named: tuple[str, ...], seed: int | None) -> None:
    """Check every digest of an ARCHIVE, then make some of its cells anew and compare them."""
    seed = secrets.randbelow(10**6) if seed is None else seed
    try:
        with tempfile.TemporaryDirectory(prefix="archive-") as folder:
            sound = report(archive, Path(folder), cells=cells, named=named, seed=seed)
    except ArchiveError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    click.echo("The archive holds." if sound else "The archive does not hold.")
    sys.exit(not sound)


def report(
    archive: Path,
    folder: Path,
    *,
    cells: int,
    named: Iterable[str] = (),
    seed: int = 0,
    say: Callable[[str], None] = click.echo,
) -> bool:
    """Check an archive in an empty folder, say what was found, return whether it holds."""
    files = unzip_files(archive)
    if problems := list(check.find_damage(files)):
        _list("damaged", problems, say)
        return False
    check.unpack(files, folder)
    made = check.read_cells(files, folder)
    if problems := list(check.find_broken_links(files, made)):
        _list("results and receipts do not fit", problems, say)
        return False
    say(f"{len(files):,} files are as listed, and {len(made)} receipts say what made them.")
    if problems := list(check.find_other_source(made, folder / SOURCE)):
        _list("the source in the archive is not what made the results of", problems, say)
        return False
    values = check.read_values(files)
    default = yaml.safe_load((PROJECT / "config.yaml").read_text(encoding="utf-8"))
    here, there = check.archived_blocks(default), check.archived_blocks(values)
    differences = list(check.find_other_settings(there, here))
    _list("its configuration is not the default one", differences, say)
    stale = check.find_stale(folder, values, made)
    others = [f"{rule}: {why}" for rule, why in stale.items() if why != check.OTHER_SETTINGS]
    _list("this project is not the one that made it", others, say)
    if foreign := [rule for rule, why in stale.items() if why == check.OTHER_SETTINGS]:
        _list("configuration.yaml is not what made the results of", foreign, say)
        return False
    chosen = check.choose(made, list(named), cells, seed)
    if not named:
        say(f"{len(chosen)} cells are made anew, drawn with --seed {seed}.")
    if chosen:
        check.rebuild(folder, values, chosen)
    compared = {cell.name: check.compare(cell, files, folder) for cell in chosen}
    for name, found in compared.items():
        say(f"{name}: {found.words}")
    return all(found.agrees for found in compared.values())


def _list(what: str, lines: list[str], say: Callable[[str], None]) -> None:
    if lines:
        more = [f"and {len(lines) - SHOWN:,} more"] if len(lines) > SHOWN else []
        say("\n  ".join([f"{what[0].upper()}{what[1:]}:", *lines[:SHOWN], *more]))


if __name__ == "__main__":
    main()

"""The command `embedalloc count`: rows per level, from files that are larger than memory."""

from functools import partial
from pathlib import Path

import click

from embedalloc.command_line import InputError
from embedalloc.command_line.outputs import check_place
from embedalloc.command_line.progress import show_progress
from embedalloc.extras import needed_for
from embedalloc.text import cut_name, text_table

#: Of more fields than this only those with most levels are listed.
MOST_FIELDS = 40


@click.command()
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILES..."
)
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME",
    help="Column to count; may be repeated.  [default: text, whole numbers, booleans]",
)
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="Where to write field, level and rows of every level (.parquet).",
)
@click.option(
    "--sample",
    type=click.Path(path_type=Path),
    help="Where to write a random sample of rows (.parquet).",
)
@click.option(
    "--sample-rows",
    type=click.IntRange(1),
    default=200_000,
    help="Rows of the sample, if there are as many.  [default: 200000]",
)
@click.option(
    "--memory-mb",
    type=click.IntRange(10),
    default=1000,
    help="Megabytes for counting beside 8 bytes a level; more waits on disk.  [default: 1000]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    help="Columns at a time, for the same result.  [default: 1]",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of the sample.")
def count(
    files: tuple[Path, ...],
    fields: tuple[str, ...],
    output: Path,
    sample: Path | None,
    sample_rows: int,
    memory_mb: int,
    jobs: int,
    seed: int,
) -> None:
    """Count the rows of every level in parquet FILES, or folders of them, in bounded memory."""
    check_place(output, "--output", (".parquet",))
    check_place(sample, "--sample", (".parquet",))
    with needed_for("count"):
        import pyarrow.parquet

        from embedalloc.data.parquet_files import open_files
        from embedalloc.data.streaming import count_levels
    try:
        most = open_files(files).rows
        run = partial(count_levels, files, fields or None, output=output, seed=seed, jobs=jobs)
        with show_progress("column") as progress:
            found = run(
                sample_rows=0 if sample is None else min(sample_rows, most),
                memory=memory_mb * 10**6,
                done=progress,
            )
    except ValueError as error:
        raise InputError(str(error)) from None
    if sample is not None:
        pyarrow.parquet.write_table(found.sample, sample)
    rows = [
        [
            cut_name(name),
            f"{len(counts):,}",
            f"{(counts == 1).sum():,}",
            f"{100 * counts[0] / found.rows:.1f} %",
        ]
        for name, counts in sorted(found.counts.items(), key=lambda each: -len(each[1]))
    ]
    click.echo(f"{found.rows:,} rows, {sum(map(len, found.counts.values())):,} levels")
    click.echo(text_table(["field", "levels", "of one row", "most common"], rows[:MOST_FIELDS]))
    if len(rows) > MOST_FIELDS:
        click.echo(f"and {len(rows) - MOST_FIELDS} more fields")

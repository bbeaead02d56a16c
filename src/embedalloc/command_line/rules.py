"""The command `embedalloc rules`: what each allocation rule does and where it comes from."""

import click

from embedalloc.rules import RULES, THE_PAPER, Rule
from embedalloc.text import paragraph

_NEEDS = {
    "cardinalities": "needs cardinalities only",
    "coefficients": "needs coefficients",
    "masses": "needs spectral masses",
    "data": "learns from data",
}


@click.command()
def rules() -> None:
    """List the allocation rules, each in one sentence with its source.

    N is the number of categories of a field and d its dimension. Every rule keeps the same
    budget; a rule that gives proportions is scaled to it and rounded.
    """
    entries = [_entry(rule) for rule in RULES.values()]
    click.echo("\n\n".join([*entries, paragraph(f"The paper: {THE_PAPER}.")]))


def _entry(rule: Rule) -> str:
    return "\n".join(
        [
            f"{rule.name} ({_NEEDS[rule.needs]})",
            paragraph(rule.sentence, "  "),
            paragraph(f"Source: {rule.source}.", "  "),
        ]
    )

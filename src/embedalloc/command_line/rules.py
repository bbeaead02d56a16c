"""The command `embedalloc rules`: what each allocation rule does and where it comes from."""

import click

from embedalloc.rule_catalogue import RULE_DESCRIPTIONS, THE_PAPER, RuleDescription
from embedalloc.text import paragraph

_NEEDS = {
    "cardinalities": "needs cardinalities only",
    "coefficients": "needs coefficients",
    "curves": "needs measured curves",
    "masses": "needs spectral masses",
    "data": "learns from data",
}


@click.command()
def rules() -> None:
    """List the allocation rules, each in one sentence with its source.

    N is the number of categories of a predictor and d its dimension. Every rule keeps the same
    budget; a rule that gives proportions is scaled to it and rounded.
    """
    entries = [_entry(description) for description in RULE_DESCRIPTIONS]
    click.echo("\n\n".join([*entries, paragraph(f"The paper: {THE_PAPER}.")]))


def _entry(description: RuleDescription) -> str:
    return "\n".join(
        [
            f"{description.name} ({_NEEDS[description.needs]})",
            paragraph(description.sentence, "  "),
            paragraph(f"Source: {description.source}.", "  "),
        ]
    )

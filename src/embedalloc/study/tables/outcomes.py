"""What is kept of a split: losses of the contestants, and what became of decoys."""

from embedalloc.study.workflow.tables import Column, Contract

#: The recommended rule's plan with the dimensions that it tried to split.
SPLIT = "screened, split"
#: Equal dimensions, the best of as many trainings as the recommended rule has.
RESTARTS = "equal, restarts"

LOSSES = Contract(
    "tables_losses",
    {
        "table": Column("text", "name of the table"),
        "split": Column("integer", "number of the split", low=0),
        "budget": Column("number", "dimensions on average", low=0),
        "contestant": Column("text", "rule or control"),
        "initialisation": Column("text", "how the judge's embeddings start"),
        "loss": Column("number", "test loss"),
        "parameters": Column("integer", "numbers spent", low=0),
        "trainings": Column("integer", "networks trained to plan", low=0),
        "seconds": Column("number", "time to plan", low=0),
        "chosen": Column("text", "plan that won; empty where nothing was tried"),
        "verdict": Column("text", "whether the plan says that it beats equal dimensions"),
        "gain": Column("number", "its gain on validation", may_be_missing=True),
        "splitting": Column("text", "whether the plan says that splitting matters"),
    },
    key=("table", "split", "budget", "contestant", "initialisation"),
)
DECOYS = Contract(
    "tables_decoys",
    {
        "table": Column("text", "name of the table"),
        "split": Column("integer", "number of the split", low=0),
        "decoy": Column("text", "permuted, corrupted or combined"),
        "has_table": Column("flag", "whether the plan gives it a table"),
        "has_effect": Column("flag", "whether its effect is an input"),
        "chosen": Column("text", "plan that won"),
    },
    key=("table", "split", "decoy"),
)

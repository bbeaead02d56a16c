"""Settings of the benchmarks, which are not part of the paper."""

from typing import Annotated

from pydantic import Field

from embedalloc.study.settings.common import AtLeast1, AtLeast2, Different, Settings, Several

Turns = Annotated[int, Field(ge=1, le=1000)]
#: Sizes over which a cost is drawn.
GrowingSizes = Annotated[Different[AtLeast1], Field(min_length=2)]


class Versus(Settings):
    """Replications in a run."""

    replications: AtLeast1
    """replications of ours in a run"""
    peer_replications: AtLeast1
    """replications of the other peers in a run"""


class SampleSize(Versus):
    """Experiments 1 and 2 over the number of observations."""

    observations: Different[AtLeast2]
    """numbers of observations n, each at least the cardinality"""


class Decomposition(Settings):
    """Singular values of one table over its rows and columns."""

    rows: GrowingSizes
    """rows N of the tables that grow in rows"""
    columns: AtLeast1
    """columns of the tables that grow in rows"""
    widths: GrowingSizes
    """columns r of the tables that grow in columns"""
    rows_of_wide_tables: AtLeast1
    """rows of the tables that grow in columns"""
    block: AtLeast1
    """rows read at a time"""


class Networks(Settings):
    """Training small networks."""

    budgets: Different[Annotated[int, Field(ge=36)]]
    """embedding parameters of networks with uniform dimensions, at least 36"""
    rows: Annotated[int, Field(ge=16)]
    """training rows"""
    epochs: AtLeast1
    """epochs of each of our models"""
    models: AtLeast1
    """models that we train in a run"""
    peer_epochs: AtLeast1
    """epochs of a peer in a run"""


class Optimum(Settings):
    """Instances of each size for the exact optimum, and its largest size."""

    instances: AtLeast1
    """instances of each size"""
    up_to: AtLeast1
    """largest number of predictors"""


class PeersUpTo(Settings):
    """Largest number of predictors of the peers, by question."""

    greedy: AtLeast1
    """largest number of predictors of the greedy step's peers"""
    optimum: AtLeast1
    """largest number of predictors of the exact optimum's peers"""
    continuous: AtLeast1
    """largest number of predictors of the closed form's peers"""


class Dimensions(Settings):
    """Allocation over the number of predictors."""

    predictors: GrowingSizes
    """numbers of predictors m"""
    largest_cardinality: AtLeast2
    """largest number of categories N"""
    optimum: Optimum
    peers_up_to: PeersUpTo


class TableSet(Settings):
    """Spectra of many tables on disk."""

    tables: AtLeast1
    """number of tables"""
    rows: AtLeast1
    """rows of all tables"""
    width: AtLeast1
    """columns of each table"""
    block: AtLeast1
    """rows read at a time"""


class Effects(Settings):
    """Crossed random effects over the number of rows."""

    rows: GrowingSizes
    """numbers of rows"""
    fields: AtLeast1
    """number of fields"""
    levels: AtLeast2
    """levels of each field"""


class Planner(Settings):
    """A whole plan over the number of rows."""

    rows: GrowingSizes
    """numbers of rows"""
    levels: Several[AtLeast2]
    """levels of the fields that carry signal"""
    budget: AtLeast1
    """parameters of the embeddings"""


class Growth(Settings):
    """Our own cost over rows, levels, fields and budgets; the other three stay the first."""

    rows: GrowingSizes
    """numbers of rows"""
    levels: GrowingSizes
    """levels of each field"""
    fields: GrowingSizes
    """numbers of fields"""
    budgets: GrowingSizes
    """parameters of the embeddings"""


class WholeWorkflow(Settings):
    """The workflow from nothing."""

    targets: Several[Annotated[str, Field(min_length=1)]]
    """what is made: rules or files"""
    repetitions: Turns
    """number of turns in which everything is measured"""


class Benchmarks(Settings):
    """Sizes of the benchmarks, which are not part of the paper."""

    repetitions: Turns
    """number of turns in which everything is measured"""
    experiments: Versus
    sample_size: SampleSize
    decomposition: Decomposition
    refits: Versus
    networks: Networks
    dimensions: Dimensions
    table_set: TableSet
    effects: Effects
    planner: Planner
    growth: Growth
    workflow: WholeWorkflow


#: The rows of the table of benchmarks.
BENCHMARKS = tuple(key for key in Benchmarks.model_fields if key != "repetitions")

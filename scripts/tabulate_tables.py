"""Write what the study of real tables found: differences, verdicts against truth, decoys."""

import json

from embedalloc.study.tables.outcomes import DECOYS, LOSSES
from embedalloc.study.tables.page import describe_tables
from embedalloc.study.tables.protocol import read_protocol
from embedalloc.study.tables.summary import (
    DIFFERENCES,
    VERDICTS,
    calibrate_yes,
    judge_verdicts,
    summarise_differences,
    track_record,
)
from embedalloc.study.workflow.document import as_markdown
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables, write_table

if __name__ == "__main__":
    with job(snakemake):
        protocol = read_protocol(snakemake.input.protocol)
        losses = read_tables(snakemake.input.losses, LOSSES)
        decoys = read_tables(snakemake.input.decoys, DECOYS)
        ratio = protocol.test_share / (1 - protocol.test_share)
        differences = summarise_differences(losses, ratio)
        verdicts = judge_verdicts(losses, protocol.no_difference)
        words = {"settings": protocol.model_dump(mode="json"), "seed": protocol.seed}
        write_table(snakemake.output.differences, differences, DIFFERENCES, **words)
        write_table(snakemake.output.verdicts, verdicts, VERDICTS, **words)
        record = json.dumps(track_record(verdicts, losses), indent=2)
        write_text(snakemake.output.record, f"{record}\n")
        calibrated = calibrate_yes(losses)
        parts = describe_tables(protocol, differences, verdicts, calibrated, decoys)
        write_text(snakemake.output.page, as_markdown(parts))

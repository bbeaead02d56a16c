"""Write what each target costs on two cores, from the timings of its jobs."""

from embedalloc.study.page.targets import describe_targets, measure
from embedalloc.study.workflow.document import as_markdown
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job

if __name__ == "__main__":
    with job(snakemake):
        costs = {target: measure(jobs) for target, jobs in snakemake.params.targets.items()}
        write_text(snakemake.output.page, as_markdown(describe_targets(costs)))

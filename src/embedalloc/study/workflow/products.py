"""Which files the jobs of a target make, found by the names of their timings."""

from collections.abc import Iterable, Mapping
from typing import Any

#: By target: the files that each job makes, under the file of its timing.
Jobs = dict[str, dict[str, list[str]]]


def jobs_of(workflow: Any, timings: Mapping[str, Iterable[str]]) -> Jobs:
    """Return, for the timings of each target, what the same jobs make."""
    return {
        target: {timing: made_with(timing, workflow.rules) for timing in of_target}
        for target, of_target in timings.items()
    }


def made_with(timing: str, rules: Iterable[Any]) -> list[str]:
    """Return what the job makes that leaves this timing: the name holds its wildcards."""
    return [
        str(output.apply_wildcards(found.groupdict()))
        for rule in rules
        if rule.benchmark and (found := rule.benchmark.match(timing))
        for output in rule.output
    ]


def all_files(jobs: Jobs) -> list[str]:
    """Return every file of some targets, timings among them, once."""
    made = (pair for of_target in jobs.values() for pair in of_target.items())
    return sorted({file for timing, files in made for file in (timing, *files)})

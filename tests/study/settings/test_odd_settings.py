"""Any configuration is refused in plain words at once, or asks for a bounded amount of work."""

import time

from hypothesis import HealthCheck, given, settings

from embedalloc.study.settings.configuration import MAX_JOBS, Configuration, read_configuration
from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.settings.sizes import MAX_BYTES, MAX_OPERATIONS, needs
from tests.oracles.odd_settings import odd_settings


def refused_or_bounded(values) -> bool:
    """Read a configuration; return whether it was refused. Anything else fails."""
    started = time.process_time()
    try:
        found = read_configuration(values)
    except ConfigError as error:
        assert time.process_time() - started < 1
        first, *lines = str(error).split("\n")
        assert first == "the configuration is not valid:"
        assert lines
        assert all(len(line) < 1500 and line.isprintable() for line in lines), lines
        return True
    assert time.process_time() - started < 1
    expect_bounded(found)
    return False


def expect_bounded(found: Configuration) -> None:
    blocks = (found.theory, found.exp1, found.exp2, found.exp3, found.heart, found.claims)
    for need in needs(*blocks):
        assert need.size <= MAX_BYTES
        assert need.operations <= MAX_OPERATIONS
    jobs = {
        "exp1": len(found.exp1.parts) * len(found.exp1.designs),
        "exp2": len(found.exp2.parts) * len(found.exp2.observations),
        "exp3": len(found.exp3.parts) * len(found.exp3.observations),
        "heart": len(found.heart.blocks),
        "regret": len(found.multiverse.regret_parts),
    }
    assert max(jobs.values()) <= MAX_JOBS, jobs
    found.allocation_cell()
    found.claims_cell()


@given(odd_settings())
@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_configuration_is_refused_or_bounded(values):
    refused_or_bounded(values)

"""Programs that tests need beside the packages of Python."""

import os

import pytest


def require(found: object, reason: str) -> None:
    """Skip a test without what it needs, with the way to get it; in CI that is a failure."""
    if not found:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)

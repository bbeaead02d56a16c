"""How the figures of Experiment 1 name its designs."""

from collections.abc import Mapping
from typing import Any


def spectrum_label(law: Mapping[str, Any]) -> str:
    """Return a decay law as a formula for titles."""
    if law["decay"] == "polynomial":
        return rf"$\sigma_k = {law['scale']:g}\,k^{{-{law['rate']:g}}}$"
    offset = law.get("offset", 0)
    steps = f"(k-{offset:g})" if offset else r"\,k"
    return rf"$\sigma_k = {law['scale']:g}\,e^{{-{law['rate']:g}{steps}}}$"

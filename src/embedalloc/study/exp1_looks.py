"""How the figures of Experiment 1 name its designs."""

from embedalloc.study.settings.common import Spectrum


def spectrum_label(law: Spectrum) -> str:
    """Return a decay law as a formula for titles."""
    if law.decay == "polynomial":
        return rf"$\sigma_k = {law.scale:g}\,k^{{-{law.rate:g}}}$"
    steps = f"(k-{law.offset:g})" if law.offset else r"\,k"
    return rf"$\sigma_k = {law.scale:g}\,e^{{-{law.rate:g}{steps}}}$"

"""Loss over budgets: what a smaller budget costs, with a plan and with equal dimensions."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.intervals import CONFIDENCE, nadeau_bengio_share, t_interval
from embedalloc.text import paragraph, text_table

#: The curve that all others are compared with.
EQUAL = "equal"
#: A loss that is higher by less than this share of it is as good.
MARGIN = 0.01


class Band(NamedTuple):
    """A mean over splits and its 95 % interval; of one split there is none (nan)."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Frontier:
    """Losses over budgets.

    Attributes
    ----------
    budgets
        The smallest first; the last one is the full budget.
    losses
        By curve, one row per split and one column per budget; nan where the budget is too small
        for the rule. One curve is called ``equal``.
    parameters
        Parameters spent, by curve and budget, mean over splits.
    margin
        As a share of the loss at the full budget: what counts as equivalent.
    test_ratio
        Test rows over training rows, for the intervals of Nadeau and Bengio; None for a
        surrogate.

    Examples
    --------
    >>> losses = {"equal": np.array([[0.5, 0.25], [0.75, 0.5]])}  # two splits, two budgets
    >>> frontier = Frontier((10, 20), losses, {"equal": np.array([10.0, 20.0])}, test_ratio=0.25)
    >>> frontier.band("equal", 20).mean
    0.375
    """

    budgets: tuple[int, ...]
    losses: Mapping[str, Floats]
    parameters: Mapping[str, Floats]
    margin: float = MARGIN
    test_ratio: float | None = None

    @property
    def is_surrogate(self) -> bool:
        """Whether nothing was trained: the losses are then errors of truncated tables."""
        return self.test_ratio is None

    def paid_budgets(self, curve: str) -> list[int]:
        """Return the budgets that are large enough for a curve.

        Parameters
        ----------
        curve
            A name of `losses`.

        Returns
        -------
        list of int
            The smallest first.

        Examples
        --------
        >>> losses = {"equal": np.array([[np.nan, 0.5, 0.25]])}
        >>> Frontier((10, 20, 40), losses, {"equal": np.zeros(3)}).paid_budgets("equal")
        [20, 40]
        """
        columns = zip(self.budgets, self.losses[curve].T, strict=True)
        return [budget for budget, values in columns if np.isfinite(values).all()]

    def band(self, curve: str, budget: int) -> Band:
        """Return the loss of a curve at a budget.

        Parameters
        ----------
        curve
            A name of `losses`.
        budget
            One of `budgets`.

        Returns
        -------
        Band
            Mean over splits, and the low and high end of its interval.

        Examples
        --------
        >>> losses = {"equal": np.array([[0.5, 0.25]]), "optimal": np.array([[0.25, 0.25]])}
        >>> spent = {"equal": np.array([10.0, 20.0]), "optimal": np.array([9.0, 20.0])}
        >>> frontier = Frontier((10, 20), losses, spent, test_ratio=0.25)
        >>> frontier.band("optimal", 10)  # of one split there is no interval
        Band(mean=0.25, low=nan, high=nan)
        """
        return self._band(self.losses[curve][:, self.budgets.index(budget)])

    def against_full(self, curve: str, budget: int) -> Band:
        """Return the loss at a budget minus that at the full one, paired, as a share of this.

        A surrogate is a share already: of it the difference itself.

        Parameters
        ----------
        curve
            A name of `losses`.
        budget
            One of `budgets`.

        Returns
        -------
        Band
            Mean over splits, and the low and high end of its interval.

        Examples
        --------
        >>> losses = {"equal": np.array([[0.5, 0.25]]), "optimal": np.array([[0.25, 0.25]])}
        >>> spent = {"equal": np.array([10.0, 20.0]), "optimal": np.array([9.0, 20.0])}
        >>> frontier = Frontier((10, 20), losses, spent, test_ratio=0.25)
        >>> frontier.against_full("equal", 10).mean
        1.0
        """
        values = self.losses[curve]
        return self._share(curve, values[:, self.budgets.index(budget)] - values[:, -1])

    def against_equal(self, curve: str, budget: int) -> Band:
        """Return the loss of a curve minus that of equal dimensions, as a share of their loss.

        A surrogate is a share already: of it the difference itself.

        Parameters
        ----------
        curve
            A name of `losses`.
        budget
            One of `budgets`.

        Returns
        -------
        Band
            Mean over splits, and the low and high end of its interval.

        Examples
        --------
        >>> losses = {"equal": np.array([[0.5, 0.25]]), "optimal": np.array([[0.25, 0.25]])}
        >>> spent = {"equal": np.array([10.0, 20.0]), "optimal": np.array([9.0, 20.0])}
        >>> frontier = Frontier((10, 20), losses, spent, test_ratio=0.25)
        >>> frontier.against_equal("optimal", 10).mean
        -0.5
        """
        place = self.budgets.index(budget)
        other = self.losses[EQUAL][:, place]
        band = self._band(self.losses[curve][:, place] - other)
        scale = 1.0 if self.is_surrogate else float(other.mean())
        return Band(*(each / scale for each in band))

    def smallest_equivalent(self, curve: str) -> int | None:
        """Return the smallest budget that costs less than the margin, with all above it.

        The upper end of the interval must lie below the margin. Budgets are tried from the full
        one downwards until the first fails, so that the chance of a wrong answer does not grow
        with their number.

        Parameters
        ----------
        curve
            A name of `losses`.

        Returns
        -------
        int or None
            None if one split gives no interval.

        Examples
        --------
        >>> losses = {"equal": np.array([[0.9, 0.31, 0.3]])}  # of a surrogate
        >>> sizes = {"equal": np.array([10.0, 20.0, 40.0])}
        >>> Frontier((10, 20, 40), losses, sizes, margin=0.05).smallest_equivalent("equal")
        20
        """
        if not self.is_surrogate and len(self.losses[curve]) < 2:
            return None
        found = None
        for budget in reversed(self.budgets):
            band = self.against_full(curve, budget)
            worst = band.mean if self.is_surrogate else band.high
            if not worst <= self.margin:
                break
            found = budget
        return found

    def area(self, curve: str) -> Band:
        """Return the area under a curve over log(budget), divided by its width: a mean loss.

        Only budgets at which every curve has a loss count.

        Parameters
        ----------
        curve
            A name of `losses`.

        Returns
        -------
        Band
            Mean over splits, and the low and high end of its interval.

        Examples
        --------
        >>> losses = {"equal": np.array([[0.5, 0.25]]), "optimal": np.array([[0.25, 0.25]])}
        >>> spent = {"equal": np.array([10.0, 20.0]), "optimal": np.array([9.0, 20.0])}
        >>> frontier = Frontier((10, 20), losses, spent, test_ratio=0.25)
        >>> frontier.area("equal").mean
        0.375
        """
        return self._band(self._areas(curve))

    def area_against_equal(self, curve: str) -> Band:
        """Return the area minus that of equal dimensions, paired over splits.

        Parameters
        ----------
        curve
            A name of `losses`.

        Returns
        -------
        Band
            Mean over splits, and the low and high end of its interval.

        Examples
        --------
        >>> losses = {"equal": np.array([[0.5, 0.25]]), "optimal": np.array([[0.25, 0.25]])}
        >>> spent = {"equal": np.array([10.0, 20.0]), "optimal": np.array([9.0, 20.0])}
        >>> frontier = Frontier((10, 20), losses, spent, test_ratio=0.25)
        >>> frontier.area_against_equal("optimal").mean
        -0.125
        """
        return self._band(self._areas(curve) - self._areas(EQUAL))

    def _areas(self, curve: str) -> Floats:
        whole = [np.isfinite(each).all(axis=0) for each in self.losses.values()]
        common = np.logical_and.reduce(whole)
        values, places = self.losses[curve][:, common], np.log(self.budgets)[common]
        if len(places) < 2:
            return np.asarray(values.mean(axis=1)) if len(places) else np.full(len(values), np.nan)
        heights = (values[:, 1:] + values[:, :-1]) / 2
        return np.asarray((heights * np.diff(places)).sum(axis=1) / (places[-1] - places[0]))

    def _share(self, curve: str, values: Floats) -> Band:
        full = 1.0 if self.is_surrogate else float(self.losses[curve][:, -1].mean())
        return Band(*(each / full for each in self._band(values)))

    def _band(self, values: Floats) -> Band:
        mean = float(values.mean())
        if self.test_ratio is None or len(values) < 2:
            return Band(mean, math.nan, math.nan)
        low, high = t_interval(values, nadeau_bengio_share(len(values), self.test_ratio))
        return Band(mean, float(low), float(high))

    def to_dict(self) -> dict[str, Any]:
        """Return plain types, for JSON; what is not known is None.

        Returns
        -------
        dict
            Budgets, margin, and by curve the losses and what follows from them.

        Examples
        --------
        >>> losses = {"equal": np.array([[0.5, 0.25]]), "optimal": np.array([[0.25, 0.25]])}
        >>> spent = {"equal": np.array([10.0, 20.0]), "optimal": np.array([9.0, 20.0])}
        >>> frontier = Frontier((10, 20), losses, spent, test_ratio=0.25)
        >>> frontier.to_dict()["curves"]["equal"]["against_full"][0]
        {'mean': 1.0, 'low': None, 'high': None}
        """
        curves = {
            curve: {
                "losses": values.tolist(),
                "parameters": self.parameters[curve].tolist(),
                "loss": [self.band(curve, budget) for budget in self.budgets],
                "against_full": [self.against_full(curve, budget) for budget in self.budgets],
                "smallest_equivalent": self.smallest_equivalent(curve),
                "area": self.area(curve),
                "area_against_equal": self.area_against_equal(curve),
            }
            for curve, values in self.losses.items()
        }
        found = {
            "kind": "surrogate" if self.is_surrogate else "held-out loss",
            "budgets": self.budgets,
            "margin": self.margin,
            "splits": None if self.is_surrogate else len(next(iter(self.losses.values()))),
            "curves": curves,
        }
        return json.loads(json.dumps(_make_plain(found), allow_nan=False))

    def __str__(self) -> str:
        return "\n\n".join([self._table(), self.conclusions])

    def _table(self) -> str:
        percent = f"{100 * CONFIDENCE:.0f} %"
        head = ["budget", "curve", "spent", "loss", "against full, %", percent]
        if self.is_surrogate:
            head = ["budget", "curve", "spent", "surrogate error"]
        rows = []
        for place, budget in enumerate(self.budgets):
            for curve, values in self.losses.items():
                if budget not in self.paid_budgets(curve):
                    continue
                own = [f"{budget:,}", curve, f"{self.parameters[curve][place]:,.0f}"]
                own.append(f"{values[:, place].mean():.5f}")
                if not self.is_surrogate:
                    own += _write_share(self.against_full(curve, budget))
                rows.append(own)
        return text_table(head, rows, align="><" + ">" * (len(head) - 2))

    @property
    def conclusions(self) -> str:
        """What the curves say, for a terminal."""
        return "\n".join(map(paragraph, self.sentences))

    @property
    def sentences(self) -> list[str]:
        """What the curves say."""
        lines = [
            "Surrogate: what tables lose that are cut to the dimensions, as a share of all that "
            "they hold. Nothing was trained, and a loss on data may look different."
            if self.is_surrogate
            else f"Loss of rows that were held out, mean of {len(self.losses[EQUAL])} splits, with "
            "intervals of Nadeau and Bengio, paired by split."
        ]
        for curve in self.losses:
            area, budget, full = self.area(curve), self.smallest_equivalent(curve), self.budgets[-1]
            if budget is None:
                words = "one split cannot tell which budget is as good as the full one"
            elif budget == full:
                words = f"no smaller budget is shown to be as good as {full:,}"
            else:
                words = f"{budget:,} parameters are as good as {full:,}"
            within = "" if budget is None else f", within {100 * self.margin:g} %"
            lines.append(f"{curve}: {words}{within}. Mean over log(budget): {area.mean:.5f}.")
        for curve in [each for each in self.losses if each != EQUAL]:
            area = self.area_against_equal(curve)
            interval = "" if math.isnan(area.low) else f" ({area.low:+.5f} to {area.high:+.5f})"
            lines.append(f"Area between {curve} and equal dimensions: {area.mean:+.5f}{interval}.")
        return lines


def _write_share(band: Band) -> list[str]:
    if math.isnan(band.low):
        return [f"{100 * band.mean:+.2f}", ""]
    return [f"{100 * band.mean:+.2f}", f"{100 * band.low:+.2f} to {100 * band.high:+.2f}"]


def _make_plain(value: Any) -> Any:
    if isinstance(value, Band):
        return _make_plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): _make_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_make_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

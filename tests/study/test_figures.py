"""What single figures must show or must not, drawn from small made-up tables."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.text import Text

from embedalloc.study.exp3_looks import ALLOCATION_RULES
from embedalloc.study.heart.looks import MODELS, PREDICTORS
from embedalloc.study.heart.patients import CATEGORICAL
from embedalloc.study.settings.common import Spectrum
from embedalloc.study.workflow import style
from scripts import (
    plot_exp1_main,
    plot_exp2_decomposition,
    plot_exp2_optimal_dimension,
    plot_exp3_allocations,
    plot_final_allocation,
    plot_heart_budget,
    plot_heart_pilot,
    plot_theory_allocation,
)

RNG = np.random.default_rng(5)


def grid(**columns):
    """Return a table with a row for each combination."""
    return pd.DataFrame(itertools.product(*columns.values()), columns=list(columns))


@pytest.fixture
def words_of(tmp_path, capsys):
    """A function that saves a figure, finds it readable and returns all its texts."""

    def save_and_read(figure):
        style.save_figure(figure, pdf=tmp_path / "figure.pdf", png=tmp_path / "figure.png")
        assert capsys.readouterr().out == ""  # no flaw is told
        figure.draw_without_rendering()
        return [text.get_text() for text in figure.findobj(Text) if text.get_visible()]

    return save_and_read


@pytest.mark.parametrize(("spread", "said"), [(1e-4, False), (5.0, True)])
def test_exp1_main_speaks_of_bands_only_where_there_are_some_to_see(words_of, spread, said):
    rows = grid(design=["slow"], replication=range(9), dimension=range(1, 21))
    for column in ("reconstruction_error", "population_tail", "empirical_tail"):
        rows[column] = 40 / rows["dimension"] + spread * rows["replication"] / 9
    law = Spectrum(decay="polynomial", rate=1.0, scale=50.0)
    figure = plot_exp1_main.draw(rows, {"slow": law})
    assert any("bands" in words for words in words_of(figure)) == said


def test_exp2_optimal_dimension_has_its_words_beside_the_plot(words_of):
    sizes = [200, 300, 500, 1000, 2000, 5000, 10000, 20000]
    rows = grid(observations=sizes, replication=range(3), dimension=range(1, 9))
    rows["test_mse"] = RNG.random(len(rows))
    figure = plot_exp2_optimal_dimension.draw(rows)
    words_of(figure)
    [axes], [legend] = figure.axes, figure.legends
    assert axes.get_legend() is None
    assert legend.get_window_extent().y1 < axes.bbox.y0
    assert axes.bbox.height > 0.5 * figure.bbox.height


def test_theory_allocation_keeps_the_legends_colours_for_their_meaning():
    rows = grid(predictors=[2, 3, 5, 10], budget_ratio=[1.5, 5.0], instance=range(4))
    _, axes = style.new_figure()
    plot_theory_allocation.draw_shares(axes[0, 0], rows.assign(optimal=rows["instance"] > 1))
    taken = {look.color for look, _ in plot_theory_allocation.SOLUTIONS.values()}
    assert not taken & {line.get_color() for line in axes[0, 0].lines}
    assert len({line.get_marker() for line in axes[0, 0].lines}) == 4


def test_heart_budget_has_bars_side_by_side_and_no_bands_that_merge(words_of):
    rows = grid(network=list(MODELS), budget=[128, 256, 1024, 1536, 2048, 4096], split=range(5))
    rows = rows.assign(restart=0, validation_logloss=0.4, test_logloss=0.4)
    rows["validation_logloss"] += 0.1 * RNG.random(len(rows))
    figure = plot_heart_budget.draw(rows)
    assert {"proposed", "uniform", "all coefficients 1"} <= set(words_of(figure))
    for axes in figure.axes:
        assert not [c for c in axes.collections if isinstance(c, FillBetweenPolyCollection)]
        bars = [bar.lines[2][0].get_segments() for bar in axes.containers]
        places = [x for segments in bars for x in {segment[0][0] for segment in segments}]
        assert len(set(places)) == len(places) == 3 * 6


def heart_coefficients():
    rows = grid(predictor=CATEGORICAL, split=range(8)).assign(cardinality=4)
    return rows.assign(before=RNG.random(len(rows)), after=RNG.random(len(rows)))


def test_final_allocation_names_its_predictors_and_draws_no_line_without_a_meaning(words_of):
    scores = pd.DataFrame(
        {
            "model": "proposed",
            "budget": [128, 256, 1024],
            "dimensions": [[d] * len(CATEGORICAL) for d in (3, 5, 9)],
        }
    )
    figure = plot_final_allocation.draw(scores, heart_coefficients())
    words = words_of(figure)
    for code in CATEGORICAL:
        assert f"{PREDICTORS[code]}, 4 categories" in words
        assert code == PREDICTORS[code] or code not in words
    [axes] = figure.axes
    assert [line.get_label() for line in axes.lines if len(line.get_xdata()) == 2] == []
    assert any("80 % between" in line for line in words)


def test_heart_pilot_says_what_it_shows(words_of):
    words = " ".join(words_of(plot_heart_pilot.draw(heart_coefficients())))
    assert "before and after its training" in words
    assert "decided by the random start" in words
    assert "chest pain: $r$ =" in words


def test_readings_are_named_in_words(words_of):
    rows = grid(observations=[500, 2000], replication=range(3), dimension=range(1, 6))
    for column in (*plot_exp2_decomposition.EXACT, *plot_exp2_decomposition.PRINTED):
        rows[column] = 100 * RNG.random(len(rows))
    words = words_of(plot_exp2_decomposition.draw(rows))
    assert sum("as the paper prints it" in line for line in words) == 2
    rows = grid(
        allocation_rule=list(ALLOCATION_RULES), leftover=["floored", "spent"],
        budget=[300, 1000, 3000], replication=range(2),
    )  # fmt: skip
    rows["dimensions"] = [[2, 3, 4]] * len(rows)
    words += words_of(plot_exp3_allocations.draw(rows, [300, 1000, 3000], [30, 90, 180]))
    assert not [line for line in words if "literal" in line or "floored" in line]

"""What a machine can see of a figure's faults; each kind is drawn once on purpose."""

import numpy as np
import pandas as pd
import pytest

from embedalloc.study.exp3_looks import ALLOCATION_RULES
from embedalloc.study.heart.looks import MODELS, PREDICTORS
from embedalloc.study.heart.patients import CATEGORICAL
from embedalloc.study.workflow import style
from embedalloc.study.workflow.legibility import find_flaws


def small_letters(figure, axes):
    axes.set_xlabel("hardly seen", fontsize=6)


def too_wide(figure, axes):
    figure.set_figwidth(2 * style.TEXT_WIDTH)


def slanted(figure, axes):
    axes.set_xticks([0, 1], ["left", "right"], rotation=45)


def bare_thousands(figure, axes):
    axes.set_title("at 12000 observations")


def outside_the_figure(figure, axes):
    figure.text(0.9, 0.5, "words that run over the edge")


def outside_its_panel(figure, axes):
    style.write_note(axes, 0.9, 0.5, "words that run over the axes")


def wide_legend(figure, axes):
    axes.plot([0, 1], label="a line")
    axes.legend(title="a note that is far longer than the panel is wide, " * 3)


def labels_that_collide(figure, axes):
    axes.set_xticks([0.5, 0.52], ["first label", "second label"])


def same_line_in_two_hues(figure, axes):
    # In grey these two differ by a hundredth.
    axes.plot([0, 1], color=style.GREEN, label="one")
    axes.plot([1, 0], color=style.VERMILLION, label="other")
    axes.legend()


FLAWS = {
    small_letters: "'hardly seen' is printed in 6.0 points",
    too_wide: "is printed in 3.5 points",
    slanted: "'left' is slanted",
    bare_thousands: "'at 12000 observations' has a number without a comma",
    outside_the_figure: "'words that run over the edge' leaves the figure",
    outside_its_panel: "'words that run over the axes' leaves its panel",
    wide_legend: "the legend of 'a line' leaves its panel",
    labels_that_collide: "'first label' overlaps 'second label'",
    same_line_in_two_hues: "'one' and 'other' look alike without colour",
}


@pytest.mark.parametrize("spoil", FLAWS, ids=lambda spoil: spoil.__name__)
def test_every_kind_of_flaw_is_found_and_a_good_figure_has_none(spoil):
    figure, axes = style.new_figure()
    axes[0, 0].plot([0, 1])
    figure.draw_without_rendering()
    assert find_flaws(figure, widest=style.TEXT_WIDTH) == []
    spoil(figure, axes[0, 0])
    figure.draw_without_rendering()
    found = find_flaws(figure, widest=style.TEXT_WIDTH)
    assert any(FLAWS[spoil] in flaw for flaw in found), found


@pytest.mark.parametrize(
    "line", [{"linestyle": "--"}, {"marker": "s"}, {"linewidth": 5}, {"color": style.BLACK}]
)
def test_dashes_marks_widths_and_greys_tell_lines_apart(line):
    figure, axes = style.new_figure()
    axes[0, 0].plot([0, 1], color=style.GREEN, label="one")
    axes[0, 0].plot([1, 0], **{"color": style.VERMILLION, "label": "other"} | line)
    axes[0, 0].legend()
    figure.draw_without_rendering()
    assert find_flaws(figure, widest=style.TEXT_WIDTH) == []


def test_ticks_that_are_not_drawn_do_not_count():
    figure, axes = style.new_figure()
    axes[0, 0].plot([1e-3, 1], [1e-12, 1])
    axes[0, 0].set(xscale="log", yscale="log", ylim=(1e-3, 1))
    figure.draw_without_rendering()
    assert find_flaws(figure, widest=style.TEXT_WIDTH) == []


@pytest.mark.parametrize(("spread", "said"), [(1e-3, False), (1.0, True)])
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_bands_are_named_where_they_can_be_seen(spread, said, scale):
    figure, axes = style.new_figure()
    mean = np.array([2.0, 3.0, 4.0])
    summary = pd.DataFrame({"mean": mean, "low": mean - spread, "high": mean + spread})
    style.draw_curve(axes[0, 0], summary, style.Look("curve", style.BLUE, "o"))
    axes[0, 0].set_yscale(scale)
    assert ("bands" in style.band_words(figure)) == said


def test_saved_numbers_have_commas_and_flaws_are_told(tmp_path, capsys):
    figure, axes = style.new_figure()
    axes[0, 0].plot([0, 3000], [-2000, 0])
    style.save_figure(figure, pdf=tmp_path / "a.pdf", png=tmp_path / "a.png")
    labels = [t.get_text() for t in (*axes[0, 0].get_xticklabels(), *axes[0, 0].get_yticklabels())]
    assert {"3,000", "−2,000", "0"} <= set(labels)
    assert capsys.readouterr().out == ""
    figure, axes = style.new_figure()
    axes[0, 0].set_title("of 12000")
    style.save_figure(figure, pdf=tmp_path / "b.pdf", png=tmp_path / "b.png")
    assert "b.pdf: 'of 12000' has a number without a comma" in capsys.readouterr().out


def test_a_rule_looks_the_same_in_every_figure():
    same = {"proposed": "proposed", "equal": "uniform", "cardinality": "cardinality"}
    for rule, model in same.items():
        mine, other = ALLOCATION_RULES[rule], MODELS[model]
        assert (mine.color, mine.marker) == (other.color, other.marker)
    assert tuple(PREDICTORS) == CATEGORICAL

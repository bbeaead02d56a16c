"""The parts of the report page without a browser: words, numbers, and holes that are refused."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from embedalloc.study.claims.verdicts import CLAIMS, SECTIONS, VERDICTS, count_verdicts
from embedalloc.study.heart.table1 import (
    METRIC_LABELS,
    METRICS,
    MODEL_LABELS,
    MODELS,
    PAPER,
    PAPER_METRICS,
)
from embedalloc.study.page.provenance import find_commit, sum_costs
from embedalloc.study.page.render import emphasise, read_pictures
from embedalloc.study.page.report import (
    TABLES,
    count_paired,
    find_places,
    group_readings,
    summarise,
    tabulate_everything,
    tabulate_paper,
    weigh_differences,
)
from embedalloc.study.workflow.machine import find_versions
from embedalloc.study.workflow.tables import TableError, write_table
from tests.oracles.report_like import (
    HOSTILE,
    claims_frame,
    paired_frame,
    params,
    png,
    receipts,
    sources,
    table1_frame,
    write_multiverse,
    write_report,
)
from tests.places import ROOT

REPORT = ROOT / "workflow/report"
FIGURES = yaml.safe_load((REPORT / "figures.yaml").read_text())
BEYOND = yaml.safe_load((REPORT / "figures_multiverse.yaml").read_text())
ANCHORS = dict.fromkeys(FIGURES, TABLES["table1"]) | TABLES


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def multiverse(tmp_path_factory):
    return write_multiverse(tmp_path_factory.mktemp("multiverse"))


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ((3, 0, 0, 0, 0), "All 3 claims are reproduced."),
        ((0, 1, 0, 0, 0), "The claim holds in part."),
        ((2, 0, 1, 0, 0), "Of the paper’s 3 claims, 2 are reproduced and 1 is not reproduced."),
        ((0, 2, 0, 0, 1), "Of the paper’s 3 claims, 2 hold in part and 1 cannot be tested."),
        ((0, 2, 1, 0, 0), "Of the paper’s 3 claims, 1 is not reproduced."),
        (
            (1, 2, 3, 1, 5),
            "Of the paper’s 12 claims, 1 is reproduced, 3 are not reproduced and 1 depends on a "
            "choice that the paper leaves open.",
        ),
    ],
)
def test_the_summary_follows_the_counts(counts, sentence):
    assert summarise(dict(zip(VERDICTS, counts, strict=True))) == sentence


def test_claims_are_counted_once_however_many_readings_they_have():
    frame = claims_frame()
    claims = group_readings(frame, ANCHORS)
    assert len(claims) == frame["claim"].nunique() < len(frame)
    assert (
        count_verdicts(frame) == frame.drop_duplicates("claim")["verdict"].value_counts().to_dict()
    )
    order = [claim["section"] for claim in claims]
    assert order == sorted(order, key=list(SECTIONS).index)
    two = next(claim for claim in claims if claim["verdict"].startswith("depends"))
    assert [reading["outcome"] for reading in two["readings"]] == ["holds", "fails"]


def test_what_was_not_computed_is_not_shown(tmp_path):
    page = write_report(tmp_path)
    frame = claims_frame()
    assert page.count('<p class="estimate">') == frame["estimate"].notna().sum() < len(frame)
    assert "nan" not in page[page.index('id="claims"') : page.index('id="figures"')]


@pytest.mark.parametrize("column", ["evidence", "why", "data", "statistic"])
def test_a_claim_without_evidence_is_refused_by_name(column):
    frame = claims_frame()
    frame.loc[frame["claim"] == "exp2-1-0", column] = " "
    with pytest.raises(TableError, match=rf"claim 'exp2-1-0': nothing in column '{column}'"):
        group_readings(frame, ANCHORS)


def test_a_claim_whose_figure_is_not_on_the_page_is_refused_by_name():
    frame = claims_frame()
    frame.loc[frame["claim"] == "exp2-1-0", "figure"] = "figures/lost.pdf"
    with pytest.raises(TableError, match="claim 'exp2-1-0': figure 'lost' is not on the page"):
        group_readings(frame, ANCHORS)


def test_a_missing_image_caption_or_section_is_refused_by_name(tmp_path):
    image, caption = tmp_path / "one.png", tmp_path / "one.rst"
    entry = {"one": {"section": "exp1", "title": "One", "alt": "A line."}}
    with pytest.raises(TableError, match="figure 'one': its image is missing"):
        read_pictures(entry, [image], [caption], SECTIONS)
    image.write_bytes(png(4, 2))
    with pytest.raises(TableError, match="figure 'one': its caption is missing"):
        read_pictures(entry, [image], [caption], SECTIONS)
    caption.write_text("Words\nof it.\n")
    (picture,) = read_pictures(entry, [image], [caption], SECTIONS)
    assert (picture.width, picture.height, picture.caption) == (4, 2, "Words of it.")
    assert find_places([picture])["one"].id == "figure-one"
    with pytest.raises(TableError, match="figure 'one': unknown section 'exp9'"):
        read_pictures({"one": entry["one"] | {"section": "exp9"}}, [image], [caption], SECTIONS)
    image.write_bytes(b"GIF89a")
    with pytest.raises(TableError, match=r"one\.png: not a PNG image"):
        read_pictures(entry, [image], [caption], SECTIONS)


def test_every_figure_has_words_and_every_caption_belongs_to_an_output():
    captions = {path.stem for path in REPORT.glob("*.rst")}
    assert captions == {*FIGURES, *BEYOND, *TABLES, "report", "multiverse"}
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    for name in captions:
        assert f'caption="../report/{name}.rst"' in rules, name
        text = (REPORT / f"{name}.rst").read_text()
        # Plain paragraphs read the same as reStructuredText and on the page.
        assert not set(text) & set("*`|{}<>"), name
        assert len(text.strip()) > 40, name
    for name, entry in (FIGURES | BEYOND).items():
        assert set(entry) == {"section", "title", "alt"}, name
        assert entry["section"] in {*SECTIONS, "multiverse"}, name
        assert len(entry["alt"]) > 80, name


def test_text_is_escaped(page, multiverse):
    assert HOSTILE not in page
    assert HOSTILE not in multiverse
    assert "a &lt; b &amp; &#34;c&#34; &gt; d &lt;script&gt;document.title" in page
    assert "A note &lt; another." in page
    assert "<strong>No</strong> test set &lt; 9." in page
    assert str(emphasise("**a<b** c `d_j` <i>")) == (
        "<strong>a&lt;b</strong> c <code>d_j</code> &lt;i&gt;"
    )


class Outline(HTMLParser):
    """Headings, images and what a page refers to."""

    def __init__(self, page):
        super().__init__()
        self.levels, self.images, self.ids, self.links, self.elsewhere = [], [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag in ("h1", "h2", "h3", "h4", "h5"):
            self.levels.append(int(tag[1]))
        if tag == "img":
            self.images.append(attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        for name in ("href", "src"):
            value = attributes.get(name)
            if value and value.startswith("#"):
                self.links.append(value[1:])
            elif value and not value.startswith("data:"):
                self.elsewhere.append(value)


def test_shares_of_settings_stand_beside_the_verdicts(page, multiverse):
    judged = claims_frame().drop_duplicates("claim").set_index("claim")
    words = "holds in 50 % of 40 settings (50 to 50 %), 7 of them unsettled"
    assert multiverse.count(f"<td>{words}</td>") == 2
    for claim in ("exp1-1-0", "exp3-2-0"):
        row = next(r for r in multiverse.split("<tr>") if judged["statement"][claim] in r)
        assert f"{judged['verdict'][claim]}</span>" in row
        assert words in row
    assert words not in page


def test_tables_of_the_multiverse_stand_on_its_page(page, multiverse):
    for title in ("What overturns the default", "What decides", "Over random settings"):
        assert f"<h3>{title}</h3>" in multiverse
        assert title not in page
    assert "(<code>workflow/multiverse.yaml</code>)" in multiverse
    assert '<th scope="row">response-aware (uses y)</th><td>' in multiverse
    assert "rank 30 % (10: 0.50, 20: 0.50)" in multiverse
    assert "<caption><span>Over random settings</span></caption>" in multiverse


def test_the_multiverse_page_has_its_figures_in_order(page, multiverse):
    outline = Outline(multiverse)
    assert outline.levels.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(outline.levels, outline.levels[1:], strict=False))
    assert len(set(outline.ids)) == len(outline.ids)
    assert set(outline.links) <= set(outline.ids)
    assert outline.elsewhere == []
    assert [image["alt"] for image in outline.images] == [e["alt"] for e in BEYOND.values()]
    assert all(entry["title"] not in page for entry in BEYOND.values())


def test_the_report_names_the_page_of_the_multiverse(page):
    assert "<code>snakemake multiverse</code> makes" in page


def test_headings_are_in_order_and_links_lead_somewhere(page):
    outline = Outline(page)
    assert outline.levels.count(1) == 1
    assert outline.levels[0] == 1
    assert all(b - a <= 1 for a, b in zip(outline.levels, outline.levels[1:], strict=False))
    assert len(set(outline.ids)) == len(outline.ids)
    assert set(outline.links) <= set(outline.ids)
    assert outline.elsewhere == []
    assert len(outline.images) == len(FIGURES)
    for image, entry in zip(outline.images, FIGURES.values(), strict=True):
        assert image["alt"].startswith(entry["alt"])
    # What was found is computed: the claims that the figure decides, with their verdicts.
    shown = next(i for i in outline.images if i["alt"].startswith(FIGURES["exp1_main"]["alt"]))
    words = "Of the paper’s claims: Statement 0 of exp1, reproduced. (reproduced)"
    assert words in shown["alt"]


def test_no_best_is_marked_and_what_differences_are_worth_is_said(page):
    compact = tabulate_paper(table1_frame())
    assert [row["label"] for row in compact["rows"]] == [MODEL_LABELS[model] for model in PAPER]
    first = compact["rows"][0]["cells"][0]
    assert (first["mean"], first["paper"]) == (0.5, PAPER["proposed"][0])
    table = page[page.index('class="compact"') : page.index("further down")]
    assert "best" not in table.replace("no best is marked", "")
    # Of four rivals and seven metrics, F1 is decided against each rival.
    assert "4 of the 28 differences" in table
    paired = paired_frame()
    assert "none of the 28 differences" in weigh_differences(paired.assign(p_holm=1.0))
    beyond = ~paired["rival"].isin(PAPER) | paired["metric"].isin({*METRICS} - {*PAPER_METRICS})
    decided = paired.assign(p_holm=1.0)
    decided.loc[beyond, "p_holm"] = 0.0
    assert "none of the 28 differences" in weigh_differences(decided)


def test_every_table_has_a_caption_of_its_own(page, multiverse):
    for text in (page, multiverse):
        captions = re.findall(r"<caption><span>(.*?)</span></caption>", text)
        assert len(captions) == text.count("<table") == len(set(captions))


def test_a_run_without_some_columns_still_gives_tables():
    table = table1_frame()
    table = table[table["metric"].isin(["accuracy", "brier"]) & table["model"].isin(MODELS[:3])]
    assert tabulate_paper(table)["heads"] == ["Acc", "Brier"]
    assert [row["label"] for row in tabulate_everything(table)["rows"]] == [
        "proposed",
        "one-hot",
        "unconstrained",
    ]


def test_the_tabulate_everything_holds_every_model_and_metric():
    full = tabulate_everything(table1_frame())
    assert full["heads"] == list(METRIC_LABELS.values())
    assert len(full["rows"]) == len(MODELS)
    assert sum(row["printed"] for row in full["rows"]) == len(PAPER)


def test_paired_differences_count_for_the_side_that_they_favour():
    paired = paired_frame()
    brier = (paired["rival"] == "uniform") & (paired["metric"] == "brier")
    paired.loc[brier, "p_holm"] = 0.001  # a positive difference of a loss favours the rival
    by_rival = {entry["label"]: entry for entry in count_paired(paired)}
    assert (by_rival["uniform"]["proposed"], by_rival["uniform"]["rival"]) == (1, 1)
    assert (by_rival["one-hot"]["proposed"], by_rival["one-hot"]["rival"]) == (1, 0)
    assert by_rival["uniform"]["count"] == len(METRICS)


def test_costs_add_up_by_rule():
    simulate, plot = sum_costs(receipts())
    assert simulate == {
        "rule": "simulate_exp1",
        "jobs": 2,
        "cpu": 3.5,
        "seconds": 3.0,
        "megabytes": 100.5,
    }
    assert plot["rule"] == "plot_exp1_main"


def test_versions_are_those_of_the_jobs_and_the_page_says_if_they_differ(tmp_path, page):
    assert "<span>numpy</span> <code>2.4.6</code>" in page
    assert "<dt>Linear algebra</dt><dd>openblas Zen</dd>" in page
    assert "different sets of versions" not in page
    mixed = write_report(tmp_path, made=receipts(numpy="2.3.0"))
    assert "<span>numpy</span> <code>2.4.6 (2 jobs), 2.3.0 (1 job)</code>" in mixed
    assert "with 2 different sets of versions and processors" in mixed


def test_provenance_names_versions_and_the_commit(tmp_path):
    versions = find_versions()
    assert versions["Python"] == sys.version.split()[0]
    assert {"numpy", "torch", "snakemake"} <= set(versions)
    assert "pytest" not in versions
    assert find_commit(tmp_path) is None
    checkout = tmp_path / "checkout"
    checkout.mkdir()

    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(
            ["git", *identity, *arguments], cwd=checkout, check=True, capture_output=True
        )

    git("init")
    assert find_commit(checkout) is None
    git("commit", "--allow-empty", "-m", "first")
    commit = find_commit(checkout)
    assert len(commit) == 40
    (checkout / "new").write_text("x")
    assert find_commit(checkout) == f"{commit} with uncommitted changes"
    (checkout / "inside").mkdir()
    assert find_commit(checkout / "inside") is None


def test_another_configuration_is_named_as_such(tmp_path, page):
    notice = "This run does not use the default configuration."
    assert notice not in page
    other = params()
    other.config_digest = "0" * 64
    assert notice in write_report(tmp_path, about=other)


def test_a_section_without_claims_leaves_no_empty_heading(tmp_path):
    source = sources(tmp_path)
    frame = claims_frame()
    write_table(Path(source.claims), frame[frame["section"] != "exp2"], CLAIMS, settings={}, seed=1)
    page = write_report(tmp_path, source)
    assert 'data-group="exp1"' in page
    assert 'data-group="exp2"' not in page


def test_the_page_costs_little_to_import():
    """Its job starts in a second because it loads no statistics, figures or networks."""
    script = (
        f"import runpy, sys; runpy.run_path({str(ROOT / 'scripts/write_report.py')!r});"
        "print(sorted({'scipy', 'matplotlib', 'seaborn', 'torch', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

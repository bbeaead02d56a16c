"""Tests of the table audit: against brute force, on rounding borders, and on bad tables."""

import functools
import time
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from embedalloc.audit import AuditError, audit_table, read_metrics_table
from embedalloc.audit import matrices as matrices_module
from embedalloc.audit import printed as printed_module
from embedalloc.audit.printed import ConfusionMatrix, implied_metrics

METRICS = ("accuracy", "precision", "recall", "f1", "mcc")
PAPER_CSV = """Model,Acc,F1,Prec,MCC,Val Logloss,Brier,ECE,Time/Epoch
Proposed,0.837,0.851,0.860,0.671,0.400,0.121,0.037,0.054
One-Hot,0.804,0.824,0.824,0.604,0.517,0.166,0.158,0.029
Unconstrained,0.815,0.833,0.836,0.620,0.472,0.148,0.125,0.059
Uniform Budget,0.819,0.841,0.820,0.632,0.553,0.182,0.207,0.057
Cardinality Heuristic,0.757,0.756,0.852,0.534,0.526,0.173,0.105,0.072
"""
PAPER_MATRICES = {
    "Proposed": (129, 21, 24, 102),
    "One-Hot": (126, 27, 27, 96),
    "Unconstrained": (127, 25, 26, 98),
    "Uniform Budget": (132, 29, 21, 94),
    "Cardinality Heuristic": (104, 18, 49, 105),
}


@functools.cache  # brute force asks for the same again and again
def decimal_value(matrix, metric):
    """Value of a metric to 60 digits, by textbook formulas of its own; None where undefined."""
    tp, fp, fn, tn = map(Decimal, matrix)
    with localcontext() as context:
        context.prec = 60
        top, bottom = {
            "accuracy": (tp + tn, tp + fp + fn + tn),
            "precision": (tp, tp + fp),
            "recall": (tp, tp + fn),
            "f1": (tp, tp + (fp + fn) / 2),
            "mcc": (tp * tn - fp * fn, ((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)).sqrt()),
        }[metric]
        return top / bottom if bottom else None


def printed(matrix, metrics, decimals, rounding=ROUND_HALF_EVEN):
    values = {m: decimal_value(matrix, m) for m in metrics}
    step = Decimal(1).scaleb(-decimals)
    return {m: str(v.quantize(step, rounding)) for m, v in values.items() if v is not None}


def usable(row):
    return "accuracy" in row or len(row) > 1


def fits(matrix, metric, text):
    value = decimal_value(matrix, metric)
    half = Decimal(5).scaleb(-len(text.partition(".")[2]) - 1)
    return value is not None and abs(value - Decimal(text)) <= half


def brute_force(rows, n_max):
    """All (n, positives) with the fewest unexplained cells, by looking at every matrix."""
    best, cost = {}, 10**9
    for n in range(1, n_max + 1):
        for p in range(n + 1):
            chosen, total = {}, 0
            for name, row in rows.items():
                costs = {}
                for tp in range(p + 1):
                    for fp in range(n - p + 1):
                        m = ConfusionMatrix(tp, fp, p - tp, n - p - fp)
                        costs[m] = sum(not fits(m, c, text) for c, text in row.items())
                least = min(costs.values())
                total += least
                if least < len(row):
                    chosen[name] = tuple(sorted(m for m, c in costs.items() if c == least))
                else:
                    chosen[name] = ()
            if total < cost:
                best, cost = {}, total
            if total == cost:
                best[n, p] = chosen
    return cost, best


def as_dict(audit):
    return {(s.n, s.positives): dict(s.matrices) for s in audit.solutions}


counts = st.integers(0, 60)
metric_sets = st.sets(st.sampled_from(METRICS), min_size=2)


@settings(max_examples=60, deadline=None)
@given(st.tuples(counts, counts, counts, counts), metric_sets, st.integers(2, 5), st.booleans())
def test_any_rounded_matrix_is_recovered(matrix, metrics, decimals, half_up):
    n = sum(matrix)
    assume(n)
    row = printed(matrix, metrics, decimals, ROUND_HALF_UP if half_up else ROUND_HALF_EVEN)
    assume(usable(row))
    audit = audit_table({"model": row}, n_min=max(1, n - 3), n_max=n + 3, max_solutions=10**6)
    assert audit.n_unexplained == 0
    found = {m for s in audit.solutions for m in s.matrices["model"]}
    assert ConfusionMatrix(*matrix) in found
    assert all(fits(m, c, text) for m in found for c, text in row.items())


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rows_of_a_shared_test_set_are_recovered_together(data):
    positives, negatives = data.draw(st.integers(1, 150)), data.draw(st.integers(1, 150))
    rows, truth = {}, {}
    for name in "abc":
        tp, fp = data.draw(st.integers(0, positives)), data.draw(st.integers(0, negatives))
        truth[name] = ConfusionMatrix(tp, fp, positives - tp, negatives - fp)
        rows[name] = printed(truth[name], ("accuracy", "precision", "f1", "mcc"), 3)
    n = positives + negatives
    audit = audit_table(rows, n_min=max(1, n - 20), n_max=n + 20, max_solutions=10**6)
    assert audit.n_unexplained == 0
    matrices = as_dict(audit)[n, positives]
    assert all(truth[name] in matrices[name] for name in rows)


@settings(max_examples=6, deadline=None)
@given(st.integers(3, 24), metric_sets, st.integers(1, 3), st.data())
def test_a_row_has_the_solutions_of_brute_force(n, metrics, decimals, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, n), min_size=3, max_size=3)))
    matrix = (cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1], n - cuts[2])
    row = printed(matrix, metrics, decimals)
    assume(usable(row))
    best = {}
    for size in range(1, 25):
        for p in range(size + 1):
            both = [
                ConfusionMatrix(tp, fp, p - tp, size - p - fp)
                for tp in range(p + 1)
                for fp in range(size - p + 1)
            ]
            fitting = [m for m in both if all(fits(m, c, text) for c, text in row.items())]
            if fitting:
                best[size, p] = {"model": tuple(sorted(fitting))}
    audit = audit_table({"model": row}, n_max=24, max_solutions=10**6)
    assert (audit.n_unexplained, as_dict(audit)) == (0, best)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_fewest_unexplained_cells_are_those_of_brute_force(data):
    """Values drawn at random, so that many cells fit nothing and deep levels are reached."""
    rows = {}
    for name in "ab"[: data.draw(st.integers(1, 2))]:
        metrics = sorted(data.draw(metric_sets))
        low = {m: -99 if m == "mcc" else 0 for m in metrics}
        cells = {m: Decimal(data.draw(st.integers(low[m], 100))).scaleb(-2) for m in metrics}
        rows[name] = {m: f"{v:.2f}" for m, v in cells.items()}
    audit = audit_table(rows, n_max=12, max_solutions=10**6)
    assert (audit.n_unexplained, as_dict(audit)) == brute_force(rows, 12)


def test_ties_fit_both_neighbours_and_nothing_beyond():
    # 1/8 = 0.125 is printed as 0.12 (half to even) or 0.13 (half up)
    for text, expected in (("0.12", 0), ("0.13", 0), ("0.11", 1), ("0.14", 1)):
        assert audit_table({"m": {"acc": text}}, n=8).n_unexplained == expected
    # MCC of (3, 1, 1, 3) is exactly 1/2, of its mirror -1/2: rational, and a tie at 0 decimals
    for matrix, texts in (((3, 1, 1, 3), ("0", "1", "0.5")), ((1, 3, 3, 1), ("0", "-1", "-0.5"))):
        for text in texts:
            audit = audit_table(
                {
                    "m": {
                        "recall": "0.75" if matrix[0] == 3 else "0.25",
                        "precision": "0.75" if matrix[0] == 3 else "0.25",
                        "mcc": text,
                    }
                },
                n=8,
                positives=4,
            )
            assert audit.n_unexplained == 0
            assert ConfusionMatrix(*matrix) in audit.solutions[0].matrices["m"]


def test_mcc_fits_its_own_rounding_and_no_neighbour():
    for matrix in ((7, 2, 3, 11), (40, 3, 9, 31), (2, 9, 8, 3)):
        for decimals in (2, 4, 6):
            text = printed(matrix, ("mcc",), decimals)["mcc"]
            for step in (-1, 0, 1):
                value = Decimal(text) + Decimal(step).scaleb(-decimals)
                row = {
                    "acc": str(round(Decimal(matrix[0] + matrix[3]) / sum(matrix), 6)),
                    "mcc": str(value),
                }
                audit = audit_table({"m": row}, n=sum(matrix), positives=matrix[0] + matrix[2])
                explained = (
                    audit.n_unexplained == 0
                    and ConfusionMatrix(*matrix) in audit.solutions[0].matrices["m"]
                )
                assert explained == (step == 0)


def test_a_tie_of_mcc_fits_both_neighbours():
    # 16 positives and 16 negatives, 16 called positive: MCC = (TP - FP) / 16 = 2 / 16 = 0.125
    for matrix, sign, share in (((9, 7, 7, 9), "", "0.5625"), ((7, 9, 9, 7), "-", "0.4375")):
        for text, expected in (("0.11", 1), ("0.12", 0), ("0.13", 0), ("0.14", 1)):
            row = {"precision": share, "recall": share, "mcc": sign + text}
            audit = audit_table({"m": row}, n=32, positives=16)
            assert audit.n_unexplained == expected
            assert audit.solutions[0].matrices["m"][0] == matrix or expected


def test_floats_decide_as_integers_do(monkeypatch):
    rows = {k: printed(m, ("precision", "mcc"), 2) for k, m in list(PAPER_MATRICES.items())[:2]}
    with_floats = audit_table(rows, n_max=60, max_solutions=10**6)
    monkeypatch.setattr(matrices_module, "FLOAT_MARGIN", 10.0)
    assert audit_table(rows, n_max=60, max_solutions=10**6) == with_floats


def test_small_pieces_change_nothing(monkeypatch):
    rows = {k: printed(m, METRICS, 2) for k, m in list(PAPER_MATRICES.items())[:2]}
    in_large_pieces = audit_table(rows, n_max=80)
    monkeypatch.setattr(matrices_module, "PIECE", 7)
    monkeypatch.setattr(printed_module, "PAIRS_AT_ONCE", 100)
    assert audit_table(rows, n_max=80) == in_large_pieces


@pytest.fixture
def paper(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(PAPER_CSV, encoding="utf-8")
    return read_metrics_table(path)


def test_table_of_the_paper(paper):
    assert paper.ignored == ("Val Logloss", "Brier", "ECE", "Time/Epoch")
    audit = audit_table(paper.rows)
    assert audit.n_unexplained == 1
    assert audit.complete
    smallest = audit.solutions[0]
    assert (smallest.n, smallest.positives) == (276, 153)
    assert smallest.matrices == {k: (ConfusionMatrix(*m),) for k, m in PAPER_MATRICES.items()}
    (cell,) = smallest.unexplained
    assert (cell.row, cell.column, cell.printed) == ("Unconstrained", "mcc", "0.620")
    assert round(cell.implied, 3) == 0.626
    # 276 is not the only size: its multiples and, from 1,379 on, others fit as well.
    sizes = [s.n for s in audit.solutions]
    assert len(sizes) == 27
    assert sizes[:6] == [276, 552, 828, 1104, 1379, 1380]
    assert {(c.row, c.column) for s in audit.solutions for c in s.unexplained} == {
        ("Unconstrained", "mcc")
    }
    assert "mcc printed 0.620, implied 0.626" in str(audit)
    assert "n = 276 with 153 positives" in str(audit)


def test_table_of_the_paper_without_mcc(paper):
    rows = {k: {c: v for c, v in row.items() if c != "mcc"} for k, row in paper.rows.items()}
    audit = audit_table(rows)
    assert audit.n_unexplained == 0
    assert [(s.n, s.positives) for s in audit.solutions[:3]] == [(276, 153), (551, 306), (552, 306)]


@pytest.mark.parametrize("column", ["accuracy", "f1", "precision", "mcc"])
def test_a_corrupted_cell_is_named(column):
    rows = {
        k: printed(m, ("accuracy", "f1", "precision", "mcc"), 3) for k, m in PAPER_MATRICES.items()
    }
    right = rows["One-Hot"][column]
    rows["One-Hot"][column] = str(Decimal(right) - Decimal("0.040"))
    audit = audit_table(rows, n_max=400)
    assert audit.n_unexplained == 1
    (cell,) = next(s for s in audit.solutions if s.n == 276).unexplained
    assert (cell.row, cell.column) == ("One-Hot", column)
    assert f"{cell.implied:.3f}" == right


def test_percent_known_size_and_known_positives():
    row = {"acc": "83.7", "F1-score": "85.1", "PPV": Decimal("86.0"), "MCC": "67.1"}
    audit = audit_table({"m": row}, n=276, positives=153, percent=True)
    assert as_dict(audit) == {(276, 153): {"m": (ConfusionMatrix(129, 21, 24, 102),)}}
    by_positives = audit_table({"m": row}, positives=153, n_max=300, percent=True)
    assert {s.positives for s in by_positives.solutions} == {153}
    with pytest.raises(AuditError, match="values in percent need the option percent"):
        audit_table({"m": row})
    wrong = audit_table({"m": row | {"MCC": "60.0"}}, n=276, positives=153, percent=True)
    assert [str(c) for c in wrong.solutions[0].unexplained] == ["mcc printed 60.0, implied 67.1"]


def test_undefined_metrics_fit_only_on_request():
    all_positive = {"acc": "0.60", "recall": "1.00", "mcc": "0.00"}
    assert audit_table({"m": all_positive}, n=10, positives=6).n_unexplained == 1
    audit = audit_table({"m": all_positive}, n=10, positives=6, undefined_as_zero=True)
    assert audit.n_unexplained == 0
    assert audit.solutions[0].matrices["m"] == (ConfusionMatrix(6, 4, 0, 0),)
    none_positive = {"acc": "0.60", "precision": "0.00", "f1": "0.00"}
    assert audit_table({"m": none_positive}, n=10, positives=4).n_unexplained == 1
    audit = audit_table({"m": none_positive}, n=10, positives=4, undefined_as_zero=True)
    assert audit.solutions[0].matrices["m"] == (ConfusionMatrix(0, 0, 4, 6),)


def test_a_long_list_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(
        printed_module, "PAIRS_AT_ONCE", 1000
    )  # so that several blocks are searched
    audit = audit_table({"m": {"acc": "0.8"}}, max_solutions=5, n_max=100)
    assert len(audit.solutions) == 5
    assert not audit.complete
    assert "the list is cut" in str(audit)
    # the cut list is still replaced when a larger test set explains more
    late = audit_table({"m": {"acc": "0.8370", "f1": "0.8515"}}, max_solutions=1, n_max=700)
    assert late.n_unexplained == 0


def test_a_limit_on_unexplained_cells_ends_the_search():
    rows = {"m": {"acc": "0.95", "precision": "0.10", "f1": "0.90", "mcc": "-0.80"}}
    audit = audit_table(rows, n_max=50, max_unexplained=0)
    assert audit.solutions == ()
    assert audit.n_unexplained == 1
    assert "at least 1 unexplained" in str(audit)


def test_a_row_without_any_fit_has_no_matrix():
    audit = audit_table({"m": {"acc": "0.123"}}, n=2, positives=1)
    assert audit.solutions[0].matrices == {"m": ()}
    assert audit.solutions[0].unexplained[0].implied is None
    assert "implied nothing" in str(audit)


def test_implied_metrics_are_exact():
    metrics = implied_metrics(127, 25, 26, 98)
    assert metrics.pop("mcc") == pytest.approx(0.6263, abs=5e-5)
    assert metrics == {
        "accuracy": Fraction(225, 276),
        "precision": Fraction(127, 152),
        "recall": Fraction(127, 153),
        "f1": Fraction(254, 305),
    }
    assert implied_metrics(1, 3, 3, 1)["mcc"] == -0.5
    assert implied_metrics(0, 0, 4, 6)["precision"] is None
    assert implied_metrics(0, 0, 0, 0)["accuracy"] is None
    for bad in (-1, 1.0, True, "1"):
        with pytest.raises(AuditError, match="fp = "):
            implied_metrics(1, bad, 1, 1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"acc": "1.2"},
            r"row 'm', column 'acc', value '1\.2': 0 to 1 is allowed; values in percent",
        ),
        ({"acc": "-0.1"}, r"column 'acc', value '-0\.1': 0 to 1 is allowed$"),
        ({"acc": "0.9", "mcc": "-1.1"}, r"column 'mcc', value '-1\.1': -1 to 1 is allowed$"),
        ({"acc": "good"}, r"value 'good': a plain decimal number"),
        ({"acc": "nan"}, r"value 'nan': a plain decimal number"),
        ({"acc": Decimal("NaN")}, r"value 'NaN': a plain decimal number"),
        ({"acc": ""}, r"value '': a plain decimal number"),
        ({"acc": "8e-1"}, r"value '8e-1': a plain decimal number"),
        ({"acc": "\u0661"}, "a plain decimal number"),
        ({"acc": 0.62}, "float does not keep the printed decimals"),
        ({"acc": "0.1234567"}, r"value '0\.1234567': at most 6 decimals are allowed"),
        ({"acc": "0.9", "auc": "0.9"}, "column 'auc'.*unknown metric"),
        ({"acc": "0.9", "Accuracy": "0.9"}, "two columns for one metric"),
        ({"f1": "0.9"}, "row 'm': only f1 given; accuracy or two of"),
        ({}, "row 'm': only no metric given"),
    ],
)
def test_bad_cells_are_refused_by_name(row, message):
    with pytest.raises(AuditError, match=message):
        audit_table({"m": row})


@pytest.mark.parametrize(
    "options",
    [
        {"n_min": 0},
        {"n_min": 9, "n_max": 8},
        {"n_max": 10**6},
        {"n": 5, "positives": 6},
        {"positives": -1},
        {"max_solutions": 0},
        {"max_unexplained": -1},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(AuditError):
        audit_table({"m": {"acc": "0.8"}}, **options)
    with pytest.raises(AuditError):
        audit_table({})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty; a header"),
        (b"model,acc\n", "empty; a header"),
        (b"model,loss\na,0.1\n", "no metric after the first of the columns"),
        (b"acc\n0.1\n", "no metric after the first of the columns"),
        (b"model;acc\na;0.1\n", "no metric after the first of the columns"),
        (b"model,acc,Accuracy\na,0.1,0.1\n", "more than one column for accuracy"),
        (b"model,acc\na,0.1,0.2\n", r"line 2 \(row 'a'\) has 3 cells, the header has 2"),
        (b"model,acc\n\na,0.1\nb\n", r"line 4 \(row 'b'\) has 1 cells"),
        (b"model,acc\na,0.1\na,0.2\n", "line 3: model name 'a' is empty, used before"),
        (b"model,acc\n,0.1\n", "line 2: model name '' is empty"),
        (b"model,acc\n\xff\xfe,0.1\n", "byte 10 is not UTF-8"),
        (b"model,acc\n" + b"a,0.1\n" * 2000 + b"\xff,0.1\n", "byte 12010 is not UTF-8"),
        (b'model,acc\n"a,0.1\n', "not readable as CSV"),
        (b"model,acc\na\x00,0.1\n", "(not printable|not readable as CSV)"),
    ],
)
def test_bad_files_are_refused(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(AuditError, match=message):
        read_metrics_table(path)


def test_a_readable_file_may_have_a_mark_blank_lines_and_dashes(tmp_path):
    path = tmp_path / "good.csv"
    path.write_bytes(b"\xef\xbb\xbfmodel, Sensitivity ,F1 score,MCC,note\r\n\r\na,0.5,0.5,-,x\r\n")
    assert read_metrics_table(path) == ({"a": {"recall": "0.5", "f1": "0.5"}}, ("note",))


def test_accuracies_alone_permit_millions_of_matrices_and_still_end():
    rows = {"a": {"accuracy": "0.84"}, "b": {"accuracy": "0.81"}}
    started = time.process_time()
    cut = audit_table(rows, n=3000)
    assert time.process_time() - started < 10
    assert cut.n_unexplained == 0
    assert not cut.complete
    assert 0 < sum(len(m) for s in cut.solutions for m in s.matrices.values()) <= 100_000
    more = audit_table(rows, n=100, max_matrices=10**6)
    less = audit_table(rows, n=100, max_matrices=500)
    assert more.complete
    assert len(more.solutions) == 101
    assert less.solutions == more.solutions[: len(less.solutions)]
    assert 0 < len(less.solutions) < 101
    with pytest.raises(AuditError, match="n = 3000 with 1500 positives alone has more than 9 matr"):
        audit_table(rows, n=3000, positives=1500, max_matrices=9)


def test_progress_counts_every_size_once():
    told = []
    audit_table({"a": {"accuracy": "0.84"}}, n_min=5, n_max=700, progress=told.append)
    assert sum(told) == 696
    assert len(told) > 1

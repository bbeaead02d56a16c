"""Text as wide as the terminal, within reason, and 80 columns wide elsewhere."""

import io
import sys

import pytest

from embedalloc.text import count_columns, find_width, paragraph


class Terminal(io.StringIO):
    """Standard output that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(("columns", "width"), [(40, 80), (80, 80), (101, 101), (300, 120)])
def test_paragraphs_are_as_wide_as_the_terminal_within_reason(columns, width, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", str(columns))
    assert find_width() == width
    lines = paragraph("word " * 100).splitlines()
    assert width - 5 < max(map(count_columns, lines)) <= width
    assert " ".join(lines).split() == ["word"] * 100


@pytest.mark.parametrize("stdout", [None, io.StringIO()])
def test_a_file_or_no_console_has_80_columns(stdout, monkeypatch):
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setenv("COLUMNS", "120")
    assert find_width() == 80

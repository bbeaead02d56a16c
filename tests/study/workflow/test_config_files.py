"""A file of settings says one thing, or is refused with its name, line and key."""

import re

import pytest

from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.workflow.config_files import MAX_BYTES, check_file, check_text
from tests.places import ROOT, SMOKE

LAUGHS = "a0: &a0 [x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1\nexp1: {}\nseed: 2", "here: the key 'seed' stands twice, in lines 1 and 3"),
        ("exp1: {noise: 1, noise: 2}", "here: the key 'noise' stands twice, in lines 1 and 1"),
        ("exp1:\n  a:\n    - {b: 1,\n       'b': 2}", "the key 'b' stands twice, in lines 3 and 4"),
        ('{"a": {"b": 1,\t"b": 2}}', "here: the key 'b' stands twice, in one block"),
        ("exp1: &a {noise: *a}", "exp1.noise: nested more than 20 deep; an alias may name its"),
        ("exp1: &a [1, *a]", "exp1[1]: nested more than 20 deep"),
        (LAUGHS, "a5[6]: more than 100,000 values in all; look for repeated aliases"),
        ("[" * 100_000, "here: blocks are nested too deep"),
        ("a: [1, 2", "here, line 2: did not find expected ',' or ']'"),
        ("a: 1\n\tb: 2", "here, line 2: found"),
        ("data: 2026-02-31", "here: cannot be read (day is out of range for month)"),
        ("seed: " + "9" * 5000, "here: cannot be read (Exceeds the limit"),
        ("1: 2", "the configuration: the key 1 must be a text"),
        ("a: !!python/object:os.system x", "could not determine a constructor"),
        ("? [a]\n: 1", "found unhashable key"),
        ("a: \x00", "here: "),
    ],
)
def test_ambiguous_texts_are_refused(text, message):
    with pytest.raises(ConfigError) as caught:
        check_text(text, "here")
    assert message in str(caught.value)
    assert str(caught.value).startswith("here")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "seed: 1",
        "base: &base {a: 1}\nnext: {<<: *base, a: 2}",
        "one: {a: 1}\ntwo: {a: 1}",
        '{"a": 1,\t"b": [1, 2]}',
    ],
)
def test_clear_texts_are_taken(text):
    check_text(text, "here")


def test_our_own_files_are_clear():
    for file in (ROOT / "config.yaml", SMOKE):
        check_file(file)


def test_files_that_are_none_are_refused(tmp_path):
    file = tmp_path / "odd.yaml"
    for content, message in (
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (b"#" * (MAX_BYTES + 1), "more than 1,000,000 bytes"),
    ):
        file.write_bytes(content)
        with pytest.raises(ConfigError, match=rf"^{re.escape(str(file))}: {message}"):
            check_file(file)
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\)"):
        check_file(tmp_path)
    with pytest.raises(ConfigError, match=r"cannot be read \(No such file"):
        check_file(tmp_path / "nothing")

"""The zip: the same bytes for the same files, every changed byte noticed, hostile ones refused."""

import io
import os
import random
import stat
import zipfile

import pytest

from embedalloc.study.archive.check import find_damage
from embedalloc.study.archive.container import ArchiveError, unzip_files, zip_files
from embedalloc.study.archive.contents import CONFIGURATION, MANIFEST, METADATA, write_manifest
from embedalloc.study.archive.crate import describe_crate, digests_in

CITATION = {
    "title": "t",
    "license": "MIT",
    "version": "1",
    "references": [{"title": "The paper"}],
}


def sealed(files):
    """Files with the lists that name them, as an archive has."""
    files = {CONFIGURATION: b"seed: 1\n", **files}
    described = describe_crate(
        files, citation=CITATION, titles={}, versions={"numpy": "2"}, machine={}, commit=None
    )
    files = files | {METADATA: described}
    return files | {MANIFEST: write_manifest(files)}


FILES = sealed({"results/a.parquet": b"PAR1", "figures/b.png": b"\x89PNG" * 9, "source/c.py": b""})


def place(tmp_path, content):
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    return path


def test_an_archive_holds_what_was_put_in(tmp_path):
    assert unzip_files(place(tmp_path, zip_files(FILES))) == FILES
    assert list(find_damage(FILES)) == []
    assert zip_files(dict(reversed(FILES.items()))) == zip_files(FILES)


def test_another_reader_agrees(tmp_path):
    with zipfile.ZipFile(io.BytesIO(zip_files(FILES))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == FILES
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}


def test_every_changed_byte_is_noticed(tmp_path):
    content, rng = zip_files(FILES), random.Random(1)
    for _ in range(400):
        at = rng.randrange(len(content))
        changed = content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]
        try:
            damage = list(find_damage(unzip_files(place(tmp_path, changed))))
        except ArchiveError as error:
            damage = [str(error)]
        assert damage, at
        assert all(line.isprintable() for line in damage)


def test_cut_and_lengthened_archives_are_refused(tmp_path):
    content = zip_files(FILES)
    for odd in (b"", content[:-1], content[: len(content) // 2], content + b"x", b"x" + content):
        with pytest.raises(ArchiveError, match=r"a\.zip: "):
            unzip_files(place(tmp_path, odd))
    with pytest.raises(ArchiveError, match="No such file"):
        unzip_files(tmp_path / "nothing.zip")


def odd_zip(name="a", mode=stat.S_IFREG | 0o644, content=b"x", kind=zipfile.ZIP_STORED, times=1):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for _ in range(times):
            entry = zipfile.ZipInfo(name)
            entry.external_attr, entry.compress_type = mode << 16, kind
            archive.writestr(entry, content)
    return stream.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "../x"}, "may lie outside"),
        ({"name": "a/../../x"}, "may lie outside"),
        ({"name": "/etc/passwd"}, "may lie outside"),
        ({"name": "C:\\x"}, "may lie outside"),
        ({"name": "a//b"}, "may lie outside"),
        ({"name": "a/"}, "may lie outside"),
        ({"name": "\x1b[31m"}, r"'\\x1b\[31m' may lie outside"),
        ({"mode": stat.S_IFLNK | 0o777, "content": b"/etc/passwd"}, "is a link"),
        ({"mode": stat.S_IFIFO | 0o644}, "is a link or no file"),
        ({"content": b"0" * 10**7, "kind": zipfile.ZIP_DEFLATED}, "is compressed"),
        ({"times": 2}, "a name twice"),
        ({"mode": stat.S_IFREG | 0o600}, "bytes between the files are not as an archive's are"),
    ],
)
def test_hostile_archives_are_refused_in_one_line(options, message, tmp_path):
    with pytest.raises(ArchiveError, match=message) as caught:
        unzip_files(place(tmp_path, odd_zip(**options)))
    assert str(caught.value).isprintable()
    assert os.listdir(tmp_path) == ["a.zip"]


def test_files_that_overlap_are_refused(tmp_path):
    """Two entries of the directory that share the bytes of one file."""
    content = odd_zip(content=b"x" * 500)
    start = content.index(b"PK\x01\x02")
    directory, end = content[start : content.index(b"PK\x05\x06")], bytearray(content[-22:])
    end[8:10] = end[10:12] = (2).to_bytes(2, "little")
    end[12:16] = (2 * len(directory)).to_bytes(4, "little")
    second = directory.replace(b"a", b"b")
    with pytest.raises(ArchiveError, match=r"overlap|differ|name"):
        unzip_files(place(tmp_path, content[:start] + directory + second + bytes(end)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.pop("figures/b.png"), "figures/b.png: missing"),
        (lambda f: f.update({"results/x": b""}), "results/x: surplus, no list names it"),
        (lambda f: f.update({"results/a.parquet": b"PAR2"}), "results/a.parquet: changed, its"),
        (lambda f: f.pop(MANIFEST), f"{MANIFEST}: missing"),
        (lambda f: f.pop(METADATA), f"{METADATA}: missing"),
        (lambda f: f.update({METADATA: b"{}"}), f"{METADATA}: not a description of files"),
    ],
)
def test_damage_is_named(change, message):
    files = dict(FILES)
    change(files)
    assert any(line.startswith(message) for line in find_damage(files))


def test_lists_that_disagree_are_named():
    files = sealed({"a": b"1"}) | {"a": b"2"}
    files[MANIFEST] = write_manifest({n: c for n, c in files.items() if n != MANIFEST})
    assert list(find_damage(files)) == [f"a: {METADATA} and {MANIFEST} do not say the same of it"]


def test_the_crate_names_every_file():
    digests = digests_in(FILES[METADATA])
    assert {*digests} == {*FILES} - {METADATA, MANIFEST}

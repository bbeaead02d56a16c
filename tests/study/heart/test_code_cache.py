"""Machine code on disk: damage is noticed before the code runs, and repaired."""

import os
import random
import runpy
import shutil
from contextlib import redirect_stdout

import pytest

from embedalloc.study.heart.trainer import kernel
from embedalloc.study.heart.trainer.cache import cache_beside
from embedalloc.study.heart.trainer.network import compile_kernel

#: A compiled module as the trainer's kernel is one, quick to compile.
MODULE = """
from numba import config, njit
from embedalloc.study.heart.trainer.cache import cache_beside

CACHE = cache_beside(__file__)
config.CACHE_DIR = str(CACHE.code)

@njit(cache=True)
def total(n):
    sum = 0
    for i in range(n):
        sum += i
    return sum

with CACHE.checked():
    total(1)
print(total(101), sum(total.stats.cache_hits.values()))
"""
COMPILED, LOADED = "5050 0\n", "5050 1\n"


@pytest.fixture
def module(tmp_path):
    """The module, compiled by one process and loaded by another."""
    place = tmp_path / "small.py"
    place.write_text(MODULE)
    assert [output(place), output(place)] == [COMPILED, LOADED]
    return place


def output(module):
    """Run the module in a process of its own, a fork that has Numba loaded."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            with open(writing, "w") as said, redirect_stdout(said):
                runpy.run_path(str(module))
        finally:  # a failure leaves the output empty
            os._exit(0)
    os.close(writing)
    with open(reading) as said:
        text = said.read()
    os.waitpid(child, 0)
    return text


def test_a_change_of_another_source_compiles_again(module):
    other = module.with_name("other.py")
    other.write_text("x = 1\n")
    module.write_text(MODULE.replace("(__file__)", f"(__file__, {str(other)!r})"))
    assert [output(module), output(module)] == [COMPILED, LOADED]
    other.write_text("x = 2\n")
    assert [output(module), output(module)] == [COMPILED, LOADED]


def test_damaged_code_is_compiled_again(module):
    home = cache_beside(module).home
    files = sorted(path for path in home.rglob("*") if path.is_file() and path.name != "lock")
    assert {path.suffix for path in files} == {".nbi", ".nbc", ""}
    rng = random.Random(17)
    for path in files:
        content = path.read_bytes()
        position = rng.randrange(len(content))
        flipped = bytes([content[position] ^ 1 << rng.randrange(8)])
        path.write_bytes(content[:position] + flipped + content[position + 1 :])
    assert [output(module), output(module)] == [COMPILED, LOADED]
    data = next(path for path in home.rglob("*.nbc"))
    data.write_bytes(data.read_bytes()[:100])
    assert output(module) == COMPILED
    shutil.rmtree(home / "code")
    assert output(module) == COMPILED
    (home / "sha256").unlink()
    assert output(module) == COMPILED


def test_where_nothing_can_be_kept_each_process_compiles(module, monkeypatch):
    """Here the cache's place is taken by a file; of a read-only project the same is true."""
    home = cache_beside(module).home
    shutil.rmtree(home)
    home.write_text("a file")
    assert [output(module), output(module)] == [COMPILED, COMPILED]
    with pytest.raises(FileNotFoundError):
        os.stat(cache_beside(module).home / "code")


def test_the_trainer_is_loaded_from_there():
    compile_kernel()
    for function in (kernel.fit, kernel.logits_of):
        assert function.stats.cache_path.startswith(str(kernel.CACHE.code))

"""What made each file: every job leaves a receipt, and what reads its files asks for it.

A receipt lies in results/receipts and holds digests of the job's settings, of its code, of all
files that it read and of all that it wrote. So a file that is damaged, misplaced, or of other
settings, code or data is known whatever its date, and wherever the results were copied from;
`records` makes Snakemake ask. Receipts also say which versions and processor were at work.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.machine import describe_machine, find_versions
from embedalloc.study.workflow.places import PROJECT
from embedalloc.study.workflow.tables import TableError, digest_of

Receipt = dict[str, Any]
#: SHA-256 of files by name, none for what cannot be read.
Digests = Mapping[str, str | None]
RECEIPTS = Path("results/receipts")
LOGS = Path("results/logs")
KEYS = {"rule", "settings", "code", "inputs", "outputs", "cost", "versions", "machine"}
#: Folders whose files are made by jobs.
MADE = ("results", "figures")


def receipt_of(log: str | Path) -> Path:
    """Return where the receipt of a job lies, from its log: both are named after rule and cell."""
    return (RECEIPTS / Path(log).relative_to(LOGS)).with_suffix(".json")


def read_receipt(path: str | Path) -> Receipt | None:
    """Return a receipt as it was written; a missing or damaged one is none."""
    try:
        receipt: Receipt = json.loads(Path(path).read_bytes())
        sound = receipt.pop("seal") == digest_of(receipt) and receipt.keys() == KEYS
    except (OSError, ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return None
    return receipt if sound else None


def write_receipt(path: str | Path, receipt: Receipt) -> None:
    """Write a receipt with a digest of its own."""
    sealed = receipt | {"seal": digest_of(receipt)}
    write_text(path, json.dumps(sealed, indent=1, ensure_ascii=False) + "\n")


def describe_job(rule: str, params: Mapping[str, Any]) -> Receipt:
    """Return what a receipt says of a job before any file: its rule, settings and code."""
    settings = {name: value for name, value in params.items() if name != "code"}
    return {"rule": rule, "settings": digest_of(settings), "code": params["code"]}


def complete_receipt(
    job: Receipt,
    inputs: Mapping[str, str | None],
    outputs: Iterable[str],
    cost: Mapping[str, float],
) -> Receipt:
    """Return the whole receipt of a job that has just ended, and of what it was computed with."""
    made_with = {"versions": find_versions(), "machine": describe_machine()}
    files = {"inputs": dict(inputs), "outputs": digest_files(outputs)}
    return job | files | {"cost": dict(cost)} | made_with


def digest_files(paths: Iterable[str]) -> Digests:
    """Return the SHA-256 of each file by its name in receipts."""
    return {name_of(path): digest_file(path) for path in paths}


def digest_file(path: str | Path) -> str | None:
    """Return the SHA-256 of a file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def name_of(path: str | Path) -> str:
    """Return a file's name in receipts, which holds wherever project and results lie."""
    absolute = Path(os.path.abspath(path))
    for home in (Path.cwd(), PROJECT):
        if absolute.is_relative_to(home):
            return absolute.relative_to(home).as_posix()
    return absolute.name


def what_differs(
    receipt: Receipt | None,
    expected: Receipt,
    inputs: Digests,
    outputs: Digests,
) -> str:
    """Return in words why a job's files are not what the job would make now, or nothing.

    Parameters
    ----------
    receipt
        What the job left behind, if anything.
    expected
        As `describe_job` describes it now.
    inputs, outputs
        Digests of its files as they are now.
    """
    if not any(outputs.values()):
        return ""  # nothing is there that could mislead
    if receipt is None:
        return "no receipt says what made it"
    if receipt["rule"] != expected["rule"] or {*receipt["outputs"]} != {*outputs}:
        return "its receipt is of another job"
    if receipt["settings"] != expected["settings"]:
        return "made with other settings"
    if receipt["code"] != expected["code"]:
        return "made by other code"
    for name in sorted({*inputs, *receipt["inputs"]}):
        if inputs.get(name, "") is None:
            return f"made from {name}, which is gone"
        if inputs.get(name) != receipt["inputs"].get(name):
            return f"made from another {name}"
    for name, digest in outputs.items():
        if digest != receipt["outputs"][name]:
            return f"{name} is not as it was written"
    return ""


def find_makers() -> dict[tuple[str, str], Receipt]:
    """Return the receipt behind each file that was made in this folder, by name and digest."""
    receipts = [read_receipt(path) for path in sorted(RECEIPTS.rglob("*.json"))]
    return {made: receipt for receipt in receipts if receipt for made in receipt["outputs"].items()}


def check_inputs(inputs: Digests) -> None:
    """Refuse files that are not as their job wrote them; one without a receipt may be too new."""
    makers = find_makers()
    known = {name for name, _ in makers}
    for name, digest in inputs.items():
        if digest is None:
            raise TableError(f"{name}: cannot be read{way_out(name)}")
        if name in known and (name, digest) not in makers:
            raise TableError(f"{name}: damaged, or of another job or run{way_out(name)}")


def way_out(name: str) -> str:
    """Return how to get a file again that jobs make; nothing for others."""
    made = Path(name).parts[0] in MADE
    return f"; rebuild it with: snakemake --cores 1 --force {name}" if made else ""


def trace(files: Digests) -> list[Receipt]:
    """Return the receipts of all jobs behind some files, each after those that it depends on.

    Raises a `TableError` if a file on the way has none.
    """
    makers = find_makers()
    found: dict[int, Receipt] = {}

    def follow(name: str, digest: str | None) -> None:
        receipt = makers.get((name, digest)) if digest else None
        if receipt is None:
            if Path(name).parts[0] in MADE:
                raise TableError(f"{name}: no receipt says what made it{way_out(name)}")
        elif id(receipt) not in found:
            for read in receipt["inputs"].items():
                follow(*read)
            found[id(receipt)] = receipt

    for file in files.items():
        follow(*file)
    return list(found.values())

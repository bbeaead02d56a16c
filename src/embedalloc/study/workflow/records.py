"""Snakemake asks the receipts whether a job must run again, and not the dates of files."""

import sys
from collections.abc import Iterable
from typing import Any

from snakemake.logging import logger
from snakemake.persistence import NO_PARAMS_CHANGE, ParamsChange
from snakemake.persistence.file import FilePersistence
from snakemake.settings.enums import RerunTrigger

from embedalloc.study.workflow.receipts import (
    describe_job,
    digest_file,
    name_of,
    read_receipt,
    receipt_of,
    what_differs,
)


class Difference(ParamsChange):  # type: ignore[misc]  # Snakemake has no types
    """What Snakemake shows as the reason why a job runs."""

    def __init__(self, words: str, files: Iterable[str]) -> None:
        super().__init__(only_new={words}, files=set(files))

    def __str__(self) -> str:
        return ", ".join(self.only_new)


class Records(FilePersistence):  # type: ignore[misc]
    """Snakemake's memory of past jobs, kept with the results and complete.

    Its own records in .snakemake are lost when results are copied, know nothing of what a file
    holds, and then dates decide.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._digests: dict[str, str | None] = {}
        self._said: set[str] = set()
        self.max_checksum_file_size = 0  # for records that nothing reads
        dag = options["dag"]
        dag.max_checksum_file_size = sys.maxsize
        dag.workflow.dag_settings.rerun_triggers = frozenset({RerunTrigger.PARAMS})

    def has_metadata(self, job: Any) -> bool:
        """Return that everything is known: the other methods do not ask Snakemake's records."""
        return True

    def has_outdated_metadata(self, job: Any) -> bool:
        """Return that no record is too old to be asked."""
        return False

    def input_checksums(self, job: Any, input_path: Any) -> set[Any]:
        """Return what a newer file holds now as what it held: its date says nothing."""
        return {f"sha256:{digest}" for digest in self._digest([input_path]).values()}

    def params_changed(self, job: Any, file: Any = None) -> ParamsChange:
        """Return why a job's files are not those that it would make now, if so."""
        if not job.log:  # a rule that only names files
            return NO_PARAMS_CHANGE
        words = what_differs(
            read_receipt(receipt_of(job.log[0])),
            describe_job(job.rule.name, dict(job.params.items())),
            self._digest(job.input),
            self._digest(job.output),
        )
        if not words:
            return NO_PARAMS_CHANGE
        message = f"{job.rule.name} runs again: {words}"
        if message not in self._said:
            self._said.add(message)
            logger.info(message)
        return Difference(words, job.output)

    def _digest(self, paths: Iterable[str]) -> dict[str, str | None]:
        """Return the digests of files, each computed once until a job starts."""
        for path in paths:
            if path not in self._digests:
                self._digests[path] = digest_file(path)
        return {name_of(path): self._digests[path] for path in paths}

    def _clear_cache(self) -> None:
        super()._clear_cache()
        self._digests = {}


def ask_receipts(workflow: Any) -> None:
    """Let Snakemake use these records instead of its own."""
    sys.modules[type(workflow).__module__].FilePersistence = Records  # type: ignore[attr-defined]

"""What every workflow script does around its work: a log, errors in plain words, a receipt."""

import ctypes
import faulthandler
import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.workflow.machine import find_peak_memory
from embedalloc.study.workflow.receipts import (
    check_inputs,
    complete_receipt,
    describe_job,
    digest_files,
    receipt_of,
    write_receipt,
)
from embedalloc.study.workflow.tables import TableError

#: Where the environment of a job says which process runs the workflow.
WORKFLOW = "EMBEDALLOC_WORKFLOW"
PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>
#: How every log begins: a process that is killed cannot say so itself.
STARTED = "started (if nothing follows, the job was killed, perhaps for lack of memory)"


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Do the work of a rule: with inputs as they were made, a log, and a receipt at the end."""
    with logged(snakemake.log[0]):
        started, started_cpu = time.perf_counter(), time.process_time()
        inputs = digest_files(snakemake.input)
        check_inputs(inputs)
        yield
        cost = {
            "seconds": round(time.perf_counter() - started, 2),
            "cpu_seconds": round(time.process_time() - started_cpu, 2),
            "peak_megabytes": round(find_peak_memory() / 1e6, 1),
        }
        described = describe_job(snakemake.rule, dict(snakemake.params.items()))
        outputs = digest_files(snakemake.output)
        receipt = complete_receipt(described, inputs=inputs, outputs=outputs, cost=cost)
        write_receipt(receipt_of(snakemake.log[0]), receipt)


@contextmanager
def logged(log_path: str | Path) -> Iterator[None]:
    """Send what the work prints to the log and end it with the time it took.

    A file that cannot be trusted, or cannot be written, ends the job with one line that names
    it, and so do settings that turn out not to work; any other error keeps its traceback, in the
    log too, and so does a crash. The work ends with the workflow.
    """
    _end_with_workflow()
    try:
        with _redirected(Path(log_path)):
            yield
    except OSError as error:
        # Of the log itself.
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None


@contextmanager
def _redirected(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    started, started_cpu = time.perf_counter(), time.process_time()
    with path.open("w", encoding="utf-8") as log:
        print(STARTED, file=log, flush=True)
        faulthandler.enable(log)
        try:
            with redirect_stdout(log), redirect_stderr(log):
                yield
        except (TableError, ConfigError, OSError) as error:
            # Not only to the log, which may be on a full disk.
            print(f"error: {error}", file=sys.stderr)
            print(f"error: {error}", file=log)
            raise SystemExit(1) from None
        except BaseException:
            traceback.print_exc(file=log)
            raise
        finally:
            faulthandler.disable()
        seconds, cpu = time.perf_counter() - started, time.process_time() - started_cpu
        print(f"done in {seconds:.1f} s, {cpu:.2f} s of CPU time", file=log)
    gc.freeze()  # or Python looks for cycles in all that was imported, for 0.1 s, before it ends


def _end_with_workflow() -> None:
    """End this process when the one that started it ends, in whichever way (on Linux).

    A workflow that was killed leaves its jobs behind; they must not write beside those that the
    next run starts. What jobs are forked from ends with the workflow, and Snakemake itself starts
    a job from a thread that waits for it. A job whose workflow was killed before this call is
    nobody's descendant any more and ends here: nothing was written.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    workflow = os.environ.get(WORKFLOW)
    if workflow is not None and int(workflow) not in _ancestors():
        raise SystemExit("error: the workflow that started this job has ended")


def _ancestors() -> Iterator[int]:
    """Yield the parent of this process, the parent's parent, and so on."""
    process = os.getppid()
    with suppress(OSError):  # one that has just ended has no ancestors
        while process:
            yield process
            status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
            process = int(status.rpartition(")")[2].split()[1])

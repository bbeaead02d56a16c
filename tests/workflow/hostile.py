"""An environment that a run must not notice, nor show in what it writes."""

from collections.abc import Iterator
from pathlib import Path

from tests.verify import EIGHT_THREADS

#: Part of every value that no output may hold.
TELLTALE = "telltale-4711"
#: What other programs of a user may want; each of these would break or change a job.
STEERING = {
    "NUMBA_DISABLE_JIT": "1",
    "MPLBACKEND": "no such thing",
    **EIGHT_THREADS,
}
#: Python runs this before anything else: it notes each program, and each script of a job, which may
#: be a fork, and refuses all connections.
GUARD = """
import sys

def note(file, text):
    with open(__file__.replace("sitecustomize.py", file), "a") as notes:
        notes.write(text + "\\n")

def refuse(event, arguments):
    if event == "exec" and "/.snakemake/scripts/" in getattr(arguments[0], "co_filename", ""):
        note("programs", arguments[0].co_filename)
    if event == "socket.sendmsg" and arguments[1] is None:
        return  # connected before, which was seen, or one of a pair inside this computer
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg",
                 "socket.getaddrinfo", "socket.gethostbyname"):
        note("connections", f"{sys.argv} {event} {arguments}")
        raise OSError("this run must do without a network")

note("programs", " ".join(sys.argv[:1] or ["-"]))
sys.addaudithook(refuse)
"""


def hostile_environment(folder: Path) -> dict[str, str]:
    """Return a home, a user, a secret, other programs' settings and a guard, kept in a folder."""
    home = folder / f"home-{TELLTALE}"
    home.mkdir()
    (folder / "sitecustomize.py").write_text(GUARD)
    return STEERING | {
        "HOME": str(home),
        "USER": f"user-{TELLTALE}",
        "LOGNAME": f"user-{TELLTALE}",
        "API_TOKEN": f"secret-{TELLTALE}",
        "PYTHONPATH": str(folder),
    }


def notes(folder: Path, file: str) -> Iterator[str]:
    """Yield what the guard noted: the programs that were started, or their connections."""
    if (folder / file).exists():
        yield from (folder / file).read_text().splitlines()

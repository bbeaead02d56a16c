"""A real Slurm of two nodes on this machine's loopback, for as long as standard input is open.

Run as a program with a state directory; everything it writes is in there. It prints a line when the
nodes are up, then obeys lines on standard input: `lose NODE` ends a node and all that runs on it,
as if its power had failed. It ends, and with it every process of the cluster, when standard input
closes (so also when the test's process is killed), on SIGTERM or SIGINT, and after `LIFETIME`.
"""

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

NODES = ("n1", "n2")
CPUS = 2
MEMORY = 16_000
LIFETIME = 1800
#: Where Debian puts the daemons; not on every user's path.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "sinfo")

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWUTS = 0x04000000
LIBC = ctypes.CDLL(None, use_errno=True)

CONFIGURATION = """\
ClusterName=mini
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={state}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0,bf_interval=5
LaunchParameters=disable_send_gids
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=3600
KillWait=5
SlurmdTimeout=15
StateSaveLocation={state}/controller
SlurmctldPidFile={state}/slurmctld.pid
SlurmctldLogFile={state}/slurmctld.log
SlurmdPidFile={state}/slurmd-%n.pid
SlurmdLogFile={state}/slurmd-%n.log
SlurmdSpoolDir={state}/%n
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=04:00:00 DefMemPerCPU=200 State=UP
"""
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} Boards=1 "
    "SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory={memory}"
)


def loopback_name() -> str:
    """Name of this host if it means loopback, else `localhost` in a namespace of our own.

    Slurm's daemons listen on the address that the host's name resolves to.
    """
    name = socket.gethostname().partition(".")[0]
    try:
        loopback = socket.gethostbyname(name).startswith("127.")
    except OSError:
        loopback = False
    if loopback:
        return name
    if LIBC.unshare(CLONE_NEWUTS) != 0:
        sys.exit(f"the host's name {name} must resolve to 127.0.0.1: add it to /etc/hosts")
    socket.sethostname("localhost")
    return "localhost"


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def configure(state: Path, host: str) -> None:
    """Write the munge key, slurm.conf and a srun that knows where slurm.conf is."""
    key = state / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    port, *ports = free_ports(1 + len(NODES))
    nodes = [
        NODE.format(name=name, host=host, port=node_port, cpus=CPUS, memory=MEMORY)
        for name, node_port in zip(NODES, ports, strict=True)
    ]
    user = pwd.getpwuid(os.getuid()).pw_name
    text = CONFIGURATION.format(
        host=host, port=port, user=user, state=state, nodes="\n".join(nodes)
    )
    (state / "slurm.conf").write_text(text)
    for name in ("controller", "bin", *NODES):
        (state / name).mkdir()
    # Snakemake's jobstep plugin takes SLURM_CONF from the environment of the srun it calls.
    srun = state / "bin/srun"
    real = shutil.which("srun", path=PATH)
    srun.write_text(f'#!/bin/sh\nSLURM_CONF="{state}/slurm.conf" exec {real} "$@"\n')
    srun.chmod(0o755)


def environment(state: Path) -> dict[str, str]:
    """What a user of the cluster needs in the environment."""
    return {"SLURM_CONF": f"{state}/slurm.conf", "PATH": f"{state}/bin:{PATH}"}


def end_with_parent() -> None:
    """In a new child: be killed when the parent ends, however that happens."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(
    state: Path, command: list[str], extra: Mapping[str, str] = {}
) -> subprocess.Popen[bytes]:
    """Start a daemon in the foreground, with its output in a file."""
    with (state / "daemons.log").open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | environment(state) | extra,
            preexec_fn=end_with_parent,
        )


def wait_until(state: Path, command: list[str], expected: str, seconds: float = 60) -> None:
    """Repeat a command until its output has a text."""
    end = time.monotonic() + seconds
    while True:
        process = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | environment(state)
        )
        if expected in process.stdout:
            return
        if time.monotonic() > end:
            logs = [path.read_text(errors="replace")[-2000:] for path in state.glob("*.log")]
            sys.exit("\n".join([f"{command}: {process.stdout}{process.stderr}", *logs]))
        time.sleep(0.25)


def start_cluster(state: Path) -> None:
    """Start munge, the controller and the nodes, and wait for each."""
    configure(state, loopback_name())
    munged = ["munged", "--foreground", "--force", "--num-threads=2"]
    munged += [f"--key-file={state}/munge.key", f"--socket={state}/munge.socket"]
    munged += [f"--pid-file={state}/munged.pid", f"--seed-file={state}/munge.seed"]
    start(state, munged)
    wait_until(state, ["ls", str(state)], "munge.socket")
    start(state, ["slurmctld", "-D", "-c"])
    wait_until(state, ["scontrol", "ping"], "is UP")
    for name in NODES:
        start(state, ["slurmd", "-D", "-N", name], {"MINI_SLURM_NODE": name})
    for name in NODES:
        wait_until(state, ["sinfo", "--noheader", "--nodes", name, "--format=%T"], "idle")


def descendants() -> list[int]:
    """Every process below this one; orphans among them are this one's children."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(path.parent.name)] = int(fields[1])
    found = [os.getpid()]
    for parent in found:
        found += [child for child, above in parents.items() if above == parent]
    return found[1:]


def kill(processes: list[int]) -> None:
    """Kill processes by their ids."""
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue


def stop_cluster() -> None:
    """Kill what is below this process until nothing is left."""
    while left := descendants():
        kill(left)
        time.sleep(0.05)


def on_node(process: int, name: str) -> bool:
    """Whether a process is a node's daemon, one of its job steps or started by one."""
    try:
        variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(
        f"{key}={name}".encode() in variables for key in ("MINI_SLURM_NODE", "SLURMD_NODENAME")
    )


def lose(name: str) -> int:
    """Kill a node and all that runs on it; return how many processes that were."""
    lost = 0
    while left := [process for process in descendants() if on_node(process, name)]:
        kill(left)
        lost += len(left)
        time.sleep(0.05)
    return lost


def reap(signum: int, frame: FrameType | None) -> None:
    """Take note of ended processes, so that nobody waits for them."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def stop(signum: int, frame: FrameType | None) -> None:
    """Leave through the main function's last act."""
    sys.exit(f"stopped by {signal.Signals(signum).name}")


def main(state: Path) -> None:
    """Run the cluster until standard input closes."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, stop)
    signal.signal(signal.SIGCHLD, reap)
    signal.alarm(LIFETIME)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        start_cluster(state)
        print("up", flush=True)
        for line in sys.stdin:
            print("lost", lose(line.split()[1]), flush=True)
    finally:
        stop_cluster()


if __name__ == "__main__":
    os.environ["PATH"] = PATH
    main(Path(sys.argv[1]))

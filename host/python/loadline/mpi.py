"""One plan on every rank of an MPI job, merged into one run.

    mpirun -n 8 python -m loadline.mpi plan.toml --on data=/mnt/shared --folder /home/me/ranks

The words are those of `loadline run`; `{rank}` in them is the number of the rank, from 0. `--hosts 1,2,4,8` loads with more and more ranks, and
`--own-range` gives each rank its own part of one shared file or device. MPI is used before and after the run, never while a load runs:

1. Every rank opens its targets and closes them again. If one of them is refused, or the ranks would not run the same plan, no rank writes a byte.
2. The clocks of all ranks are compared with that of rank 0, and a common start is agreed on.
3. Each rank measures, and keeps its own run in the folder, in a file that no other rank touches.
4. Clocks are compared again. Rank 0 merges the runs into its store, and prints what they are together.

The package has no other word of MPI: it needs `mpi4py`, which needs an MPI that is installed.
"""

import argparse
import json
import os
import sys
import time

from mpi4py import MPI

from . import Error, _loadline

EXCHANGES = 100


def best_of(exchanges):
    """The offset of a clock and its error out of (sent, received, answered, back), as `loadline clock compare` has them."""
    way, sent, received, answered, back = min((b - s - (a - r), s, r, a, b) for s, r, a, b in exchanges if b - s >= a - r >= 0)
    return {
        "at_unix_ns": (sent + back) // 2,
        "offset_ns": (received - sent + answered - back) // 2,
        "error_ns": (way + 1) // 2 + 1,
        "exchanges": len(exchanges),
    }


def compared(comm, exchanges=EXCHANGES):
    """On rank 0 a reading of each rank's wall clock; None elsewhere. One rank after the other, while the others wait."""
    if comm.rank == 0:
        readings = [{"at_unix_ns": time.time_ns(), "offset_ns": 0, "error_ns": 0, "exchanges": exchanges}]
        for other in range(1, comm.size):
            found = []
            for _ in range(exchanges):
                sent = time.time_ns()
                comm.send(None, dest=other)
                received, answered = comm.recv(source=other)
                found.append((sent, received, answered, time.time_ns()))
            readings.append(best_of(found))
        return readings
    for _ in range(exchanges):
        comm.recv(source=0)
        received = time.time_ns()
        comm.send((received, time.time_ns()), dest=0)
    return None


def agreed(comm, problem):
    """Ends every rank with status 2 if one of them has a problem; rank 0 names all of them."""
    problems = [(rank, words) for rank, words in enumerate(comm.allgather(problem)) if words is not None]
    if problems:
        if comm.rank == 0:
            for rank, words in problems:
                print(f"loadline: rank {rank}: {words}", file=sys.stderr)
            print("loadline: nothing was written, on no rank", file=sys.stderr)
        sys.exit(2)


def attempted(work):
    """What `work` returned, and what kept it from being done, in words; one of them is None."""
    try:
        return work(), None
    except (Error, OSError) as error:
        return None, str(error)


def differing(comm, own):
    """Why this rank would not run what rank 0 runs; None where it would."""
    return None if comm.bcast(own) == own else "it would run another plan than rank 0, or with other words: give all ranks the same"


def awaited(comm):
    """Waits until every rank is here, asleep: one that is done early takes no processor from the others of its host."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(0.1)


def names(comm):
    """A name for each rank: its host's, with its number where several are on one host."""
    hosts = comm.allgather(MPI.Get_processor_name())
    return [host if hosts.count(host) == 1 else f"{host}-{rank}" for rank, host in enumerate(hosts)]


def main():
    """Runs, merges on rank 0, and ends with the exit status."""
    comm = MPI.COMM_WORLD
    parser = argparse.ArgumentParser(prog="python -m loadline.mpi", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default="loadline-ranks", help="where each rank keeps its run; a file system that rank 0 sees, too")
    parser.add_argument("--start-in", type=float, default=20.0, metavar="SECONDS", help="from the agreement to the start; long enough to fill the test files (20)")
    parser.add_argument("--yes", action="store_true", help="as for loadline run")
    parser.add_argument("--store", help="where the merged run goes; by default the user's store")
    own, words = parser.parse_known_args()
    if comm.size < 2:
        print("loadline: this is one rank: start it by mpirun or srun with several", file=sys.stderr)
        return 2
    if any(word == "--rank" or word.startswith(("--rank=", "--start-at")) for word in words):
        if comm.rank == 0:
            print("loadline: ranks and their start are MPI's: leave --rank and --start-at out", file=sys.stderr)
        return 2
    words = [word.replace("{rank}", str(comm.rank)) for word in words] + ["--rank", f"{comm.rank}/{comm.size}"]
    path = os.path.join(own.folder, f"rank-{comm.rank}.db")

    def ready():
        os.makedirs(own.folder, exist_ok=True)
        if os.path.exists(path):
            raise OSError(f"{path} is there already: name another --folder")
        return _loadline.check_run(words, own.yes)

    fingerprint, problem = attempted(ready)
    agreed(comm, problem)
    agreed(comm, differing(comm, fingerprint))
    called = names(comm)
    clocks = os.path.join(own.folder, "clocks.json")

    def kept(readings):
        with open(clocks, "a", encoding="utf-8") as file:
            line = {"schema": "loadline.clocks/1", "hosts": dict(zip(called, readings, strict=True))}
            file.write(json.dumps(line) + "\n")

    before = compared(comm)
    start = time.time_ns() + round(own.start_in * 1e9) if comm.rank == 0 else None
    offset = comm.scatter([reading["offset_ns"] for reading in before] if comm.rank == 0 else None)
    start = comm.bcast(start) + offset
    if comm.rank == 0:
        kept(before)
    at = f"@{start // 10**9}.{start % 10**9:09}"
    _, problem = attempted(lambda: _loadline.run([*words, "--store", path, "--start-at", at], True, own.yes))
    awaited(comm)
    problems = comm.gather(problem)
    after = compared(comm)
    if comm.rank != 0:
        return 0 if problem is None else 1
    kept(after)
    for rank, told in enumerate(problems):
        if told is not None:
            print(f"loadline: rank {rank}: {told}", file=sys.stderr)
    runs = [f"{called[rank]}={os.path.join(own.folder, f'rank-{rank}.db')}" for rank in range(comm.size)]
    runs = [run for run in runs if os.path.exists(run.split("=", 1)[1])]
    store = ["--store", own.store] if own.store else []
    status = _loadline.command(["loadline", *store, "merge", *runs, "--clocks", clocks])
    return status or (0 if all(told is None for told in problems) else 1)


if __name__ == "__main__":
    sys.exit(main())

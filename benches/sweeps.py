"""How much longer a sweep takes on Ray and on Dask than in one process, with as many workers as that has threads.

usage: python sweeps.py [ENVIRONMENTS] [ROUNDS]

It needs the loadline package with a release build, ray and distributed. The three take turns in each round; both clusters are up and idle
before, and each has made one small sweep. Rows are compared byte for byte. Nothing is left behind.
"""

import os
import pickle
import statistics
import sys
import time

import distributed
import ray

import loadline
import loadline.dask
import loadline.ray

PLAN = """schema = 1
name = "eight"
[[load]]
pattern = "random"
reads = ["100 %", "70 %"]
block = ["8 KiB", "64 KiB"]
queue_depth = [4, 64]
size = "50 GiB"
warm_up = "0 s"
duration = "60 s"
"""
ENVIRONMENT = """schema = 1
name = "e"
[volume.data]
[[volume.data.disks]]
size = "1 TiB"
limit = {{ iops = "{} IOPS", throughput = "200 MB/s" }}
latency.read = {{ median = "1 ms", p99 = "3 ms" }}
latency.write = {{ median = "1 ms", p99 = "3 ms" }}
"""


def main():
    count, rounds = (int(word) for word in (sys.argv[1:] + ["40000", "5"][len(sys.argv) - 1 :]))
    environments = [loadline.Environment(ENVIRONMENT.format(1000 + of), f"e{of}") for of in range(count)]
    plan, workers = loadline.Plan(PLAN), os.cpu_count()
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            ways = {
                "one process": lambda some: loadline.predict_many(some, plan, table=True, limits_only=True),
                "Ray": lambda some: loadline.ray.sweep(some, plan, limits_only=True),
                "Dask": lambda some: loadline.dask.sweep(some, plan, client=client, limits_only=True),
            }
            for way in ways.values():
                way(environments[: count // 4])
            times, rows = {name: [] for name in ways}, set()
            for number in range(rounds):
                names = list(ways)
                for name in names[number % 3 :] + names[: number % 3]:
                    began = time.perf_counter()
                    table = ways[name](environments)
                    times[name].append(time.perf_counter() - began)
                    rows.add(pickle.dumps(table))
                    print(f"round {number + 1}: {name} {times[name][-1]:.2f} s", file=sys.stderr, flush=True)
    ray.shutdown()
    assert len(rows) == 1, "rows differ"
    alone = times["one process"]
    for name, took in times.items():
        ratios = sorted(of / one for of, one in zip(took, alone))
        print(f"{name:11} {statistics.median(took):7.2f} s   {statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})")


# Workers of Dask start by importing this file.
if __name__ == "__main__":
    main()

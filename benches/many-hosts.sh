#!/bin/bash
# The total of 1, 2 and 4 clients on one emulated budget, by IOR, elbencho, fio and loadline, beside the emulator's own count.
#
# usage: LOADLINE_IOR=PATH LOADLINE_ELBENCHO=PATH many-hosts.sh LOADLINE
#
# A peer without a path is left out; fio is taken where it is installed, and IOR needs mpirun. ROUNDS (5), DURATION (4, in seconds)
# and ONLY (a part of a load's name) may be set. It needs root, python3, and 2 GiB of memory; about 30 minutes.
# Tools take turns in each round. All make direct I/O, a client of each has one request outstanding. Nothing is left behind.
#
# Own files lie on ext4 on the emulated device, and so does the file that all clients share. loadline has the shared file written
# by one process of a machine alone; there its clients take an NBD export with the same limits.
set -eu
loadline=$(readlink -f "$1")
work=$(mktemp -d)
mkdir "$work"/{attached,files}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

clean() {
    umount "$work/files" 2>/dev/null || true
    [ -z "${emulation:-}" ] || { kill "$emulation"; wait "$emulation" || true; } 2>/dev/null
    rm -rf "$work"
}
trap clean EXIT

disk() {
    echo "[[volume.$1.disks]]
size = \"$2\"
limit = { iops = \"125 IOPS\", throughput = \"16 MB/s\", enforcement = { bucket = \"20 ms\" } }
latency.read = { median = \"100 us\", p99 = \"200 us\" }
latency.write = { median = \"100 us\", p99 = \"200 us\" }"
}
{ printf 'schema = 1\nname = "many-hosts-%s"\n' $$; disk files "2 GiB"; disk raw "256 MiB"; } > "$work/disk.toml"

"$loadline" emulate "$work/disk.toml" --attach "$work/attached" --attach-by fuse --socket "$work/socket" --metrics 127.0.0.1:0 \
    --no-record > "$work/log" 2>&1 &
emulation=$!
for _ in $(seq 100); do
    device=$(grep -o '/dev/loop[0-9]* *files' "$work/log" | grep -o '/dev/loop[0-9]*') && grep -q metrics: "$work/log" && break
    sleep 0.1
done
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$device"
mount -o noatime,lazytime "$device" "$work/files"

python3 - "$loadline" "$work" "$(grep -o 'http://[^ ]*' "$work/log")" "$device" <<'PYTHON'
import http.client, json, os, re, statistics, subprocess, sys, threading, time, urllib.parse

LOADLINE, WORK, METRICS, DEVICE = sys.argv[1:]
IOR, ELBENCHO = os.environ.get("LOADLINE_IOR"), os.environ.get("LOADLINE_ELBENCHO")
ROUNDS, DURATION, ONLY = int(os.environ.get("ROUNDS", 5)), int(os.environ.get("DURATION", 4)), os.environ.get("ONLY", "")
SIZE, MOST = 256 << 20, 4
FILES = f"{WORK}/files"
OWN, SHARED = [f"{FILES}/own.{of:08}" for of in range(MOST)], f"{FILES}/shared"
RAW = f"nbd+unix:///raw?socket={WORK}/socket"


def ran(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, **options)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


class Count(threading.Thread):
    """Bytes by the device's counters, looked at every 20 ms while a tool runs; by the emulator's own where it is no device."""

    def __init__(self, is_device):
        super().__init__(daemon=True)
        self.is_device, self.ended, self.points = is_device, threading.Event(), []
        self.start()

    def run(self):
        place = urllib.parse.urlparse(METRICS)
        server = http.client.HTTPConnection(place.hostname, place.port)
        while not self.ended.wait(0.02):
            before = time.monotonic()
            if self.is_device:
                with open(f"/sys/block/{os.path.basename(DEVICE)}/stat") as file:
                    words = file.read().split()
                found = 512 * (int(words[2]) + int(words[6]))
            else:
                server.request("GET", place.path)
                text = server.getresponse().read().decode()
                found = int(re.search(r'^loadline_transferred_bytes_total\{export="raw"\} (\d+)', text, re.M)[1])
            # The emulator's figures are those of whole seconds: only their changes have a time.
            if not self.points or found != self.points[-1][1]:
                self.points.append(((before + time.monotonic()) / 2, found))

    def rate(self, warm_up):
        """Bytes a second in the longest time without a pause, after a warm-up."""
        self.ended.set()
        self.join()
        pause, busy = (0.3 if self.is_device else 1.5), [[]]
        for point in self.points:
            if busy[-1] and point[0] - busy[-1][-1][0] > pause:
                busy.append([])
            busy[-1].append(point)
        longest = max(busy, key=lambda points: points[-1][0] - points[0][0])
        # Of whole seconds, the first and the last were not full.
        counted = [point for point in longest if point[0] >= longest[0][0] + warm_up]
        counted = counted if self.is_device else longest[1:-1]
        if len(counted) < 2:
            sys.exit(f"too little was counted: {self.points}")
        return (counted[-1][1] - counted[0][1]) / (counted[-1][0] - counted[0][0])


class Load:
    def __init__(self, random, reads, clients, shared):
        self.random, self.reads, self.clients, self.shared = random, reads, clients, shared
        self.block = 8 << 10 if random else 128 << 10
        what = f"{'random' if random else 'sequential'} {'read' if reads else 'write'} {self.block >> 10} KiB"
        self.name = f"{what}, {clients} {'on one file' if shared else 'client' if clients == 1 else 'on own files'}"


def by_ior(load):
    """Bytes between the first client's start and the last one's end, opening and closing included."""
    words = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(load.clients)]
    words += [IOR, "-a", "POSIX", "--posix.odirect", "-k", "-E", "-r" if load.reads else "-w", "-D", str(DURATION)]
    words += ["-t", str(load.block), "-b", str(SIZE // load.clients if load.shared else SIZE)]
    words += ["-O", f"summaryFile={WORK}/ior.json", "-O", "summaryFormat=JSON"] + ["-z"] * load.random
    ran(*words, *(["-o", SHARED] if load.shared else ["-F", "-o", f"{FILES}/own"]))
    (result,) = json.load(open(f"{WORK}/ior.json"))["tests"][0]["Results"]
    return result["bwMiB"] * (1 << 20) / load.block


def by_elbencho(load):
    """Its column "last done"."""
    results = f"{WORK}/elbencho.json"
    if os.path.exists(results):
        os.remove(results)
    hosts = ",".join(f"127.0.0.1:{port}" for port in PORTS[: load.clients])
    words = [ELBENCHO, "--hosts", hosts, "-t", "1", "--direct", "-r" if load.reads else "-w", "-b", str(load.block), "-s", str(SIZE)]
    words += ["--timelimit", str(DURATION), "--nolive", "--jsonfile", results] + ["--rand"] * load.random
    ran(*words, *([SHARED] if load.shared else ["-n", "1", "-N", "1", f"{FILES}/elbencho"]))
    done = json.loads(open(results).read().splitlines()[-1])["last_done"]
    return int(done["bytes"]) * 1000 / int(done["elapsed_time_ms"]) / load.block


def by_fio(load):
    """Its "All clients"."""
    words = ["fio", "--output-format=json", f"--output={WORK}/fio.json"]
    for of in range(load.clients):
        job = f"{WORK}/{of}.fio"
        rw = ("rand" if load.random else "") + ("read" if load.reads else "write")
        with open(job, "w") as file:
            file.write(f"[{of}]\nrw={rw}\nbs={load.block}\ndirect=1\nioengine=psync\nsize={SIZE}\ntime_based=1\nramp_time=0.5\n")
            file.write(f"runtime={DURATION}\nrandseed={time.time_ns() % 10**9}\nfilename={SHARED if load.shared else OWN[of]}\n")
        words += [f"--client=ip:127.0.0.1,{FIO_PORTS[of]}", job]
    ran(*words)
    text = open(f"{WORK}/fio.json").read()
    stats = json.loads(text[text.index("{") :])["client_stats"]
    (all_,) = stats if len(stats) == 1 else [of for of in stats if of["jobname"] == "All clients"]
    return all_["read" if load.reads else "write"]["iops"]


def by_loadline(load):
    """The total of the time in which all ran."""
    plan = f"{WORK}/plan.toml"
    with open(plan, "w") as file:
        file.write(f'schema = 1\nname = "many-hosts"\n[[load]]\npattern = "{"random" if load.random else "sequential"}"\n')
        file.write(f'reads = "{100 if load.reads else 0} %"\nblock = "{load.block >> 10} KiB"\nqueue_depth = 1\nsize = "{SIZE >> 20} MiB"\n')
        file.write(f'warm_up = "500 ms"\nduration = "{DURATION} s"\npause = "0 s"\ntrials = 1\n')
    start, running, stores = f"@{int(time.time()) + 3}", [], []
    for of in range(load.clients):
        target = (SHARED if load.reads else RAW) if load.shared else OWN[of]
        stores.append(f"{WORK}/{time.time_ns()}.db")
        words = [LOADLINE, "run", plan, "--on", f"data={target}", "--start-at", start, "--store", stores[-1], "--quiet", "--wait", "asleep"]
        words += ["--read-only"] if load.reads else ["--overwrite", target]
        if target in OWN and not load.reads:
            # The file has the name that elbencho gives it, too.
            words += ["--overwrite", f"inode-{os.stat(target).st_ino}"]
        running.append(subprocess.Popen([*words, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    outputs = [of.communicate(timeout=60) for of in running]
    if any(of.returncode for of in running):
        sys.exit(f"loadline: {outputs}")
    text = outputs[0][0]
    if load.clients > 1:
        text = ran(LOADLINE, "merge", *stores, "--store", f"{WORK}/all.db", "--format", "json")
    for store in stores:
        os.remove(store)
    return json.loads(text)["cells"][0]["total"]["iops"]


for path in [*OWN, SHARED]:
    ran("dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={SIZE >> 20}", "oflag=direct", "status=none")
for of, path in enumerate(OWN):
    # The names that elbencho gives to the files of its clients.
    os.makedirs(f"{FILES}/elbencho/r{of}/d0")
    os.link(path, f"{FILES}/elbencho/r{of}/d0/r{of}-f0")

TOOLS, servers = {"loadline": by_loadline}, []
PORTS, FIO_PORTS = [range(base + os.getpid() % 1000 * 4, base + os.getpid() % 1000 * 4 + MOST) for base in (20000, 25000)]
if IOR:
    TOOLS["IOR"] = by_ior
if ELBENCHO:
    TOOLS["elbencho"] = by_elbencho
    servers += [[ELBENCHO, "--service", "--foreground", "--port", str(port)] for port in PORTS]
if not subprocess.run(["which", "fio"], capture_output=True).returncode:
    TOOLS["fio"] = by_fio
    servers += [["fio", f"--server=ip:127.0.0.1,{port}"] for port in FIO_PORTS]
servers = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=WORK) for words in servers]
try:
    time.sleep(2)
    clients = [(1, False), (2, False), (4, True)]
    loads = [Load(random, reads, *of) for random in (True, False) for reads in (True, False) for of in clients]
    loads = [load for load in loads if ONLY in load.name]
    rates = {(load, tool): [] for load in loads for tool in TOOLS}
    for number in range(ROUNDS):
        for load in loads:
            for tool in sorted(TOOLS, key=lambda tool: (list(TOOLS).index(tool) + number) % len(TOOLS)):
                count = Count(not (tool == "loadline" and load.shared and not load.reads))
                said = TOOLS[tool](load)
                rates[load, tool].append((said, count.rate(0.5 if tool in ("loadline", "fio") else 0) / load.block))
                print(f"round {number + 1}: {load.name}: {tool} {said:.2f}, counted {rates[load, tool][-1][1]:.2f}", file=sys.stderr, flush=True)
    print("requests a second: median (least to most), and against the emulator's count")
    for load in loads:
        print(load.name)
        for tool in TOOLS:
            said = sorted(of for of, _ in rates[load, tool])
            off = statistics.median(of / true - 1 for of, true in rates[load, tool])
            print(f"  {tool:9} {statistics.median(said):8.2f} ({said[0]:.2f} to {said[-1]:.2f})  {100 * off:+.2f} %")
finally:
    for server in servers:
        server.terminate()
PYTHON

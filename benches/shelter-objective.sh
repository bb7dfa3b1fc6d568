#!/bin/bash
# Whether an application keeps its latency while its disk is saved: pgbench on an emulated SSD, alone, beside
# `loadline shelter`, and beside restic at full speed.
#
# usage: shelter-objective.sh LOADLINE [OBJECTIVE_MS]
#
# LOADLINE is a command built with the feature shelter; the objective is the 99th percentile of pgbench's transactions, of
# each second. It needs root, PostgreSQL, restic, xfsprogs, python3, and 7 GiB of memory; about 5 minutes. The shelter's own
# objective is the mean latency of the disk's requests, 2 ms. Nothing is left behind.
set -eu
loadline=$(readlink -f "$1")
objective=${2:-100}
programs=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
work=$(mktemp -d /dev/shm/shelter-objective.XXXXXX)
disk=$work/disk
export RESTIC_PASSWORD=objective
chmod 755 "$work"
mkdir "$work"/{disk,attached,saved,log}
chmod 777 "$work/log"

clean() {
    su postgres -c "$programs/pg_ctl -D $disk/pg -m immediate stop" >/dev/null 2>&1 || true
    umount "$disk" 2>/dev/null || true
    [ -z "${emulation:-}" ] || { kill "$emulation"; wait "$emulation" || true; } 2>/dev/null
    rm -rf "$work"
}
trap clean EXIT

cat > "$work/ssd.toml" <<TOML
schema = 1
name = "objective-$$"
[volume.fast]
[[volume.fast.disks]]
size = "8 GiB"
limit = { iops = "20000 IOPS", throughput = "100 MB/s" }
latency.read = { median = "100 us", p99 = "300 us" }
latency.write = { median = "60 us", p99 = "200 us" }
TOML
cat > "$work/shelter.toml" <<TOML
schema = 1
name = "objective"
state = "$work/state"
[disk]
path = "$disk"
[destination]
folder = "$work/saved"
[group.data]
class = "files"
paths = ["data"]
[limits]
objective = "2 ms"
TOML

"$loadline" emulate "$work/ssd.toml" --attach "$work/attached" --attach-by fuse --socket "$work/socket" > "$work/log/emulate" 2>&1 &
emulation=$!
for _ in $(seq 100); do
    device=$(grep -o '/dev/loop[0-9]*' "$work/log/emulate" | head -1) && [ -n "$device" ] && break
    sleep 0.1
done
mkfs.xfs -q "$device"
mount "$device" "$disk"
mkdir "$disk"/{pg,data}
chown postgres "$disk/pg"
for number in 1 2 3 4 5 6; do head -c 512M /dev/urandom > "$disk/data/$number"; done
su postgres -c "$programs/initdb -A trust -D $disk/pg" > "$work/log/initdb"
echo "unix_socket_directories = '$disk/pg'
listen_addresses = ''" >> "$disk/pg/postgresql.conf"
su postgres -c "$programs/pg_ctl -D $disk/pg -l $disk/pg/log -w start" > /dev/null
su postgres -c "$programs/pgbench -h $disk/pg -i -s 30 -q postgres" > "$work/log/filled" 2>&1
sync

# Runs pgbench for so many seconds, and a command beside it from the fifth on.
beside() {
    local phase=$1 seconds=$2
    shift 2
    for file in "$disk"/data/*; do dd if="$file" iflag=nocache count=0 status=none; done
    su postgres -c "$programs/pgbench -h $disk/pg -n -c 4 -R 200 -T $seconds -l --log-prefix=$work/log/$phase postgres" \
        > "$work/log/pgbench-$phase" 2>&1 &
    local bench=$! begun ended
    sleep 5
    begun=$(date +%s)
    # A save that would go on longer than pgbench is ended with it.
    [ $# -eq 0 ] || timeout -s INT $((seconds - 5)) "$@" > "$work/log/beside-$phase" 2>&1 || true
    ended=$(date +%s)
    [ $# -gt 0 ] || ended=$((begun + seconds - 5))
    wait $bench
    python3 - "$phase" "$work/log/$phase" "$begun" "$ended" "$objective" <<'PYTHON'
import glob, sys
phase, prefix, begun, ended, objective = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
seconds = {}
for name in glob.glob(prefix + ".*"):
    for line in open(name):
        words = line.split()
        seconds.setdefault(int(words[4]), []).append(float(words[2]) / 1000)
def p99(values):
    return sorted(values)[min(len(values) - 1, int(0.99 * len(values)))]
each = sorted(p99(found) for at, found in seconds.items() if begun < at < ended)
kept = sum(value <= objective for value in each) / max(len(each), 1)
if not each:
    sys.exit(f"{phase}: it ended within a second")
middle, most = each[len(each) // 2], each[min(len(each) - 1, int(0.95 * len(each)))]
print(f"{phase:9} {len(each):4} s   p99 of a second: median {middle:9.1f} ms, 95 % of them below {most:9.1f} ms   "
      f"at most {objective} ms in {100 * kept:5.1f} % of seconds", flush=True)
PYTHON
}

# How many bytes a command read from the disk, in MB/s.
sectors() { awk -v name="$(basename "$device")" '$3 == name { print $6 }' /proc/diskstats; }
rated() {
    local before after begun ended
    before=$(sectors) begun=$(date +%s)
    beside "$@"
    after=$(sectors) ended=$(date +%s)
    echo "          the disk was read at $(((after - before) * 512 / 1000000 / (ended - begun))) MB/s on average"
}

restic -q -r "$work/repository" init
beside alone 30
rated shelter 75 "$loadline" shelter "$work/shelter.toml" adopt
rated restic 75 restic -q -r "$work/repository" backup "$disk/data"
beside alone 30

#!/bin/busybox sh
# The first process of a small machine: volumes attached by ublk, tried from end to end. Each check prints `ok: ` or `FAILED: ` and its
# name; `end of checks` comes last.
/bin/busybox --install -s /bin
# Before the words that the shell knows itself come the programs that were brought along.
export PATH=/programs:/bin HOME=/tmp LD_LIBRARY_PATH=/lib
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /tmp
mkdir -p /mnt /tmp/work
cd /tmp/work
for module in loop ublk_drv; do insmod /modules/$module.ko || echo "FAILED: the module $module"; done
echo 1 > /proc/sys/kernel/panic

cat > fast.toml <<END
schema = 1
name = "fast"
[volume.data]
layout = { stripe = { interleave = "64 KiB" } }
[[volume.data.disks]]
size = "128 MiB"
count = 2
[volume.data.disks.latency.read]
median = "100 us"
p99 = "200 us"
[volume.data.disks.latency.write]
median = "100 us"
p99 = "200 us"
[volume.data.disks.latency.flush]
median = "100 us"
p99 = "200 us"
END

# Waits for a command to succeed: 60 s at most.
until_() { n=0; while ! "$@" > /dev/null 2>&1; do n=$((n + 1)); [ $n -gt 600 ] && { echo "waited in vain: $*"; return 1; }; usleep 100000; done; }
gone() { ! [ -e "$1" ]; }
# Whether a device is not there any more, neither for its users nor for its server.
released() { gone $1 && gone /dev/ublkc${1#/dev/ublkb}; }
ended() { ! kill -0 "$1" 2> /dev/null; }

# begin NAME WORDS...: an emulation with volumes at /tmp/work/NAME; its process is $emulation, its output NAME.out.
begin() {
    name=$1
    shift
    rm -f $name.out
    loadline emulate fast.toml --socket /tmp/work/$name.sock --attach /tmp/work/$name --no-record --seed 1 "$@" > $name.out 2>&1 &
    emulation=$!
    until_ grep -q "metrics\|faults: " $name.out || { cat $name.out; return 1; }
    device=$(readlink -f $name/data)
}
# finish SIGNAL: ends it, and waits for that.
finish() {
    kill -$1 $emulation
    wait $emulation
    status=$?
    [ $status = 0 ] || { echo "ended with $status"; cat $name.out; return 1; }
}
fault() { loadline fault /tmp/work/$name.sock "$@"; }
# Requests of a kind in a trace: its operation, and whether it had to be durable.
recorded() {
    tail -c +$((8 + 4 + about + 4 + 3 * 4 + 16 + 1)) trace | od -v -A n -t u1 -w44 | awk -v kind="$1" '$39 " " $40 ~ "^" kind { n++ } END { print n + 0 }'
}
make_file_system() { mkfs.ext4 -q -F $device; }
same() { [ "$(md5sum < $1)" = "$(md5sum < $2)" ] || { echo "$1 and $2 differ"; return 1; }; }

attached_by_itself() {
    begin one || return 1
    cat one.out
    grep -q "Attached by ublk" one.out && [ -b $device ] && grep -q "$device  data, by the link /tmp/work/one/data" one.out || return 1
    queue=/sys/block/${device#/dev/}/queue
    for expected in logical_block_size:512 physical_block_size:4096 fua:1 max_sectors_kb:1024 discard_max_bytes:1073741824 \
        write_zeroes_max_bytes:33554432; do
        found=$(cat $queue/${expected%:*})
        [ "$found" = "${expected#*:}" ] || { echo "${expected%:*} is $found"; return 1; }
    done
    [ "$(cat $queue/write_cache)" = "write back" ] && [ "$(blockdev --getsize64 $device)" = 268435456 ]
}
bytes_are_kept() {
    dd if=/dev/urandom of=bytes bs=1M count=24 2> /dev/null
    dd if=bytes of=$device bs=3M seek=1 oflag=direct 2> /dev/null || return 1
    echo 3 > /proc/sys/vm/drop_caches
    dd if=$device of=back bs=1536k skip=2 count=16 iflag=direct 2> /dev/null || return 1
    same bytes back || return 1
    dd if=bytes of=$device bs=512 seek=77 count=33 oflag=direct 2> /dev/null || return 1
    dd if=$device of=back bs=512 skip=77 count=33 iflag=direct 2> /dev/null || return 1
    dd if=bytes of=some bs=512 count=33 2> /dev/null
    same some back
}
a_load_finds_what_it_wrote() {
    cat > load.toml <<END
schema = 1
name = "verified"
[[load]]
pattern = ["random"]
reads = ["50 %"]
block = ["4 KiB"]
queue_depth = [32]
verify = true
warm_up = "0 s"
duration = "5 s"
trials = 1
size = "64 MiB"
END
    loadline --store /tmp/work/store run load.toml --on data=$device --overwrite $device > run.out 2>&1 || { cat run.out; return 1; }
    cat run.out
    ! grep -qi "mismatch\|wrong bytes" run.out
}
a_file_system_lives_there() {
    make_file_system || return 1
    mount -t ext4 -o discard $device /mnt || return 1
    cp bytes /mnt/one || return 1
    for n in 1 2 3 4; do (dd if=bytes of=/mnt/part$n bs=64k count=64 conv=fsync 2> /dev/null) & writers="$writers $!"; done
    wait $writers
    umount /mnt || return 1
    mount -t ext4 $device /mnt || return 1
    same bytes /mnt/one || return 1
    head -c 4194304 bytes > some
    for n in 1 2 3 4; do same some /mnt/part$n || return 1; done
    rm /mnt/one
    sync
    /programs/fstrim -v /mnt || return 1
    umount /mnt
}
what_is_discarded_reads_as_zeroes() {
    dd if=bytes of=$device bs=1M count=4 oflag=direct 2> /dev/null || return 1
    /programs/blkdiscard -o 1048576 -l 1048576 $device || return 1
    dd if=$device of=back bs=1M skip=1 count=1 iflag=direct 2> /dev/null || return 1
    dd if=/dev/zero of=zeroes bs=1M count=1 2> /dev/null
    same zeroes back || return 1
    mkdir -p /tmp/work/zeroed
    /programs/fallocate -z -o 2097152 -l 1048576 $device || return 1
    dd if=$device of=back bs=1M skip=2 count=1 iflag=direct 2> /dev/null || return 1
    same zeroes back
}
faults_reach_whoever_uses_it() {
    fault data --error io --on read > /dev/null || return 1
    dd if=$device of=/dev/null bs=4k count=1 iflag=direct 2> /dev/null && { echo "no error"; return 1; }
    fault --clear-all > /dev/null
    fault data --hang > /dev/null
    dd if=$device of=/dev/null bs=4k count=1 iflag=direct 2> /dev/null &
    reader=$!
    sleep 2
    ended $reader && { echo "it did not hang"; return 1; }
    fault --clear-all > /dev/null
    wait $reader
}
it_goes_with_its_emulation() {
    finish TERM || return 1
    cat one.out
    released $device && gone one
}
flushes_and_durable_writes_are_told() {
    begin two --trace trace || return 1
    about=$(hexdump -s 8 -n 4 -e '1/4 "%d"' trace)
    make_file_system && mount -t ext4 $device /mnt || return 1
    for n in 1 2 3; do dd if=bytes of=/mnt/$n bs=4k count=1 conv=fsync 2> /dev/null || return 1; done
    umount /mnt
    dd if=bytes of=$device bs=1M count=2 oflag=direct 2> /dev/null
    /programs/blkdiscard $device
    stat="$(cat /sys/block/${device#/dev/}/stat)"
    finish INT || return 1
    set -- $stat
    echo "the kernel counts $1 reads, $5 writes, ${12} discards, ${16} flushes; the trace has $(recorded '0 ') reads, $(recorded '1 0') and \
durable $(recorded '1 1') writes, $(recorded '2 ') trims, $(recorded '3 ') flushes"
    [ $(recorded '3 ') -ge 3 ] && [ $(recorded '1 1') -ge 1 ] && [ $(recorded '2 ') -ge 1 ]
}
a_power_cut_takes_what_was_not_flushed() {
    begin three || return 1
    old=$device
    make_file_system && mount -t ext4 $device /mnt || return 1
    dd if=bytes of=/mnt/kept bs=1M count=4 conv=fsync 2> /dev/null || return 1
    dd if=bytes of=/mnt/lost bs=1M count=4 2> /dev/null
    fault --power-cut --seed 7 > /dev/null || return 1
    until_ grep -q "its block device is\|is a new device" three.out || { cat three.out; return 1; }
    cat three.out
    new=$(readlink -f three/data)
    [ $new != $old ] || { echo "mounted, and under its old name"; return 1; }
    ls /mnt/kept > /dev/null 2>&1
    umount /mnt || return 1
    until_ released $old || return 1
    device=$new
    mount -t ext4 $new /mnt || return 1
    dd if=bytes of=some bs=1M count=4 2> /dev/null
    same some /mnt/kept || return 1
    umount /mnt
    rm three.out
    fault --power-cut > /dev/null || return 1
    sleep 3
    [ "$(readlink -f three/data)" = $new ] && dd if=$new of=/dev/null bs=4k count=1 iflag=direct 2> /dev/null || return 1
    finish TERM && gone $new
}
what_was_written_is_kept_when_it_ends_first() {
    begin four --backing /tmp/work/backing || return 1
    make_file_system && mount -t ext4 $device /mnt || return 1
    dd if=bytes of=/mnt/late bs=1M count=4 2> /dev/null
    finish TERM || return 1
    cat four.out
    gone $device && umount /mnt && until_ released $device || return 1
    begin four --backing /tmp/work/backing || return 1
    mount -t ext4 $device /mnt || return 1
    dd if=bytes of=some bs=1M count=4 2> /dev/null
    same some /mnt/late || return 1
    umount /mnt
    finish TERM
}
it_ends_while_its_disk_hangs() {
    begin five || return 1
    fault data --hang > /dev/null
    dd if=$device of=/dev/null bs=4k count=64 iflag=direct 2> /dev/null &
    reader=$!
    dd if=bytes of=$device bs=1M count=8 2> /dev/null &
    writer=$!
    sleep 1
    finish TERM || return 1
    wait $reader $writer
    released $device
}
what_a_killed_one_left_is_taken_down() {
    begin other || return 1
    others=$device other=$emulation
    begin six || return 1
    make_file_system && mount -t ext4 $device /mnt || return 1
    cp bytes /mnt/file
    loadline emulate --detach six > detach.out 2>&1 && { echo "a living one was detached"; return 1; }
    grep "running, as process $emulation" detach.out || { cat detach.out; return 1; }
    kill -9 $emulation
    wait $emulation 2> /dev/null
    loadline emulate --detach six || return 1
    umount /mnt
    until_ released $device || return 1
    [ -z "$(ls -A six)" ] && dd if=$others of=/dev/null bs=4k count=1 iflag=direct 2> /dev/null || return 1
    begin six || return 1
    kill -9 $emulation
    wait $emulation 2> /dev/null
    begin six || return 1
    cat six.out
    grep -q "taken down first" six.out && finish TERM || return 1
    emulation=$other name=other
    finish TERM && released $others
}
full() { set -- $(cat /sys/block/${device#/dev/}/inflight); [ $1 = $((queues * 256)) ]; }
one_killed_with_its_queues_full_hangs_nobody() {
    begin seven || return 1
    fault data --hang > /dev/null
    readers=
    n=0
    # Half of them on each processor, and so in each queue: four requests of each are under way at once.
    while [ $n -lt 200 ]; do
        taskset $((1 + n % 2)) dd if=$device of=/dev/null bs=4M count=1 iflag=direct 2> /dev/null &
        readers="$readers $!"
        n=$((n + 1))
    done
    queues=$(ls -d /sys/block/${device#/dev/}/mq/* | wc -l)
    echo "queues: $queues"
    until_ full || { cat /sys/block/${device#/dev/}/inflight; return 1; }
    kill -9 $emulation
    wait $emulation 2> /dev/null
    loadline emulate --detach seven || return 1
    wait $readers
    until_ released $device
}
fuse_is_there_where_it_is_asked_for() {
    begin eight --attach-by fuse || return 1
    cat eight.out
    grep -q "by FUSE and loop devices, as asked" eight.out && grep -q "/dev/loop" eight.out || return 1
    finish TERM
}
without_the_driver_fuse_takes_its_place() {
    rmmod ublk_drv || return 1
    loadline emulate fast.toml --attach /tmp/work/nine --attach-by ublk > nine.out 2>&1 && return 1
    cat nine.out
    grep -q "has no /dev/ublk-control" nine.out || return 1
    begin nine || return 1
    cat nine.out
    grep -q "as this machine has neither ublk nor nbd" nine.out && grep -q "/dev/loop" nine.out && finish TERM
}

for check in attached_by_itself bytes_are_kept a_load_finds_what_it_wrote a_file_system_lives_there what_is_discarded_reads_as_zeroes \
    faults_reach_whoever_uses_it it_goes_with_its_emulation flushes_and_durable_writes_are_told a_power_cut_takes_what_was_not_flushed \
    what_was_written_is_kept_when_it_ends_first it_ends_while_its_disk_hangs what_a_killed_one_left_is_taken_down \
    one_killed_with_its_queues_full_hangs_nobody fuse_is_there_where_it_is_asked_for without_the_driver_fuse_takes_its_place; do
    echo "-- $check"
    if $check; then echo "ok: $check"; else
        echo "FAILED: $check"
        # What it left is in nobody's way.
        kill -9 $emulation $other 2> /dev/null
        umount /mnt 2> /dev/null
        for left in */.loadline; do [ -e $left ] && loadline emulate --detach ${left%/*}; done
        cat $name.out
        dmesg | tail -n 15
    fi
done
echo "end of checks"
poweroff -f

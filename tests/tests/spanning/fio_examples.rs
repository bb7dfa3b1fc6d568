//! Jobs with the options of fio's own 39 generic examples: which run, and that fio's documentation bears out why the others do not.

use loadline_workload::{FioSurroundings, fio_jobs_in};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What becomes of a job file.
enum Fate {
    /// It runs as so many loads.
    Runs(usize),
    /// It is refused for this option. fio's documentation has these words on it; none if it does not know the option at all.
    Refused(&'static str, Option<&'static str>),
}
use Fate::{Refused, Runs};

/// The options of an example, in short: `|` stands between lines.
const EXAMPLES: [(&str, &str, Fate); 39] = [
    (
        "1mbs_clients",
        "[global]|size=32m|rw=read|directory=tmp|rate=1250|ratemin=1024|[a]|startdelay=0|[b]|startdelay=4",
        Refused("rate_min", Some("Failing to meet this requirement will cause the job to exit")),
    ),
    (
        "aio-read",
        "[global]|ioengine=libaio|buffered=0|rw=randread|bs=128k|size=512m|directory=/data1|[a]|iodepth=4|[b]|iodepth=32|[c]|iodepth=8",
        Runs(3),
    ),
    (
        "atomic-verify",
        "[a]|rw=randwrite|bs=4k|direct=1|ioengine=libaio|iodepth=16|verify=crc64|atomic=1|verify_write_sequence=0|numjobs=10|filename=/dev/sdx",
        Refused("atomic", Some("attempt to use atomic direct I/O")),
    ),
    ("backwards-read", "[a]|bs=4k|rw=read:-8k|filename=128m|size=128m", Runs(1)),
    (
        "basic-verify",
        "[a]|rw=randwrite|bs=4k|direct=1|ioengine=libaio|iodepth=16|verify=crc32c|filename=/dev/sdx",
        Runs(1),
    ),
    (
        "butterfly",
        "[global]|filename=/tmp/testfile|bs=4k|direct=1|[a]|rw=read|flow=2|[b]|rw=read:-8k|flow=2",
        Refused("flow", Some("regulates the activity between two or more jobs")),
    ),
    (
        "cmdprio-bssplit",
        "[global]|filename=/dev/sda|direct=1|write_lat_log=log|log_prio=1|rw=randrw|ioengine=libaio|iodepth=16|[a]\
         |bssplit=64k/40:1024k/60,1024k/100|cmdprio_bssplit=64k/100:1024k/0,1024k/0|cmdprio_class=1|cmdprio=0",
        Refused("cmdprio_bssplit", Some("specifying the percentage of IOs that must have a priority set")),
    ),
    (
        "cmdprio-percentage",
        "[global]|filename=/dev/sda|direct=1|write_lat_log=log|log_prio=1|[a]|rw=randread|bs=128k|ioengine=libaio|iodepth=8|prioclass=3\
         |cmdprio_percentage=20|cmdprio_class=1",
        Refused("cmdprio_percentage", Some("the percentage of I/O that will be issued with the highest priority")),
    ),
    (
        "cross-stripe-verify",
        "[global]|bs=16k|direct=1|rw=write:112k|verify=crc32c|filename=/dev/nvme0n1|verify_backlog=1|offset_increment=124g|io_size=120g\
         |offset=120k|group_reporting|verify_dump=1|loops=2|[a]|numjobs=30",
        Refused("verify_backlog", Some("write only N blocks before verifying these blocks")),
    ),
    (
        "dedupe-global",
        "[global]|ioengine=libaio|iodepth=256|size=100m|dedupe_mode=working_set|dedupe_global=1|dedupe_percentage=50|blocksize=4k|rw=write\
         |buffer_compress_percentage=50|dedupe_working_set_percentage=50|[a]|[b]",
        Refused("dedupe_mode", Some("Generate dedupe buffers from working set")),
    ),
    (
        "disk-zone-profile",
        "[global]|bs=64k|direct=1|rw=read|ioengine=libaio|iodepth=2|zonemode=strided|zonesize=256m|zoneskip=2g|[a]|filename=/dev/sdb\
         |write_bw_log|log_offset=1",
        Runs(1),
    ),
    (
        "enospc-pressure",
        "[global]|ioengine=libaio|directory=/scratch|filesize=128G|size=999G|iodepth=128|continue_on_error=write|ignore_error=,ENOSPC\
         |error_dump=0|fallocate=none|exitall|[a]|bs=128k|direct=1|buffered=0|rw=randwrite|runtime=100|filename=r|time_based|[b]|bs=4k\
         |rw=randtrim|filename=r|[c]|create_on_open=1|verify=crc32c-intel|verify_fatal=1|verify_dump=1|verify_backlog=1024\
         |verify_async=4|direct=1|bs=4k|rw=randrw|filename=v",
        Refused("ignore_error", Some("you want to ignore some errors during test")),
    ),
    (
        "example_latency_steadystate",
        "[global]|ioengine=libaio|iodepth=32|bs=4k|direct=1|rw=randread|numjobs=1|time_based=1|runtime=3600|steadystate=lat:5%\
         |steadystate_duration=300|steadystate_ramp_time=60|steadystate_check_interval=10|write_lat_log=l|log_avg_msec=10000|[a]\
         |filename=/dev/nvme3n1|size=10G",
        Refused("steadystate", Some("specified duration, the job will stop")),
    ),
    (
        "exitwhat",
        "[global]|filename=/tmp/test|filesize=1G|blocksize=4096|group_reporting|exitall=1|[a]|rw=read|numjobs=1|ioengine=sync|new_group=1\
         |thinktime=2000|number_ios=1000|exit_what=stonewall|[b]|new_group=1|rw=randrw|numjobs=3|ioengine=libaio|iodepth=32|rate=300,300,300",
        Refused("rate", Some("Cap the bandwidth used by this job")),
    ),
    (
        "fio-rand-RW",
        "[global]|name=x|filename=x|rw=randrw|rwmixread=60|rwmixwrite=40|bs=4K|direct=0|numjobs=4|time_based|runtime=900|[a]|size=10G\
         |ioengine=libaio|iodepth=16",
        Runs(1),
    ),
    (
        "fio-rand-read",
        "[global]|name=x|filename=x|rw=randread|bs=4K|direct=0|numjobs=1|time_based|runtime=900|[a]|size=10G|ioengine=libaio|iodepth=16",
        Runs(1),
    ),
    (
        "fio-rand-write",
        "[global]|name=x|filename=x|rw=randwrite|bs=4K|direct=0|numjobs=4|time_based|runtime=900|[a]|size=10G|ioengine=libaio|iodepth=16",
        Runs(1),
    ),
    (
        "fio-seq-RW",
        "[global]|name=x|filename=x|rw=rw|rwmixread=60|rwmixwrite=40|bs=256K|direct=0|numjobs=4|time_based|runtime=900|[a]|size=10G\
         |ioengine=libaio|iodepth=16",
        Runs(1),
    ),
    (
        "fio-seq-read",
        "[global]|name=x|filename=x|rw=read|bs=256K|direct=1|numjobs=1|time_based|runtime=900|[a]|size=10G|ioengine=libaio|iodepth=16",
        Runs(1),
    ),
    (
        "fio-seq-write",
        "[global]|name=x|filename=x|rw=write|bs=256K|direct=0|numjobs=1|time_based|runtime=900|[a]|size=10G|ioengine=libaio|iodepth=16",
        Runs(1),
    ),
    (
        "fixed-rate-submission",
        "[a]|size=128m|rw=read|ioengine=libaio|iodepth=32|direct=1|io_submit_mode=offload|rate_iops=1000",
        Runs(1),
    ),
    (
        "flow",
        "[global]|norandommap|thread|time_based|runtime=30|direct=1|ioengine=libaio|iodepth=256|size=100g|bs=8k|filename=/tmp/t\
         |flow_sleep=1000|[a]|numjobs=1|rw=write|flow=1|[b]|numjobs=1|rw=randread|flow=8",
        Refused("flow", Some("regulates the activity between two or more jobs")),
    ),
    ("fsx", "[a]|ioengine=libaio|iodepth=1|rw=randrw|size=256k|bs=4k|norandommap|direct=1|loops=500000", Runs(1)),
    (
        "iometer-file-access-server",
        "[global]|description=x|[a]|bssplit=512/10:1k/5:2k/5:4k/60:8k/2:16k/4:32k/4:64k/10|rw=randrw|rwmixread=80|direct=1|size=4g\
         |ioengine=libaio|iodepth=64",
        Runs(1),
    ),
    (
        "jesd219",
        "[a]|ioengine=libaio|direct=1|rw=randrw|norandommap|randrepeat=0|rwmixread=40|rwmixwrite=60|iodepth=256|numjobs=4\
         |bssplit=512/4:1024/1:1536/1:2048/1:2560/1:3072/1:3584/1:4k/67:8k/10:16k/7:32k/3:64k/3|blockalign=4k\
         |random_distribution=zoned:50/5:30/15:20/80|filename=/dev/nvme0n1|group_reporting",
        Runs(1),
    ),
    (
        "latency-profile",
        "[global]|bs=4k|rw=randread|random_generator=lfsr|direct=1|ioengine=libaio|iodepth=128|latency_target=500000|latency_window=5000000\
         |latency_percentile=99.9|[a]|filename=/dev/sda",
        Refused("latency_target", Some("fio will attempt to find the max performance point")),
    ),
    ("null", "[global]|bs=4k|gtod_reduce=1|[a]|ioengine=null|size=100g|rw=randread|norandommap", Runs(1)),
    (
        "numa",
        "[global]|ioengine=libaio|buffered=0|rw=randread|bs=512K|iodepth=16|size=512m|filename=/dev/sdb1|[a]|numa_cpu_nodes=0\
         |numa_mem_policy=bind:0|[b]|numa_cpu_nodes=0-1|numa_mem_policy=interleave:0-1",
        Runs(2),
    ),
    (
        "poisson-rate-submission",
        "[a]|size=128m|rw=randread|ioengine=libaio|iodepth=32|direct=1|io_submit_mode=offload|rate_iops=50|rate_process=poisson",
        Runs(1),
    ),
    (
        "rand-zones",
        "[a]|size=2g|direct=1|bs=4k|rw=randread|norandommap|random_distribution=zoned:50/5:30/15:20/",
        Runs(1),
    ),
    (
        "sequence-distribution",
        "[global]|ioengine=null|rw=randread|bs=4k|size=48k|io_size=24k|[a]|random_distribution=sequence:2,0,1|random_sequence_stride=0",
        Refused("random_sequence_stride", None),
    ),
    (
        "sprandom",
        "[global]|ioengine=libaio|rw=randwrite|bs=${FIO_BS}|blockalign=${FIO_BS}|direct=1|norandommap=1|iodepth=64|[a]|size=1g|sprandom=1\
         |spr_op=0.15|spr_num_regions=100",
        Refused("sprandom", None),
    ),
    (
        "ssd-steadystate",
        "[global]|ioengine=libaio|direct=1|group_reporting|filename=/dev/fioa|[a]|description=x|rw=write|iodepth=16|bs=1M|[b]|stonewall\
         |description=y|rw=randwrite|bs=4K|iodepth=32|numjobs=4|write_bw_log=log",
        Runs(2),
    ),
    (
        "ssd-test",
        "[global]|bs=4k|ioengine=libaio|iodepth=4|size=10g|direct=1|runtime=60|directory=/m|filename=f|[a]|rw=read|stonewall|[b]|rw=randread\
         |stonewall|[c]|rw=write|stonewall|[d]|rw=randwrite|stonewall",
        Runs(4),
    ),
    (
        "steadystate",
        "[global]|threads=1|group_reporting|time_based|size=128m|[a]|filename=/dev/null|rw=write|bs=128k|numjobs=4|runtime=5m|ss=iops:10%\
         |ss_dur=30s|ss_ramp=10s",
        Refused("steadystate", Some("specified duration, the job will stop")),
    ),
    (
        "surface-scan",
        "[global]|thread|bs=64k|direct=1|ioengine=sync|verify=meta|verify_pattern=0xaa555aa5|verify_interval=512|[a]|filename=d|rw=write\
         |fill_device=1|do_verify=0|[b]|stonewall|create_serialize=0|filename=d|rw=read|do_verify=1",
        Refused("fill_device", Some("waits for ENOSPC")),
    ),
    (
        "tiobench-example",
        "[global]|direct=1|size=512m|bsrange=4k-4k|timeout=60|numjobs=4 ; each|[a]|rw=write|[b]|stonewall|rw=randwrite|[c]|stonewall|rw=read\
         |[d]|stonewall|rw=randread",
        Runs(4),
    ),
    (
        "waitfor",
        "[global]|threads=1|group_reporting|filename=/tmp/data|filesize=128m|[a]|rw=write|bs=128k|numjobs=4|runtime=10|[b]|new_group\
         |wait_for=a|rw=randread|bs=4k|numjobs=4|runtime=10|[c]|new_group|wait_for=b|rw=randwrite|bs=4k|numjobs=4|runtime=10",
        Runs(3),
    ),
    ("zipf", "[a]|ioengine=null|rw=randread|norandommap|size=1280m|bs=4k|random_distribution=zipf:0.5", Runs(1)),
];

/// What is said of an option that nothing is known of.
const UNKNOWN: &str = "leave it out if the load does not need it, or write the job as a plan";

/// fio's own documentation as it is installed, its lines joined; `None` if it is not there.
fn documentation() -> Option<String> {
    let output = Command::new("zcat").arg("/usr/share/doc/fio/HOWTO.rst.gz").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// How many loads the text is, or why it is refused.
fn read(text: &str) -> Result<usize, String> {
    let variable = |name: &str| (name == "FIO_BS").then(|| "64k".to_owned());
    let around = FioSurroundings { variable: &variable, ..FioSurroundings::NONE };
    let jobs = fio_jobs_in(&text.replace('|', "\n"), "example", around).map_err(|error| error.to_string())?;
    Ok(jobs.plan.loads.len())
}

fn options(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.split('|').filter(|line| !line.starts_with('['));
    lines.map(|line| line.split_once('=').unwrap_or((line, "1")))
}

#[test]
fn fios_examples_run_or_are_refused_for_what_fio_documents() {
    let documentation = documentation();
    let mut runs = 0;
    for (name, text, fate) in &EXAMPLES {
        let read = read(text);
        let told = match (fate, &read) {
            (Runs(loads), Ok(read)) => {
                assert_eq!(read, loads, "{name}");
                runs += 1;
                "runs".to_owned()
            }
            (Refused(key, documented), Err(error)) => {
                let line = error.lines().find(|line| line.contains(&format!(" {key}=")));
                let line = line.unwrap_or_else(|| panic!("{name} is not refused for {key}: {error}"));
                assert!(!line.contains(UNKNOWN), "{name}: {line}");
                if let Some(page) = &documentation {
                    let is_there = match documented {
                        Some(words) => page.contains(words),
                        None => !page.contains(&format!("option:: {key}=")),
                    };
                    assert!(is_there, "{name}: fio's documentation does not say {documented:?} of {key}");
                }
                format!("refused: {key}, {}", documented.unwrap_or("which fio's documentation does not have"))
            }
            (_, read) => panic!("{name}: {read:?}"),
        };
        println!("{name:28} {told}");
    }
    println!("{runs} of {} run", EXAMPLES.len());
    assert!(runs >= 23, "{runs} of fio's generic examples run");
}

#[test]
fn no_option_of_fios_examples_is_unknown() {
    let mut in_running: BTreeSet<&str> = BTreeSet::new();
    let mut all: BTreeMap<&str, &str> = BTreeMap::new();
    for (_, text, fate) in &EXAMPLES {
        for (key, value) in options(text) {
            all.entry(key).or_insert(value);
            if matches!(fate, Runs(_)) {
                in_running.insert(key);
            }
        }
    }
    let mut by_fate: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, value) in &all {
        // Of an option in refused examples only: what becomes of it by itself.
        let alone = || {
            let base = if *key == "filename" || *key == "size" { "" } else { "size=1m|" };
            let with = |map: &str| read(&format!("[a]|{base}rw=randwrite|{map}runtime=5|{key}={value}"));
            with("").or_else(|_| with("norandommap|"))
        };
        let fate = if in_running.contains(key) {
            "in examples that run"
        } else {
            match alone() {
                Ok(_) => "taken by itself",
                Err(error) if error.contains(UNKNOWN) => "unknown",
                Err(_) => "refused in a sentence of its own",
            }
        };
        by_fate.entry(fate).or_default().push(key);
    }
    for (fate, keys) in &by_fate {
        println!("{} of {}: {fate}: {}", keys.len(), all.len(), keys.join(" "));
    }
    assert_eq!(by_fate.get("unknown"), None);
    let taken = |fate: &str| by_fate.get(fate).map_or(0, Vec::len);
    let taken = taken("in examples that run") + taken("taken by itself");
    assert!(taken >= 69, "{taken} of {} options are taken", all.len());
}

//! Options that need no rule of their own: what changes no load, and what to write in place of those that are refused.

use super::FioRemedy;

/// Options that say how fio works or what it prints, and nothing about what is asked of storage.
const HARMLESS: [&str; 45] = [
    "allow_file_create",
    "allow_mounted_write",
    "bwavgtime",
    "clat_percentiles",
    "clocksource",
    "continue_on_error",
    "create_fsync",
    "create_serialize",
    "description",
    "disable_bw",
    "disable_bw_measurement",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "disk_util",
    "error_dump",
    "eta",
    "exitall_on_error",
    "fixedbufs",
    "group_reporting",
    "gtod_cpu",
    "gtod_reduce",
    "hipri",
    "iomem",
    "iopsavgtime",
    "kb_base",
    "lat_percentiles",
    "log_avg_msec",
    "log_hist_msec",
    "log_max_value",
    "log_offset",
    "log_unix_epoch",
    "mem",
    "minimal",
    "name",
    "new_group",
    "per_job_logs",
    "percentile_list",
    "randrepeat",
    "randseed",
    "refill_buffers",
    "registerfiles",
    "slat_percentiles",
    "thread",
    "unlink",
];
/// The same by how they begin.
const HARMLESS_BEGINNINGS: [&str; 4] = ["write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log"];
/// And by their whole name.
const HARMLESS_MORE: [&str; 6] =
    ["unit_base", "allrandrepeat", "sqthread_poll", "nonvectored", "status-interval", "stonewall"];

/// Options that say nothing about what is asked of storage, by name or by how they begin.
pub fn fio_harmless() -> impl Iterator<Item = &'static str> {
    HARMLESS.into_iter().chain(HARMLESS_MORE).chain(HARMLESS_BEGINNINGS)
}

/// Whether an option says nothing about what is asked of storage.
pub(super) fn is_harmless(key: &str) -> bool {
    HARMLESS.contains(&key)
        || HARMLESS_MORE.contains(&key)
        || HARMLESS_BEGINNINGS.iter().any(|beginning| key.starts_with(beginning))
}

/// Options that ask for nothing while they have this value, the one that fio gives them.
const NOTHING: [(&str, &str); 32] = [
    ("bs_unaligned", "0"),
    ("create_on_open", "0"),
    ("create_only", "0"),
    ("dedupe_mode", "repeat"),
    ("do_verify", "0"),
    ("exitall", "0"),
    ("fadvise_hint", "0"),
    ("fill_device", "0"),
    ("flow", "0"),
    ("io_submit_mode", "inline"),
    ("iodepth_batch", "1"),
    ("iodepth_batch_complete_min", "1"),
    ("latency_target", "0"),
    ("lockfile", "none"),
    ("max_latency", "0"),
    ("numa", "0"),
    ("number_ios", "0"),
    ("percentage_random", "100"),
    ("pre_read", "0"),
    ("rate_ignore_thinktime", "0"),
    ("rate_iops_min", "0"),
    ("rate_min", "0"),
    ("serialize_overlap", "0"),
    ("steadystate", "0"),
    ("sync_file_range", "0"),
    ("thinktime_blocks", "1"),
    ("thinktime_blocks_type", "complete"),
    ("thinktime_iotime", "0"),
    ("thinktime_spin", "0"),
    ("verify", "0"),
    ("zonemode", "none"),
    ("zonesize", "0"),
];

/// Options that ask for nothing, whatever they say, unless a job verifies.
pub(super) const OF_VERIFY: [&str; 10] = [
    "do_verify",
    "verify_async",
    "verify_async_cpus",
    "verify_backlog",
    "verify_backlog_batch",
    "verify_dump",
    "verify_fatal",
    "verify_interval",
    "verify_offset",
    "verify_state_save",
];

/// Whether an option has the value that it has anyway, so that it could as well be absent.
pub(super) fn asks_nothing(key: &str, value: &str) -> bool {
    NOTHING.contains(&(key, value))
}

/// Whether an option says only how a job verifies.
pub(super) fn is_of_verify(key: &str) -> bool {
    OF_VERIFY.contains(&key)
}

/// Options that say on which CPUs fio runs and how it hands requests over, each with what takes its place.
pub(super) const WHERE_IT_RUNS: [(&str, &str); 11] = [
    ("force_async", "which thread of the kernel takes a request is the tool's own choice"),
    ("cpus_allowed", RUN_SO),
    ("cpus_allowed_policy", RUN_SO),
    ("cpumask", RUN_SO),
    ("nice", RUN_SO),
    ("numa_cpu_nodes", RUN_SO),
    ("numa_mem_policy", RUN_SO),
    ("iodepth_batch", "how many requests go to the kernel at once is the tool's own choice; the depth is the same"),
    (
        "iodepth_batch_complete_max",
        "how many answers are taken at once is the tool's own choice; the depth is the same",
    ),
    ("log_prio", "it says what a log has"),
    ("unified_rw_reporting", "reads and writes have figures of their own"),
];
const RUN_SO: &str = "start loadline itself so (taskset, numactl, nice); it says where a job runs, not what it asks";

/// Options that say where and when fio did it. They change nothing of a result that exists.
pub(super) const AROUND: [&str; 10] = [
    "cpus_allowed",
    "cpus_allowed_policy",
    "cpumask",
    "ioscheduler",
    "nice",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "prio",
    "prioclass",
    "thinktime_blocks_type",
];

/// What to do in place of an option that is refused.
pub(super) fn advice(key: &str) -> (&'static str, Option<FioRemedy>) {
    let advice = match key {
        "do_verify" | "verify_pattern" | "verify_pattern_interval" => "write the job as a plan with verify = true",
        "atomic" => {
            "in fio the device must write each block whole or not at all (RWF_ATOMIC), which is not asked for here: leave it out"
        }
        "verify_write_sequence"
        | "verify_header_seed"
        | "experimental_verify"
        | "verify_only"
        | "verify_interval"
        | "verify_offset" => {
            "in fio it says how blocks are checked; loadline checks each block by a checksum and a count of its own: leave it out"
        }
        "cmdprio" | "cmdprio_bssplit" | "cmdprio_class" | "cmdprio_hint" | "cmdprio_percentage" => {
            "in fio a share of the requests has another priority at the device; all are alike here: leave it out"
        }
        "prioclass" | "prio" | "priohint" => {
            "in fio it is the priority of the job's requests: start loadline itself so (ionice), and leave it out here"
        }
        "dedupe_mode" | "dedupe_global" | "dedupe_working_set_percentage" => {
            "in fio blocks repeat those of a working set or of other jobs; here a duplicate repeats any block before it: write \
             dedupe_percentage alone"
        }
        "random_generator" => {
            "in fio lfsr draws each block once even with norandommap, and the others are what it draws with anyway: leave it out"
        }
        "ignore_error" => {
            "in fio such errors are counted and the job goes on; here every error is counted, and a full file system ends the load: \
             leave it out"
        }
        "zoneskip" => {
            "in fio so much is left out behind each zone: write rw=read:SKIP with a block of the zone's size, or leave it out"
        }
        "zonemode"
        | "zonesize"
        | "zonerange"
        | "zonecapacity"
        | "max_open_zones"
        | "job_max_open_zones"
        | "read_beyond_wp"
        | "zone_reset_threshold"
        | "zone_reset_frequency" => {
            "in fio the job goes from zone to zone of the target, which loadline does not: leave it out"
        }
        "flow" | "flow_id" | "flow_watermark" | "flow_sleep" => {
            "in fio it holds one job to the pace of another; loads run at the same time here, each at its own: write rate_iops in both"
        }
        "steadystate" | "steadystate_duration" | "steadystate_ramp_time" | "steadystate_check_interval" => {
            "in fio it ends the job when its rate is steady; a plan's steady_state begins the measurement then: write the job as a plan"
        }
        "fill_device" => {
            "in fio it writes until nothing is free, which loadline never does to a file system: write size, or name a device"
        }
        "rate_min" | "rate_iops_min" | "max_latency" => {
            "in fio it ends the job that is slower; here a plan's objective judges it: leave it out"
        }
        "iodepth_low" | "iodepth_batch_complete_min" => {
            "in fio the queue runs empty before it is filled again, so that the depth is not kept: leave it out"
        }
        "random_sequence_stride" | "spr" | "sprandom" | "spr_op" | "spr_num_regions" | "spr_cs" => {
            "is not in fio 3.33 or its documentation: leave it out"
        }
        "cpus_allowed" | "numa_cpu_nodes" | "numa_mem_policy" | "nice" => {
            "start loadline itself so (taskset, numactl, nice, ionice), and leave it out here"
        }
        "thinktime_blocks" => "here each request is thought about: write 1, with a thinktime of that share",
        "create_only" => "fio makes the files and asks nothing of them: leave the job out, files are filled anyway",
        "pre_read" => {
            "fio reads the files into memory first: leave it out, or write invalidate=0 with a ramp_time that reads them all"
        }
        "create_on_open" => "fio finds nothing to read in a file that it makes so late: leave it out",
        "exitall" => "fio ends all clones with the first that is done: write runtime and time_based, or leave it out",
        "opendir" => "fio asks all files below it: name one file with filename",
        "latency_target" | "latency_window" | "latency_percentile" => {
            let advice = "write the job as a plan with an objective, and search for the load that keeps it";
            return (advice, Some(FioRemedy::FindObjective));
        }
        _ => "leave it out if the load does not need it, or write the job as a plan",
    };
    (advice, None)
}

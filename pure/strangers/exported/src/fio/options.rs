//! A load as the options of a job, as far as fio has them.

use loadline_record::{EngineName, TargetKind, TrialRecord, VolumeFacts};
use loadline_units::{Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, Distribution, FlushMethod, LoadSpec, Pattern, Walk};
use serde_json::{Map, Value, json};

/// The options, every value a text as fio reports them.
pub(crate) struct Options {
    pub(crate) options: Map<String, Value>,
    /// The parts of the load without an option, in words.
    pub(crate) beyond: Vec<String>,
}

/// What carries a load out.
pub(crate) struct Means<'a> {
    /// fio's word for the engine.
    pub(crate) engine: &'a str,
    /// Requests of each thread that an open loop may have outstanding.
    pub(crate) outstanding_max: u64,
}

impl<'a> Means<'a> {
    /// Those of a trial.
    fn of(trial: &'a TrialRecord, threads: u32) -> Self {
        // fio has no word for a model.
        let engine = match &trial.engine.name {
            EngineName::IoUring | EngineName::Simulator => "io_uring",
            EngineName::Aio => "libaio",
            EngineName::Threads => "psync",
            other => other.name(),
        };
        Self { engine, outstanding_max: outstanding_max(trial, threads) }
    }
}

impl Options {
    pub(crate) fn put(&mut self, key: &str, value: impl std::fmt::Display) {
        self.options.insert(key.to_owned(), json!(format!("{value}")));
    }
}

/// Where a job finds its file: an option of fio, and its value.
pub(crate) struct FileOption(&'static str, String);

impl FileOption {
    /// Made in a directory by the tool itself, or one that was there: fio takes the former for a directory. Colons would separate names.
    pub(super) fn of_volume(volume: &VolumeFacts) -> Self {
        let key = if volume.kind == TargetKind::TestFile { "directory" } else { "filename" };
        Self(key, volume.path.as_ref().unwrap_or(&volume.target).replace(':', "\\:"))
    }
}

/// The job that a trial was.
pub(super) fn of_trial(spec: &LoadSpec, trial: &TrialRecord, target: Option<&FileOption>) -> Options {
    let mut all = of(spec, &Means::of(trial, spec.threads), target);
    if trial.engine.name == EngineName::Simulator {
        all.beyond.push("nothing real was measured: the storage is a model in virtual time".to_owned());
    }
    all
}

/// `spec` as a job on `target`.
pub(crate) fn of(spec: &LoadSpec, means: &Means<'_>, target: Option<&FileOption>) -> Options {
    let mut all = Options { options: Map::new(), beyond: Vec::new() };
    let is_random = matches!(spec.pattern, Pattern::Random(_));
    all.put("rw", direction(spec));
    let is_mixed = spec.reads != Ratio::ONE && spec.reads != Ratio::ZERO && spec.trims != Ratio::ONE;
    if is_mixed {
        all.put("rwmixread", percent(spec.reads));
    }
    if spec.trims != Ratio::ZERO && spec.trims != Ratio::ONE {
        all.beyond.push(format!("{} % of the requests are trims", percent(spec.trims)));
    }
    match &spec.blocks[..] {
        [only] => all.put("bs", only.size.get()),
        several => {
            let shares: Vec<String> =
                several.iter().map(|of| format!("{}/{}", of.size.get(), percent(of.share))).collect();
            all.put("bssplit", shares.join(":"));
        }
    }
    if let Some(align) = spec.align {
        all.put("blockalign", align.get());
    }
    pattern(&mut all, spec);
    arrival(&mut all, spec, means, is_mixed);
    if let Some(FileOption(key, value)) = target {
        all.put(key, value);
    }
    place(&mut all, spec, is_random);
    all.put("direct", u8::from(!spec.buffered));
    if let Some(flush) = spec.flush {
        match (flush.how, flush.every) {
            (FlushMethod::Fdatasync, every) => all.put("fdatasync", every),
            (FlushMethod::Fua, 1) => all.put("sync", "dsync"),
            (FlushMethod::Fua, every) => all.beyond.push(format!("one write in {every} is durable by itself (FUA)")),
        }
    }
    if spec.end_flush {
        all.put("end_fsync", 1);
    }
    if spec.content.compressible != Ratio::ZERO {
        all.put("buffer_compress_percentage", percent(spec.content.compressible));
    }
    if spec.content.duplicate != Ratio::ZERO {
        all.put("dedupe_percentage", percent(spec.content.duplicate));
    }
    if spec.verify {
        all.beyond.push("every block is marked and checked".to_owned());
    }
    if spec.warm_up > Duration::ZERO {
        all.put("ramp_time", time(spec.warm_up));
    }
    all.put("runtime", time(spec.duration));
    if !spec.is_bound_in_bytes() {
        all.put("time_based", 1);
    }
    if spec.cool_down > Duration::ZERO {
        all.beyond.push(format!("the load goes on for {} after the measurement", spec.cool_down.human()));
    }
    if spec.steady_state.is_some() {
        all.beyond.push("the warm-up lasts until the rate is steady (SNIA)".to_owned());
    }
    all
}

/// fio's word for the pattern and its directions.
pub(super) const fn direction(spec: &LoadSpec) -> &'static str {
    let is_random = matches!(spec.pattern, Pattern::Random(_));
    let (reads, trims) = (spec.reads.as_ppm(), spec.trims.as_ppm());
    let all = Ratio::ONE.as_ppm();
    match (is_random, trims == all, reads) {
        (false, true, _) => "trim",
        (true, true, _) => "randtrim",
        (false, _, ppm) if ppm == all => "read",
        (true, _, ppm) if ppm == all => "randread",
        (false, _, 0) => "write",
        (true, _, 0) => "randwrite",
        (false, ..) => "rw",
        (true, ..) => "randrw",
    }
}

fn pattern(all: &mut Options, spec: &LoadSpec) {
    match &spec.pattern {
        Pattern::Random(Distribution::Uniform) => all.put("norandommap", 1),
        Pattern::Random(Distribution::Zipf { theta_milli }) => {
            all.put("random_distribution", format!("zipf:{}", f64::from(*theta_milli) / 1e3));
        }
        Pattern::Random(Distribution::HotCold { requests, blocks }) => {
            all.put("norandommap", 1);
            let told = format!("{} % of the requests go to {} % of the blocks", percent(*requests), percent(*blocks));
            all.beyond.push(told);
        }
        Pattern::Random(Distribution::Pareto { h_milli }) => {
            all.put("random_distribution", format!("pareto:{}", f64::from(*h_milli) / 1e3));
        }
        Pattern::Random(Distribution::Normal { deviation }) => {
            all.put("random_distribution", format!("normal:{}", percent(*deviation)));
        }
        Pattern::Random(Distribution::Zoned { zones }) => {
            let zones: Vec<String> =
                zones.iter().map(|zone| format!("{}/{}", percent(zone.requests), percent(zone.blocks))).collect();
            all.put("norandommap", 1);
            all.put("random_distribution", format!("zoned:{}", zones.join(":")));
        }
        Pattern::Sequential { stride: Some(stride) } => {
            let block = spec.block_max();
            match spec.walk {
                Walk::Onward => all.beyond.push(format!("requests begin {stride} apart")),
                Walk::Again => all.put("rw", format!("{}:{}", direction(spec), stride.saturating_sub(block).get())),
                Walk::Back => {
                    all.put("rw", format!("{}:-{}", direction(spec), stride.get().saturating_add(block.get())));
                }
            }
        }
        // As fio has it by itself.
        Pattern::Random(Distribution::Permutation | Distribution::Covering) | Pattern::Sequential { stride: None } => {}
    }
}

fn arrival(all: &mut Options, spec: &LoadSpec, means: &Means<'_>, is_mixed: bool) {
    all.put("ioengine", means.engine);
    let rate = match spec.arrival {
        Arrival::Closed { queue_depth, rate_max, think_time } => {
            // fio's clones are our threads, each with this many requests.
            all.put("iodepth", queue_depth);
            if think_time > Duration::ZERO {
                // fio counts it in microseconds.
                all.put("thinktime", think_time.as_ns().div_ceil(1_000));
                if queue_depth > 1 {
                    let told = format!(
                        "each of {queue_depth} requests has its own think time, and a job of fio stalls as a whole"
                    );
                    all.beyond.push(told);
                }
            }
            rate_max
        }
        Arrival::Constant { rate } => {
            all.put("iodepth", means.outstanding_max);
            all.beyond.push("requests come at their time, however many are outstanding (an open loop)".to_owned());
            Some(rate)
        }
        Arrival::Poisson { rate } => {
            all.put("iodepth", means.outstanding_max);
            all.put("rate_process", "poisson");
            Some(rate)
        }
    };
    all.put("numjobs", spec.threads);
    if spec.threads > 1 {
        all.put("group_reporting", 1);
    }
    if let Some(rate) = rate {
        put_rate(all, spec, rate, is_mixed);
    }
}

/// A depth that would not have held an open loop back: the most that were outstanding in a second, for each thread.
fn outstanding_max(trial: &TrialRecord, threads: u32) -> u64 {
    let most = trial.series.seconds.iter().map(|second| second.outstanding).fold(1.0, f64::max);
    (most / f64::from(threads)).ceil().max(1.0) as u64
}

/// fio's rate is that of each clone, and of reads and writes apart. Of mixed sizes it counts bytes only.
fn put_rate(all: &mut Options, spec: &LoadSpec, rate: Iops, is_mixed: bool) {
    let (key, unit) = if spec.blocks.len() > 1 { ("rate", spec.block_mean().get()) } else { ("rate_iops", 1) };
    let threads = u64::from(spec.threads);
    let each = rate.get().saturating_mul(unit).div_ceil(threads);
    let reads = spec.reads.of(each);
    let told = match (is_mixed, reads == each - reads) {
        (false, _) => each.to_string(),
        (true, true) => reads.to_string(),
        (true, false) => format!("{reads},{}", each - reads),
    };
    all.put(key, told);
    let is_exact = each * threads == rate.get().saturating_mul(unit)
        && u128::from(reads) * 1_000_000 == u128::from(each) * u128::from(spec.reads.as_ppm());
    if !is_exact {
        all.beyond.push(format!("{rate} over all threads and directions"));
    }
}

fn place(all: &mut Options, spec: &LoadSpec, is_random: bool) {
    if let Some(size) = spec.size {
        // Each thread of a sequential load has its own stretch, and fio's size is that of a clone.
        let each = if let Some(staggered) = spec.staggered {
            all.put("offset_increment", staggered.step.get());
            staggered.length.unwrap_or(size)
        } else if spec.threads > 1 && !is_random && !spec.overlap {
            Bytes::new(size.get() / u64::from(spec.threads))
        } else {
            size
        };
        all.put(if spec.staggered.is_some_and(|of| of.length.is_none()) { "filesize" } else { "size" }, each.get());
        if each != size && spec.staggered.is_none() {
            all.put("offset_increment", each.get());
        }
    }
    if let Some(share) = spec.size_share {
        all.put("size", format!("{}%", percent(share)));
    }
    if spec.continued != Ratio::ZERO {
        all.put("percentage_random", percent(spec.continued.complement()));
    }
    if let Some(zones) = spec.zones {
        all.put("zonemode", "strided");
        all.put("zonesize", zones.size.get());
        all.put("zoneskip", zones.skip.get());
    }
    if spec.start != Bytes::ZERO {
        all.put("offset", spec.start.get());
    }
    if spec.files > 1 {
        all.put("nrfiles", spec.files);
        // One file after the other, a file by chance, or turns, as the load has it; fio takes turns by itself.
        match spec.in_turn {
            Some(1) => all.put("file_service_type", "roundrobin"),
            Some(requests) => all.put("file_service_type", format!("roundrobin:{requests}")),
            None => all.put("file_service_type", if is_random { "random" } else { "sequential" }),
        }
    }
    match (spec.passes, spec.size) {
        (None, _) => {}
        (Some(passes), Some(size)) => {
            all.put("io_size", size.get().saturating_mul(passes.into()).div_ceil(u64::from(spec.threads)));
        }
        // Each clone ends by itself when it was over the target.
        (Some(passes), None) if passes == spec.threads => {}
        (Some(passes), None) => all.beyond.push(format!("ends after {passes} passes over the target")),
    }
    if let Some(volume) = spec.volume {
        all.put("io_size", volume.get().div_ceil(u64::from(spec.threads)));
    }
}

/// In percent, without decimals if possible.
fn percent(share: Ratio) -> String {
    (f64::from(share.as_ppm()) / 1e4).to_string()
}

/// In the largest of fio's units that is exact.
fn time(of: Duration) -> String {
    match of.as_ns() {
        ns if ns % 1_000_000_000 == 0 => format!("{}", ns / 1_000_000_000),
        ns if ns % 1_000_000 == 0 => format!("{}ms", ns / 1_000_000),
        ns => format!("{}us", ns / 1_000),
    }
}

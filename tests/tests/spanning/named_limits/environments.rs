//! Random environments with every mechanism of the model, and loads that press them.

use rand_core::Rng;
use std::fmt::Write as _;

/// A mechanism that an environment may have beside a disk with limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mechanism {
    Window,
    Bucket,
    Burst,
    Apart,
    Traded,
    CountedSize,
    PerKib,
    Places,
    Transfer,
    Stripe,
    Mirror,
    Vm,
    HostCache,
    Spinning,
    OpenLoop,
    Mixed,
    Sequential,
}

impl Mechanism {
    const ALL: [(Self, u64); 17] = [
        (Self::Window, 25),
        (Self::Bucket, 15),
        (Self::Burst, 15),
        (Self::Apart, 15),
        (Self::Traded, 5),
        (Self::CountedSize, 25),
        (Self::PerKib, 25),
        (Self::Places, 6),
        (Self::Transfer, 6),
        (Self::Stripe, 15),
        (Self::Mirror, 6),
        (Self::Vm, 15),
        (Self::HostCache, 6),
        (Self::Spinning, 4),
        (Self::OpenLoop, 15),
        (Self::Mixed, 25),
        (Self::Sequential, 10),
    ];

    /// Each with its own chance, in percent.
    pub(crate) fn some(random: &mut impl Rng) -> Vec<Self> {
        Self::ALL.into_iter().filter(|(_, percent)| random.next_u64() % 100 < *percent).map(|(one, _)| one).collect()
    }
}

/// Between two values, evenly in the logarithm.
pub(crate) fn between(random: &mut impl Rng, least: f64, most: f64) -> f64 {
    let share = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    least * (most / least).powf(share)
}

fn one_of<T: Copy>(random: &mut impl Rng, all: &[T]) -> T {
    all[(random.next_u64() % all.len() as u64) as usize]
}

/// An environment file.
pub(crate) fn environment(mechanisms: &[Mechanism], random: &mut impl Rng) -> String {
    let has = |one| mechanisms.contains(&one);
    let iops = between(random, 200.0, 4_000.0) as u64;
    // Where requests and bytes bind alike, between the block sizes of the plan.
    let break_kib = between(random, 16.0, 128.0);
    let kb = (iops as f64 * break_kib) as u64 * 1024 / 1000;
    let mut text = String::from("schema = 1\nname = \"random\"\n");
    if has(Mechanism::Vm) {
        let vm = (iops as f64 * between(random, 0.5, 3.0)) as u64;
        let budget = format!("{{ iops = \"{vm} IOPS\", throughput = \"{} KB/s\" }}", (vm as f64 * break_kib) as u64);
        let _ = writeln!(text, "[vm]\nuncached = {budget}\ncached = {budget}\ncache_size = \"4 GiB\"");
    }
    text += "[volume.data]\n";
    let disks = if has(Mechanism::Stripe) {
        let disks = one_of(random, &[2, 4]);
        let _ = writeln!(text, "layout = {{ stripe = {{ interleave = \"64 KiB\" }} }}");
        disks
    } else if has(Mechanism::Mirror) {
        text += "layout = { mirror = 2 }\n";
        2
    } else {
        1
    };
    if has(Mechanism::HostCache) {
        text += "host_cache = { mode = \"read-only\", capacity = \"1 GiB\" }\n";
    }
    let _ = writeln!(text, "[[volume.data.disks]]\nsize = \"64 GiB\"\ncount = {disks}");
    if has(Mechanism::Spinning) {
        text += "spinning = { revolutions_per_minute = 7200, seek_min = \"1 ms\", seek_max = \"16 ms\", transfer = \"150 MB/s\", \
                 queue_depth = 32 }\n";
    } else {
        limit(mechanisms, random, (iops, kb), &mut text);
    }
    text
}

/// The limits of a disk and how long it takes.
fn limit(mechanisms: &[Mechanism], random: &mut impl Rng, (iops, kb): (u64, u64), text: &mut String) {
    let has = |one| mechanisms.contains(&one);
    if has(Mechanism::Places) {
        let _ = writeln!(text, "parallelism = {{ requests = {} }}", one_of(random, &[8, 16, 32]));
    } else if has(Mechanism::Transfer) {
        let _ = writeln!(text, "parallelism = {{ throughput = \"{} KB/s\" }}", kb / 2);
    }
    *text += "[volume.data.disks.limit]\n";
    let both = |value: u64, unit: &str, share: f64| {
        let other = (value as f64 * share) as u64;
        format!("{{ read = \"{value} {unit}\", write = \"{other} {unit}\" }}")
    };
    let bursts = has(Mechanism::Burst);
    if (has(Mechanism::Apart) || has(Mechanism::Traded)) && !bursts {
        let share = between(random, 0.4, 0.9);
        let _ = writeln!(text, "iops = {}\nthroughput = {}", both(iops, "IOPS", share), both(kb, "KB/s", share));
        if has(Mechanism::Traded) {
            *text += "reads_and_writes = \"traded\"\n";
        }
    } else {
        let _ = writeln!(text, "iops = \"{iops} IOPS\"\nthroughput = \"{kb} KB/s\"");
    }
    if bursts {
        let rate = (iops as f64 * between(random, 1.5, 5.0)) as u64;
        let credits = ((rate - iops) as f64 * between(random, 21.0, 35.0)) as u64;
        let _ = writeln!(text, "burst = {{ iops = \"{rate} IOPS\", iops_credits = {credits} }}");
    }
    if has(Mechanism::CountedSize) {
        *text += "counted_size = \"256 KiB\"\n";
    }
    if has(Mechanism::Window) {
        let jitter = one_of(random, &[0, 3]);
        let length = one_of(random, &[50, 100]);
        let _ = writeln!(text, "enforcement = {{ window = \"{length} ms\", jitter = \"{jitter} ms\" }}");
    } else if has(Mechanism::Bucket) {
        let _ = writeln!(text, "enforcement = {{ bucket = \"{} ms\" }}", one_of(random, &[100, 1000]));
    }
    for operation in ["read", "write"] {
        let median = between(random, 100.0, 4_000.0);
        let p99 = median * between(random, 1.2, 4.0);
        let per_kib = if has(Mechanism::PerKib) { between(random, 500.0, 10_000.0) } else { 0.0 };
        let _ = writeln!(
            text,
            "[volume.data.disks.latency.{operation}]\nmedian = \"{median:.0} us\"\np99 = \"{p99:.0} us\"\nper_kib = \"{per_kib:.0} ns\""
        );
    }
}

/// A plan that presses them.
pub(crate) fn plan(mechanisms: &[Mechanism], random: &mut impl Rng) -> String {
    let has = |one| mechanisms.contains(&one);
    let pattern = if has(Mechanism::Sequential) { "sequential" } else { "random" };
    let reads = if has(Mechanism::Mixed) {
        one_of(random, &["\"70 %\"", "\"100 %\", \"50 %\""])
    } else {
        one_of(random, &["\"100 %\"", "\"0 %\""])
    };
    let blocks =
        one_of(random, &["\"4 KiB\", \"256 KiB\"", "\"8 KiB\", \"64 KiB\", \"1 MiB\"", "\"4 KiB\", \"512 KiB\""]);
    let depths = one_of(random, &["1, 32", "1, 8, 64", "1, 4, 16", "2, 64"]);
    let duration = if has(Mechanism::Burst) { 60 } else { 8 };
    let times = format!("warm_up = \"2 s\"\nduration = \"{duration} s\"\ntrials = 1\nsize = \"2 GiB\"\n");
    let mut text = format!(
        "schema = 1\nname = \"pressing\"\n[[load]]\npattern = \"{pattern}\"\nreads = [{reads}]\nblock = [{blocks}]\n\
         queue_depth = [{depths}]\n{times}"
    );
    if has(Mechanism::OpenLoop) {
        let rate = between(random, 100.0, 8_000.0) as u64;
        let _ = write!(
            text,
            "[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"8 KiB\"\narrival = {{ poisson = \"{rate} IOPS\" }}\n{times}"
        );
    }
    text
}

//! One job's options onto a load.

mod arrival;
mod blocks;
mod contents;
mod place;
mod way;

use super::options::{AROUND, OF_VERIFY, WHERE_IT_RUNS, advice, asks_nothing, is_harmless, is_of_verify};
use super::units::{self, Bare};
use super::{Ending, FioProblem, Purpose, Section, Setting, base};
use loadline_load::{Distribution, FlushCadence, FlushMethod, LoadSpec, Pattern, TRIALS_MAX};
use loadline_units::{Bytes, Duration, Ratio};

/// A job that is read: options are taken one by one, and what is left over is judged at the end.
pub(super) struct Job<'a> {
    section: &'a Section,
    purpose: Purpose,
    problems: &'a mut Vec<FioProblem>,
    taken: Vec<&'static str>,
    /// Options that do not change the load.
    pub(super) ignored: Vec<String>,
    /// What is done otherwise than fio does it.
    pub(super) notes: Vec<String>,
    /// What it names to be measured.
    pub(super) target: Option<String>,
    /// Whether it waits for the jobs before it.
    pub(super) waits: bool,
    /// Which others end with it.
    pub(super) ends: Ending,
    /// Whether its file has a name.
    pub(super) names_file: bool,
    /// The names of its files, if there are several.
    pub(super) file_names: Option<String>,
    /// What all clones move together by their size.
    moved: Option<Bytes>,
    /// The smallest block of each direction that is named.
    least: Vec<Bytes>,
}

/// Where a job neither ends by time nor says how much it moves, nobody waits longer.
const DURATION_MAX: Duration = Duration::from_s(86_400);

/// What `rw` says.
struct Kind {
    random: bool,
    reads: Option<Ratio>,
    trims: Ratio,
    /// What stands behind a colon, with the kind before it.
    skip: Option<(String, String)>,
}

impl Kind {
    /// Reads and writes in one job.
    fn is_mixed(&self) -> bool {
        self.reads.is_some_and(|reads| reads != Ratio::ONE && reads != Ratio::ZERO)
    }
}

impl<'a> Job<'a> {
    pub(super) fn new(section: &'a Section, purpose: Purpose, problems: &'a mut Vec<FioProblem>) -> Self {
        Self {
            section,
            purpose,
            problems,
            taken: Vec::new(),
            ignored: Vec::new(),
            notes: Vec::new(),
            target: None,
            waits: false,
            ends: Ending::Itself,
            names_file: false,
            file_names: None,
            moved: None,
            least: Vec::new(),
        }
    }

    pub(super) fn problem(&mut self, line: usize, message: String) {
        self.problems.push(FioProblem::new(line, message));
    }

    fn get(&mut self, key: &'static str) -> Option<&'a Setting> {
        self.taken.push(key);
        self.section.settings.get(key)
    }

    /// The value of an option as `read` takes it; a problem where it does not.
    fn value<T>(&mut self, key: &'static str, wanted: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let setting = self.get(key)?;
        let value = read(&setting.value);
        if value.is_none() {
            self.problem(setting.line, format!("{key}={}: is not {wanted}", setting.value));
        }
        value
    }

    fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.value(key, "0 or 1", |text| match text {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        })
    }
    fn number(&mut self, key: &'static str) -> Option<u64> {
        let base = base(&self.section.settings);
        self.value(key, "a number", |text| units::integer(text, base))
    }
    fn bytes(&mut self, key: &'static str) -> Option<Bytes> {
        let base = base(&self.section.settings);
        self.value(key, "a size, such as 4k or 1g", |text| units::bytes(text, base))
    }
    fn time(&mut self, key: &'static str, bare: Bare) -> Option<Duration> {
        self.value(key, "a time, such as 60 or 500ms", |text| units::time(text, bare))
    }
    /// Whether the first of two options stands after the second: of those that say the same thing, the last counts.
    fn is_later(&self, one: &str, other: &str) -> bool {
        let line = |key: &str| self.section.settings.get(key).map(|setting| setting.line);
        line(one) > line(other)
    }
    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// The load that the job asks for. What cannot be had is in the problems.
    pub(super) fn load(&mut self) -> LoadSpec {
        // Both are looked at, and neither stands for the other.
        self.waits = [self.flag("stonewall"), self.flag("wait_for_previous")].contains(&Some(true));
        self.ends = self.ending();
        self.names_file = self.section.settings.contains_key("filename");
        let kind = self.kind();
        let threads = self.number("numjobs").unwrap_or(1);
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        let blocks = self.blocks(&kind);
        let buffered = self.buffered();
        let mut spec = LoadSpec {
            name: Some(self.section.name.clone()),
            reads: kind.reads.unwrap_or(Ratio::ONE),
            trims: kind.trims,
            align: self.bytes("ba"),
            threads,
            buffered,
            flush: self.flush(),
            content: self.content(),
            warm_up: self.time("ramp_time", Bare::Seconds).unwrap_or(Duration::ZERO),
            pause: self.delay(),
            trials: u32::try_from(self.number("loops").unwrap_or(1)).unwrap_or(u32::MAX),
            blocks,
            ..LoadSpec::default()
        };
        spec.pattern = self.pattern(&kind, &spec);
        if kind.is_mixed() && spec.flush.is_some_and(|flush| flush.how == FlushMethod::Fdatasync) {
            self.note(
                "flushes of a mix come once after so many writes; fio flushes again after each read until the next write",
            );
        }
        spec.verify = self.verify(&spec);
        // Of a file that is closed once both are the same.
        let at_end = [self.flag("end_fsync"), self.flag("fsync_on_close")].contains(&Some(true));
        spec.end_flush = at_end && spec.writes_any() && self.purpose == Purpose::Run;
        spec.fill = self.fill(&spec);
        self.place(&mut spec, kind.random);
        self.way(&mut spec, &kind);
        self.zones(&mut spec, kind.random);
        spec.continued = self.continued(&spec, kind.random);
        self.length(&mut spec);
        spec.arrival = self.arrival(&spec);
        // fio drops what the page cache has of its files before each job, unless told otherwise.
        let invalidates = self.flag("invalidate").unwrap_or(true);
        spec.drop_caches = spec.buffered && invalidates && spec.reads_any();
        self.others(&spec);
        spec
    }

    /// When it begins; fio draws a moment between two.
    fn delay(&mut self) -> Duration {
        let both = |text: &str| {
            let (least, most) = text.split_once('-').unwrap_or((text, text));
            Some((units::time(least, Bare::Seconds)?, units::time(most, Bare::Seconds)?)).filter(|(a, b)| a <= b)
        };
        let (least, most) =
            self.value("startdelay", "a time, such as 60 or 500ms, or two with a dash", both).unwrap_or_default();
        let mean = Duration::from_ns(least.as_ns().midpoint(most.as_ns()));
        if least < most {
            self.note(format!("startdelay={least}-{most}: fio draws one between them; {mean} is taken, their mean"));
        }
        mean
    }

    /// Which others end with it.
    fn ending(&mut self) -> Ending {
        let ends_others = self.section.settings.get("exitall").is_some_and(|setting| setting.value != "0");
        let which = self.value("exit_what", "group, stonewall or all", |text| match text {
            "group" => Some(Ending::Group),
            "stonewall" => Some(Ending::Together),
            "all" => Some(Ending::Itself),
            _ => None,
        });
        if ends_others && which == Some(Ending::Itself) && self.purpose == Purpose::Run {
            self.refuse(
                "exit_what",
                "in fio this ends the jobs that have not begun as well: write stonewall, or leave the jobs behind out",
            );
        }
        if ends_others { which.unwrap_or(Ending::Group) } else { Ending::Itself }
    }

    fn kind(&mut self) -> Kind {
        let mixed = |job: &mut Self| {
            let read = job.number("rwmixread");
            let written = job.number("rwmixwrite").map(|w| 100 - w.min(100));
            let share = if job.is_later("rwmixwrite", "rwmixread") { written.or(read) } else { read.or(written) };
            let share = share.unwrap_or(50).min(100);
            Ratio::percent(share as u32)
        };
        let (text, line) = match self.get("rw") {
            Some(setting) => (setting.value.as_str(), setting.line),
            // As fio has it.
            None => ("read", self.section.line),
        };
        let (text, skip) = match text.split_once(':') {
            Some((kind, skip)) => (kind, Some((kind.to_owned(), skip.to_owned()))),
            None => (text, None),
        };
        let mut kind = match text {
            "read" => Kind { random: false, reads: Some(Ratio::ONE), trims: Ratio::ZERO, skip: None },
            "write" => Kind { random: false, reads: Some(Ratio::ZERO), trims: Ratio::ZERO, skip: None },
            "randread" => Kind { random: true, reads: Some(Ratio::ONE), trims: Ratio::ZERO, skip: None },
            "randwrite" => Kind { random: true, reads: Some(Ratio::ZERO), trims: Ratio::ZERO, skip: None },
            "trim" => Kind { random: false, reads: None, trims: Ratio::ONE, skip: None },
            "randtrim" => Kind { random: true, reads: None, trims: Ratio::ONE, skip: None },
            "rw" | "readwrite" => Kind { random: false, reads: Some(mixed(self)), trims: Ratio::ZERO, skip: None },
            "randrw" => Kind { random: true, reads: Some(mixed(self)), trims: Ratio::ZERO, skip: None },
            other => {
                let known = "read, write, randread, randwrite, rw, randrw, trim or randtrim";
                self.problem(line, format!("rw={other}: loadline has {known}"));
                Kind { random: false, reads: Some(Ratio::ONE), trims: Ratio::ZERO, skip: None }
            }
        };
        // Of no effect unless reads and writes are mixed.
        self.taken.extend(["rwmixread", "rwmixwrite"]);
        kind.skip = skip;
        kind
    }

    /// fio goes through the page cache unless told otherwise.
    fn buffered(&mut self) -> bool {
        let (direct, buffered) = (self.flag("direct"), self.flag("buffered"));
        let undirected = direct.map(|direct| !direct);
        let chosen =
            if self.is_later("buffered", "direct") { buffered.or(undirected) } else { undirected.or(buffered) };
        chosen.unwrap_or(true)
    }

    /// Whether what a job writes is read back and checked when it has ended.
    fn verify(&mut self, spec: &LoadSpec) -> bool {
        const SUMS: [&str; 16] = [
            "md5",
            "crc64",
            "crc32c",
            "crc32c-intel",
            "crc32",
            "crc16",
            "crc7",
            "xxhash",
            "sha512",
            "sha256",
            "sha1",
            "sha3-224",
            "sha3-256",
            "sha3-384",
            "sha3-512",
            "meta",
        ];
        if self.purpose == Purpose::Reported {
            return false;
        }
        let Some(setting) = self.get("verify").filter(|setting| !asks_nothing("verify", &setting.value)) else {
            return false;
        };
        let told = setting.value.as_str();
        let off = self.section.settings.get("do_verify").is_some_and(|setting| setting.value == "0");
        if !SUMS.contains(&told) {
            self.refuse("verify", "loadline has checksums in every block, and no patterns: write verify=crc32c");
        } else if off {
            self.refuse(
                "verify",
                "with do_verify=0 fio marks blocks for a later job: here a load checks what it wrote itself",
            );
        } else if self.section.settings.get("verify_backlog").is_some_and(|setting| setting.value != "0") {
            self.refuse(
                "verify_backlog",
                "fio reads back what it wrote after every so many blocks, so that reads stand between the writes; loadline reads back when \
                 the job has ended: leave it out",
            );
        } else if spec.reads != Ratio::ZERO || spec.trims != Ratio::ZERO {
            self.refuse(
                "verify",
                "fio checks blocks here that another job wrote, or that it reads beside its writes; loadline checks what a load \
                 wrote, after it: write it in the job that writes",
            );
        } else {
            self.note("verify: every block has a checksum of loadline's own, and is read back when the job has ended");
        }
        self.taken.extend(OF_VERIFY);
        true
    }

    fn flush(&mut self) -> Option<FlushCadence> {
        let cadences = [self.number("fsync"), self.number("fdatasync")];
        let mut cadences = cadences.into_iter().flatten().filter(|every| *every > 0);
        let every = cadences.next();
        if cadences.next().is_some() {
            self.refuse("fdatasync", "and fsync are two flushes for one job: leave one of them out");
        }
        if self.section.settings.get("fsync").is_some_and(|s| s.value != "0") {
            self.note("fsync is done as fdatasync, which leaves out the file's times");
        }
        let durable = self.value("sync", "0, 1, none, sync or dsync", |text| match text {
            "0" | "none" => Some(false),
            "1" | "sync" | "dsync" => Some(true),
            _ => None,
        });
        if every.is_some() && durable == Some(true) {
            self.refuse(
                "sync",
                "makes each write durable, and fsync or fdatasync flushes as well: leave one of them out",
            );
        }
        let engine = self.section.settings.get("ioengine").map_or("psync", |setting| setting.value.as_str());
        let waits = engine.ends_with("sync") || engine == "pvsync2";
        if durable == Some(true) && waits && self.purpose == Purpose::Run {
            self.note(
                "sync: each write is durable by itself here; with a synchronous ioengine the kernel flushes the device behind each as well",
            );
        }
        match (every, durable) {
            (Some(every), _) => Some(FlushCadence { every, how: FlushMethod::Fdatasync }),
            (None, Some(true)) => Some(FlushCadence { every: 1, how: FlushMethod::Fua }),
            _ => None,
        }
    }

    /// How long, and up to how many bytes.
    fn length(&mut self, spec: &mut LoadSpec) {
        let is_run = self.purpose == Purpose::Run;
        let runtime = self.time("runtime", Bare::Seconds).filter(|t| *t > Duration::ZERO);
        let time_based = self.flag("time_based") == Some(true);
        let moved = self.bytes("io_size");
        spec.duration = runtime.unwrap_or(DURATION_MAX);
        let moved = moved.filter(|each| *each > Bytes::ZERO).map(|each| times(each, spec.threads));
        let is_part = moved.zip(self.moved).is_some_and(|(moved, size)| moved < size);
        let mut all = moved.or(self.moved);
        // Whatever is left is one more request, unless the file or its map ends there.
        if is_run && spec.blocks.len() == 1 && (is_part || draws_anew(&spec.pattern)) {
            let (clones, block) = (u64::from(spec.threads.max(1)), spec.block_max().get().max(1));
            let up = |all: Bytes| times(Bytes::new((all.get() / clones).next_multiple_of(block)), spec.threads);
            all = all.map(up);
        } else if is_run
            && all.is_some_and(|all| !all.get().is_multiple_of(spec.block_max().get().max(1)))
            && moved.is_some()
        {
            self.note("io_size is no multiple of the block: at the end of each pass fio asks a request more or less");
        }
        if let Some(count) = self.number("number_ios").filter(|count| *count > 0) {
            if spec.blocks.len() > 1 {
                self.refuse("number_ios", "counts requests, which bssplit gives several sizes: write io_size instead");
            }
            let most = times(Bytes::new(count.saturating_mul(spec.block_max().get())), spec.threads);
            all = Some(all.map_or(most, |all| all.min(most)));
        }
        // So many passes are one trial, not so many trials.
        let mut passes = 1;
        if u64::from(spec.trials) > u64::from(TRIALS_MAX) {
            passes = spec.trials;
            all = all.map(|all| Bytes::new(all.get().saturating_mul(u64::from(spec.trials))));
            spec.trials = 1;
            self.note(format!("loops is more than the {TRIALS_MAX} trials of a load: all passes are one trial here"));
        }
        // fio counts the bytes of its ramp, too; here the measured time has all of them.
        let is_counted = self.section.settings.get("number_ios").is_some_and(|setting| setting.value != "0");
        spec.volume = if time_based && !is_counted { None } else { all };
        if is_run && !time_based && moved.is_none() {
            self.end_of_strides(spec, passes);
        }
        let cut = spec.zones.zip(spec.size).and_then(|(zones, size)| zones.up_to_a_cut(size));
        if let (Some(cut), Some(volume)) = (cut, spec.volume) {
            self.note("the last zone is cut off by the end of the file: there the job ends, as in fio");
            spec.volume = Some(volume.min(times(cut, spec.threads)));
        }
        // It ends with its target: each clone when it has moved as much as that has.
        if is_run
            && !time_based
            && self.names_file
            && spec.size.is_none()
            && moved.is_none()
            && self.file_names.is_none()
        {
            spec.passes = Some(spec.threads.saturating_mul(passes));
        }
        let ends = spec.is_bound_in_bytes();
        if is_run && runtime.is_some() && !time_based && !ends {
            self.note("fio wants a size of a job that names no file; here the load goes on for its runtime");
        }
        if spec.warm_up > Duration::ZERO && ends {
            self.note("fio counts what it moves in ramp_time towards the size; here the size is moved after it");
        }
        if runtime.is_none() && !ends && is_run {
            let message = format!(
                "[{}]: says neither how long nor how much, nor names a file that ends it: write runtime=SECONDS with time_based, or \
                 size=SIZE",
                self.section.name
            );
            self.problem(self.section.line, message);
        }
    }

    /// Whether a generator of random numbers gives the same load: `lfsr` draws each block once in any case.
    fn draws_alike(&self, generator: &str) -> bool {
        let has = |key: &str| self.section.settings.get(key).is_some_and(|setting| setting.value != "0");
        ["tausworthe", "tausworthe64"].contains(&generator)
            || (generator == "lfsr"
                && !has("norandommap")
                && !has("random_distribution")
                && !has("bssplit")
                && !has("bsrange"))
    }

    /// Whether filling until nothing is free is going over the device once, as the job does anyway.
    fn fills_a_device(&self, spec: &LoadSpec) -> bool {
        let is_device = self.section.settings.get("filename").is_some_and(|setting| setting.value.starts_with("/dev/"));
        is_device
            && spec.size.is_none()
            && spec.pattern == (Pattern::Sequential { stride: None })
            && spec.passes == Some(1)
    }

    /// Says of an option that it cannot be taken, and why.
    fn refuse(&mut self, key: &str, why: &str) {
        let (line, value) = self
            .section
            .settings
            .get(key)
            .map_or((self.section.line, ""), |setting| (setting.line, setting.value.as_str()));
        let message = format!("{key}={value}: {why}");
        self.problem(line, message);
    }

    /// What no rule above has taken: harmless, or refused.
    fn others(&mut self, spec: &LoadSpec) {
        let section = self.section;
        if spec.threads == 1 || !spec.is_bound_in_bytes() {
            // It is of the jobs that run at the same time, not of clones.
            self.taken.push("exitall");
        }
        for (key, setting) in &section.settings {
            if self.taken.contains(&key.as_str()) {
                continue;
            }
            let harmless = is_harmless(key);
            let off = asks_nothing(key, &setting.value)
                || (key == "create_on_open" && !spec.reads_any())
                || (key == "fill_device" && self.fills_a_device(spec))
                || (key == "fadvise_hint" && (setting.value == "1" || !spec.buffered))
                || (key == "random_generator" && self.draws_alike(&setting.value));
            // How is of no account if nothing is verified, and told with it if something is.
            if is_of_verify(key)
                && self.section.settings.get("verify").is_some_and(|s| !asks_nothing("verify", &s.value))
            {
                continue;
            }
            let off = off || is_of_verify(key);
            if let Some((_, why)) = WHERE_IT_RUNS.iter().find(|(known, _)| known == key)
                && self.purpose == Purpose::Run
                && !off
            {
                self.notes.push(format!("{key} is left out: {why}"));
                continue;
            }
            let done = self.purpose == Purpose::Reported && AROUND.contains(&key.as_str());
            if harmless || off || done {
                self.ignored.push(key.clone());
                continue;
            }
            let (advice, remedy) = advice(key);
            let message =
                format!("{key}={}: would change the load, and loadline does not know it: {advice}", setting.value);
            self.problems.push(FioProblem { remedy, ..FioProblem::new(setting.line, message) });
        }
    }
}

/// Whether any block may come next, whichever came before.
fn draws_anew(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Random(of) => !matches!(of, Distribution::Permutation | Distribution::Covering),
        Pattern::Sequential { .. } => false,
    }
}

/// So much for each of the clones; what is too much is refused by the check of the load.
fn times(size: Bytes, clones: u32) -> Bytes {
    Bytes::new(size.get().saturating_mul(clones.into()))
}

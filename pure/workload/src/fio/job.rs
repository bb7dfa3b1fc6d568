//! One job's options onto a load.

use super::options::{AROUND, advice, asks_nothing, is_harmless, is_of_verify};
use super::units::{self, Bare};
use super::{FioProblem, Purpose, Section, Setting, base};
use loadline_load::{Arrival, BlockShare, Content, Distribution, FlushCadence, FlushMethod, LoadSpec, Pattern};
use loadline_units::{Bytes, Duration, Iops, Ratio};

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
    /// Whether the others end with it.
    pub(super) ends_others: bool,
    /// Whether its file has a name.
    pub(super) names_file: bool,
    /// What all clones move together by their size.
    moved: Option<Bytes>,
}

/// Where a job neither ends by time nor says how much it moves, nobody waits longer.
const DURATION_MAX: Duration = Duration::from_s(86_400);

/// What `rw` says.
struct Kind {
    random: bool,
    reads: Option<Ratio>,
    trims: Ratio,
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
            ends_others: false,
            names_file: false,
            moved: None,
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
        self.ends_others = self.section.settings.get("exitall").is_some_and(|setting| setting.value != "0");
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
            pause: self.time("startdelay", Bare::Seconds).unwrap_or(Duration::ZERO),
            trials: u32::try_from(self.number("loops").unwrap_or(1)).unwrap_or(u32::MAX),
            blocks,
            ..LoadSpec::default()
        };
        spec.pattern = self.pattern(&kind, &spec);
        self.place(&mut spec, kind.random);
        self.length(&mut spec);
        spec.arrival = self.arrival(&spec);
        // fio drops what the page cache has of its files before each job, unless told otherwise.
        let invalidates = self.flag("invalidate").unwrap_or(true);
        spec.drop_caches = spec.buffered && invalidates && spec.reads_any();
        self.others(&spec);
        spec
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
        let kind = match text {
            "read" => Kind { random: false, reads: Some(Ratio::ONE), trims: Ratio::ZERO },
            "write" => Kind { random: false, reads: Some(Ratio::ZERO), trims: Ratio::ZERO },
            "randread" => Kind { random: true, reads: Some(Ratio::ONE), trims: Ratio::ZERO },
            "randwrite" => Kind { random: true, reads: Some(Ratio::ZERO), trims: Ratio::ZERO },
            "trim" => Kind { random: false, reads: None, trims: Ratio::ONE },
            "randtrim" => Kind { random: true, reads: None, trims: Ratio::ONE },
            "rw" | "readwrite" => Kind { random: false, reads: Some(mixed(self)), trims: Ratio::ZERO },
            "randrw" => Kind { random: true, reads: Some(mixed(self)), trims: Ratio::ZERO },
            other => {
                let known = "read, write, randread, randwrite, rw, randrw, trim or randtrim";
                self.problem(line, format!("rw={other}: loadline has {known}"));
                Kind { random: false, reads: Some(Ratio::ONE), trims: Ratio::ZERO }
            }
        };
        // Of no effect unless reads and writes are mixed.
        self.taken.extend(["rwmixread", "rwmixwrite"]);
        kind
    }

    fn blocks(&mut self, kind: &Kind) -> Vec<BlockShare> {
        let base = base(&self.section.settings);
        let whole = |size| vec![BlockShare { size, share: Ratio::ONE }];
        // From a size to the same size is that size.
        let range = self.section.settings.get("bsrange").filter(|range| one_of_range(&range.value).is_some());
        let range = range.and_then(|_| self.get("bsrange"));
        let single = self.get("bs").filter(|_| range.is_none());
        if let Some(setting) = self.get("bssplit") {
            let split = split_blocks(&setting.value, |text| units::bytes(text, base));
            if self.cuts_blocks(kind) && split.as_ref().is_some_and(|blocks| blocks.len() > 1) {
                let message = format!(
                    "bssplit={}: without norandommap fio cuts a block before the next that was asked already, so that fewer bytes \
                     come than the shares say: write norandommap, here and for fio",
                    setting.value
                );
                self.problem(setting.line, message);
            }
            return split.unwrap_or_else(|| {
                let message = format!(
                    "bssplit={}: is no list of sizes with shares that add up to 100, such as 4k/60:64k/40, for reads and \
                     writes alike",
                    setting.value
                );
                self.problem(setting.line, message);
                whole(Bytes::kib(4))
            });
        }
        let Some(setting) = single.or(range) else { return whole(Bytes::kib(4)) };
        let texts = range.and_then(|range| one_of_range(&range.value)).unwrap_or(&setting.value);
        let sizes: Option<Vec<Bytes>> = texts.split(',').map(|text| units::bytes(text, base)).collect();
        let place = match kind.reads {
            Some(reads) if reads == Ratio::ONE => Some(0),
            Some(reads) if reads == Ratio::ZERO => Some(1),
            Some(_) => None,
            None => Some(2),
        };
        let size = match (sizes.as_deref(), place) {
            (Some([one]), _) => Some(*one),
            // The last of them counts for those left out.
            (Some(several), Some(place)) => several.get(place).or(several.last()).copied(),
            (Some(several @ [first, ..]), None) if several.iter().all(|s| s == first) => Some(*first),
            _ => None,
        };
        if size.is_none() {
            let message = format!("bs={}: is no one block size for all requests; write bs=SIZE", setting.value);
            self.problem(setting.line, message);
        }
        whole(size.unwrap_or(Bytes::kib(4)))
    }

    /// Whether fio keeps a map of the blocks that were asked. Of a job that was run it does not say so.
    fn cuts_blocks(&self, kind: &Kind) -> bool {
        let value = |key: &str| self.section.settings.get(key).map(|setting| setting.value.as_str());
        let is_uniform = matches!(value("random_distribution"), None | Some("random"));
        let has_map = matches!(value("norandommap"), None | Some("0"));
        self.purpose == Purpose::Run && kind.random && is_uniform && has_map
    }

    /// fio goes through the page cache unless told otherwise.
    fn buffered(&mut self) -> bool {
        let (direct, buffered) = (self.flag("direct"), self.flag("buffered"));
        let undirected = direct.map(|direct| !direct);
        let chosen =
            if self.is_later("buffered", "direct") { buffered.or(undirected) } else { undirected.or(buffered) };
        chosen.unwrap_or(true)
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
        match (every, durable) {
            (Some(every), _) => Some(FlushCadence { every, how: FlushMethod::Fdatasync }),
            (None, Some(true)) => Some(FlushCadence { every: 1, how: FlushMethod::Fua }),
            _ => None,
        }
    }

    fn content(&mut self) -> Content {
        let share = |text: &str| text.parse::<u32>().ok().filter(|p| *p <= 100).map(Ratio::percent);
        let compressible = self.value("buffer_compress_percentage", "a percentage", share);
        let duplicate = self.value("dedupe_percentage", "a percentage", share);
        let zero = self.flag("zero_buffers") == Some(true);
        Content {
            compressible: if zero { Ratio::ONE } else { compressible.unwrap_or(Ratio::ZERO) },
            duplicate: duplicate.unwrap_or(Ratio::ZERO),
        }
    }

    fn pattern(&mut self, kind: &Kind, spec: &LoadSpec) -> Pattern {
        let map_off = self.flag("norandommap") == Some(true);
        let distribution = self.get("random_distribution");
        if !kind.random {
            if kind.reads.is_some_and(|reads| reads != Ratio::ONE && reads != Ratio::ZERO) {
                self.note(
                    "in rw=rw fio goes on with its reads and with its writes apart; here both go on from one place",
                );
            }
            return Pattern::Sequential { stride: None };
        }
        let zipf = |text: &str| {
            let theta: f64 = text.parse().ok()?;
            (theta > 0.0 && theta <= 5.0).then(|| Distribution::Zipf { theta_milli: (theta * 1e3).round() as u32 })
        };
        let chosen = match distribution.map(|s| (s.value.as_str(), s.line)) {
            // fio asks for each block once before any comes again, as long as it can keep a map of them.
            None | Some(("random", _)) if !map_off && spec.blocks.len() == 1 => Some(Distribution::Permutation),
            None | Some(("random", _)) => Some(Distribution::Uniform),
            Some((text, _)) if text.starts_with("zipf:") => zipf(&text["zipf:".len()..]),
            Some(_) => None,
        };
        if let (None, Some(setting)) = (&chosen, distribution) {
            let message = format!("random_distribution={}: loadline has random and zipf:THETA", setting.value);
            self.problem(setting.line, message);
        }
        Pattern::Random(chosen.unwrap_or(Distribution::Uniform))
    }

    /// Where the load lies: target, size, files, offset.
    fn place(&mut self, spec: &mut LoadSpec, random: bool) {
        let base = base(&self.section.settings);
        let (filename, directory) = (self.get("filename"), self.get("directory"));
        let is_run = self.purpose == Purpose::Run;
        for (key, setting) in [("filename", filename), ("directory", directory)] {
            if let Some(setting) = setting.filter(|setting| is_run && setting.value.contains(':')) {
                let message = format!(
                    "{key}={}: fio takes turns between them, in a job and in its global sections; name one, and run once for each",
                    setting.value
                );
                self.problem(setting.line, message);
            }
        }
        self.target = match (directory, filename) {
            (Some(folder), Some(file)) => Some(format!("{}/{}", folder.value.trim_end_matches('/'), file.value)),
            (folder, file) => folder.or(file).map(|s| s.value.clone()),
        };
        self.files(spec, filename.is_some(), random);
        let is_done = self.purpose == Purpose::Reported;
        let size = self.value("size", "a size, such as 1g, or 100%", |text| match text {
            // Batch files write a percent sign twice.
            "100%" | "100%%" => Some(None),
            // What it was a share of is not reported.
            text if is_done && text.ends_with('%') => Some(None),
            text => units::bytes(text, base).map(Some),
        });
        let increment = self.bytes("offset_increment");
        spec.start = self.bytes("offset").unwrap_or(Bytes::ZERO);
        let shared = filename.is_some();
        let several = spec.threads > 1;
        if several && shared && !random && increment.is_none() && self.purpose == Purpose::Run {
            let message = format!(
                "[{}]: {} jobs go through the same stretch of one file at the same time, which caches answer: set \
                 offset_increment to the size, or numjobs=1",
                self.section.name, spec.threads
            );
            self.problem(self.section.line, message);
        }
        let size = size.flatten();
        if let (true, true, Some(step)) = (several, is_run, increment.filter(|step| Some(*step) != size)) {
            let line = self.section.settings.get("offset_increment").map_or(self.section.line, |setting| setting.line);
            let message = format!(
                "offset_increment={step}: the clones' stretches lie side by side here, without gaps or overlap: write size={0} \
                 as well, or leave it out",
                step.get()
            );
            self.problem(line, message);
        }
        let own = !shared || increment.is_some();
        spec.size = size.map(|size| if own { times(size, spec.threads) } else { size });
        self.moved = size.map(|size| times(size, spec.threads));
        if several && !shared {
            self.note("the files of a job's clones are one file here, of their size together");
        }
    }

    /// Into how many files the load goes, and in which order.
    fn files(&mut self, spec: &mut LoadSpec, is_named: bool, random: bool) {
        let count = self.number("nrfiles").unwrap_or(1);
        let (service, format) = (self.get("file_service_type"), self.get("filename_format"));
        if is_named {
            // fio's file is then the one that is named.
            return;
        }
        let clones = u64::from(spec.threads);
        spec.files = u32::try_from(if count > 1 { count.saturating_mul(clones) } else { count }).unwrap_or(u32::MAX);
        let names_apart =
            |format: &str| (clones == 1 || format.contains("$jobnum")) && (count == 1 || format.contains("$filenum"));
        if let Some(format) = format.filter(|format| !names_apart(&format.value)) {
            let message = format!(
                "filename_format={}: gives several clones or files one name: write filename=NAME for one file, or leave it out",
                format.value
            );
            self.problem(format.line, message);
        }
        if count <= 1 || self.purpose == Purpose::Reported {
            return;
        }
        let order =
            service.map_or("roundrobin", |s| s.value.split_once(':').map_or(s.value.as_str(), |(order, _)| order));
        let line = service.or(self.section.settings.get("nrfiles")).map_or(self.section.line, |s| s.line);
        match (order, random) {
            ("sequential", false) | ("random", true) => {}
            ("roundrobin", true) => self.note(
                "fio takes its files in turn; here the file of each request is drawn, as with file_service_type=random",
            ),
            ("roundrobin" | "random", false) => self.problem(
                line,
                format!(
                    "nrfiles={count}: fio takes turns between the files; loadline goes through one after the other: write \
                     file_service_type=sequential, here and for fio, or nrfiles=1"
                ),
            ),
            (other, _) => self.problem(
                line,
                format!(
                    "file_service_type={other}: loadline has sequential where rw is, and random where rw is random: write that, \
                     or nrfiles=1"
                ),
            ),
        }
    }

    /// How long, and up to how many bytes.
    fn length(&mut self, spec: &mut LoadSpec) {
        let runtime = self.time("runtime", Bare::Seconds).filter(|t| *t > Duration::ZERO);
        let time_based = self.flag("time_based") == Some(true);
        let moved = self.bytes("io_size");
        spec.duration = runtime.unwrap_or(DURATION_MAX);
        let moved = moved.filter(|each| *each > Bytes::ZERO).map(|each| times(each, spec.threads));
        let all = moved.or(self.moved);
        // fio counts the bytes of its ramp, too; here the measured time has all of them.
        spec.volume = if time_based { None } else { all };
        if runtime.is_some() && !time_based && all.is_none() {
            self.note(
                "without time_based fio ends after one pass over the target; here the load goes on for its runtime",
            );
        }
        if spec.warm_up > Duration::ZERO && spec.volume.is_some() {
            self.note("fio counts what it moves in ramp_time towards the size; here the size is moved after it");
        }
        if runtime.is_none() && spec.volume.is_none() && self.purpose == Purpose::Run {
            let message = format!("[{}]: says neither how long nor how much: write runtime=SECONDS", self.section.name);
            self.problem(self.section.line, message);
        }
    }

    fn arrival(&mut self, spec: &LoadSpec) -> Arrival {
        let depth = u32::try_from(self.number("iodepth").unwrap_or(1)).unwrap_or(u32::MAX);
        let engine = self.get("ioengine");
        let queue_depth = match engine.map_or("psync", |s| s.value.as_str()) {
            "libaio" | "io_uring" | "posixaio" | "windowsaio" | "solarisaio" => depth,
            "mmap" if self.purpose == Purpose::Reported => 1,
            "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => {
                if depth > 1 {
                    self.note("iodepth has no effect with a synchronous ioengine, in fio as here: the depth is 1");
                }
                1
            }
            _ if self.purpose == Purpose::Reported => depth,
            other => {
                let line = engine.map_or(self.section.line, |s| s.line);
                let message = format!(
                    "ioengine={other}: loadline has no such way to a device; write libaio or io_uring, or psync"
                );
                self.problem(line, message);
                depth
            }
        };
        if engine.is_some_and(|s| s.value != "io_uring") {
            self.note(
                "ioengine only says whether requests wait for each other; how they get to the device is chosen for the run",
            );
        }
        let think_time = self.time("thinktime", Bare::Microseconds).unwrap_or(Duration::ZERO);
        let poisson = self.value("rate_process", "linear or poisson", |text| match text {
            "linear" => Some(false),
            "poisson" => Some(true),
            _ => None,
        });
        let rate = self.rate(spec);
        let queue_depth = self.depth_of_thought(queue_depth, think_time);
        match (rate, poisson) {
            (Some(rate), Some(true)) => {
                if think_time > Duration::ZERO {
                    let line = self.section.settings.get("thinktime").map_or(self.section.line, |setting| setting.line);
                    let message = "thinktime: arrivals of rate_process=poisson come at their time and think of nothing: leave \
                                   one of them out";
                    self.problem(line, message.to_owned());
                }
                self.note(
                    "rate_process=poisson is an open loop here: arrivals do not wait for the depth, and latency counts from \
                     when each was due",
                );
                Arrival::Poisson { rate }
            }
            (rate_max, _) => Arrival::Closed { queue_depth, rate_max, think_time },
        }
    }

    /// How many are outstanding in a job that thinks: fio waits for all of them before it does.
    fn depth_of_thought(&mut self, queue_depth: u32, think_time: Duration) -> u32 {
        if think_time == Duration::ZERO || queue_depth <= 1 {
            return queue_depth;
        }
        self.note(
            "with thinktime a job of fio waits for its requests and stalls as a whole after each, so that the depth is 1; fio \
             also sends as many as iodepth at once in the beginning, which is left out here",
        );
        1
    }

    /// Requests per second over all clones; fio's is for each of them, and for reads and writes apart.
    fn rate(&mut self, spec: &LoadSpec) -> Option<Iops> {
        let base = base(&self.section.settings);
        let directions = |text: &str| -> Option<[u64; 3]> {
            let parts: Vec<u64> = text.split(',').map(|p| units::integer(p, base)).collect::<Option<_>>()?;
            match parts.as_slice() {
                [one] => Some([*one; 3]),
                [read, write] => Some([*read, *write, *write]),
                [read, write, trim] => Some([*read, *write, *trim]),
                _ => None,
            }
        };
        let requests = self.value("rate_iops", "a number of requests per second, or READS,WRITES", directions);
        let bytes = self.value("rate", "a number of bytes per second, or READS,WRITES", directions);
        let is_set = |rates: &[u64; 3]| *rates != [0; 3];
        let requests = requests.filter(is_set);
        let (key, rates, unit) = match (bytes.filter(is_set), requests) {
            (None, None) => return None,
            (Some(bytes), None) => ("rate", bytes, spec.block_mean().get().max(1)),
            (None, Some(requests)) => ("rate_iops", requests, 1),
            (Some(_), Some(_)) => {
                self.refuse("rate", "and rate_iops are two rates for one job: leave one of them out");
                return None;
            }
        };
        if key == "rate_iops" && spec.blocks.len() > 1 {
            // It turns the rate into bytes of the smallest block.
            self.refuse(
                key,
                "with bssplit fio counts every request as its number of smallest blocks: write rate instead",
            );
            return None;
        }
        let all = self.rate_of_all(key, rates, spec)?;
        let (clones, unit) = (u128::from(spec.threads), u128::from(unit));
        let per_second = (u128::from(all) * clones + unit / 2) / unit;
        let is_close = (per_second * unit).abs_diff(u128::from(all) * clones) * 100 <= u128::from(all) * clones;
        let rate = u64::try_from(per_second).ok().and_then(Iops::per_second).filter(|_| is_close);
        if rate.is_none() {
            self.refuse(key, "is no whole number of requests per second: write a multiple of the block size");
        }
        rate
    }

    /// The rate of a clone in its directions together.
    fn rate_of_all(&mut self, key: &'static str, rates: [u64; 3], spec: &LoadSpec) -> Option<u64> {
        let [reads, writes, trims] = rates;
        let one = match (spec.trims, spec.reads) {
            (Ratio::ONE, _) => trims,
            (_, Ratio::ONE) => reads,
            (_, Ratio::ZERO) => writes,
            _ => {
                let sum = reads.checked_add(writes)?;
                // In whole percent, as fio has its mixes.
                let asked = u128::from(spec.reads.as_ppm()) * u128::from(sum);
                if asked.abs_diff(u128::from(reads) * 1_000_000) > u128::from(sum) * 5_000 {
                    let share = f64::from(spec.reads.as_ppm()) / 1e4;
                    let (of_reads, of_writes) = (spec.reads.of(sum), sum - spec.reads.of(sum));
                    self.refuse(
                        key,
                        &format!(
                            "fio holds reads and writes to it apart, so that {share} % reads do not come of it: write \
                             {key}={of_reads},{of_writes} for that mix, or rwmixread={} for what fio does",
                            (u128::from(reads) * 100 + u128::from(sum) / 2) / u128::from(sum)
                        ),
                    );
                    return None;
                }
                return (sum > 0).then_some(sum);
            }
        };
        // No rate in the direction of the job is no limit.
        (one > 0).then_some(one)
    }

    /// Whether a generator of random numbers gives the same load: `lfsr` draws each block once in any case.
    fn draws_alike(&self, generator: &str) -> bool {
        let has = |key: &str| self.section.settings.get(key).is_some_and(|setting| setting.value != "0");
        ["tausworthe", "tausworthe64"].contains(&generator)
            || (generator == "lfsr" && !has("norandommap") && !has("random_distribution") && !has("bssplit"))
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
        if spec.threads == 1 || spec.volume.is_none() {
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
                || (key == "fadvise_hint" && (setting.value == "1" || !spec.buffered))
                || (key == "random_generator" && self.draws_alike(&setting.value));
            // How is of no account if nothing is verified, and told with it if something is.
            if is_of_verify(key)
                && self.section.settings.get("verify").is_some_and(|s| !asks_nothing("verify", &s.value))
            {
                continue;
            }
            let off = off || is_of_verify(key);
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

/// The size of a range that begins and ends with it.
fn one_of_range(range: &str) -> Option<&str> {
    range.split_once('-').filter(|(from, to)| from == to).map(|(from, _)| from)
}

/// So much for each of the clones; what is too much is refused by the check of the load.
fn times(size: Bytes, clones: u32) -> Bytes {
    Bytes::new(size.get().saturating_mul(clones.into()))
}

/// "4k/60:64k/40": sizes with shares; a share left out takes an equal part of what is left.
fn split_blocks(text: &str, size: impl Fn(&str) -> Option<Bytes>) -> Option<Vec<BlockShare>> {
    let parts: Vec<(Bytes, Option<u32>)> = text
        .split(':')
        .map(|part| {
            let (bytes, share) = part.split_once('/').unwrap_or((part, ""));
            let share = if share.is_empty() { None } else { Some(share.parse().ok()?) };
            Some((size(bytes)?, share))
        })
        .collect::<Option<_>>()?;
    let given = parts.iter().filter_map(|(_, share)| *share).fold(0u32, u32::saturating_add);
    let open = parts.iter().filter(|(_, share)| share.is_none()).count() as u32;
    let left = 100u32.checked_sub(given)?;
    let each = left.checked_div(open).unwrap_or(0);
    let blocks: Vec<BlockShare> = parts
        .into_iter()
        .map(|(size, share)| BlockShare { size, share: Ratio::percent(share.unwrap_or(each)) })
        .filter(|block| block.share != Ratio::ZERO)
        .collect();
    let sum: u64 = blocks.iter().map(|b| u64::from(b.share.as_ppm())).sum();
    (sum == u64::from(Ratio::ONE.as_ppm())).then_some(blocks)
}

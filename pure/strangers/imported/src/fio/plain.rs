//! fio's normal text and its terse form, put as the JSON that the same run would have: one reader for all.

use crate::ImportError;
use crate::told::{Source, between, unit_bytes};
use serde_json::{Map, Value, json};

/// Jobs that one text may hold.
const JOBS_MAX: usize = 20_000;
/// Percentiles in a line of the terse form.
const PERCENTILES: usize = 20;
/// Fields of one direction in the terse form, up to version 4 and from 5 on.
const FIELDS: [usize; 2] = [41, 47];

/// Directions with lines of their own; `mixed` are all of a job together (`unified_rw_reporting`).
const DIRECTIONS: [&str; 4] = ["read", "write", "trim", "mixed"];

/// The last report of a job is so many times as long as its first, at least.
const REPORTS_APART: f64 = 1.02;

/// Depths of the terse form, each up to the next.
const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

const NORMAL_UNKNOWN: &str = "fio's normal text does not tell whether requests went through the page cache: it is taken that they did not \
                              (direct=1). Nor does it tell whether their rate was held, what the target was and how large";
const TERSE_UNKNOWN: &str = "fio's terse form does not tell what was asked: that requests fell anywhere, their size and their depth are taken \
                             from its figures, and it is taken that they did not go through the page cache";

/// A text as a document, with what it does not tell.
pub(super) struct Plain {
    pub(super) document: Value,
    pub(super) unknown: Vec<String>,
    pub(super) is_engine_unknown: bool,
}

/// Whether a text is fio's normal output.
pub(crate) fn is_normal(text: &str) -> bool {
    text.lines().any(|line| header(without_host(line)).is_some())
}

/// Whether a text is of the terse form: a line that begins with its version and has the fields of a job.
pub(crate) fn is_terse(text: &str) -> bool {
    text.lines().any(|line| terse_version(line).is_some())
}

fn terse_version(line: &str) -> Option<u32> {
    let version = line.split(';').next()?.parse().ok().filter(|version| (2..=5).contains(version))?;
    (line.matches(';').count() >= 2 * FIELDS[0]).then_some(version)
}

/// A line of a client/server run without the name of its machine.
fn without_host(line: &str) -> &str {
    match line.strip_prefix('<').and_then(|rest| rest.split_once("> ")) {
        Some((host, rest)) if !host.contains(' ') => rest,
        _ => line,
    }
}

/// `NAME: (groupid=0, jobs=2): err= 0: pid=1: Thu Nov 26 14:19:15 2026`
struct Header<'a> {
    name: &'a str,
    group: u64,
    jobs: u64,
    error: u64,
    /// Its number, as text; empty if it is not told.
    process: &'a str,
    date: Option<&'a str>,
}

fn header(line: &str) -> Option<Header<'_>> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let number = |begin: &str, end: &str| between(rest, begin, end)?.trim().parse::<u64>().ok();
    let group = rest.split(',').next()?.parse().ok()?;
    let date = rest.rsplit_once("pid=").and_then(|(_, pid)| pid.split_once(": ")).map(|(_, date)| date.trim());
    let process = rest.rsplit_once("pid=").map_or("", |(_, pid)| pid.split(':').next().unwrap_or_default().trim());
    Some(Header { name, group, jobs: number("jobs=", ")")?, error: number("err=", ":").unwrap_or(0), process, date })
}

/// What a line of the beginning says of a job: `NAME: (g=0): rw=randread, bs=..., ioengine=..., iodepth=8`.
fn announced(line: &str) -> Option<(&str, Map<String, Value>)> {
    let (name, rest) = line.split_once(": (g=")?;
    let mut options = Map::new();
    let value = |key: &str| {
        let begin = rest.find(key)? + key.len();
        rest[begin..].split(',').next().map(str::trim)
    };
    options.insert("rw".to_owned(), value("rw=")?.into());
    // It is not told: a sentence says so.
    options.insert("direct".to_owned(), "1".into());
    for (key, mark) in [("ioengine", "ioengine="), ("iodepth", "iodepth=")] {
        options.insert(key.to_owned(), value(mark)?.into());
    }
    // `(R) 4096B-4096B, (W) ...`, or `4K-4K/4K-4K/4K-4K` of older versions.
    let sizes = rest.split_once("bs=")?.1;
    let all: Vec<&str> = if sizes.starts_with('(') {
        ["(R) ", "(W) ", "(T) "].iter().filter_map(|mark| sizes.split_once(mark)?.1.split(',').next()).collect()
    } else {
        sizes.split(',').next()?.split('/').collect()
    };
    let place = match value("rw=")? {
        kind if kind.ends_with("write") => 1,
        kind if kind.ends_with("trim") => 2,
        _ => 0,
    };
    let (least, most) = all.get(place).or(all.first())?.trim().split_once('-')?;
    if least == most {
        options.insert("bs".to_owned(), size(least)?.to_string().into());
    } else {
        options.insert("bsrange".to_owned(), format!("{}-{}", size(least)?, size(most)?).into());
    }
    Some((name, options))
}

/// `4096B`, `4K`, `64.0KiB`.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = crate::told::leading(text)?;
    Some((number.parse::<f64>().ok()? * unit_bytes(unit, false)?).round() as u64)
}

/// fio's normal text.
pub(super) fn normal(source: Source<'_>) -> Result<Plain, ImportError> {
    let mut announcements: Vec<(&str, Map<String, Value>)> = Vec::new();
    let mut version = None;
    let mut jobs: Vec<Value> = Vec::new();
    let mut date = None;
    let mut reading: Option<Reading> = None;
    // With --status-interval a job reports again and again, under its process: its last report counts.
    let mut processes: Vec<(&str, &str)> = Vec::new();
    for (line, text) in source.lines() {
        let text = without_host(text);
        if let Some(announced) = announced(text) {
            announcements.push(announced);
        } else if text.starts_with("fio-") && !text.contains(' ') && version.is_none() {
            version = Some(text.to_owned());
        } else if let Some(header) = header(text) {
            jobs.extend(reading.take().map(Reading::job));
            let process = (header.name, header.process);
            let again = (!header.process.is_empty()).then(|| processes.iter().position(|known| *known == process));
            if let Some(place) = again.flatten() {
                processes.remove(place);
                jobs.remove(place);
            }
            processes.push(process);
            if jobs.len() >= JOBS_MAX {
                return Err(source.error(line, format!("more than {JOBS_MAX} jobs are in it")));
            }
            date = header.date.and_then(date_of).or(date);
            let own = announcements.iter().find(|(name, _)| *name == header.name);
            let mut options = own.map(|(_, options)| options.clone());
            if let Some(options) = options.as_mut().filter(|_| header.jobs > 1) {
                options.insert("numjobs".to_owned(), header.jobs.to_string().into());
            }
            reading = Some(Reading::of(&header, options));
        } else if text.starts_with("Run status group") || text.starts_with("Disk stats") {
            jobs.extend(reading.take().map(Reading::job));
        } else if let Some(reading) = &mut reading {
            reading.take(source, line, text)?;
        }
    }
    jobs.extend(reading.take().map(Reading::job));
    apart(&mut jobs);
    read_back(&announcements, &mut jobs);
    let is_unified =
        jobs.iter().any(|job| job.get("mixed").is_some() && job.get("read").is_none() && job.get("write").is_none());
    let mut document = json!({ "fio version": version, "jobs": jobs });
    if let Some(date) = date {
        document["timestamp"] = date.into();
    }
    let mut unknown = vec![NORMAL_UNKNOWN.to_owned()];
    if is_unified {
        unknown.push(
            "Nor does it tell the share of reads where both are reported as one: half is taken, fio's default"
                .to_owned(),
        );
    }
    Ok(Plain { document, unknown, is_engine_unknown: false })
}

/// Jobs of a file in which each writes, and that read as well, checked what they had written.
fn read_back(announcements: &[(&str, Map<String, Value>)], jobs: &mut [Value]) {
    let writes = |options: &Map<String, Value>| {
        options["rw"].as_str().is_some_and(|rw| rw.trim_start_matches("rand") == "write")
    };
    if !announcements.iter().all(|(_, options)| writes(options)) {
        return;
    }
    for job in jobs.iter_mut().filter(|job| job.get("read").is_some() && job.get("write").is_some()) {
        if let Some(options) = job.get_mut("job options").and_then(Value::as_object_mut) {
            options.insert("verify".to_owned(), "not told".into());
        }
    }
}

/// Clones that are reported apart say so by their number: the name with its options stands several times in a group.
fn apart(jobs: &mut [Value]) {
    let mut from = 0;
    while from < jobs.len() {
        let alike = |other: &Value| {
            other["jobname"] == jobs[from]["jobname"]
                && other["groupid"] == jobs[from]["groupid"]
                && other["job options"] == jobs[from]["job options"]
        };
        let count = jobs[from..].iter().take_while(|other| alike(other)).count();
        if count > 1 {
            for job in &mut jobs[from..from + count] {
                if let Some(options) = job["job options"].as_object_mut() {
                    options.insert("numjobs".to_owned(), count.to_string().into());
                }
            }
        }
        from += count;
    }
}

/// `Thu Nov 26 14:19:15 2026`, which is local.
fn date_of(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, month, day, time, year] = words.as_slice() else { return None };
    let mut parts = time.split(':').map(|part| part.parse::<u64>().ok());
    let time = (parts.next()??, parts.next()??, parts.next()??);
    crate::told::unix_s(year.parse().ok()?, crate::told::month(month)?, day.parse().ok()?, time)
}

/// A job whose lines are being read.
struct Reading {
    job: Map<String, Value>,
    /// The direction whose lines come.
    direction: Option<&'static str>,
    /// The statistic whose percentiles come, with the factor to ns.
    percentiles: Option<(&'static str, &'static str, f64)>,
}

impl Reading {
    fn of(header: &Header<'_>, options: Option<Map<String, Value>>) -> Self {
        let mut job = Map::new();
        job.insert("jobname".to_owned(), header.name.into());
        job.insert("groupid".to_owned(), header.group.into());
        job.insert("error".to_owned(), header.error.into());
        if let Some(options) = options {
            job.insert("job options".to_owned(), Value::Object(options));
        }
        Self { job, direction: None, percentiles: None }
    }

    fn job(self) -> Value {
        Value::Object(self.job)
    }

    /// Whether reads and writes are reported as one, and not each by itself as well.
    fn is_unified(&self) -> bool {
        self.job.contains_key("mixed") && !["read", "write", "trim"].iter().any(|own| self.job.contains_key(*own))
    }

    fn part(&mut self, direction: &str) -> &mut Map<String, Value> {
        let entry = self.job.entry(direction.to_owned()).or_insert_with(|| Value::Object(Map::new()));
        entry.as_object_mut().expect("it was put so")
    }

    fn take(&mut self, source: Source<'_>, line: usize, text: &str) -> Result<(), ImportError> {
        let trimmed = text.trim_start();
        if trimmed.starts_with('|') {
            return self.take_percentiles(source, line, trimmed);
        }
        let Some((key, rest)) = trimmed.split_once(':') else { return Ok(()) };
        let words: Vec<&str> = key.split_whitespace().collect();
        match words.as_slice() {
            [direction @ ("read" | "write" | "trim" | "mixed")] => self.take_direction(source, line, direction, rest),
            [kind @ ("slat" | "clat" | "lat" | "sync"), unit] if rest.contains("avg=") => {
                self.percentiles = None;
                let factor = factor(unit).ok_or_else(|| source.error(line, format!("{unit} is no unit of time")))?;
                let figures = statistic(source, line, rest, factor)?;
                let direction = if *kind == "sync" { "sync" } else { self.direction.unwrap_or("read") };
                self.part(direction).insert(statistic_key(kind).to_owned(), figures);
                Ok(())
            }
            [kind @ ("clat" | "lat" | "slat" | "sync"), "percentiles", unit] => {
                let factor = factor(unit).ok_or_else(|| source.error(line, format!("{unit} is no unit of time")))?;
                let direction = if *kind == "sync" { "sync" } else { self.direction.unwrap_or("read") };
                self.percentiles = Some((direction, statistic_key(kind), factor));
                Ok(())
            }
            ["iops"] => self.take_iops(source, line, rest),
            ["cpu"] => {
                for (key, mark) in [("usr_cpu", "usr="), ("sys_cpu", "sys=")] {
                    if let Some(share) = between(rest, mark, "%") {
                        let share = source.number(line, share)?;
                        self.job.insert(key.to_owned(), share.into());
                    }
                }
                Ok(())
            }
            ["issued", ..] => self.take_issued(source, line, rest),
            _ => Ok(()),
        }
    }

    /// `IOPS=2000, BW=8000KiB/s (8192kB/s)(78.1MiB/10000msec)`, and as versions 2 wrote it.
    fn take_direction(
        &mut self,
        source: Source<'_>,
        line: usize,
        direction: &str,
        rest: &str,
    ) -> Result<(), ImportError> {
        let direction = DIRECTIONS.into_iter().find(|known| *known == direction).unwrap_or("read");
        self.direction = Some(direction);
        self.percentiles = None;
        let lower = rest.to_ascii_lowercase();
        let iops = lower.split_once("iops=").map_or("0", |(_, iops)| iops.split([',', ' ']).next().unwrap_or("0"));
        let iops = suffixed(source, line, iops.trim())?;
        let (moved, runtime) = if let Some(old) = between(&lower, "runt=", "msec") {
            (between(&lower, "io=", ",").unwrap_or("0"), old)
        } else {
            let group = lower.rsplit_once(")(").map(|(_, group)| group).unwrap_or_default();
            let group = group.split(')').next().unwrap_or_default();
            group.split_once('/').map_or(("0", "0"), |(moved, time)| (moved, time.trim_end_matches("msec")))
        };
        let runtime = source.number(line, runtime.trim())?.round() as u64;
        let bytes = size(moved).ok_or_else(|| source.error(line, format!("{moved} is no size")))?;
        let part = self.part(direction);
        part.insert("iops".to_owned(), iops.into());
        part.insert("runtime".to_owned(), runtime.into());
        part.insert("io_bytes".to_owned(), bytes.into());
        // The form in bytes.
        part.insert("io_kbytes".to_owned(), (bytes / 1024).into());
        Ok(())
    }

    fn take_iops(&mut self, source: Source<'_>, line: usize, rest: &str) -> Result<(), ImportError> {
        let Some(direction) = self.direction else { return Ok(()) };
        let deviation = between(rest, "stdev=", ",").map(|text| suffixed(source, line, text.trim())).transpose()?;
        let samples = rest.split_once("samples=").map(|(_, text)| source.number(line, text)).transpose()?;
        if let (Some(deviation), Some(samples)) = (deviation, samples) {
            let part = self.part(direction);
            part.insert("iops_stddev".to_owned(), deviation.into());
            part.insert("iops_samples".to_owned(), (samples as u64).into());
        }
        Ok(())
    }

    /// `total=20000,0,0,0 short=...`, or `total=r=20000/w=0/d=0` of older versions: the exact number of requests.
    fn take_issued(&mut self, source: Source<'_>, line: usize, rest: &str) -> Result<(), ImportError> {
        let Some((_, total)) = rest.split_once("total=") else { return Ok(()) };
        let total = total.split([' ', ';']).next().unwrap_or_default().trim_end_matches(',');
        let counts: Vec<&str> = total.split([',', '/']).map(|one| one.split('=').next_back().unwrap_or(one)).collect();
        let block = self.job.get("job options").and_then(|options| options["bs"].as_str()?.parse::<u64>().ok());
        let is_unified = self.is_unified();
        for (direction, text) in DIRECTIONS.into_iter().zip(counts) {
            let count = source.number(line, text)? as u64;
            // Requests that are reported as one are counted as reads.
            let direction = if is_unified && direction == "read" { "mixed" } else { direction };
            if count > 0 && self.job.contains_key(direction) {
                let part = self.part(direction);
                part.insert("total_ios".to_owned(), count.into());
                if let Some(bytes) = block.and_then(|block| block.checked_mul(count)) {
                    let printed = part.get("io_bytes").and_then(Value::as_u64).unwrap_or(0);
                    // Three digits are printed: what whole requests come to is exact, unless some were short.
                    if (bytes as f64 / printed.max(1) as f64 - 1.0).abs() < 0.01 {
                        part.insert("io_bytes".to_owned(), bytes.into());
                    }
                }
            }
        }
        Ok(())
    }

    /// `|  1.00th=[  118],  5.00th=[  119],`
    fn take_percentiles(&mut self, source: Source<'_>, line: usize, text: &str) -> Result<(), ImportError> {
        let Some((direction, kind, factor)) = self.percentiles else { return Ok(()) };
        for entry in text.trim_start_matches('|').split(']') {
            let Some((share, value)) = entry.split_once("th=[") else { continue };
            let share = source.number(line, share.trim_start_matches(',').trim())?;
            let value = source.number(line, value)? * factor;
            let statistic = self.part(direction).entry(kind.to_owned()).or_insert_with(|| json!({}));
            statistic["percentile"][format!("{share:.6}")] = (value.round() as u64).into();
        }
        Ok(())
    }
}

fn statistic_key(kind: &str) -> &'static str {
    match kind {
        "slat" => "slat_ns",
        "clat" => "clat_ns",
        _ => "lat_ns",
    }
}

/// ns in a unit of time, in brackets.
fn factor(unit: &str) -> Option<f64> {
    match unit.trim_matches(['(', ')']) {
        "nsec" => Some(1.0),
        "usec" => Some(1e3),
        "msec" => Some(1e6),
        "sec" => Some(1e9),
        _ => None,
    }
}

/// A number with the letter of a thousand, a million or a billion: `8492.8k`.
fn suffixed(source: Source<'_>, line: usize, text: &str) -> Result<f64, ImportError> {
    let (number, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        Some((at, 'm' | 'M')) => (&text[..at], 1e6),
        Some((at, 'g' | 'G')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    Ok(source.number(line, number)? * factor)
}

/// `min=80, max=40000, avg=3900.00, stdev=1300.00`
fn statistic(source: Source<'_>, line: usize, text: &str, factor: f64) -> Result<Value, ImportError> {
    let figure = |key: &str| {
        let text = text.split_once(key).map(|(_, rest)| rest.split(',').next().unwrap_or(rest).trim());
        text.map(|text| suffixed(source, line, text)).transpose()
    };
    let (min, max, mean) = (figure("min=")?, figure("max=")?, figure("avg=")?);
    let (Some(min), Some(max), Some(mean)) = (min, max, mean) else {
        return Err(source.error(line, "min, max or avg is missing"));
    };
    // Figures are rounded each by itself: the mean lies between the others.
    let (min, max, mean) = (min * factor, max * factor, mean * factor);
    Ok(json!({ "min": min.min(mean).round(), "max": max.max(mean).round(), "mean": mean }))
}

/// The terse form: a line a job, by the order that its version has.
pub(super) fn terse(source: Source<'_>) -> Result<Plain, ImportError> {
    let mut jobs = Vec::new();
    let mut version = None;
    // Its first lines stand before it, unless they were left out (`--minimal` alone).
    let (mut announcements, mut is_told) = (Vec::<(&str, Map<String, Value>)>::new(), true);
    for (line, text) in source.lines() {
        announcements.extend(announced(without_host(text)));
        let Some(form) = terse_version(text) else { continue };
        if jobs.len() >= JOBS_MAX {
            return Err(source.error(line, format!("more than {JOBS_MAX} jobs are in it")));
        }
        let mut fields = text.split(';');
        fields.next();
        if form > 2 {
            version = fields.next().map(str::to_owned).or(version);
        }
        let fields: Vec<&str> = fields.collect();
        let mut job = terse_job(source, line, form, &fields)?;
        let own = announcements.iter().find(|(name, _)| job["jobname"] == *name);
        is_told &= own.is_some();
        if let (Some((_, own)), Some(options)) = (own, job["job options"].as_object_mut()) {
            options.extend(own.clone());
        }
        jobs.push(job);
    }
    let reported = last_reports(&jobs);
    jobs.drain(..jobs.len() - reported);
    let unknown = if is_told { NORMAL_UNKNOWN } else { TERSE_UNKNOWN };
    Ok(Plain {
        document: json!({ "fio version": version, "jobs": jobs }),
        unknown: vec![unknown.to_owned()],
        is_engine_unknown: !is_told,
    })
}

/// How many jobs a report has, where `--status-interval` wrote one after another: the same jobs in the same order, each further on than
/// the report before it. All, where there is one report.
fn last_reports(jobs: &[Value]) -> usize {
    let all = jobs.len();
    let name = |job: &Value| (job["jobname"].clone(), job["groupid"].clone());
    let sum = |job: &Value, key: &str| -> u64 {
        DIRECTIONS.iter().filter_map(|direction| job[*direction][key].as_u64()).sum()
    };
    let is_further = |before: &Value, after: &Value| {
        name(before) == name(after)
            && sum(after, "runtime") > sum(before, "runtime")
            && sum(after, "io_bytes") > sum(before, "io_bytes")
    };
    let longest = |report: &[Value]| report.iter().map(|job| sum(job, "runtime")).max().unwrap_or(0);
    let are_reports = |each: &usize| {
        let reports: Vec<&[Value]> = jobs.chunks(*each).collect();
        // Clones of one report end at about one time.
        let grows = longest(reports[reports.len() - 1]) as f64 >= longest(reports[0]) as f64 * REPORTS_APART;
        grows && reports.windows(2).all(|pair| pair[0].iter().zip(pair[1]).all(|(one, next)| is_further(one, next)))
    };
    (1..all).filter(|each| all.is_multiple_of(*each)).find(are_reports).unwrap_or(all)
}

fn terse_job(source: Source<'_>, line: usize, form: u32, fields: &[&str]) -> Result<Value, ImportError> {
    let width = FIELDS[usize::from(form >= 5)];
    let directions: &[&str] = if form >= 4 { &["read", "write", "trim"] } else { &["read", "write"] };
    let begin = 3;
    let rest = begin + width * directions.len();
    // CPU: user, system, context switches, major and minor faults; then seven depths.
    if fields.len() < rest + 12 {
        return Err(source.error(line, format!("has {} fields, where its form has more", fields.len())));
    }
    let mut job = Map::new();
    let (mut reads, mut total_ios, mut total_kib) = (0, 0, 0.0);
    for (index, direction) in directions.iter().enumerate() {
        let own = &fields[begin + width * index..begin + width * (index + 1)];
        let (part, count) = terse_direction(source, line, own)?;
        if *direction == "read" {
            reads = count;
        }
        total_ios += count;
        total_kib += source.number(line, own[0])?;
        job.insert((*direction).to_owned(), part);
    }
    let is_trim = form >= 4 && job["trim"]["total_ios"].as_u64().unwrap_or(0) > 0;
    let kind = match (reads, total_ios) {
        (reads, all) if reads == all => "randread",
        (0, _) if is_trim => "randtrim",
        (0, _) => "randwrite",
        _ => "randrw",
    };
    let block = (total_kib * 1024.0 / (total_ios.max(1)) as f64 / 512.0).round().max(1.0) as u64 * 512;
    // Sizes are powers of two nearly always, and the number of requests is computed.
    let near = block.next_power_of_two();
    let near = if near - block <= block - near / 2 { near } else { near / 2 };
    let block = if (block as f64 / near as f64 - 1.0).abs() < 0.02 { near } else { block };
    let mut deepest = (0.0, 1);
    for (depth, share) in DEPTHS.iter().zip(&fields[rest + 5..rest + 12]) {
        let share = source.number(line, share.trim_end_matches('%'))?;
        if share > deepest.0 {
            deepest = (share, *depth);
        }
    }
    let mix = 100 * reads / total_ios.max(1);
    let mut options = json!({ "rw": kind, "bs": block.to_string(), "iodepth": deepest.1.to_string(), "ioengine": "libaio", "direct": "1" });
    if kind == "randrw" {
        options["rwmixread"] = mix.to_string().into();
    }
    job.insert("job options".to_owned(), options);
    job.insert("jobname".to_owned(), fields[0].into());
    job.insert("groupid".to_owned(), (source.number(line, fields[1])? as u64).into());
    job.insert("error".to_owned(), (source.number(line, fields[2])? as u64).into());
    for (key, text) in [("usr_cpu", fields[rest]), ("sys_cpu", fields[rest + 1])] {
        let share = source.number(line, text.trim_end_matches('%'))?;
        job.insert(key.to_owned(), share.into());
    }
    Ok(Value::Object(job))
}

fn terse_direction(source: Source<'_>, line: usize, own: &[&str]) -> Result<(Value, u64), ImportError> {
    let number = |index: usize| source.number(line, own[index]);
    let (kib, iops, runtime) = (number(0)?, number(2)?, number(3)?);
    let count = (iops * runtime / 1e3).round() as u64;
    // Microseconds, also of fio 3.
    let statistic = |at: usize| -> Result<Value, ImportError> {
        let (min, max, mean) = (number(at)?, number(at + 1)?, number(at + 2)?);
        Ok(json!({ "min": (min * 1e3).min(mean * 1e3), "max": (max * 1e3).max(mean * 1e3), "mean": mean * 1e3 }))
    };
    let mut clat = statistic(8)?;
    for text in &own[12..12 + PERCENTILES] {
        let Some((share, value)) = text.split_once("%=") else { continue };
        let share = source.number(line, share)?;
        if share > 0.0 {
            let value = source.number(line, value)? * 1e3;
            clat["percentile"][format!("{share:.6}")] = (value as u64).into();
        }
    }
    let mut part = json!({
        "io_bytes": (kib * 1024.0) as u64,
        "io_kbytes": kib as u64,
        "iops": iops,
        "runtime": runtime as u64,
        "total_ios": count,
        "slat_ns": statistic(4)?,
        "clat_ns": clat,
        "lat_ns": statistic(12 + PERCENTILES)?,
    });
    if own.len() == FIELDS[1] {
        part["iops_stddev"] = number(45)?.into();
        part["iops_samples"] = (number(46)? as u64).into();
    }
    Ok((part, count))
}

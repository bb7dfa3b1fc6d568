//! CrystalDiskMark (3 to 9) and `KDiskMark`: texts of a few fixed loads, each with the best of its repeats.
//!
//! CrystalDiskMark's MB is 1,000,000 bytes. `KDiskMark` says so, too, and prints KiB/s over 1000: its figure is IOPS times
//! the block where it prints IOPS, and 1,024,000 bytes otherwise.

use crate::told::{Figures, LOCAL_TIME, Shape, Source, Told, after, between, leading, results, time_in, unit_bytes};
use crate::{ImportError, Results};
use loadline_block::Operation;

/// Lines in which the name of the program stands.
const HEAD_LINES: usize = 20;
/// Seconds of a measurement where the text does not tell them: the programs' own default.
const SECONDS_DEFAULT: f64 = 5.0;
/// Rate and IOPS times block differ by no more, in CrystalDiskMark.
const SAME: f64 = 0.02;

/// Whether a text is of one of the two.
pub(crate) fn is_one(text: &str) -> bool {
    text.lines().take(HEAD_LINES).any(|line| line.starts_with("CrystalDiskMark") || line.starts_with("KDiskMark"))
}

/// What a section is about.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    None,
    Reads(f64),
    Untold,
}

/// Reads such a text.
pub(crate) fn read(source: Source<'_>) -> Result<Results, ImportError> {
    let head = source
        .lines()
        .take(HEAD_LINES)
        .find(|(_, line)| line.starts_with("CrystalDiskMark") || line.starts_with("KDiskMark"));
    let (_, head) = head.ok_or_else(|| source.error(0, "does not name its program"))?;
    let is_kdiskmark = head.starts_with("KDiskMark");
    let tool = if is_kdiskmark { "KDiskMark" } else { "CrystalDiskMark" };
    let version = head[tool.len()..].trim_start().trim_start_matches('(');
    let version = version.split([' ', ')']).next().filter(|version| !version.is_empty());
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    let seconds = source.lines().find_map(|(line, text)| {
        let told = after(text, "Measure").filter(|_| text.contains("sec"))?;
        let (number, _) = leading(told.trim_start_matches(':'))?;
        source.number(line, number).ok().filter(|seconds| *seconds > 0.0)
    });
    let began = source.lines().find_map(|(_, text)| time_in(text.trim_start().strip_prefix("Date")?));
    let is_zeros = source.text.contains("[0Fill]") || source.text.contains("<0Fill>");
    let repeats = source.lines().find_map(|(_, text)| between(text, "(x", ")"));
    let mut section = Section::None;
    let mut loads = Vec::new();
    for (line, text) in source.lines() {
        let trimmed = text.trim();
        if let Some(title) = trimmed.strip_prefix('[').filter(|_| !trimmed.contains("MB/s")) {
            section = self::section(title);
            continue;
        }
        let Some((heading, figures)) = figures_of(trimmed) else { continue };
        let Some(mut load) = shape(heading, section, major) else {
            return Err(source.error(line, format!("{}: is no load that is known", heading.trim())));
        };
        let (rate, rest) = leading(figures).ok_or_else(|| source.error(line, "has no figure"))?;
        let rate = source.number(line, rate)?;
        let iops = match between(rest, "[", "IOPS") {
            Some(iops) => Some(source.number(line, iops)?),
            None => None,
        };
        let unit = if is_kdiskmark { 1_024_000.0 } else { 1e6 };
        let block = load.shape.block as f64;
        let bytes_per_s = match iops {
            Some(iops) if is_kdiskmark && iops > 0.0 => iops * block,
            _ => rate * unit,
        };
        let iops_known = iops.unwrap_or(bytes_per_s / block);
        if !is_kdiskmark && iops.is_some_and(|iops| iops > 1000.0 && (iops * block / (rate * unit) - 1.0).abs() > SAME)
        {
            let message = "MB/s and IOPS do not fit the size of the requests";
            return Err(source.error(line, message));
        }
        let mut told = Told::new(heading.trim(), "told", &load.shape);
        // The rate is printed and the number of requests is not: the time is such that the rate is the one printed.
        let count = (iops_known * seconds.unwrap_or(SECONDS_DEFAULT)).round().max(1.0);
        if rate > 0.0 && iops_known > 0.0 {
            told.seconds = count / iops_known;
            let bytes = (bytes_per_s * told.seconds).round() as u64;
            let count = count as u64;
            let reads = (count as f64 * load.shape.reads).round() as u64;
            let read_bytes = (bytes as f64 * load.shape.reads).round() as u64;
            told.operations = vec![
                (Operation::Read, Figures { count: reads, bytes: read_bytes, latency: None }),
                (Operation::Write, Figures { count: count - reads, bytes: bytes - read_bytes, latency: None }),
            ];
        }
        told.began_ms = began.map(|s| s * 1_000);
        told.unknown.append(&mut load.unknown);
        told.unknown.push(format!("It is the best of {} repeats", repeats.unwrap_or("its")));
        if let Some(latency) = between(rest, "<", "us").map(str::trim).filter(|latency| latency.parse() != Ok(0.0)) {
            told.unknown.push(format!(
                "It printed a latency of {latency} us, the best of its repeats, perhaps of another one than the rate"
            ));
        }
        if is_zeros {
            told.unknown.push("It wrote zeros, which some disks compress".to_owned());
        }
        if seconds.is_none() {
            told.unknown.push("How long it measured is not told: 5 s are taken, its default".to_owned());
        }
        source.push(&mut loads, line, told)?;
    }
    let mut notes =
        vec![if began.is_some() { LOCAL_TIME.to_owned() } else { "the file's own time is taken".to_owned() }];
    if is_kdiskmark {
        notes.push("KDiskMark's \"MB/s\" are 1,024,000 bytes/s: bytes are IOPS times the size of a request".to_owned());
    }
    results(source, tool, version, loads, notes)
}

/// A line's heading and figures, if it has some.
fn figures_of(line: &str) -> Option<(&str, &str)> {
    let end = line.find("MB/s")?;
    let colon = line[..end].rfind(':')?;
    let (heading, figures) = (&line[..colon], &line[colon + 1..]);
    let is_load = ["SEQ", "Seq", "RND", "Random"].iter().any(|word| heading.trim_start().starts_with(word));
    is_load.then_some((heading, figures))
}

/// `Read]`, `Write]`, `Mix] Read 70%/Write 30%`.
fn section(title: &str) -> Section {
    if title.starts_with("Read]") {
        return Section::Reads(1.0);
    }
    if title.starts_with("Write]") {
        return Section::Reads(0.0);
    }
    let share = title.strip_prefix("Mix]").and_then(|mix| between(mix, "Read", "%")?.trim().parse::<f64>().ok());
    share.filter(|share| (0.0..=100.0).contains(share)).map_or(Section::Untold, |share| Section::Reads(share / 100.0))
}

/// A load by its heading.
struct Named {
    shape: Shape,
    unknown: Vec<String>,
}

fn shape(heading: &str, section: Section, major: Option<u32>) -> Option<Named> {
    let words = heading.trim_start();
    let is_random = words.starts_with("RND") || words.starts_with("Random");
    let reads = match section {
        Section::Reads(share) => share,
        Section::None if words.contains("Read") => 1.0,
        Section::None if words.contains("Write") => 0.0,
        Section::None | Section::Untold => return None,
    };
    let number = |mark: &str| -> Option<u64> { leading(after(words, mark)?)?.0.parse().ok().filter(|n| *n > 0) };
    let depth = number("QD=").or_else(|| number("Q=")).unwrap_or(1);
    let threads = number("T=").unwrap_or(1);
    let mut unknown = Vec::new();
    let before = words.split('(').next().unwrap_or(words);
    let block = before.find(|c: char| c.is_ascii_digit()).and_then(|at| {
        let (number, unit) = leading(&before[at..])?;
        let unit = unit.split_whitespace().next()?;
        number.parse::<u64>().ok()?.checked_mul(unit_bytes(unit, false)? as u64)
    });
    let block = if let Some(block) = block {
        block
    } else if is_random {
        return None;
    } else {
        // Version 5 and 6 name a queue for 128 KiB; everything else is 1 MiB.
        let is_small = major.is_some_and(|major| major >= 5) && words.contains("Q=");
        unknown.push(format!(
            "The size of its sequential requests is not told: {} is taken, which this version uses",
            if is_small { "128 KiB" } else { "1 MiB" }
        ));
        if is_small { 128 << 10 } else { 1 << 20 }
    };
    Some(Named { shape: Shape { is_random, reads, block, depth, threads, is_buffered: false }, unknown })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;

    fn all(text: &str) -> Results {
        read(Source { text, name: "a.txt", written_unix_s: 7 }).unwrap()
    }

    /// MB/s, IOPS, block, depth and threads.
    fn row(job: &Job, unit: f64) -> (String, String, u64, u64) {
        let depth = job.spec.outstanding().unwrap();
        (
            format!("{:.3}", job.trial.bytes_per_s().unwrap() / unit),
            format!("{:.1}", job.trial.iops().unwrap()),
            job.spec.blocks[0].size.get(),
            depth,
        )
    }

    fn expect(results: &Results, unit: f64, rows: &[(&str, &str, u64, u64)]) {
        assert_eq!((results.jobs.len(), results.left_out.len()), (rows.len(), 0));
        for (job, (rate, iops, block, depth)) in results.jobs.iter().zip(rows) {
            assert_eq!(row(job, unit), ((*rate).to_owned(), (*iops).to_owned(), *block, *depth), "{}", job.name);
        }
    }

    #[test]
    fn version_8_has_every_printed_digit() {
        let results = all(include_str!("../tests/corpus/crystaldiskmark-8.txt"));
        assert_eq!((results.tool.as_str(), results.version.as_deref()), ("CrystalDiskMark", Some("8.0.4")));
        let mib = 1 << 20;
        expect(
            &results,
            1e6,
            &[
                ("520.000", "495.9", mib, 8),
                ("430.000", "410.1", mib, 1),
                ("250.000", "61035.2", 4096, 32),
                ("40.000", "9765.6", 4096, 1),
                ("416.000", "396.7", mib, 8),
                ("344.000", "328.1", mib, 1),
                ("200.000", "48828.1", 4096, 32),
                ("32.000", "7812.5", 4096, 1),
            ],
        );
        let first = &results.jobs[0];
        assert!(
            first.spec.reads == loadline_units::Ratio::ONE && results.jobs[4].spec.reads == loadline_units::Ratio::ZERO
        );
        assert!(first.unknown.iter().any(|sentence| sentence.contains("16100.00 us")), "{:?}", first.unknown);
        assert_eq!(first.trial.started_unix_s, 1_714_979_289);
        assert_eq!(
            first.trial.of(Operation::Read).unwrap().figures(),
            None,
            "the best latency may be of another repeat"
        );
    }

    #[test]
    fn older_versions_name_their_loads_otherwise() {
        let six = all(include_str!("../tests/corpus/crystaldiskmark-6.txt"));
        let small = 128 << 10;
        expect(
            &six,
            1e6,
            &[
                ("520.000", "3967.3", small, 32),
                ("410.000", "3128.1", small, 32),
                ("300.000", "73242.2", 4096, 64),
                ("280.000", "68359.4", 4096, 64),
                ("250.000", "61035.2", 4096, 32),
                ("200.000", "48828.1", 4096, 32),
                ("40.000", "9765.6", 4096, 1),
                ("32.000", "7812.5", 4096, 1),
            ],
        );
        let three = all(include_str!("../tests/corpus/crystaldiskmark-3.txt"));
        expect(
            &three,
            1e6,
            &[
                ("150.000", "143.1", 1 << 20, 1),
                ("140.000", "133.5", 1 << 20, 1),
                ("60.000", "114.4", 512 << 10, 1),
                ("55.000", "104.9", 512 << 10, 1),
                ("0.900", "219.7", 4096, 1),
                ("1.400", "341.8", 4096, 1),
                ("1.800", "439.5", 4096, 32),
                ("1.500", "366.2", 4096, 32),
            ],
        );
        assert!(three.jobs[0].unknown.iter().any(|sentence| sentence.contains("1 MiB is taken")));
    }

    #[test]
    fn a_megabyte_of_kdiskmark_is_1024000_bytes() {
        let results = all(include_str!("../tests/corpus/kdiskmark-3.txt"));
        assert_eq!((results.tool.as_str(), results.version.as_deref()), ("KDiskMark", Some("3.2.0")));
        let first = &results.jobs[0];
        assert_eq!(format!("{:.1}", first.trial.iops().unwrap()), "496.0");
        assert!((first.trial.bytes_per_s().unwrap() - 496.0 * 1_048_576.0).abs() < 1.0);
        for job in &results.jobs {
            let printed = job.trial.bytes_per_s().unwrap() / 1_024_000.0;
            assert!(printed.is_finite() && (printed * job.spec.blocks[0].size.get() as f64) > 0.0);
        }
        let rates: Vec<String> =
            results.jobs.iter().map(|job| format!("{:.3}", job.trial.bytes_per_s().unwrap() / 1_024_000.0)).collect();
        assert_eq!(rates[..4], ["507.904", "419.840", "244.000", "39.060"]);
    }

    #[test]
    fn mixes_are_split_by_their_share_and_commas_refused() {
        let text = "CrystalDiskMark 8.0.4\n[Mix] Read 70%/Write 30%\n  RND    4KiB (Q=  1, T= 1):    41.000 MB/s [  10009.8 IOPS] <     0.00 us>\n";
        let job = &all(text).jobs[0];
        let of = |operation| job.trial.of(operation).unwrap().count as f64;
        assert!((of(Operation::Read) / of(Operation::Write) - 7.0 / 3.0).abs() < 0.01);
        let comma = text.replace("41.000", "41,000");
        let error = read(Source { text: &comma, name: "a", written_unix_s: 0 }).unwrap_err();
        assert!(error.to_string().contains("line 3: 41,000: a comma"), "{error}");
    }

    #[test]
    fn rows_beyond_those_of_a_run_are_refused_where_they_begin() {
        let row = "Sequential Read :   507.904 MB/s\n";
        let rows = |count: usize| format!("CrystalDiskMark 3.0.1\n{}", row.repeat(count));
        let read_rows = |count: usize| read(Source { text: &rows(count), name: "a", written_unix_s: 0 });
        assert_eq!(read_rows(10_000).unwrap().jobs.len(), 10_000);
        let error = read_rows(300_000).unwrap_err().to_string();
        assert!(error.contains("line 10002: more than 10000 loads"), "{error}");
    }
}

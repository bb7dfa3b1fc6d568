//! fio's logs of histograms (`write_hist_log`): for each span and direction, how many requests took how long.

use super::latency::middle;
use crate::told::{Figures, Shape, Source, Told, results};
use crate::{ImportError, Results};
use loadline_block::Operation;
use loadline_record::Histogram;
use loadline_units::Duration;
use std::collections::BTreeMap;

/// What stands before the counts: when, in ms; which direction; the size of the requests.
const BEFORE: usize = 3;
/// Counts of a line without coarseness, with the unit of their buckets in ns: since fio 3, and before.
const FORMS: [(u64, u64); 2] = [(29 * 64, 1), (19 * 64, 1_000)];
/// The coarsest log: neighbours are joined so many times in pairs.
const COARSEST: u32 = 6;

/// How many neighbouring buckets a count has, and their unit in ns, by how many counts a line has.
fn form(counts: usize) -> Option<(u64, u64)> {
    let counts = u64::try_from(counts).ok()?;
    FORMS.iter().find_map(|(all, unit_ns)| {
        (0..=COARSEST).map(|joined| 1 << joined).find(|joined| counts * joined == *all).map(|joined| (joined, *unit_ns))
    })
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// Whether a text is such a log.
pub(crate) fn is_hist_log(text: &str) -> bool {
    let is_one = |line: &str| {
        let fields = line.split(',').count();
        let is_count = |field: &str| !field.trim().is_empty() && field.trim().bytes().all(|b| b.is_ascii_digit());
        fields > BEFORE && form(fields - BEFORE).is_some() && line.split(',').all(is_count)
    };
    first_line(text).is_some_and(is_one)
}

/// One direction of a log.
#[derive(Default)]
struct Counted {
    /// Requests by the middle of their bucket, ns.
    buckets: BTreeMap<u64, u64>,
    count: u64,
    bytes: u64,
}

impl Counted {
    fn sum_ns(&self) -> u128 {
        self.buckets.iter().map(|(ns, count)| u128::from(*ns) * u128::from(*count)).sum()
    }

    /// Its latencies, as well as buckets have them.
    fn histogram(&self) -> Option<Histogram> {
        let (least, most) = (self.buckets.keys().next()?, self.buckets.keys().next_back()?);
        let counts = self.buckets.iter().map(|(ns, count)| (Duration::from_ns(*ns), *count));
        Histogram::of_counts(counts, self.sum_ns(), Duration::from_ns(*least), Duration::from_ns(*most)).ok()
    }
}

/// Reads a log of histograms.
pub(crate) fn hist_log(source: Source<'_>) -> Result<Results, ImportError> {
    let mut directions: BTreeMap<u64, Counted> = BTreeMap::new();
    let (mut ends_ms, mut sizes) = (0, BTreeMap::<u64, u64>::new());
    let fields_of_first = first_line(source.text).map_or(0, |line| line.split(',').count());
    let (joined, unit_ns) = form(fields_of_first.saturating_sub(BEFORE)).unwrap_or((1, 1));
    for (line, text) in source.lines().filter(|(_, text)| !text.trim().is_empty()) {
        let number = |field: &str| {
            let number = field.trim().parse::<u64>().ok().filter(|number| *number < 1 << 51);
            number.ok_or_else(|| source.error(line, "has a field that is no count that can be"))
        };
        if text.split(',').count() != fields_of_first {
            return Err(
                source.error(line, format!("has not the {fields_of_first} fields of the first line: it is cut off"))
            );
        }
        let mut fields = text.split(',').map(number);
        let mut next = || fields.next().unwrap_or(Ok(0));
        let (at_ms, direction, size) = (next()?, next()?, next()?);
        if direction > 2 {
            return Err(source.error(line, format!("{direction} is no direction: 0 are reads, 1 writes, 2 trims")));
        }
        ends_ms = ends_ms.max(at_ms);
        let own = directions.entry(direction).or_default();
        for (place, count) in fields.enumerate() {
            let count = count?;
            if count == 0 {
                continue;
            }
            let bucket = place as u64 * joined + joined / 2;
            let ns = middle(bucket).unwrap_or_default().saturating_mul(unit_ns);
            *own.buckets.entry(ns).or_default() += count;
            *sizes.entry(size).or_default() += count;
            let moved = count.checked_mul(size).and_then(|bytes| own.bytes.checked_add(bytes));
            let all = own.count.checked_add(count).zip(moved).filter(|(_, bytes)| *bytes < 1 << 62);
            (own.count, own.bytes) = all.ok_or_else(|| source.error(line, "has more bytes than can be"))?;
        }
    }
    let count: u64 = directions.values().map(|of| of.count).sum();
    let block = sizes.iter().max_by_key(|(_, count)| **count).map_or(0, |(size, _)| *size);
    let seconds = ends_ms as f64 / 1e3;
    let in_flight = directions.values().map(Counted::sum_ns).sum::<u128>() as f64 / (seconds * 1e9).max(1.0);
    let reads = directions.get(&0).map_or(0, |of| of.count);
    let shape = Shape {
        is_random: true,
        reads: reads as f64 / count.max(1) as f64,
        block,
        depth: (in_flight.round() as u64).clamp(1, 16_384),
        threads: 1,
        is_buffered: false,
    };
    let name = source.name.rsplit('/').next().unwrap_or(source.name);
    let mut told = Told::new(name.strip_suffix(".log").unwrap_or(name), "not told", &shape);
    told.seconds = seconds;
    let kind = |direction: u64| match direction {
        0 => Operation::Read,
        1 => Operation::Write,
        _ => Operation::Trim,
    };
    told.operations = directions
        .iter()
        .map(|(direction, of)| (kind(*direction), Figures { count: of.count, bytes: of.bytes, latency: None }))
        .collect();
    told.unknown = vec![
        "a log of histograms does not tell what was asked: that requests fell anywhere, past the page cache, is assumed; the depth is \
         the mean number in flight, by the rate and the latencies; the time runs from fio's start to the last line"
            .to_owned(),
        "latencies are the middles of fio's buckets".to_owned(),
    ];
    if sizes.len() > 1 {
        told.unknown.push("requests have several sizes: the most frequent one is taken".to_owned());
    }
    let mut results = results(source, "fio", None, vec![told], vec!["the file's own time is taken".to_owned()])?;
    for job in &mut results.jobs {
        for (direction, of) in &directions {
            if let (Some(record), Some(histogram)) = (job.trial.operations.get_mut(&kind(*direction)), of.histogram()) {
                record.latency = histogram;
            }
        }
        job.unknown.retain(|unknown| unknown != "Latencies are not told");
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at_ms: u64, direction: u64, counts: &[(usize, u64)], fields: usize) -> String {
        let count = |place: usize| counts.iter().find(|(of, _)| *of == place).map_or(0, |(_, count)| *count);
        let counts: Vec<String> = (0..fields).map(|place| count(place).to_string()).collect();
        format!("{at_ms}, {direction}, 4096, {}\n", counts.join(", "))
    }

    fn read(text: &str) -> Result<Results, ImportError> {
        assert!(is_hist_log(text));
        crate::read(text, "d/x_clat_hist.1.log", 1_000)
    }

    #[test]
    fn a_log_of_histograms_becomes_a_cell_with_all_its_latencies() {
        // Buckets 1,152 and 1,153 begin at 2^23 ns and 2^17 ns further on.
        let text = line(1_000, 0, &[(1_152, 300), (1_153, 100)], 1_856) + &line(2_000, 0, &[(1_152, 500)], 1_856);
        let text = text + &line(2_000, 1, &[(64, 100)], 1_856);
        let results = read(&text).unwrap();
        let [job] = results.jobs.as_slice() else { panic!("{results:?}") };
        let reads = &job.trial.operations[&Operation::Read];
        assert_eq!((reads.count, reads.bytes, reads.latency.count()), (900, 900 * 4096, 900));
        let middle = 8_388_608 + 65_536;
        let near = |ns: u64, wanted: u64| ns.abs_diff(wanted) <= wanted / 64;
        let figures = reads.figures().unwrap();
        assert!(near(figures.p50.unwrap(), middle) && near(figures.max, middle + 131_072), "{figures:?}");
        assert_eq!(job.trial.operations[&Operation::Write].latency.count(), 100);
        assert_eq!((job.trial.measured_ns, job.name.as_str()), (2_000_000_000, "x_clat_hist.1"));
        // 900 of 8.4 ms in 2 s.
        assert_eq!(job.spec.outstanding(), Some(4));
        assert!(job.unknown.iter().all(|unknown| unknown != "Latencies are not told"));
    }

    #[test]
    fn coarse_logs_and_those_of_fio_2_are_read_by_their_number_of_counts() {
        let coarse = read(&line(1_000, 0, &[(288, 10)], 464)).unwrap();
        let mean = coarse.jobs[0].trial.operations[&Operation::Read].figures().unwrap().mean;
        assert!((mean / (8_388_608.0 + 2.5 * 131_072.0) - 1.0).abs() < 0.01, "{mean}");
        let old = read(&line(1_000, 0, &[(100, 10)], 1_216)).unwrap();
        assert!(
            (old.jobs[0].trial.operations[&Operation::Read].figures().unwrap().mean / 100_000.0 - 1.0).abs() < 0.02
        );
        assert!(!is_hist_log("1, 0, 4096, 7\n") && !is_hist_log(""));
        let cut = line(1_000, 0, &[(7, 1)], 1_856) + "2000, 0, 4096, 1\n";
        assert!(read(&cut).unwrap_err().to_string().contains("line 2: has not the 1859 fields"));
    }
}

//! What `pg_test_fsync` prints: how often a write of a database's log becomes durable, by each way to make it so.

use crate::told::{Figures, Shape, Source, Told, leading, results, unit_bytes};
use crate::{ImportError, Results};
use loadline_block::Operation;
use loadline_workload::{FlushCadence, FlushMethod};

/// The heading of the rows that write one or two blocks: `Compare file sync methods using one 8kB write:`.
const METHODS: &str = "Compare file sync methods using ";
/// The heading of the rows that write 16 kB in parts.
const SIZES: &str = "Compare open_sync with different write sizes:";

/// Whether a text is of `pg_test_fsync`.
pub(crate) fn is_one(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(METHODS))
}

/// What a row writes before it counts once.
#[derive(Debug, Clone, Copy)]
struct Writes {
    count: u64,
    size: f64,
}

/// How a method makes a write durable; `None`: no method that is known.
fn method(name: &str) -> Option<FlushMethod> {
    match name {
        "fdatasync" | "fsync" | "fsync_writethrough" => Some(FlushMethod::Fdatasync),
        "open_datasync" | "open_sync" => Some(FlushMethod::Fua),
        _ => None,
    }
}

/// `one 8kB write`, `two 8kB writes`.
fn writes(text: &str) -> Option<Writes> {
    let (count, rest) = text.split_once(' ')?;
    let count = match count {
        "one" => 1,
        "two" => 2,
        _ => return None,
    };
    let (size, unit) = leading(rest)?;
    // PostgreSQL's kB are 1,024 bytes.
    Some(Writes { count, size: size.parse::<f64>().ok()? * unit_bytes(unit.split_whitespace().next()?, false)? })
}

/// Reads such a text.
pub(crate) fn read(source: Source<'_>) -> Result<Results, ImportError> {
    let mut seconds = None;
    let (mut is_direct, mut has_others) = (false, false);
    let mut own: Option<Writes> = None;
    let mut is_parted = false;
    let mut loads = Vec::new();
    for (line, text) in source.lines() {
        if let Some((count, _)) = text.split_once(" per test").and_then(|(time, _)| time.split_once(" second")) {
            seconds = Some(source.number(line, count)?);
        } else if text.starts_with("O_DIRECT supported on this platform for open_datasync and open_sync") {
            is_direct = true;
        } else if let Some(rest) = text.strip_prefix(METHODS) {
            own = Some(writes(rest).ok_or_else(|| source.error(line, "does not say what is written"))?);
            is_parted = false;
        } else if text.starts_with(SIZES) {
            (own, is_parted) = (None, true);
        } else if text.trim_end().ends_with(':') {
            (own, is_parted) = (None, false);
        } else if let Some((before, _)) = text.split_once(" ops/sec") {
            let Some((name, per_s)) = before.trim().rsplit_once(' ') else { continue };
            // A method whose writes do not go around the page cache has a star.
            let name = name.trim().trim_end_matches('*').trim();
            let (writes, how) = match own {
                Some(writes) => (writes, method(name)),
                None if is_parted => match parts(name) {
                    Some(writes) => (writes, Some(FlushMethod::Fua)),
                    None => continue,
                },
                None => {
                    has_others = true;
                    continue;
                }
            };
            let Some(how) = how else { continue };
            let Some(seconds) = seconds else { return Err(source.error(0, "does not say how long each test took")) };
            let load = load(name, writes, how, source.number(line, per_s)?, seconds, is_direct);
            source.push(&mut loads, line, load)?;
        }
    }
    let mut notes = vec!["the file's own time is taken".to_owned()];
    if has_others {
        notes
            .push("its rows of writes that nothing makes durable, or another descriptor does, are left out".to_owned());
    }
    results(source, "pg_test_fsync", None, loads, notes)
}

/// `2 *  8kB open_sync writes`.
fn parts(name: &str) -> Option<Writes> {
    let (count, rest) = name.split_once('*')?;
    let (size, unit) = leading(rest)?;
    let size = size.parse::<f64>().ok()? * unit_bytes(unit.split_whitespace().next()?, false)?;
    Some(Writes { count: count.trim().parse().ok()?, size })
}

fn load(name: &str, writes: Writes, how: FlushMethod, per_s: f64, seconds: f64, is_direct: bool) -> Told {
    let own = how == FlushMethod::Fua;
    let shape = Shape {
        is_random: false,
        reads: 0.0,
        block: writes.size as u64,
        depth: 1,
        threads: 1,
        is_buffered: !(own && is_direct),
    };
    let count = match (name.contains('*'), writes.count) {
        (true, _) => String::new(),
        (false, count) => format!(", {count} x {:.0} KiB", writes.size / 1024.0),
    };
    let mut told = Told::new(&format!("{name}{count}"), "told", &shape);
    // Each of the writes is durable by itself, or one flush follows all.
    let every = if own { 1 } else { writes.count };
    told.spec.flush = Some(FlushCadence { every, how });
    told.seconds = seconds;
    let figures = Figures::of_rate(per_s * writes.count as f64, writes.size, seconds);
    told.operations.push((Operation::Write, figures));
    if !own {
        told.operations.push((Operation::Flush, Figures::of_rate(per_s, 0.0, seconds)));
    }
    told.unknown.push("Each write goes to the same place, and is timed together with what makes it durable".to_owned());
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PostgreSQL 15.18 wrote it.
    #[test]
    fn each_way_to_make_a_write_durable_is_a_load() {
        let text = include_str!("../../../../tests/corpus/pg_test_fsync/15.18.txt");
        let results = read(Source { text, name: "a", written_unix_s: 100 }).unwrap();
        let names: Vec<&str> = results.jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names.len(), 13, "{names:?}");
        let of = |name: &str| results.jobs.iter().find(|job| job.name == name).unwrap();
        let flushed = of("fdatasync, 2 x 8 KiB");
        assert_eq!(flushed.spec.flush, Some(FlushCadence { every: 2, how: FlushMethod::Fdatasync }));
        let counts =
            [Operation::Write, Operation::Flush].map(|of| flushed.trial.of(of).map_or(0, |record| record.count));
        assert_eq!(counts[0], 2 * counts[1]);
        let direct = of("open_datasync, 1 x 8 KiB");
        assert_eq!((direct.spec.buffered, direct.trial.of(Operation::Flush).is_some()), (false, false));
        assert_eq!(direct.trial.bytes(), direct.trial.count() * 8192);
        let parts = of("8 *  2kB open_sync writes");
        assert_eq!(parts.spec.blocks[0].size.get(), 2048);
        assert!(results.notes.iter().any(|note| note.contains("nothing makes durable")), "{:?}", results.notes);
    }
}

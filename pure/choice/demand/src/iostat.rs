//! `iostat` text, of every version from 9 on: columns by their names.

use crate::combined::{Block, combined};
use crate::error::DemandError;
use crate::number::scaled;
use crate::options::ReadOptions;
use crate::series::{Demand, DemandInterval};
use crate::stamp;

/// The meaning of a column. Bytes carry the number of bytes in their unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Meaning {
    Device,
    Reads,
    Writes,
    Requests,
    ReadBytes(f64),
    WriteBytes(f64),
    /// ms
    Await,
    ReadAwait,
    WriteAwait,
    InFlight,
    /// Known, and not needed.
    Other,
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * 1024.0;
const SECTOR: f64 = loadline_units::SECTOR.get() as f64;

/// The columns of `iostat`, `sar -d` and `sadf`, by the names that sysstat gave them over the years.
const COLUMNS: &[(&str, Meaning)] = &[
    ("Device", Meaning::Device),
    ("Device:", Meaning::Device),
    ("DEV", Meaning::Device),
    ("r/s", Meaning::Reads),
    ("w/s", Meaning::Writes),
    ("tps", Meaning::Requests),
    ("rkB/s", Meaning::ReadBytes(KIB)),
    ("wkB/s", Meaning::WriteBytes(KIB)),
    ("rMB/s", Meaning::ReadBytes(MIB)),
    ("wMB/s", Meaning::WriteBytes(MIB)),
    ("rsec/s", Meaning::ReadBytes(SECTOR)),
    ("wsec/s", Meaning::WriteBytes(SECTOR)),
    ("rd_sec/s", Meaning::ReadBytes(SECTOR)),
    ("wr_sec/s", Meaning::WriteBytes(SECTOR)),
    ("rd_sec", Meaning::ReadBytes(SECTOR)),
    ("wr_sec", Meaning::WriteBytes(SECTOR)),
    ("rkB", Meaning::ReadBytes(KIB)),
    ("wkB", Meaning::WriteBytes(KIB)),
    ("kB_read/s", Meaning::ReadBytes(KIB)),
    ("kB_wrtn/s", Meaning::WriteBytes(KIB)),
    ("MB_read/s", Meaning::ReadBytes(MIB)),
    ("MB_wrtn/s", Meaning::WriteBytes(MIB)),
    ("Blk_read/s", Meaning::ReadBytes(SECTOR)),
    ("Blk_wrtn/s", Meaning::WriteBytes(SECTOR)),
    ("await", Meaning::Await),
    ("r_await", Meaning::ReadAwait),
    ("w_await", Meaning::WriteAwait),
    ("avgqu-sz", Meaning::InFlight),
    ("aqu-sz", Meaning::InFlight),
];

/// Columns that are known, and not needed.
const OTHERS: &[&str] = &[
    "rrqm/s",
    "wrqm/s",
    "drqm/s",
    "%rrqm",
    "%wrqm",
    "%drqm",
    "avgrq-sz",
    "areq-sz",
    "rareq-sz",
    "wareq-sz",
    "dareq-sz",
    "svctm",
    "%util",
    "util",
    "util-percent",
    "d/s",
    "dkB/s",
    "dMB/s",
    "dsec/s",
    "d_await",
    "f/s",
    "f_await",
    "kB_dscd/s",
    "MB_dscd/s",
    "Blk_dscd/s",
    "kB_read",
    "kB_wrtn",
    "kB_dscd",
    "MB_read",
    "MB_wrtn",
    "MB_dscd",
    "Blk_read",
    "Blk_wrtn",
    "Blk_dscd",
    "kB/s",
    "MB/s",
    "sec/s",
    "rqm/s",
    "dkB",
    "dc_sec/s",
];

/// The meaning of a column; `None` if no version is known to have it.
pub(crate) fn meaning(name: &str) -> Option<Meaning> {
    let found = COLUMNS.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning);
    found.or_else(|| OTHERS.contains(&name).then_some(Meaning::Other))
}

/// Whether these words are a header of `iostat`. With --compact or -h the device stands last.
pub(crate) fn is_header(words: &[&str]) -> bool {
    let is_device = |word: Option<&&str>| word.is_some_and(|word| matches!(*word, "Device" | "Device:"));
    words.len() > 2 && (is_device(words.first()) || is_device(words.last()))
}

/// The interval of a row, from its columns' meanings and texts. `None` if a needed figure is no number.
pub(crate) fn interval(columns: &[Meaning], values: &[&str]) -> Option<(String, DemandInterval, bool)> {
    let mut row = DemandInterval::default();
    let mut device = None;
    let (mut together, mut read_await, mut write_await, mut both_await) = (None, None, None, None);
    for (column, text) in columns.iter().zip(values) {
        match column {
            Meaning::Device => device = Some((*text).to_owned()),
            Meaning::Other => {}
            Meaning::Reads => row.reads_per_s = scaled(text)?,
            Meaning::Writes => row.writes_per_s = scaled(text)?,
            Meaning::Requests => together = Some(scaled(text)?),
            Meaning::ReadBytes(unit) => row.read_bytes_per_s = scaled(text)? * unit,
            Meaning::WriteBytes(unit) => row.write_bytes_per_s = scaled(text)? * unit,
            Meaning::Await => both_await = Some(scaled(text)?),
            Meaning::ReadAwait => read_await = Some(scaled(text)?),
            Meaning::WriteAwait => write_await = Some(scaled(text)?),
            Meaning::InFlight => row.in_flight = Some(scaled(text)?),
        }
    }
    let has_own = columns.contains(&Meaning::Reads);
    let is_split = !has_own && together.is_some();
    if let Some(all) = together.filter(|_| !has_own) {
        let bytes = row.bytes_per_s();
        let reads = if bytes > 0.0 { row.read_bytes_per_s / bytes } else { 0.0 };
        (row.reads_per_s, row.writes_per_s) = (all * reads, all * (1.0 - reads));
    }
    let requests = row.requests_per_s();
    let mean_ms = both_await.or_else(|| {
        let (reads, writes) = (read_await?, write_await?);
        (requests > 0.0).then(|| (reads * row.reads_per_s + writes * row.writes_per_s) / requests)
    });
    row.latency_ns = mean_ms.filter(|_| requests > 0.0).map(|ms| ms * 1e6);
    Some((device?, row, is_split))
}

/// Columns of a header, each with its meaning; an unknown one is an error that shows it.
pub(crate) fn columns(words: &[&str], source_name: &str, line: usize) -> Result<Vec<Meaning>, DemandError> {
    let unknown = |word: &&str| DemandError::UnknownColumn {
        source_name: source_name.to_owned(),
        line,
        column: (*word).to_owned(),
        header: words.join(" "),
    };
    let columns: Vec<Meaning> =
        words.iter().map(|word| meaning(word).ok_or_else(|| unknown(word))).collect::<Result<_, _>>()?;
    let has = |test: fn(&Meaning) -> bool| columns.iter().any(test);
    if !has(|m| matches!(m, Meaning::ReadBytes(_))) || !has(|m| matches!(m, Meaning::Reads | Meaning::Requests)) {
        return Err(DemandError::Missing {
            source_name: source_name.to_owned(),
            missing: "reads and writes apart".to_owned(),
            remedy: "record with `iostat -xdt 60`".to_owned(),
        });
    }
    Ok(columns)
}

/// The note for files without reads and writes apart.
pub(crate) const SPLIT_NOTE: &str = "the file counts reads and writes together: they are split by their bytes";

pub(crate) fn read(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut times: Vec<Option<f64>> = Vec::new();
    let (mut header, mut stamp_before, mut is_split): (Option<Vec<Meaning>>, Option<f64>, bool) = (None, None, false);
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            header = None;
        } else if is_header(&words) {
            header = Some(columns(&words, source_name, index + 1)?);
            blocks.push(Block::default());
            times.push(stamp_before.take());
        } else if let Some(columns) = &header {
            if words.len() != columns.len() {
                // A file that was cut ends within a line.
                if index + 1 >= text.lines().count() {
                    break;
                }
                header = None;
                continue;
            }
            let Some((device, row, split)) = interval(columns, &words) else {
                return Err(crate::error::broken(source_name, index + 1, format!("no row of figures: {line:?}")));
            };
            is_split |= split;
            blocks.last_mut().expect("a header began a block").rows.push((device, row));
        } else if let Some(seconds) = stamp::time_of_day(line).filter(|_| !line.starts_with("Linux ")) {
            stamp_before = Some(seconds);
        }
    }
    let mut notes = Vec::new();
    if is_split {
        notes.push(SPLIT_NOTE.to_owned());
    }
    let several = blocks.len() > 1;
    let times: Option<Vec<f64>> = times.into_iter().collect();
    let lengths = times.as_ref().and_then(|times| stamp::lengths(times, Some(stamp::DAY_S)));
    if several {
        // The first block is since boot, unless -y left it out; which of both the text does not say.
        blocks.remove(0);
        notes.push("the first block is left out: without -y it covers the time since boot".to_owned());
    } else {
        notes.push(
            "the file has one block, which without -y covers the time since boot: its peaks are not known".to_owned(),
        );
    }
    match (lengths, options.interval_s) {
        (_, Some(given)) => blocks.iter_mut().for_each(|block| block.length_s = given),
        (Some(lengths), None) => {
            for (block, length) in blocks.iter_mut().zip(lengths.into_iter().skip(usize::from(several))) {
                block.length_s = length;
            }
        }
        (None, None) => {
            return Err(DemandError::NoTimes { source_name: source_name.to_owned() });
        }
    }
    combined("iostat", source_name, blocks, options, notes)
}

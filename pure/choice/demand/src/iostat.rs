//! `iostat` text, of every version from 9 on: columns by their names, and reports that are parted into several tables.

use crate::combined::{Block, combined};
use crate::error::DemandError;
use crate::number::{number, with_unit};
use crate::options::ReadOptions;
use crate::series::{Demand, DemandInterval};
use crate::stamp;
use std::collections::{BTreeMap, BTreeSet};

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
    /// The mean size of all requests, of reads, of writes.
    Size(f64),
    ReadSize(f64),
    WriteSize(f64),
    /// Percent of the time.
    Busy,
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
    ("device", Meaning::Device),
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
    ("avgrq-sz", Meaning::Size(SECTOR)),
    ("areq-sz", Meaning::Size(KIB)),
    ("rareq-sz", Meaning::ReadSize(KIB)),
    ("wareq-sz", Meaning::WriteSize(KIB)),
    ("%util", Meaning::Busy),
    // FreeBSD and Solaris, `-x`.
    ("kr/s", Meaning::ReadBytes(KIB)),
    ("kw/s", Meaning::WriteBytes(KIB)),
    ("Mr/s", Meaning::ReadBytes(MIB)),
    ("Mw/s", Meaning::WriteBytes(MIB)),
    ("svc_t", Meaning::Await),
    ("asvc_t", Meaning::Await),
    ("actv", Meaning::InFlight),
    ("%b", Meaning::Busy),
    ("util", Meaning::Busy),
    ("util-percent", Meaning::Busy),
];

/// Columns that are known, and not needed.
const OTHERS: &[&str] = &[
    "rrqm/s",
    "wrqm/s",
    "drqm/s",
    "%rrqm",
    "%wrqm",
    "%drqm",
    "dareq-sz",
    "svctm",
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
    "dc_sec",
    "rrqm",
    "wrqm",
    "drqm",
    // Of FreeBSD whole milliseconds, and the queue of one moment.
    "ms/r",
    "ms/w",
    "qlen",
    "ms/o",
    "ms/t",
    "wait",
    "wsvc_t",
    "%w",
];

/// The meaning of a column; `None` if no version is known to have it.
pub(crate) fn meaning(name: &str) -> Option<Meaning> {
    let found = COLUMNS.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning);
    found.or_else(|| OTHERS.contains(&name).then_some(Meaning::Other))
}

/// Whether these words are a header of `iostat`. With --compact or -h the device stands last.
pub(crate) fn is_header(words: &[&str]) -> bool {
    let is_device = |word: Option<&&str>| word.is_some_and(|word| matches!(*word, "Device" | "Device:" | "device"));
    let counts = |word: &&str| matches!(meaning(word), Some(Meaning::Reads | Meaning::Requests));
    words.len() > 2
        && (words.iter().any(counts) || !words.contains(&"device"))
        && (is_device(words.first()) || is_device(words.last()))
}

/// The interval of a row, from its columns' meanings and texts. `None` if a needed figure is no number.
pub(crate) fn interval(columns: &[Meaning], values: &[&str]) -> Option<(String, DemandInterval, bool)> {
    let mut row = DemandInterval::default();
    let mut device = None;
    let (mut together, mut read_await, mut write_await, mut both_await) = (None, None, None, None);
    let (mut size, mut read_size, mut write_size) = (None, None, None);
    for (column, text) in columns.iter().zip(values) {
        match column {
            Meaning::Device => device = Some((*text).to_owned()),
            Meaning::Other => {}
            Meaning::Reads => row.reads_per_s = number(text)?,
            Meaning::Writes => row.writes_per_s = number(text)?,
            Meaning::Requests => together = Some(number(text)?),
            Meaning::ReadBytes(unit) => row.read_bytes_per_s = with_unit(text, *unit)?,
            Meaning::WriteBytes(unit) => row.write_bytes_per_s = with_unit(text, *unit)?,
            Meaning::Await => both_await = Some(number(text)?),
            Meaning::ReadAwait => read_await = Some(number(text)?),
            Meaning::WriteAwait => write_await = Some(number(text)?),
            Meaning::InFlight => row.in_flight = Some(number(text)?),
            Meaning::Size(unit) => size = Some(with_unit(text, *unit)?),
            Meaning::ReadSize(unit) => read_size = Some(with_unit(text, *unit)?),
            Meaning::WriteSize(unit) => write_size = Some(with_unit(text, *unit)?),
            Meaning::Busy => row.busy = Some(number(text)? / 100.0),
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
    // Discards are among the sizes and requests of all, and not among the bytes: of them together nothing follows.
    row.sized_bytes_per_s = match (read_size, write_size, size.filter(|_| has_own)) {
        (Some(read), Some(write), _) => Some(read * row.reads_per_s + write * row.writes_per_s),
        (_, _, Some(size)) => Some(size * requests),
        _ => None,
    };
    let mean_ms = both_await.or_else(|| {
        let (reads, writes) = (read_await?, write_await?);
        (requests > 0.0).then(|| (reads * row.reads_per_s + writes * row.writes_per_s) / requests)
    });
    row.latency_ns = mean_ms.filter(|_| requests > 0.0).map(|ms| ms * 1e6);
    Some((device?, row, is_split))
}

/// The columns of a header; names that no version is known to have are kept, for a note: what they mean is not guessed.
pub(crate) fn columns(words: &[&str], unknown: &mut BTreeSet<String>) -> Vec<Meaning> {
    let of = |word: &&str| {
        meaning(word).unwrap_or_else(|| {
            unknown.insert((*word).to_owned());
            Meaning::Other
        })
    };
    words.iter().map(of).collect()
}

/// Refuses a file without what a demand needs.
pub(crate) fn check(columns: &[Meaning], source_name: &str) -> Result<(), DemandError> {
    let has = |test: fn(&Meaning) -> bool| columns.iter().any(test);
    if has(|m| matches!(m, Meaning::ReadBytes(_))) && has(|m| matches!(m, Meaning::Reads | Meaning::Requests)) {
        return Ok(());
    }
    Err(DemandError::Missing {
        source_name: source_name.to_owned(),
        missing: "reads and writes apart".to_owned(),
        remedy: "record with `iostat -xdt 60`".to_owned(),
    })
}

/// The note for files without reads and writes apart.
pub(crate) const SPLIT_NOTE: &str = "the file counts reads and writes together: they are split by their bytes";

/// The note for a file of one report.
pub(crate) const ONE_BLOCK_NOTE: &str = "the file has one block, which without -y covers the time since boot: its peaks are not known, and its means are taken for all times";

/// The note for columns whose meaning is not known.
pub(crate) fn unknown_note(unknown: &BTreeSet<String>) -> Option<String> {
    let names: Vec<&str> = unknown.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("passed over, since no known version has such columns: {}", names.join(", ")))
}

/// One report: its time, and what each device has, from one table or several.
#[derive(Default)]
struct Report {
    time: Option<f64>,
    rows: Vec<(String, Vec<(Meaning, String)>)>,
    /// The place of each device in these.
    places: BTreeMap<String, usize>,
}

impl Report {
    /// Whether a table with this header is one of its own: what it says of a device stands there already.
    fn has(&self, columns: &[Meaning]) -> bool {
        let Some((_, known)) = self.rows.first() else { return false };
        let wanted = columns.iter().find(|meaning| !matches!(meaning, Meaning::Device | Meaning::Other));
        wanted.is_some_and(|wanted| known.iter().any(|(meaning, _)| meaning == wanted))
    }

    /// A row; that of a group keeps the space before its name.
    fn put(&mut self, columns: &[Meaning], words: &[&str], is_group: bool) {
        let cells = || columns.iter().copied().zip(words.iter().map(|word| (*word).to_owned()));
        let device = cells().find(|(meaning, _)| *meaning == Meaning::Device).map(|(_, name)| name);
        let device = format!("{}{}", if is_group { " " } else { "" }, device.unwrap_or_default());
        if let Some(place) = self.places.get(&device) {
            self.rows[*place].1.extend(cells().filter(|(meaning, _)| *meaning != Meaning::Device));
        } else {
            self.places.insert(device.clone(), self.rows.len());
            self.rows.push((device, cells().collect()));
        }
    }
}

/// Reports out of tables. A table begins with its header and ends with a blank line.
fn reports(text: &str, unknown: &mut BTreeSet<String>) -> Vec<Report> {
    let mut reports: Vec<Report> = Vec::new();
    let (mut header, mut stamp_before): (Option<Vec<Meaning>>, Option<f64>) = (None, None);
    // `-h` of old versions has a device that stands alone, and its figures below it.
    let mut alone: Option<&str> = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            header = None;
        } else if is_header(&words) {
            let found = columns(&words, unknown);
            if stamp_before.is_some() || reports.last().is_none_or(|report| report.has(&found)) {
                reports.push(Report { time: stamp_before.take(), ..Report::default() });
            }
            header = Some(found);
        } else if let (Some(columns), Some(report)) = (&header, reports.last_mut()) {
            let device = alone.take();
            if words.len() == columns.len() {
                report.put(columns, &words, line.starts_with(' ') && columns.first() == Some(&Meaning::Device));
            } else if words.len() == 1 {
                alone = Some(words[0]);
            } else if let (Some(device), true) = (device, words.len() + 1 == columns.len()) {
                report.put(columns, &[&[device], &words[..]].concat(), false);
            } else {
                // Of a file that was cut, the last line.
                header = None;
            }
        } else if let Some(seconds) = stamp::time_of_day(line).filter(|_| !line.starts_with("Linux ")) {
            stamp_before = Some(seconds);
        }
    }
    reports
}

pub(crate) fn read(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let mut unknown = BTreeSet::new();
    let mut reports = reports(text, &mut unknown);
    if let Some((_, row)) = reports.iter().find_map(|report| report.rows.first()) {
        check(&row.iter().map(|(meaning, _)| *meaning).collect::<Vec<_>>(), source_name)?;
    }
    // A report that was cut within its tables.
    let whole = reports.first().and_then(|report| report.rows.first()).map_or(0, |(_, row)| row.len());
    if let Some(last) = reports.last_mut() {
        last.rows.retain(|(_, row)| row.len() >= whole);
    }
    reports.retain(|report| !report.rows.is_empty());
    let times: Option<Vec<f64>> = reports.iter().map(|report| report.time).collect();
    let mut is_split = false;
    let mut blocks = Vec::new();
    for report in &reports {
        let mut block = Block::default();
        for (device, row) in &report.rows {
            let (columns, texts): (Vec<Meaning>, Vec<&str>) =
                row.iter().map(|(meaning, text)| (*meaning, text.as_str())).unzip();
            let Some((_, interval, split)) = interval(&columns, &texts) else {
                let shown = texts.join(" ");
                return Err(crate::error::broken(source_name, 0, format!("no row of figures of {device}: {shown:?}")));
            };
            is_split |= split;
            block.rows.push((device.clone(), interval));
        }
        blocks.push(block);
    }
    let mut notes: Vec<String> = unknown_note(&unknown).into_iter().collect();
    if is_split {
        notes.push(SPLIT_NOTE.to_owned());
    }
    let several = blocks.len() > 1;
    let lengths = times.as_ref().and_then(|times| stamp::lengths(times, Some(stamp::DAY_S)));
    if several {
        // The first block is since boot, unless -y left it out; which of both the text does not say.
        blocks.remove(0);
        notes.push("the first block is left out: without -y it covers the time since boot".to_owned());
    } else {
        notes.push(ONE_BLOCK_NOTE.to_owned());
    }
    match (lengths, options.interval_s) {
        (_, Some(given)) => blocks.iter_mut().for_each(|block| block.length_s = given),
        (Some(lengths), None) => {
            for (block, length) in blocks.iter_mut().zip(lengths.into_iter().skip(usize::from(several))) {
                block.length_s = length;
            }
        }
        // How long one block lasted changes no rate.
        (None, None) if !several => blocks.iter_mut().for_each(|block| block.length_s = stamp::DAY_S),
        (None, None) => {
            return Err(DemandError::NoTimes { source_name: source_name.to_owned() });
        }
    }
    combined("iostat", source_name, blocks, options, notes)
}

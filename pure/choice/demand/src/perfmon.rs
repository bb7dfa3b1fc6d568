//! Performance logs of Windows as CSV (perfmon, relog, typeperf), in the language of the machine.

use crate::combined::{Block, combined};
use crate::error::{DemandError, broken};
use crate::number::number;
use crate::options::ReadOptions;
use crate::series::{Demand, DemandInterval};
use crate::stamp;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Counter {
    Reads,
    Writes,
    ReadBytes,
    WriteBytes,
    /// s
    ReadLatency,
    WriteLatency,
    InFlight,
}

/// Names of counters in English, German, French and Spanish (documentation of Azure Monitor's agents and of Windows), in lower case.
const COUNTERS: &[(&str, Counter)] = &[
    ("disk reads/sec", Counter::Reads),
    ("disk writes/sec", Counter::Writes),
    ("disk read bytes/sec", Counter::ReadBytes),
    ("disk write bytes/sec", Counter::WriteBytes),
    ("avg. disk sec/read", Counter::ReadLatency),
    ("avg. disk sec/write", Counter::WriteLatency),
    ("avg. disk queue length", Counter::InFlight),
    ("current disk queue length", Counter::InFlight),
    ("lesevorgänge/s", Counter::Reads),
    ("schreibvorgänge/s", Counter::Writes),
    ("bytes gelesen/s", Counter::ReadBytes),
    ("byte gelesen/s", Counter::ReadBytes),
    ("bytes geschrieben/s", Counter::WriteBytes),
    ("byte geschrieben/s", Counter::WriteBytes),
    ("mittlere sek./lesevorgänge", Counter::ReadLatency),
    ("mittlere sek./schreibvorgänge", Counter::WriteLatency),
    ("aktuelle warteschlangenlänge", Counter::InFlight),
    ("lectures disque/s", Counter::Reads),
    ("écritures disque/s", Counter::Writes),
    ("lectures disque, octets/s", Counter::ReadBytes),
    ("écritures disque, octets/s", Counter::WriteBytes),
    ("lecturas de disco/s", Counter::Reads),
    ("escrituras en disco/s", Counter::Writes),
    ("bytes de lectura de disco/s", Counter::ReadBytes),
    ("bytes de escritura en disco/s", Counter::WriteBytes),
];

/// One column of a disk.
struct Column {
    index: usize,
    object: String,
    instance: String,
    counter: Counter,
}

/// `\\host\object(instance)\counter`, in its parts.
fn parts(header: &str) -> Option<(&str, &str, &str)> {
    let (path, counter) = header.rsplit_once('\\')?;
    let object = path.rsplit('\\').next()?;
    // An instance may have parentheses of its own.
    let (name, instance) = object.strip_suffix(')')?.split_once('(')?;
    Some((name, instance, counter))
}

/// The fields of a line: quoted or not, with a separator of one character.
fn fields(line: &str, separator: char) -> Vec<String> {
    let mut fields = Vec::new();
    let (mut field, mut quoted) = (String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            letter if letter == separator && !quoted => fields.push(std::mem::take(&mut field)),
            letter => field.push(letter),
        }
    }
    fields.push(field);
    fields
}

pub(crate) fn read(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    // typeperf begins with a blank line.
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| line.trim().is_empty());
    let Some((_, header)) = lines.next() else {
        return Err(DemandError::Empty { source_name: source_name.to_owned() });
    };
    // relog writes commas, semicolons or tabs; the first quoted field tells.
    let separator = match header.trim_start_matches('"').split('"').nth(1).and_then(|rest| rest.chars().next()) {
        Some(separator) if [',', ';', '\t'].contains(&separator) => separator,
        _ => [',', ';', '\t'].into_iter().max_by_key(|one| header.matches(*one).count()).expect("three"),
    };
    let headers = fields(header.trim_end(), separator);
    let columns = disk_columns(&headers, source_name)?;
    // The instances, and which of them each column is of.
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut instances: Vec<&str> = Vec::new();
    let places: Vec<usize> = (columns.iter())
        .map(|column| {
            *numbers.entry(&column.instance).or_insert_with(|| {
                instances.push(&column.instance);
                instances.len() - 1
            })
        })
        .collect();
    let mut blocks = Vec::new();
    let mut times = Vec::new();
    for (number_of, line) in lines {
        if !line.contains(separator) {
            // "Exiting, please wait..." and the like.
            continue;
        }
        let values = fields(line.trim_end(), separator);
        if values.len() < headers.len() {
            continue;
        }
        let time = &values[0];
        let mut rows: Vec<Option<Row>> = vec![None; instances.len()];
        for (column, place) in columns.iter().zip(&places) {
            let Some(value) = values.get(column.index).and_then(|text| number(text)) else { continue };
            let row = rows[*place].get_or_insert_with(Row::default);
            match column.counter {
                Counter::Reads => row.rates.reads_per_s = value,
                Counter::Writes => row.rates.writes_per_s = value,
                Counter::ReadBytes => row.rates.read_bytes_per_s = value,
                Counter::WriteBytes => row.rates.write_bytes_per_s = value,
                Counter::InFlight => row.rates.in_flight = Some(value),
                Counter::ReadLatency => row.read_s = Some(value),
                Counter::WriteLatency => row.write_s = Some(value),
            }
        }
        let named = instances.iter().zip(rows).filter_map(|(name, row)| Some(((*name).to_owned(), row?.interval())));
        let block = Block { rows: named.collect(), ..Block::default() };
        // The first row of a log is blank: rates need two samples.
        if block.rows.is_empty() {
            continue;
        }
        let Some(time) = stamp::time_of_day(time) else {
            return Err(broken(source_name, number_of + 1, format!("{time:?} is no time")));
        };
        times.push(time);
        blocks.push(block);
    }
    let lengths = match (stamp::lengths(&times, Some(stamp::DAY_S)), options.interval_s) {
        (_, Some(given)) => vec![given; blocks.len()],
        (Some(lengths), None) => lengths,
        (None, None) => {
            return Err(DemandError::NoTimes { source_name: source_name.to_owned() });
        }
    };
    blocks.iter_mut().zip(lengths).for_each(|(block, length)| block.length_s = length);
    combined("performance log", source_name, blocks, options, Vec::new())
}

/// The figures of one instance in a row.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    rates: DemandInterval,
    /// Mean latencies, s.
    read_s: Option<f64>,
    write_s: Option<f64>,
}

impl Row {
    fn interval(self) -> DemandInterval {
        let Self { rates, read_s, write_s } = self;
        let all = rates.requests_per_s();
        let weighed = read_s.unwrap_or(0.0) * rates.reads_per_s + write_s.unwrap_or(0.0) * rates.writes_per_s;
        let is_known = all > 0.0 && (read_s.is_some() || write_s.is_some());
        DemandInterval { latency_ns: is_known.then(|| weighed / all * 1e9), ..rates }
    }
}

/// The columns of disks. If physical disks are there, logical ones are left out: they are the same requests.
fn disk_columns(headers: &[String], source_name: &str) -> Result<Vec<Column>, DemandError> {
    let mut columns: Vec<Column> = Vec::new();
    for (index, header) in headers.iter().enumerate() {
        let Some((object, instance, counter)) = parts(header.trim()) else { continue };
        let counter = counter.trim().to_lowercase();
        let Some((_, counter)) = COUNTERS.iter().find(|(known, _)| *known == counter) else { continue };
        columns.push(Column { index, object: object.to_lowercase(), instance: instance.to_owned(), counter: *counter });
    }
    let has = |wanted: Counter| columns.iter().any(|column| column.counter == wanted);
    if !has(Counter::Reads) || !has(Counter::Writes) || !has(Counter::ReadBytes) || !has(Counter::WriteBytes) {
        let shown: Vec<&str> = headers.iter().skip(1).take(8).map(String::as_str).collect();
        return Err(DemandError::Missing {
            source_name: source_name.to_owned(),
            missing: "the rates of disks (Disk Reads/sec, Disk Writes/sec, Disk Read Bytes/sec, Disk Write Bytes/sec)"
                .to_owned(),
            remedy: format!(
                "its columns are {}; record them with `typeperf -si 15 \"\\PhysicalDisk(*)\\*\" -f CSV -o log.csv`",
                shown.join(", ")
            ),
        });
    }
    let physical = ["physicaldisk", "physikalischer datenträger", "disque physique", "disco físico"];
    let is_physical = |column: &Column| physical.contains(&column.object.as_str());
    if columns.iter().any(is_physical) {
        columns.retain(is_physical);
    }
    // Of two counters for requests in flight the mean counts, which stands first in the table.
    let mut seen: BTreeSet<(String, &'static str)> = BTreeSet::new();
    columns.sort_by_cached_key(|column| {
        let name = headers[column.index].rsplit('\\').next().unwrap_or_default().to_lowercase();
        COUNTERS.iter().position(|(known, _)| *known == name).unwrap_or(COUNTERS.len())
    });
    columns.retain(|column| seen.insert((column.instance.clone(), name_of(column.counter))));
    Ok(columns)
}

const fn name_of(counter: Counter) -> &'static str {
    match counter {
        Counter::Reads => "reads",
        Counter::Writes => "writes",
        Counter::ReadBytes => "read bytes",
        Counter::WriteBytes => "write bytes",
        Counter::ReadLatency => "read latency",
        Counter::WriteLatency => "write latency",
        Counter::InFlight => "in flight",
    }
}

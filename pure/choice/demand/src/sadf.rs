//! `sadf -d` and `sar -d`: what sysstat kept over the day.

use crate::combined::{Block, combined};
use crate::error::{DemandError, broken};
use crate::iostat::{self, Meaning, SPLIT_NOTE};
use crate::options::ReadOptions;
use crate::series::Demand;
use crate::stamp;
use std::collections::BTreeSet;

/// Reads `sadf -d FILE -- -d`.
pub(crate) fn read(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let mut header: Option<(Vec<Option<Meaning>>, usize, usize)> = None;
    let mut blocks: Vec<(String, Block)> = Vec::new();
    let (mut is_split, mut unknown) = (false, BTreeSet::new());
    for (index, line) in text.lines().enumerate() {
        if let Some(names) = line.strip_prefix('#') {
            let names: Vec<&str> = names.trim().split(';').collect();
            // Of `-A`, the other tables are passed over.
            if !names.contains(&"DEV") {
                header = None;
                continue;
            }
            let own = ["hostname", "interval", "timestamp"];
            let words: Vec<&str> = names.iter().copied().filter(|name| !own.contains(name)).collect();
            let meanings = iostat::columns(&words, &mut unknown);
            iostat::check(&meanings, source_name)?;
            let mut meanings = meanings.into_iter();
            let columns: Vec<Option<Meaning>> =
                names.iter().map(|name| if own.contains(name) { None } else { meanings.next() }).collect();
            let at = |wanted: &str| names.iter().position(|name| *name == wanted);
            let (Some(interval), Some(time)) = (at("interval"), at("timestamp")) else {
                return Err(broken(source_name, index + 1, "the header has no interval or timestamp"));
            };
            header = Some((columns, interval, time));
            continue;
        }
        let fields: Vec<&str> = line.trim_end().split(';').collect();
        let Some((columns, interval_at, time_at)) = &header else { continue };
        if fields.len() != columns.len() {
            // "LINUX-RESTART" lines have fewer fields, and so has the last line of a file that was cut.
            continue;
        }
        let known: Vec<Meaning> = columns.iter().map(|column| column.unwrap_or(Meaning::Other)).collect();
        let Some((device, row, split)) = iostat::interval(&known, &fields) else {
            return Err(broken(source_name, index + 1, format!("no row of figures: {line:?}")));
        };
        is_split |= split;
        let length_s = crate::number::number(fields[*interval_at]).filter(|s| *s > 0.0);
        let Some(length_s) = length_s else { continue };
        let time = fields[*time_at].to_owned();
        match blocks.last_mut().filter(|(known, _)| *known == time) {
            Some((_, block)) => block.rows.push((device, row)),
            None => blocks.push((time, Block { length_s, rows: vec![(device, row)] })),
        }
    }
    let mut notes: Vec<String> = iostat::unknown_note(&unknown).into_iter().collect();
    notes.extend(is_split.then(|| SPLIT_NOTE.to_owned()));
    combined("sadf", source_name, blocks.into_iter().map(|(_, block)| block).collect(), options, notes)
}

/// Reads the text of `sar -d`.
pub(crate) fn read_sar(text: &str, source_name: &str, options: &ReadOptions) -> Result<Demand, DemandError> {
    let mut columns: Option<(Vec<Meaning>, usize)> = None;
    let mut blocks: Vec<(f64, Block)> = Vec::new();
    let (mut is_split, mut unknown) = (false, BTreeSet::new());
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.contains(&"DEV") {
            // Behind the time; the device stands first, or last as of `-p` from 12.4 on.
            let at = words.iter().position(|word| iostat::meaning(word).is_some()).unwrap_or_default();
            let found = iostat::columns(&words[at..], &mut unknown);
            iostat::check(&found, source_name)?;
            columns = Some((found, at));
            continue;
        }
        // Each table has a heading of its own, also where it goes on.
        if words.is_empty() {
            columns = None;
            continue;
        }
        let Some((columns, at)) = &columns else { continue };
        if words.len() != columns.len() + at || words[0].ends_with(':') {
            // "Average:" rows, restarts and blank lines.
            continue;
        }
        let Some(time) = stamp::time_of_day(&words[..*at].join(" ")) else { continue };
        let Some((device, row, split)) = iostat::interval(columns, &words[*at..]) else {
            return Err(broken(source_name, index + 1, format!("no row of figures: {line:?}")));
        };
        is_split |= split;
        match blocks.last_mut().filter(|(known, _)| (*known - time).abs() < 0.5) {
            Some((_, block)) => block.rows.push((device, row)),
            None => blocks.push((time, Block { length_s: 0.0, rows: vec![(device, row)] })),
        }
    }
    let times: Vec<f64> = blocks.iter().map(|(time, _)| *time).collect();
    let lengths = match (stamp::lengths(&times, Some(stamp::DAY_S)), options.interval_s) {
        (_, Some(given)) => vec![given; times.len()],
        (Some(lengths), None) => lengths,
        (None, None) => {
            return Err(DemandError::NoTimes { source_name: source_name.to_owned() });
        }
    };
    let mut notes: Vec<String> = iostat::unknown_note(&unknown).into_iter().collect();
    notes.extend(is_split.then(|| SPLIT_NOTE.to_owned()));
    notes.push("the first interval of sar is taken to be as long as the second".to_owned());
    let blocks = blocks.into_iter().zip(lengths).map(|((_, block), length_s)| Block { length_s, ..block }).collect();
    combined("sar", source_name, blocks, options, notes)
}

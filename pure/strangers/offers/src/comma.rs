//! AWS offer files as comma-separated values: lines about the file, a line of names, then a line for each price.

use crate::answer::{AnswerError, Form, Reading, day};
use crate::aws::{Attributes, Product};
use loadline_catalog::LeftOut;
use std::io::BufRead;

/// Bytes of a line at most.
const LINE_MAX: u64 = 1 << 20;
/// Columns of a line at most.
const COLUMNS_MAX: usize = 1000;

/// The columns that are read, by their names in the file.
const COLUMNS: [&str; 19] = [
    "TermType",
    "EffectiveDate",
    "Unit",
    "PricePerUnit",
    "Currency",
    "Product Family",
    "Tenancy",
    "CapacityStatus",
    "Operating System",
    "Pre Installed S/W",
    "operation",
    "MarketOption",
    "Location Type",
    "Location",
    "Region Code",
    "Instance Type",
    "Volume API Name",
    "usageType",
    "SKU",
];

/// Reads the file into `reading`.
pub(crate) fn read(mut input: impl BufRead, reading: &mut Reading) -> Result<(), AnswerError> {
    reading.form = Some(Form::AwsOfferCsv);
    let mut columns: Option<[Option<usize>; COLUMNS.len()]> = None;
    let (mut line, mut row) = (0, Vec::new());
    while next_row(&mut input, &mut row, &mut line)? {
        if let Some(columns) = &columns {
            take(&row, columns, reading, line)?;
            continue;
        }
        match row.first().map(String::as_str) {
            Some("Publication Date") => reading.date = row.get(1).and_then(|text| day(text)),
            Some("OfferCode") if row.get(1).is_some_and(|code| code != "AmazonEC2") => {
                return Err(AnswerError::OtherOffer { offer: row[1].chars().take(60).collect() });
            }
            Some("SKU") => {
                let found = COLUMNS.map(|name| row.iter().position(|column| column == name));
                if found[..5].iter().any(Option::is_none) {
                    return Err(AnswerError::Line {
                        line,
                        problem: "names no column for a price, its unit and its currency",
                    });
                }
                columns = Some(found);
            }
            _ => {}
        }
    }
    if columns.is_none() {
        return Err(AnswerError::Line { line, problem: "is the last, and no line names the columns" });
    }
    Ok(())
}

fn take(
    row: &[String],
    columns: &[Option<usize>; COLUMNS.len()],
    reading: &mut Reading,
    line: u64,
) -> Result<(), AnswerError> {
    let text = |column: usize| columns[column].and_then(|place| row.get(place)).cloned().unwrap_or_default();
    let last = columns.iter().flatten().max().copied().unwrap_or(0);
    if row.len() <= last {
        return Err(AnswerError::Line { line, problem: "has fewer columns than the line of names" });
    }
    if text(0) != "OnDemand" {
        reading.leave_out(LeftOut::OtherTerms);
        return Ok(());
    }
    let product = Product {
        family: text(5),
        attributes: Attributes {
            tenancy: text(6),
            capacity: text(7),
            system: text(8),
            software: text(9),
            operation: text(10),
            market: text(11),
            location_type: text(12),
            location: text(13),
            region: text(14),
            machine: text(15),
            volume: text(16),
            usage: text(17),
        },
    };
    match product.wanted() {
        Ok(wanted) => wanted.price(reading, (&text(3), &text(2), &text(4)), &text(1)),
        Err(reason) => {
            reading.leave_out(reason);
            Ok(())
        }
    }
}

/// Reads a row, whose quoted fields may go over several lines; `false` at the end.
fn next_row(input: &mut impl BufRead, row: &mut Vec<String>, line: &mut u64) -> Result<bool, AnswerError> {
    row.clear();
    let mut bytes = Vec::new();
    loop {
        let left = LINE_MAX - bytes.len() as u64;
        let read = std::io::Read::take(&mut *input, left).read_until(b'\n', &mut bytes)?;
        *line += 1;
        let is_open = bytes.iter().fold(false, |is_open, byte| is_open ^ (*byte == b'"'));
        if bytes.len() as u64 >= LINE_MAX {
            return Err(AnswerError::Line { line: *line, problem: "is longer than 1 MiB" });
        }
        if read == 0 && is_open {
            return Err(AnswerError::Line { line: *line, problem: "ends within a quoted text" });
        }
        if read == 0 && bytes.is_empty() {
            return Ok(false);
        }
        if !is_open {
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut field = String::new();
    let mut is_quoted = false;
    let mut characters = text.trim_end_matches(['\n', '\r']).chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
        if row.len() > COLUMNS_MAX {
            return Err(AnswerError::Line { line: *line, problem: "has more than 1,000 columns" });
        }
    }
    row.push(field);
    Ok(true)
}

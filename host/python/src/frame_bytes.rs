//! A table as bytes, for `pickle`: sweeps send many rows from process to process.
//!
//! A line of JSON has the columns' names and kinds, the count of rows, and the distinct words of texts. Behind it stand, for each column,
//! the bits of the rows that have a value, and the values: eight bytes each, words by their place in four, flags in one.

use loadline_report::frame::{Frame, FrameColumn, FrameValues, Sparse};
use serde::{Deserialize, Serialize};

/// What stands in the first line.
#[derive(Serialize, Deserialize)]
struct Header {
    rows: usize,
    columns: Vec<Column>,
}

#[derive(Serialize, Deserialize)]
struct Column {
    name: String,
    kind: Kind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    words: Vec<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Text,
    Float,
    Whole,
    Flag,
    Moment,
}

/// The bytes of a table.
pub(crate) fn bytes_of(frame: &Frame) -> Vec<u8> {
    let columns = frame.columns().iter().map(|column| {
        let (kind, words) = match &column.values {
            FrameValues::Text(words) => (Kind::Text, words.distinct().to_vec()),
            FrameValues::Float(_) => (Kind::Float, Vec::new()),
            FrameValues::Whole(_) => (Kind::Whole, Vec::new()),
            FrameValues::Flag(_) => (Kind::Flag, Vec::new()),
            FrameValues::Moment(_) => (Kind::Moment, Vec::new()),
        };
        Column { name: column.name.clone(), kind, words }
    });
    let header = Header { rows: frame.rows(), columns: columns.collect() };
    let mut bytes = serde_json::to_vec(&header).expect("names and words are plain data");
    bytes.push(b'\n');
    for column in frame.columns() {
        match &column.values {
            FrameValues::Text(words) => put(&mut bytes, words.rows(), i32::to_le_bytes),
            FrameValues::Float(of) => put(&mut bytes, of, f64::to_le_bytes),
            FrameValues::Whole(of) | FrameValues::Moment(of) => put(&mut bytes, of, i64::to_le_bytes),
            FrameValues::Flag(of) => put(&mut bytes, of, |value| [u8::from(value)]),
        }
    }
    bytes
}

fn put<T: Copy + Default, const SIZE: usize>(bytes: &mut Vec<u8>, of: &Sparse<T>, value: impl Fn(T) -> [u8; SIZE]) {
    bytes.extend_from_slice(of.present());
    bytes.extend(of.values().iter().flat_map(|one| value(*one)));
}

/// The table of such bytes; `None` if they are something else.
pub(crate) fn frame_of(bytes: &[u8]) -> Option<Frame> {
    let line = bytes.iter().position(|byte| *byte == b'\n')?;
    let Header { rows, columns } = serde_json::from_slice(&bytes[..line]).ok()?;
    let mut rest = &bytes[line + 1..];
    let mut found = Vec::new();
    for Column { name, kind, words } in columns {
        let values = match kind {
            Kind::Text => {
                let places = taken(&mut rest, rows, i32::from_le_bytes)?;
                let of = |place: Option<i32>| match place {
                    Some(place) => words.get(usize::try_from(place).ok()?).map(|word| Some(word.as_str())),
                    None => Some(None),
                };
                FrameValues::Text(places.into_iter().map(of).collect::<Option<Vec<_>>>()?.into_iter().collect())
            }
            Kind::Float => FrameValues::Float(taken(&mut rest, rows, f64::from_le_bytes)?.into_iter().collect()),
            Kind::Whole => FrameValues::Whole(taken(&mut rest, rows, i64::from_le_bytes)?.into_iter().collect()),
            Kind::Moment => FrameValues::Moment(taken(&mut rest, rows, i64::from_le_bytes)?.into_iter().collect()),
            Kind::Flag => {
                FrameValues::Flag(taken(&mut rest, rows, |[value]: [u8; 1]| value != 0)?.into_iter().collect())
            }
        };
        found.push(FrameColumn { name, values });
    }
    rest.is_empty().then(|| Frame::of_columns(found))
}

fn taken<T, const SIZE: usize>(
    rest: &mut &[u8],
    rows: usize,
    value: impl Fn([u8; SIZE]) -> T,
) -> Option<Vec<Option<T>>> {
    let (present, more) = rest.split_at_checked(rows.div_ceil(8))?;
    let (values, more) = more.split_at_checked(rows.checked_mul(SIZE)?)?;
    *rest = more;
    let (values, _) = values.as_chunks::<SIZE>();
    let is_there = |row: usize| present[row / 8] >> (row % 8) & 1 == 1;
    Some((0..).zip(values).map(|(row, bytes)| is_there(row).then(|| value(*bytes))).collect())
}

//! Tables as Parquet (github.com/apache/parquet-format), for data frames and warehouses.

use loadline_report::frame::{Frame, FrameColumn, FrameValues, Sparse};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::ops::Range;
use std::sync::Arc;

/// A column's values are there or missing: so many levels of definition.
const DEFINED: i16 = 1;
/// Who made the file, before the version.
const MADE_BY: &str = "loadline ";
/// The most rows of a group.
const GROUP_ROWS_MAX: usize = 1 << 20;

/// The table as a file. Words are UTF-8, counts 64-bit integers, other numbers doubles, points in time microseconds of UTC; what is missing
/// is null.
///
/// # Errors
/// What the format cannot hold.
pub(crate) fn parquet(frame: &Frame, name: &str) -> Result<Vec<u8>, ParquetError> {
    let columns: Vec<_> = frame.columns().iter().map(column).collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder(name).with_fields(columns).build()?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_created_by(format!("{MADE_BY}{}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    for begin in (0..frame.rows().max(1)).step_by(GROUP_ROWS_MAX) {
        let rows = begin..frame.rows().min(begin + GROUP_ROWS_MAX);
        let mut group = file.next_row_group()?;
        for FrameColumn { values, .. } in frame.columns() {
            let rows = rows.clone();
            match values {
                FrameValues::Text(words) => {
                    // A word is copied once, and shared by its rows.
                    let shared: Vec<ByteArray> =
                        words.distinct().iter().map(|word| ByteArray::from(word.as_str())).collect();
                    write::<ByteArrayType, _>(&mut group, words.rows(), rows, |place| shared[place as usize].clone())?;
                }
                FrameValues::Float(of) => write::<DoubleType, _>(&mut group, of, rows, |value| value)?,
                FrameValues::Whole(of) | FrameValues::Moment(of) => {
                    write::<Int64Type, _>(&mut group, of, rows, |value| value)?;
                }
                FrameValues::Flag(of) => write::<BoolType, _>(&mut group, of, rows, |value| value)?,
            }
        }
        group.close()?;
    }
    file.into_inner()
}

/// Whether these bytes are a Parquet file that loadline made.
pub(crate) fn is_ours(bytes: &[u8]) -> bool {
    // The footer and its length stand at the end (Apache Parquet, File format).
    let Some((rest, b"PAR1")) = bytes.split_last_chunk::<4>() else { return false };
    let Some((rest, length)) = rest.split_last_chunk::<4>() else { return false };
    let footer = rest.len().checked_sub(u32::from_le_bytes(*length) as usize).and_then(|from| rest.get(from..));
    footer.is_some_and(|footer| footer.windows(MADE_BY.len()).any(|window| window == MADE_BY.as_bytes()))
}

fn column(of: &FrameColumn) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match of.values {
        FrameValues::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        FrameValues::Float(_) => (Physical::DOUBLE, None),
        FrameValues::Whole(_) => (Physical::INT64, None),
        FrameValues::Flag(_) => (Physical::BOOLEAN, None),
        FrameValues::Moment(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
    };
    let builder = Type::primitive_type_builder(&of.name, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(builder.with_logical_type(logical).build()?))
}

fn write<T: DataType, V: Copy + Default>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    fields: &Sparse<V>,
    rows: Range<usize>,
    value: impl Fn(V) -> T::T,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::EOF("a column is missing".to_owned()));
    };
    let fields: Vec<Option<V>> = rows.map(|row| fields.get(row)).collect();
    let defined: Vec<i16> = fields.iter().map(|field| if field.is_some() { DEFINED } else { 0 }).collect();
    let values: Vec<T::T> = fields.into_iter().flatten().map(value).collect();
    column.typed::<T>().write_batch(&values, Some(&defined), None)?;
    column.close()
}

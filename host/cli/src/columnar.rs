//! Tables as Parquet (github.com/apache/parquet-format), for data frames and warehouses.

use loadline_report::{Field, Table};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::sync::Arc;

/// A column's values are there or missing: so many levels of definition.
const DEFINED: i16 = 1;

/// The table as a file of one row group. Words are UTF-8, counts 64-bit integers, other numbers doubles; what is missing is null.
///
/// # Errors
/// What the format cannot hold.
pub(crate) fn parquet(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let columns: Vec<_> =
        table.names.iter().zip(&table.kinds).map(|(name, kind)| column(name, kind)).collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder("cells").with_fields(columns).build()?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_created_by(format!("loadline {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (index, kind) in table.kinds.iter().enumerate() {
        let fields = || table.rows.iter().map(|row| &row[index]);
        match kind {
            Field::Text(_) => write::<ByteArrayType>(&mut group, fields().map(text).collect())?,
            Field::Float(_) => write::<DoubleType>(&mut group, fields().map(float).collect())?,
            Field::Whole(_) => write::<Int64Type>(&mut group, fields().map(whole).collect())?,
            Field::Flag(_) => write::<BoolType>(&mut group, fields().map(flag).collect())?,
        }
    }
    group.close()?;
    file.into_inner()
}

fn column(name: &str, kind: &Field) -> Result<Arc<Type>, ParquetError> {
    let physical = match kind {
        Field::Text(_) => Physical::BYTE_ARRAY,
        Field::Float(_) => Physical::DOUBLE,
        Field::Whole(_) => Physical::INT64,
        Field::Flag(_) => Physical::BOOLEAN,
    };
    let logical = matches!(kind, Field::Text(_)).then_some(LogicalType::String);
    let of = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(of.with_logical_type(logical).build()?))
}

fn text(field: &Field) -> Option<ByteArray> {
    if let Field::Text(text) = field { Some(ByteArray::from(text.as_str())) } else { None }
}
fn float(field: &Field) -> Option<f64> {
    if let Field::Float(value) = field { *value } else { None }
}
/// A count beyond what a signed integer holds was never seen.
fn whole(field: &Field) -> Option<i64> {
    if let Field::Whole(value) = field { value.and_then(|value| i64::try_from(value).ok()) } else { None }
}
fn flag(field: &Field) -> Option<bool> {
    if let Field::Flag(value) = field { *value } else { None }
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    fields: Vec<Option<T::T>>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::EOF("a column is missing".to_owned()));
    };
    let defined: Vec<i16> = fields.iter().map(|field| if field.is_some() { DEFINED } else { 0 }).collect();
    let values: Vec<T::T> = fields.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&values, Some(&defined), None)?;
    column.close()
}

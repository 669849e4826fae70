//! Trials as Parquet (Apache Parquet format 2): the columns of CSV with their types, one row group, not compressed. A
//! figure that a trial does not have is null.

use crate::rows::{Column, Values, columns};
use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
pub use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;
use study::record::TrialRecord;

/// One row a trial, with the columns of [`csv`](crate::csv()): the bytes of a file.
pub fn parquet(trials: &[TrialRecord]) -> Result<Vec<u8>, ParquetError> {
    let columns = columns(trials);
    let fields = columns.iter().map(field).collect::<Result<Vec<TypePtr>, _>>()?;
    let schema = Type::group_type_builder("trials").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_created_by("wirelap".to_owned()).build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in &columns {
        let Some(mut writer) = group.next_column()? else { break };
        write(writer.untyped(), &column.values)?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.values {
        Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Whole(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Values::Truth(_) => (Physical::BOOLEAN, None),
        Values::Number(_) => (Physical::DOUBLE, None),
    };
    let repetition = match column.values {
        Values::Number(_) => Repetition::OPTIONAL,
        Values::Text(_) | Values::Whole(_) | Values::Truth(_) => Repetition::REQUIRED,
    };
    let field = Type::primitive_type_builder(&column.name, physical);
    Ok(Arc::new(field.with_logical_type(logical).with_repetition(repetition).build()?))
}

fn write(writer: &mut ColumnWriter<'_>, values: &Values) -> Result<(), ParquetError> {
    match (writer, values) {
        (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(values)) => {
            let values: Vec<ByteArray> =
                values.iter().map(|value| ByteArray::from(value.as_str())).collect();
            writer.write_batch(&values, None, None)?;
        }
        (ColumnWriter::Int64ColumnWriter(writer), Values::Whole(values)) => {
            // The bytes of an unsigned number, as its logical type defines them.
            let values: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
            writer.write_batch(&values, None, None)?;
        }
        (ColumnWriter::BoolColumnWriter(writer), Values::Truth(values)) => {
            writer.write_batch(values, None, None)?;
        }
        (ColumnWriter::DoubleColumnWriter(writer), Values::Number(values)) => {
            let there: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            let values: Vec<f64> = values.iter().flatten().copied().collect();
            writer.write_batch(&values, Some(&there), None)?;
        }
        _ => return Err(ParquetError::General("a column is of another kind".to_owned())),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::{Field, Row};
    use study::experiment::{Experiment, builtin};
    use study::outcome::Outcome;
    use study::plan::{Surroundings, trials};
    use study::record::without_figures;

    fn rows() -> Vec<TrialRecord> {
        let quick: Experiment = builtin()[0].toml.parse().unwrap();
        let plan = trials(&quick, &Surroundings::default());
        let row = |plan| without_figures(plan, Outcome::Measured, 1_234_567_890_123);
        let mut rows: Vec<TrialRecord> = plan.into_iter().map(row).collect();
        rows[1].metrics.insert("load_ms".to_owned(), 12.5);
        rows[2].outcome = Outcome::Failed { reason: "reset, \"twice\"".to_owned() };
        rows
    }

    #[test]
    fn what_is_written_is_read_back_cell_by_cell_as_csv_has_it() {
        let rows = rows();
        let bytes = parquet(&rows).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let read: Vec<Row> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(read.len(), rows.len());
        let columns = columns(&rows);
        for (line, row) in read.iter().enumerate() {
            for (column, (name, field)) in columns.iter().zip(row.get_column_iter()) {
                assert_eq!(*name, column.name);
                let same = match (&column.values, field) {
                    (Values::Text(values), Field::Str(read)) => values[line] == *read,
                    (Values::Whole(values), Field::ULong(read)) => values[line] == *read,
                    (Values::Truth(values), Field::Bool(read)) => values[line] == *read,
                    (Values::Number(values), Field::Double(read)) => values[line] == Some(*read),
                    (Values::Number(values), Field::Null) => values[line].is_none(),
                    _ => false,
                };
                assert!(same, "{name} of {line}: {field:?}");
            }
        }
    }
}

//! Tables by column, as data frames and columnar files want them: typed values, each present or missing.

mod cells;
mod csv;
mod field;
mod predictions;
mod tables;
mod values;

pub use cells::cells;
pub use csv::{csv, frame_csv};
use field::FrameField;
pub use field::Moment;
pub use predictions::prediction_frame;
pub use tables::{seconds, trials};
pub use values::{FrameValues, Sparse, Words};

use crate::table::{Column, Field, Table};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A table by column. All columns are equally long.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    columns: Vec<FrameColumn>,
    rows: usize,
}

/// One column with its name, which has the unit.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameColumn {
    /// The name.
    pub name: String,
    /// A value for each row.
    pub values: FrameValues,
}

impl FrameColumn {
    /// A column of this name.
    #[must_use]
    pub fn of(name: &str, values: FrameValues) -> Self {
        Self { name: name.to_owned(), values }
    }
}

impl Frame {
    /// The columns, in their order.
    #[must_use]
    pub fn columns(&self) -> &[FrameColumn] {
        &self.columns
    }
    /// How many rows there are.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }
    /// Of whole columns.
    ///
    /// # Panics
    /// Columns that are not equally long.
    #[must_use]
    pub fn of_columns(columns: Vec<FrameColumn>) -> Self {
        let rows = columns.first().map_or(0, |column| column.values.len());
        assert!(columns.iter().all(|column| column.values.len() == rows), "columns are equally long");
        Self { columns, rows }
    }
    /// Rows as objects; what is missing is null.
    #[must_use]
    pub fn json(&self) -> Json {
        let object = |row: usize| {
            let fields = self.columns.iter().map(|column| (column.name.clone(), column.values.json(row)));
            Json::Object(fields.collect())
        };
        Json::Array((0..self.rows).map(object).collect())
    }
    /// Some columns for people, under these headings and rounded.
    #[must_use]
    pub fn table(&self, shown: &[(&'static str, &'static str)]) -> Table {
        let columns: Vec<(&FrameColumn, &'static str)> = shown
            .iter()
            .filter_map(|(name, heading)| Some((self.columns.iter().find(|column| column.name == *name)?, *heading)))
            .collect();
        let printed = |(column, heading): &(&FrameColumn, &'static str)| match column.values {
            FrameValues::Text(_) | FrameValues::Flag(_) => Column::words(*heading, column.name.clone()),
            _ => Column::numbers(*heading, column.name.clone()),
        };
        let mut table = Table::new(&columns.iter().map(printed).collect::<Vec<_>>());
        for row in 0..self.rows {
            let shown = |(column, _): &(&FrameColumn, _)| {
                let field = column.values.field(row);
                if column.name.ends_with("_ns") { field.into_span() } else { field }
            };
            table.push(columns.iter().map(shown).collect());
        }
        table
    }
    /// No row yet; the columns are named, and have the kinds of a row of fields.
    fn with_columns<'a>(columns: impl IntoIterator<Item = (&'a str, &'a FrameField)>) -> Self {
        let named = |(name, kind): (&str, &FrameField)| FrameColumn {
            name: name.to_owned(),
            values: FrameValues::of_kind(kind),
        };
        Self { columns: columns.into_iter().map(named).collect(), rows: 0 }
    }
    fn push(&mut self, row: impl IntoIterator<Item = FrameField>) {
        let mut columns = self.columns.iter_mut();
        for field in row {
            columns.next().expect("a row has a field for each column").values.push(field);
        }
        assert!(columns.next().is_none(), "a row has a field for each column");
        self.rows += 1;
    }
    /// Adds the rows of another table. Columns are matched by name; what only one of them has is missing in the rows of the other, and comes
    /// after the columns that were there.
    ///
    /// # Panics
    /// A column has another kind in the other table, which no version of these tables has.
    pub fn append(&mut self, other: Self) {
        if self.columns.is_empty() {
            *self = other;
            return;
        }
        let mut theirs: BTreeMap<String, FrameValues> = BTreeMap::new();
        let mut order = Vec::new();
        for column in other.columns {
            order.push(column.name.clone());
            theirs.insert(column.name, column.values);
        }
        for column in &mut self.columns {
            match theirs.remove(&column.name) {
                Some(more) => column.values.append(more),
                None => column.values.push_missing(other.rows),
            }
        }
        for name in order {
            let Some(more) = theirs.remove(&name) else { continue };
            let mut values = more.empty();
            values.push_missing(self.rows);
            values.append(more);
            self.columns.push(FrameColumn { name, values });
        }
        self.rows += other.rows;
    }
}

impl FrameValues {
    fn json(&self, row: usize) -> Json {
        let value = match self {
            Self::Text(words) => words.get(row).map(Json::from),
            Self::Float(of) => of.get(row).map(Json::from),
            Self::Whole(of) | Self::Moment(of) => of.get(row).map(Json::from),
            Self::Flag(of) => of.get(row).map(Json::from),
        };
        value.unwrap_or(Json::Null)
    }
    fn field(&self, row: usize) -> Field {
        let shown = match self {
            Self::Text(words) => words.get(row).map(str::to_owned),
            Self::Float(of) => of.get(row).map(loadline_units::words::number),
            Self::Whole(of) => of.get(row).map(|value| value.to_string()),
            Self::Moment(of) => of.get(row).map(|value| value.to_string()),
            Self::Flag(of) => of.get(row).map(|value| if value { "yes" } else { "no" }.to_owned()),
        };
        shown.map_or_else(Field::missing, |shown| Field::both(shown, self.json(row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(columns: &[(&str, FrameField)]) -> Frame {
        let mut frame = Frame::with_columns(columns.iter().map(|(name, field)| (*name, field)));
        frame.push(columns.iter().map(|(_, field)| field.clone()));
        frame
    }

    #[test]
    fn tables_of_several_runs_are_joined_by_the_names_of_their_columns() {
        let text = |word: &str| FrameField::Text(Some(word.to_owned()));
        let mut joined = of(&[("a", text("x")), ("b", FrameField::Whole(Some(1)))]);
        joined.append(of(&[("c", FrameField::Float(Some(0.5))), ("a", text("y"))]));
        joined.append(of(&[("b", FrameField::Whole(Some(3))), ("a", text("x"))]));
        let names: Vec<&str> = joined.columns().iter().map(|column| column.name.as_str()).collect();
        assert_eq!((names, joined.rows()), (vec!["a", "b", "c"], 3));
        let [FrameValues::Text(a), FrameValues::Whole(b), FrameValues::Float(c)] =
            [0, 1, 2].map(|index| joined.columns()[index].values.clone())
        else {
            panic!("{joined:?}");
        };
        assert_eq!((0..3).map(|row| a.get(row)).collect::<Vec<_>>(), [Some("x"), Some("y"), Some("x")]);
        assert_eq!(a.distinct(), ["x", "y"]);
        assert_eq!((0..3).map(|row| b.get(row)).collect::<Vec<_>>(), [Some(1), None, Some(3)]);
        assert_eq!((0..3).map(|row| c.get(row)).collect::<Vec<_>>(), [None, Some(0.5), None]);
        assert_eq!((b.missing(), c.missing()), (1, 2));
    }

    #[test]
    fn what_is_present_is_a_bit_for_each_row() {
        let mut values = Sparse::default();
        for row in 0..20_u8 {
            values.push((row % 3 != 0).then_some(row));
        }
        assert_eq!(values.present().len(), 3);
        for row in 0..20 {
            assert_eq!(values.present()[row / 8] >> (row % 8) & 1 == 1, row % 3 != 0, "{row}");
        }
        let mut both = values.clone();
        both.append(values.clone());
        assert_eq!((both.len(), both.missing()), (40, 14));
        assert_eq!(
            (0..40).map(|row| both.get(row)).collect::<Vec<_>>()[20..],
            (0..20).map(|row| values.get(row)).collect::<Vec<_>>()
        );
    }
}

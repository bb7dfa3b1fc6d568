//! The values of a column: a list of them, and a bit for each row that says whether it has one.

use super::FrameField;
use std::collections::BTreeMap;

/// The values of a column, by their kind.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameValues {
    /// Words.
    Text(Words),
    /// Finite numbers.
    Float(Sparse<f64>),
    /// Counts.
    Whole(Sparse<i64>),
    /// Whether.
    Flag(Sparse<bool>),
    /// Points in time: microseconds since 1970, UTC.
    Moment(Sparse<i64>),
}

impl FrameValues {
    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(words) => words.rows().len(),
            Self::Float(values) => values.len(),
            Self::Whole(values) | Self::Moment(values) => values.len(),
            Self::Flag(values) => values.len(),
        }
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// None yet, of the kind that a field has.
    pub(super) fn of_kind(kind: &FrameField) -> Self {
        match kind {
            FrameField::Text(_) => Self::Text(Words::default()),
            FrameField::Float(_) => Self::Float(Sparse::default()),
            FrameField::Whole(_) => Self::Whole(Sparse::default()),
            FrameField::Flag(_) => Self::Flag(Sparse::default()),
            FrameField::Moment(_) => Self::Moment(Sparse::default()),
        }
    }
    /// None yet, of the same kind.
    pub(super) fn empty(&self) -> Self {
        match self {
            Self::Text(_) => Self::Text(Words::default()),
            Self::Float(_) => Self::Float(Sparse::default()),
            Self::Whole(_) => Self::Whole(Sparse::default()),
            Self::Flag(_) => Self::Flag(Sparse::default()),
            Self::Moment(_) => Self::Moment(Sparse::default()),
        }
    }
    pub(super) fn push(&mut self, field: FrameField) {
        match (self, field) {
            (Self::Text(words), FrameField::Text(word)) => words.push(word.as_deref()),
            (Self::Float(values), FrameField::Float(value)) => values.push(value),
            (Self::Whole(values), FrameField::Whole(value)) => {
                values.push(value.and_then(|value| i64::try_from(value).ok()));
            }
            (Self::Flag(values), FrameField::Flag(value)) => values.push(value),
            (Self::Moment(values), FrameField::Moment(value)) => values.push(value.map(|moment| moment.unix_us)),
            (values, field) => panic!("a column has one kind: {field:?} in {values:?}"),
        }
    }
    pub(super) fn push_missing(&mut self, rows: usize) {
        for _ in 0..rows {
            match self {
                Self::Text(words) => words.push(None),
                Self::Float(values) => values.push(None),
                Self::Whole(values) | Self::Moment(values) => values.push(None),
                Self::Flag(values) => values.push(None),
            }
        }
    }
    pub(super) fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Text(own), Self::Text(more)) => own.append(&more),
            (Self::Float(own), Self::Float(more)) => own.append(more),
            (Self::Whole(own), Self::Whole(more)) | (Self::Moment(own), Self::Moment(more)) => own.append(more),
            (Self::Flag(own), Self::Flag(more)) => own.append(more),
            (own, more) => panic!("a column has one kind: {more:?} after {own:?}"),
        }
    }
}

/// Values of which some are missing. A missing one has the type's default in its place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sparse<T> {
    values: Vec<T>,
    present: Vec<u8>,
    missing: usize,
}

impl<T: Copy + Default> Sparse<T> {
    pub(super) fn push(&mut self, value: Option<T>) {
        let row = self.values.len();
        if row.is_multiple_of(8) {
            self.present.push(0);
        }
        match value {
            Some(_) => self.present[row / 8] |= 1 << (row % 8),
            None => self.missing += 1,
        }
        self.values.push(value.unwrap_or_default());
    }
    pub(super) fn append(&mut self, more: Self) {
        if self.values.len().is_multiple_of(8) {
            self.present.extend(more.present);
            self.values.extend(more.values);
            self.missing += more.missing;
        } else {
            for row in 0..more.len() {
                self.push(more.get(row));
            }
        }
    }
    /// How many rows there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.values.len()
    }
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
    /// How many rows have no value.
    #[must_use]
    pub const fn missing(&self) -> usize {
        self.missing
    }
    /// The value of a row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<T> {
        (self.present[row / 8] >> (row % 8) & 1 == 1).then(|| self.values[row])
    }
    /// A value for each row; the type's default where it is missing.
    #[must_use]
    pub fn values(&self) -> &[T] {
        &self.values
    }
    /// A bit for each row, the lowest of each byte first: 1 where it has a value.
    #[must_use]
    pub fn present(&self) -> &[u8] {
        &self.present
    }
}

impl<T: Copy + Default> FromIterator<Option<T>> for Sparse<T> {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(values: I) -> Self {
        let mut all = Self::default();
        values.into_iter().for_each(|value| all.push(value));
        all
    }
}

impl<'a> FromIterator<Option<&'a str>> for Words {
    fn from_iter<I: IntoIterator<Item = Option<&'a str>>>(words: I) -> Self {
        let mut all = Self::default();
        words.into_iter().for_each(|word| all.push(word));
        all
    }
}

/// Words, of which the same ones occur again and again: each is kept once.
#[derive(Debug, Clone, Default)]
pub struct Words {
    distinct: Vec<String>,
    places: BTreeMap<String, i32>,
    rows: Sparse<i32>,
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        self.distinct == other.distinct && self.rows == other.rows
    }
}

impl Words {
    /// The place of a word among the distinct ones.
    pub(super) fn place(&mut self, word: &str) -> i32 {
        if let Some(place) = self.places.get(word) {
            return *place;
        }
        let place = i32::try_from(self.distinct.len()).expect("fewer distinct words than 2^31");
        self.distinct.push(word.to_owned());
        self.places.insert(word.to_owned(), place);
        place
    }
    fn push(&mut self, word: Option<&str>) {
        let place = word.map(|word| self.place(word));
        self.rows.push(place);
    }
    /// A row with the word of a place.
    pub(super) fn push_place(&mut self, place: Option<i32>) {
        self.rows.push(place);
    }
    fn append(&mut self, more: &Self) {
        let places: Vec<i32> = more.distinct.iter().map(|word| self.place(word)).collect();
        for row in 0..more.rows.len() {
            self.rows.push(more.rows.get(row).map(|place| places[place as usize]));
        }
    }
    /// The word of a row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&str> {
        Some(&self.distinct[self.rows.get(row)? as usize])
    }
    /// Every word once, in the order in which they first occur.
    #[must_use]
    pub fn distinct(&self) -> &[String] {
        &self.distinct
    }
    /// For each row the place of its word in [`Words::distinct`].
    #[must_use]
    pub const fn rows(&self) -> &Sparse<i32> {
        &self.rows
    }
}

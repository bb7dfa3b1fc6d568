//! Reads typed values from a TOML tree and collects the problems, each at its place in the text.

use crate::{DocumentError, PROBLEMS_MAX, Problem};
use loadline_units::{ByteRate, Bytes, Duration, Growth, Iops, Ratio, UnitError};
use std::cell::OnceCell;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A value with its place.
pub type Item<'d> = Spanned<DeValue<'d>>;
/// A key with its place.
pub type Key<'d> = Spanned<DeString<'d>>;

/// A word of another tool for a key, too far from it in spelling to be found by that; and the key.
pub type Synonym = (&'static str, &'static str);

/// Characters in a name at most.
pub const NAME_MAX: usize = 100;
/// Jaro-Winkler similarity from which a word is suggested.
const SIMILARITY_MIN: f64 = 0.7;
/// The shortest word that is suggested after one slip, in bytes, whatever its similarity: for `rnu` and `run` that is
/// 0.6.
const SLIP_MIN: usize = 3;
/// Problems collected of one text at most; the first of them are reported.
const KEPT_MAX: usize = 10 * PROBLEMS_MAX;
/// Keys of a table that a message names beside the nearest one.
const FEW: usize = 8;
/// Characters of a value that a message repeats.
const SHOWN_MAX: usize = 60;

/// The known word that `word` is most probably meant to be, if any is near.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    nearest_with(word, known, &[])
}

/// The known word whose letters differ least from those of `word`, if no more than a third of them do: for words that look alike.
pub fn nearest_spelled<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let plain =
        |word: &str| word.chars().take(NAME_MAX).filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    let word = plain(word);
    let off = |known: &'k str| (strsim::osa_distance(&word, &plain(known)), known);
    let (slips, known) = known.into_iter().map(off).min_by_key(|(slips, _)| *slips)?;
    (slips <= word.chars().count() / 3).then_some(known)
}

fn nearest_with<'k>(
    word: &str,
    known: impl IntoIterator<Item = &'k str>,
    synonyms: &'static [Synonym],
) -> Option<&'k str> {
    let plain = |word: &str| word.chars().take(NAME_MAX).collect::<String>().to_lowercase().replace(['-', ' '], "_");
    let word = plain(word);
    let meant = synonyms.iter().find(|(other, _)| *other == word).map_or(word.as_str(), |(_, key)| *key);
    known
        .into_iter()
        .map(|known| (known, plain(known)))
        .map(|(known, plain)| {
            let slip = strsim::osa_distance(meant, &plain) <= 1;
            // A slip in a word of two characters leaves hardly anything in common.
            let near = slip && plain.len() >= SLIP_MIN;
            (!slip, near, strsim::jaro_winkler(meant, &plain), known)
        })
        .filter(|(_, near, similarity, _)| *near || *similarity >= SIMILARITY_MIN)
        // One slip is more likely than any similarity with more.
        .min_by(|a, b| a.0.cmp(&b.0).then(b.2.total_cmp(&a.2)))
        .map(|(.., known)| known)
}

/// The entries of a table in the order of the text.
#[must_use]
pub fn entries<'t, 'd>(table: &'t DeTable<'d>) -> Vec<(&'t Key<'d>, &'t Item<'d>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// A quantity that is written as text with its unit.
pub trait Quantity: FromStr<Err = UnitError> {
    /// The unit to suggest for a number that has none.
    const UNIT: &'static str;
    /// An example.
    const EXAMPLE: &'static str;
}
impl Quantity for Bytes {
    const UNIT: &'static str = "B";
    const EXAMPLE: &'static str = "a size such as \"8 KiB\"";
}
impl Quantity for Duration {
    const UNIT: &'static str = "s";
    const EXAMPLE: &'static str = "a time such as \"60 s\"";
}
impl Quantity for Iops {
    const UNIT: &'static str = "IOPS";
    const EXAMPLE: &'static str = "a request rate such as \"5000 IOPS\"";
}
impl Quantity for ByteRate {
    const UNIT: &'static str = "B/s";
    const EXAMPLE: &'static str = "a throughput such as \"200 MB/s\"";
}
impl Quantity for Ratio {
    const UNIT: &'static str = "%";
    const EXAMPLE: &'static str = "a share such as \"70 %\"";
}
impl Quantity for Growth {
    const UNIT: &'static str = "%";
    const EXAMPLE: &'static str = "how much more, such as \"20 %\"";
}

/// Collects the problems of one text. Its methods return `None` after they have added a problem.
#[derive(Debug)]
pub struct Reader<'t> {
    text: &'t str,
    synonyms: &'static [Synonym],
    /// Each with its offset in the text.
    problems: Vec<(usize, Problem)>,
    /// Problems beyond [`KEPT_MAX`].
    beyond: usize,
    /// Where the lines end, in bytes; found out once, since a catalog asks for thousands of lines.
    line_ends: OnceCell<Vec<usize>>,
}

impl<'t> Reader<'t> {
    /// Parses `text` and calls `read` with the document's top table; `source_name` names the text in errors. `read`
    /// returns `None` only after it has added a problem.
    ///
    /// # Errors
    /// The problems, in the order of the text.
    pub fn read<T>(
        text: &'t str,
        source_name: &str,
        synonyms: &'static [Synonym],
        read: impl FnOnce(&mut Self, &DeTable<'_>) -> Option<T>,
    ) -> Result<T, DocumentError> {
        let mut reader = Self { text, synonyms, problems: Vec::new(), beyond: 0, line_ends: OnceCell::new() };
        let value = match DeTable::parse(text) {
            Ok(document) => read(&mut reader, document.get_ref()),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                reader.tell(at, None, format!("not TOML: {}", error.message()));
                None
            }
        };
        let (problems, more) = reader.into_problems();
        match value {
            Some(value) if problems.is_empty() => Ok(value),
            _ => {
                assert!(!problems.is_empty(), "a text that could not be read has a problem");
                Err(DocumentError { source_name: source_name.to_owned(), problems, more })
            }
        }
    }

    /// The problems in the order of the text, and how many were left out.
    fn into_problems(mut self) -> (Vec<Problem>, usize) {
        self.problems.sort_by_key(|(offset, _)| *offset);
        let more = self.problems.len().saturating_sub(PROBLEMS_MAX) + self.beyond;
        (self.problems.into_iter().take(PROBLEMS_MAX).map(|(_, problem)| problem).collect(), more)
    }

    /// Checks that the document has the one known version; `format` names it, as in "plan". `None`: it has another
    /// version, so nothing else can be checked.
    pub fn schema(&mut self, top: &DeTable<'_>, known: u64, format: &str) -> Option<()> {
        let Some(item) = top.get("schema") else {
            self.problem(0..0, "schema", format!("is missing: write schema = {known} at the top"));
            return Some(());
        };
        let schema = self.count("schema", item, u64::MAX)?;
        if schema != known {
            let message = format!(
                "{schema} is a version of the {format} format that is not known here: write {known}, \
                 or use a newer loadline"
            );
            self.problem(item.span(), "schema", message);
            return None;
        }
        Some(())
    }

    /// Problems found so far.
    #[must_use]
    pub fn problem_count(&self) -> usize {
        self.problems.len() + self.beyond
    }

    /// The line in which an item begins, from 1.
    #[must_use]
    pub fn line_of(&self, item: &Item<'_>) -> usize {
        let ends = self.line_ends.get_or_init(|| self.text.match_indices('\n').map(|(at, _)| at).collect());
        ends.partition_point(|end| *end < item.span().start) + 1
    }

    /// Adds a problem at `span`, which belongs to `key`.
    pub fn problem(&mut self, span: Range<usize>, key: &str, message: String) {
        self.tell(span.start, Some(shown(key)), message);
    }

    fn tell(&mut self, offset: usize, key: Option<String>, message: String) {
        if self.problems.len() == KEPT_MAX {
            self.beyond += 1;
            return;
        }
        let (line, column) = position(self.text, offset);
        let problem = Problem { line, column, key, message };
        if !self.problems.iter().any(|(_, told)| *told == problem) {
            self.problems.push((offset, problem));
        }
    }

    /// Adds the problem of an unknown key in `table`, which `owner` names for people.
    pub fn unknown_key(&mut self, table: &str, key: &Key<'_>, known: &[&str], owner: &str) {
        let word: &str = key.get_ref();
        let message = match nearest_with(word, known.iter().copied(), self.synonyms) {
            Some(near) if known.len() > FEW => format!("is not a key of {owner}: did you mean {near}?"),
            Some(near) => format!("is not a key of {owner}: did you mean {near}? It has {}", list(known)),
            None => format!("is not a key of {owner}: it has {}", list(known)),
        };
        self.problem(key.span(), &nested(table, word), message);
    }

    /// A quantity with its unit.
    pub fn quantity<T: Quantity>(&mut self, key: &str, item: &Item<'_>) -> Option<T> {
        let message = match item.get_ref() {
            DeValue::String(text) => match text.parse::<T>() {
                Ok(value) => return Some(value),
                Err(error) => error.to_string(),
            },
            DeValue::Integer(number) => format!("{number} has no unit: write \"{number} {}\"?", T::UNIT),
            DeValue::Float(number) => format!("{number} has no unit: write {}", T::EXAMPLE),
            other => format!("is {}: write {}", kind(other), T::EXAMPLE),
        };
        self.problem(item.span(), key, message);
        None
    }

    /// A whole number from 1 to `max`.
    pub fn count(&mut self, key: &str, item: &Item<'_>, max: u64) -> Option<u64> {
        self.whole(key, item, 1..=max)
    }

    /// A whole number within these bounds.
    pub fn whole(&mut self, key: &str, item: &Item<'_>, within: RangeInclusive<u64>) -> Option<u64> {
        let wanted = format!("write a whole number from {} to {}", within.start(), within.end());
        let message = match item.get_ref() {
            DeValue::Integer(number) => match u64::from_str_radix(number.as_str(), number.radix()) {
                Ok(value) if within.contains(&value) => return Some(value),
                _ => format!("{} is out of range: {wanted}", shown(&number.to_string())),
            },
            DeValue::String(text) if text.parse::<u64>().is_ok() => {
                format!("{text:?} is text: write it without quotes")
            }
            DeValue::String(text) => format!("{:?} is text: {wanted}", shown(text)),
            other => format!("is {}: {wanted}", kind(other)),
        };
        self.problem(item.span(), key, message);
        None
    }

    /// A whole number from 1 to `max`.
    pub fn count_u32(&mut self, key: &str, item: &Item<'_>, max: u32) -> Option<u32> {
        self.count(key, item, u64::from(max)).map(|value| u32::try_from(value).expect("a count up to a u32 is a u32"))
    }

    /// A whole number above 0.
    pub fn positive(&mut self, key: &str, item: &Item<'_>) -> Option<u32> {
        self.count_u32(key, item, u32::MAX)
    }

    /// `true` or `false`.
    pub fn switch(&mut self, key: &str, item: &Item<'_>) -> Option<bool> {
        let message = match item.get_ref() {
            DeValue::Boolean(value) => return Some(*value),
            DeValue::String(text) if matches!(&**text, "true" | "false") => {
                format!("{text:?} is text: write {text} without quotes")
            }
            other => format!("is {}: write true or false", kind(other)),
        };
        self.problem(item.span(), key, message);
        None
    }

    /// One of a few words, each with its meaning; `or` adds further permitted values.
    pub fn word<T: Copy>(&mut self, key: &str, item: &Item<'_>, words: &[(&str, T)], or: &str) -> Option<T> {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let wanted = format!("write {}{or}", known.iter().map(|w| format!("{w:?}")).collect::<Vec<_>>().join(" or "));
        let message = match item.get_ref() {
            DeValue::String(text) => match words.iter().find(|(word, _)| *word == &**text) {
                Some((_, value)) => return Some(*value),
                None => format!("{:?} is not known here: {wanted}", shown(text)),
            },
            other => format!("is {}: {wanted}", kind(other)),
        };
        self.problem(item.span(), key, message);
        None
    }

    /// Text in quotes.
    pub fn text(&mut self, key: &str, item: &Item<'_>) -> Option<String> {
        if let DeValue::String(text) = item.get_ref() {
            return Some(text.clone().into_owned());
        }
        self.problem(item.span(), key, format!("is {}: write text in quotes", kind(item.get_ref())));
        None
    }

    /// A name: one line of up to [`NAME_MAX`] characters.
    pub fn name(&mut self, key: &str, item: &Item<'_>) -> Option<String> {
        let name = self.text(key, item)?;
        let length = name.chars().count();
        if name.trim().is_empty() || length > NAME_MAX || name.chars().any(char::is_control) {
            let message = format!("{:?} is no name: write one line of 1 to {NAME_MAX} characters", shown(&name));
            self.problem(item.span(), key, message);
            return None;
        }
        Some(name)
    }

    /// Reads a table by asking for its keys; what is not asked for is unknown. `wanted` is the remedy if it is no table. `None`: it is
    /// none, or a [`Fields::strict`] key could not be read.
    pub fn fields<'i, 'd, T>(
        &mut self,
        key: &str,
        item: &'i Item<'d>,
        wanted: &str,
        read: impl FnOnce(&mut Fields<'_, 't, 'i, 'd>) -> T,
    ) -> Option<T> {
        let Some(table) = item.get_ref().as_table() else {
            self.problem(item.span(), key, format!("is {}: write {wanted}", kind(item.get_ref())));
            return None;
        };
        self.top_fields(key, table, key, read)
    }

    /// The same of a table that is known to be one, and of the document itself, whose `key` is empty and `owner` its name for people.
    pub fn top_fields<'i, 'd, T>(
        &mut self,
        key: &str,
        table: &'i DeTable<'d>,
        owner: &str,
        read: impl FnOnce(&mut Fields<'_, 't, 'i, 'd>) -> T,
    ) -> Option<T> {
        let mut fields = Fields { reader: self, key, table, known: Vec::new(), is_sound: true };
        let value = read(&mut fields);
        let Fields { known, is_sound, .. } = fields;
        for (inner, _) in table {
            if !known.contains(&&**inner.get_ref()) {
                self.unknown_key(key, inner, &known, owner);
            }
        }
        is_sound.then_some(value)
    }

    /// The known entries of a table in the order of the text; unknown keys become problems. `wanted` is the remedy if
    /// it is no table.
    pub fn table<'i, 'd>(
        &mut self,
        key: &str,
        item: &'i Item<'d>,
        known: &[&str],
        wanted: &str,
    ) -> Option<Vec<(&'i str, &'i Item<'d>)>> {
        let Some(table) = item.get_ref().as_table() else {
            self.problem(item.span(), key, format!("is {}: write {wanted}", kind(item.get_ref())));
            return None;
        };
        let mut found: Vec<(&'i str, &'i Item<'d>)> = Vec::new();
        for (inner, value) in entries(table) {
            let word: &'i str = inner.get_ref();
            if known.contains(&word) {
                found.push((word, value));
            } else {
                self.unknown_key(key, inner, known, key);
            }
        }
        Some(found)
    }

    /// The values of a list, or the one value that is no list.
    pub fn values<'i, 'd>(&mut self, key: &str, item: &'i Item<'d>) -> Vec<&'i Item<'d>> {
        let DeValue::Array(array) = item.get_ref() else { return vec![item] };
        if array.is_empty() {
            self.problem(item.span(), key, "an empty list says nothing: write at least one value".into());
        }
        array.iter().collect()
    }
}

/// A table whose keys are read one after the other. Those that were asked for are those that it may have.
#[derive(Debug)]
pub struct Fields<'r, 't, 'i, 'd> {
    /// For problems that are none of one key.
    pub reader: &'r mut Reader<'t>,
    key: &'r str,
    table: &'i DeTable<'d>,
    known: Vec<&'static str>,
    is_sound: bool,
}

impl<'t, 'i, 'd> Fields<'_, 't, 'i, 'd> {
    /// The value of a key as it stands in the text.
    pub fn item(&mut self, name: &'static str) -> Option<&'i Item<'d>> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        self.table.get(name)
    }

    /// The value of a key; `None` if it is absent or cannot be read.
    pub fn get<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Reader<'t>, &str, &'i Item<'d>) -> Option<T>,
    ) -> Option<T> {
        let item = self.item(name)?;
        read(self.reader, &nested(self.key, name), item)
    }

    /// The same. If it is there and cannot be read, nothing of the table is.
    pub fn strict<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Reader<'t>, &str, &'i Item<'d>) -> Option<T>,
    ) -> Option<T> {
        let item = self.item(name)?;
        let value = read(self.reader, &nested(self.key, name), item);
        self.is_sound &= value.is_some();
        value
    }
}

/// A key within a table, as messages name it.
#[must_use]
pub fn nested(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

/// Words with commas.
#[must_use]
pub fn list(words: &[&str]) -> String {
    words.join(", ")
}

/// The type of a value, for people.
#[must_use]
pub fn kind(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {:?}", shown(text)),
        DeValue::Integer(number) => format!("the number {}", shown(&number.to_string())),
        DeValue::Float(number) => format!("the number {}", shown(&number.to_string())),
        DeValue::Boolean(value) => format!("{value}"),
        DeValue::Datetime(_) => "a date or time of day".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// The beginning of a text that may be long.
fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN_MAX {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(SHOWN_MAX).collect();
    format!("{beginning}...")
}

/// Line and column, in characters and from 1, of the character with the byte at `offset`.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_an_item_is_that_of_its_position() {
        let text = "a = 1\n\nb = \"\"\"é\n\"\"\"\nc = [\n  2,\n  3,\n]\nd = 4";
        let lines = Reader::read(text, "lines", &[], |reader, top| {
            let mut items: Vec<&Item<'_>> = ["a", "b", "c", "d"].map(|key| top.get(key).unwrap()).into();
            items.extend(top.get("c").unwrap().get_ref().as_array().unwrap().iter());
            let by_position = |item: &&Item<'_>| position(text, item.span().start).0;
            assert!(items.iter().all(|item| reader.line_of(item) == by_position(item)));
            Some(items.iter().map(|item| reader.line_of(item)).collect::<Vec<_>>())
        });
        assert_eq!(lines.unwrap(), [1, 3, 5, 9, 6, 7]);
    }

    #[test]
    fn a_word_is_found_after_one_slip_however_short_it_is() {
        let verbs = ["run", "rm", "report", "replay", "list"];
        let found = |word| nearest(word, verbs);
        for (word, meant) in [
            ("rnu", Some("run")),
            ("urn", Some("run")),
            ("runn", Some("run")),
            ("un", Some("run")),
            ("lits", Some("list")),
            ("raport", Some("report")),
            // A short word is suggested only for a similar one, and then before less similar ones.
            ("rmm", Some("rm")),
            ("rx", None),
            ("ab", None),
            ("xyz", None),
            ("", None),
        ] {
            assert_eq!(found(word), meant, "{word}");
        }
    }
}

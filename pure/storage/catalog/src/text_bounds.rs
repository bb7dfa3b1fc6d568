//! What a file may write for a name, a pattern of names, a region, a provider's word, and in words for people.
//!
//! Files come from anywhere. Names get into tables, commands and scripts, so each kind has its letters and a length.

use loadline_document::{Item, NAME_MAX, Reader};
use std::ops::Range;

/// Characters of a text for people at most.
const TEXT_MAX: usize = 2_000;

/// A kind of name: its letters, and how they are called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameKind {
    fits: fn(char) -> bool,
    /// What it is, and what to write.
    said: (&'static str, &'static str),
}

const fn is_of_name(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '@')
}

impl NameKind {
    /// An entry.
    pub(crate) const ENTRY: Self =
        Self { fits: is_of_name, said: ("name for a catalog", "lower-case letters, digits, dashes, dots and @") };
    /// A provider: what stands before the names of its entries.
    pub(crate) const PROVIDER: Self = Self {
        fits: |c| is_of_name(c) && c != '@',
        said: ("name of a provider", "lower-case letters, digits, dashes and dots"),
    };
    /// Several machines: `#` and `*` stand for parts of their names.
    pub(crate) const PATTERN: Self = Self {
        fits: |c| is_of_name(c) || matches!(c, '#' | '*'),
        said: ("pattern of names", "lower-case letters, digits, dashes, dots, # and *"),
    };
    /// A region.
    pub(crate) const REGION: Self = Self {
        fits: |c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '.' | '_'),
        said: ("name of a region", "letters, digits, blanks, dashes, dots and underscores"),
    };
    /// What a provider's tools call something.
    pub(crate) const WORD: Self = Self {
        fits: |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'),
        said: ("word of a provider's tools", "letters, digits, dashes, dots and underscores"),
    };

    /// Whether a text is one; else a problem is added at `span`, which belongs to `key`.
    pub(crate) fn is_kept(self, reader: &mut Reader<'_>, span: Range<usize>, key: &str, text: &str) -> bool {
        let is_kept = !text.trim().is_empty() && text.len() <= NAME_MAX && text.chars().all(self.fits);
        if !is_kept {
            let (what, letters) = self.said;
            reader.problem(span, key, format!("is no {what}: write {letters}, {NAME_MAX} characters at most"));
        }
        is_kept
    }

    /// The text of an item that is one.
    pub(crate) fn read(self, reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<String> {
        let text = reader.text(key, item)?;
        self.is_kept(reader, item.span(), key, &text).then_some(text)
    }
}

/// A text for people.
pub(crate) fn text(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<String> {
    let text = reader.text(key, item)?;
    if text.chars().count() > TEXT_MAX {
        reader.problem(item.span(), key, format!("is too long: write {TEXT_MAX} characters at most"));
        return None;
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use crate::Catalog;

    /// A catalog of one disk, one machine and their prices, each place of a name or a text given.
    fn read(places: [(&str, &str); 1]) -> Result<Catalog, loadline_document::DocumentError> {
        let said = |place: &str, usual: &str| {
            let text = places.iter().find(|(name, _)| *name == place).map_or(usual, |(_, text)| *text);
            toml::Value::from(text).to_string()
        };
        let head = |kind: &str| {
            let [provider, family, title, source] =
                [("provider", "own"), ("family", "array"), ("title", "x"), ("source", "x")]
                    .map(|(place, usual)| said(place, usual));
            format!(
                "schema = 1\nkind = \"{kind}\"\nprovider = {provider}\nfamily = {family}\ntitle = {title}\nsource = {source}\n"
            )
        };
        let [sold_as, disk, machine, rule, region, terms, sold] = [
            ("sold_as", "array"),
            ("disk", "array-any"),
            ("machine", "m9.large"),
            ("rule", "m*"),
            ("region", "my cellar"),
            ("terms", "x"),
            ("sold", "m-#"),
        ]
        .map(|(place, usual)| said(place, usual));
        let disks = head("disk")
            + &format!("sold_as = {sold_as}\n[latency.read]\nmedian = \"1 ms\"\np99 = \"2 ms\"\n")
            + &format!("[latency.write]\nmedian = \"1 ms\"\np99 = \"2 ms\"\n[disk]\n{disk} = {{ size = \"1 TiB\" }}\n");
        let machines =
            head("vm") + &format!("arm64 = [{rule}]\n[vm]\n{machine} = {{ vcpus = 4 }}\n[sold]\n{sold} = [4]\n");
        let prices =
            head("prices") + &format!("terms = {terms}\n[region.{region}]\n\"array-any\" = \"1 USD per month\"\n");
        Catalog::default().with(&[("a", &disks), ("b", &machines), ("c", &prices)])
    }

    #[test]
    fn names_have_their_letters_and_a_length() {
        read([("title", "usual")]).unwrap();
        let long = "x".repeat(1 << 20);
        for place in ["provider", "family", "sold_as", "disk", "machine", "rule", "region", "sold"] {
            for name in ["", " ", "a\nb", "a\u{1b}[2J", long.as_str()] {
                let error = read([(place, name)]).expect_err(place).to_string();
                assert!(error.len() < 2_000, "{place}: {} bytes", error.len());
            }
        }
        // What stands in commands.
        for place in ["provider", "sold_as", "disk", "machine", "region", "sold"] {
            for name in ["a;b", "$(a)", "`a`", "a'b", "a\"b", "../a", "a|b", "<script>", "a\\b", "a&b"] {
                assert!(read([(place, name)]).is_err(), "{place}: {name}");
            }
        }
        assert!(read([("terms", &long)]).is_err());
    }
}

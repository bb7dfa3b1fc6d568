//! Names as people type them: in the catalog's form, and the one that was meant.

use loadline_document::nearest;

/// A name in the catalog's form: lower case, dashes for underscores and blanks. Azure's word before the sizes of its
/// machines is removed if that leaves a letter, as in "`Standard_D8s_v3`".
pub(crate) fn plain_name(name: &str) -> String {
    let plain = name.trim().to_lowercase().replace(['_', ' '], "-");
    let is_underscored = |rest: &str| rest.to_lowercase().starts_with("standard_");
    let (provider, word) = name.trim().rsplit_once('/').map_or(("", name.trim()), |(provider, word)| (provider, word));
    if !is_underscored(word) {
        return plain;
    }
    let word = word["standard_".len()..].to_lowercase().replace(['_', ' '], "-");
    if provider.is_empty() { word } else { format!("{}/{word}", provider.to_lowercase()) }
}

/// A name in its words and its numbers.
pub(crate) fn words_and_numbers(name: &str) -> (String, Vec<u64>) {
    let (mut words, mut numbers) = (String::new(), Vec::new());
    let mut rest = name;
    while let Some(begin) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[begin..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |length| begin + length);
        words.push_str(&rest[..begin]);
        words.push('#');
        numbers.push(rest[begin..end].parse().unwrap_or(u64::MAX));
        rest = &rest[end..];
    }
    words.push_str(rest);
    (words, numbers)
}

/// The name that differs in one number alone, by no more than half of the larger.
fn nearest_by_number<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let (words, numbers) = words_and_numbers(name);
    let off = |known: &str| {
        let (known_words, known_numbers) = words_and_numbers(known);
        if known_words != words || known_numbers.len() != numbers.len() {
            return None;
        }
        let mut differing = known_numbers.iter().zip(&numbers).filter(|(known, wanted)| known != wanted);
        let (known, wanted) = differing.next()?;
        let off = known.abs_diff(*wanted);
        (differing.next().is_none() && off <= *known.max(wanted) / 2).then_some((off, *known))
    };
    names.filter_map(|known| Some((off(known)?, known))).min().map(|(_, known)| known)
}

/// Completes a name that only lacks its beginning, by the shortest with that end. A name that differs in a number alone
/// has the nearest number. Other names are compared without the provider if the word has none.
pub(crate) fn nearest_name<'n>(name: &str, names: impl Iterator<Item = &'n str> + Clone) -> Option<String> {
    let (provider, word) = name.split_once('/').map_or(("", name), |(provider, word)| (provider, word));
    let ends = |full: &&str| {
        full.starts_with(provider)
            && full.strip_suffix(word).is_some_and(|beginning| !word.is_empty() && beginning.ends_with(['-', '/']))
    };
    if let Some(full) = names.clone().filter(ends).min_by_key(|full| full.len()) {
        return Some(full.to_owned());
    }
    let bare = |name: &'n str| name.split_once('/').map_or(name, |(_, bare)| bare);
    if name.contains('/') {
        let near = nearest_by_number(name, names.clone()).or_else(|| nearest(name, names));
        return near.map(str::to_owned);
    }
    let near = nearest_by_number(name, names.clone().map(bare)).or_else(|| nearest(name, names.clone().map(bare)))?;
    names.into_iter().find(|full| bare(full) == near).map(str::to_owned)
}

//! Bytes as text: by their mark, by the declared character set, by their form.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use std::borrow::Cow;

/// Bytes in which a page may declare its charset (HTML, "prescan a byte stream").
const PRESCAN: usize = 1_024;

/// The text. The order is that of the HTML standard: byte order mark, declared by the source, declared in the page, detected.
/// A declaration that does not fit is noted; it is no failure.
pub(crate) fn decoded<'a>(
    body: &'a [u8],
    declared: Option<&str>,
    is_html: bool,
    notes: &mut Vec<Cow<'static, str>>,
) -> Cow<'a, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return encoding.decode_without_bom_handling(&body[mark..]).0;
    }
    if let Some(encoding) = wide(body) {
        if declared.is_some_and(|name| Encoding::for_label(name.as_bytes()).is_none_or(Encoding::is_ascii_compatible)) {
            notes.push("the declared charset is wrong".into());
        }
        return encoding.decode_without_bom_handling(body).0;
    }
    let in_page = || if is_html { declared_in_page(body) } else { None };
    let named = declared.map(str::to_owned).or_else(in_page);
    let encoding = named.as_deref().and_then(|name| {
        let found = Encoding::for_label(name.as_bytes());
        if found.is_none() {
            notes.push("the declared charset is unknown".into());
        }
        found
    });
    if let Some(encoding) = encoding {
        let (text, _, is_wrong) = encoding.decode(body);
        if !is_wrong {
            return text;
        }
        notes.push("the declared charset is wrong".into());
    }
    // Most undeclared text is UTF-8, and no other encoding looks like it.
    if let Ok(text) = std::str::from_utf8(body) {
        return Cow::Borrowed(text);
    }
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Allow);
    detector.feed(&body[..body.len().min(64 << 10)], body.len() <= 64 << 10);
    let encoding = detector.guess(None, chardetng::Utf8Detection::Allow);
    if encoding == UTF_8 { String::from_utf8_lossy(body) } else { encoding.decode(body).0 }
}

/// UTF-16 without a mark: of text in which Latin letters, digits, spaces and signs are frequent, every other octet is mostly zero. No other
/// text has zeros.
fn wide(body: &[u8]) -> Option<&'static Encoding> {
    let pairs = body[..body.len().min(PRESCAN)].as_chunks::<2>().0;
    let zeros = |place: usize| pairs.iter().filter(|pair| pair[place] == 0).count();
    let (first, second) = (zeros(0), zeros(1));
    let is_most = |some: usize, others: usize| some * 4 >= pairs.len() && some > 1 && others * 50 < some;
    if is_most(second, first) {
        Some(UTF_16LE)
    } else if is_most(first, second) {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// The charset of a meta element near the beginning.
fn declared_in_page(body: &[u8]) -> Option<String> {
    let head = body[..body.len().min(PRESCAN)].to_ascii_lowercase();
    let at = head.windows(8).position(|window| window == b"charset=")?;
    let rest = &head[at + 8..];
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let name: Vec<u8> =
        rest.iter().copied().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b':')).collect();
    (!name.is_empty()).then(|| String::from_utf8_lossy(&name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &[u8], declared: Option<&str>) -> (String, usize) {
        let mut notes = Vec::new();
        let text = decoded(body, declared, true, &mut notes).into_owned();
        (text, notes.len())
    }

    #[test]
    fn declarations_count_in_their_order_and_lies_are_noted() {
        assert_eq!(text("\u{feff}süß".as_bytes(), Some("latin1")), ("süß".to_owned(), 0));
        assert_eq!(text(b"s\xfc\xdf", Some("iso-8859-1")), ("süß".to_owned(), 0));
        assert_eq!(text(b"<meta charset=\"windows-1252\">s\xfc\xdf", None).0, "<meta charset=\"windows-1252\">süß");
        assert_eq!(text(b"<meta charset='utf-8'>s\xfc\xdf und stra\xdfe", None).1, 1);
        assert_eq!(text("süß".as_bytes(), Some("klingon")), ("süß".to_owned(), 1));
    }

    #[test]
    fn wide_text_without_a_mark_is_known_by_its_zeros() {
        let text_of = |bytes: &[u8], declared| text(bytes, declared);
        let words = "<p>Straße und Übung, 12 €</p>";
        let little: Vec<u8> = words.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = words.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(text_of(&little, None), (words.to_owned(), 0));
        assert_eq!(text_of(&big, None), (words.to_owned(), 0));
        assert_eq!(text_of(&little, Some("utf-16")), (words.to_owned(), 0));
        assert_eq!(text_of(&big, Some("utf-16le")), (words.to_owned(), 0));
        assert_eq!(text_of(&little, Some("utf-8")), (words.to_owned(), 1));
        // A zero now and then is none of its signs.
        assert_eq!(text_of(b"a\0b c d e f g h i j k l m n", None).0, "a\0b c d e f g h i j k l m n");
    }
}

//! How restic writes bytes as text: base64 in keys and attributes, Go's quoting in names.

use data_encoding::BASE64;
use serde::{Deserialize, Deserializer, Serializer};
use std::fmt::Write as _;
use std::io::Write as _;

/// For serde: bytes as base64, and `null` as no bytes, as Go has it.
pub(crate) mod base64_bytes {
    use super::{BASE64, Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?.unwrap_or_default();
        BASE64.decode(text.as_bytes()).map_err(|_| serde::de::Error::custom("this is not base64"))
    }
}

/// Appends a JSON string as Go writes it.
pub(crate) fn push_json(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_json_inside(out, text);
    out.push(b'"');
}

fn push_json_inside(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let plain = |byte: u8| (0x20..0x80).contains(&byte) && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&');
    if bytes.iter().all(|byte| plain(*byte)) {
        out.extend_from_slice(bytes);
        return;
    }
    for letter in text.chars() {
        match letter {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\0'..='\x1f' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", letter as u32).expect("bytes take everything");
            }
            _ => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Appends a name as restic writes it: quoted by the rules of Go, then put into a JSON string.
pub(crate) fn push_quoted_name(out: &mut Vec<u8>, name: &[u8]) {
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&');
    if name.iter().all(|byte| plain(*byte)) {
        out.push(b'"');
        out.extend_from_slice(name);
        out.push(b'"');
        return;
    }
    push_json(out, &quoted(name));
}

/// Go's `strconv.Quote` without the quotation marks: what is no UTF-8 becomes `\xNN`.
fn quoted(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len() + 8);
    for part in name.utf8_chunks() {
        for letter in part.valid().chars() {
            match letter {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\x07' => text.push_str("\\a"),
                '\x08' => text.push_str("\\b"),
                '\x0c' => text.push_str("\\f"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '\x0b' => text.push_str("\\v"),
                '\0'..='\x1f' | '\x7f' => push_byte(&mut text, letter as u8),
                _ => text.push(letter),
            }
        }
        part.invalid().iter().for_each(|byte| push_byte(&mut text, *byte));
    }
    text
}

fn push_byte(text: &mut String, byte: u8) {
    write!(text, "\\x{byte:02x}").expect("text takes everything");
}

/// The bytes of a name that Go quoted; `None` where an escape is not one.
pub(crate) fn unquoted(text: &str) -> Option<Vec<u8>> {
    if !text.contains('\\') {
        return Some(text.as_bytes().to_vec());
    }
    let mut name = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if letter != '\\' {
            name.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        match rest.next()? {
            'a' => name.push(7),
            'b' => name.push(8),
            'f' => name.push(12),
            'n' => name.push(b'\n'),
            'r' => name.push(b'\r'),
            't' => name.push(b'\t'),
            'v' => name.push(11),
            plain @ ('"' | '\\' | '\'') => name.push(plain as u8),
            'x' => name.push(digits(&mut rest, 2, 16)? as u8),
            kind @ ('u' | 'U') => {
                let letter = char::from_u32(digits(&mut rest, if kind == 'u' { 4 } else { 8 }, 16)?)?;
                name.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            first @ '0'..='7' => {
                let value = first.to_digit(8)? * 64 + digits(&mut rest, 2, 8)?;
                name.push(u8::try_from(value).ok()?);
            }
            _ => return None,
        }
    }
    Some(name)
}

fn digits(rest: &mut std::str::Chars<'_>, count: usize, radix: u32) -> Option<u32> {
    (0..count).try_fold(0_u32, |value, _| value.checked_mul(radix)?.checked_add(rest.next()?.to_digit(radix)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_quoted_as_go_does() {
        assert_eq!(quoted(b"a\"b\\c\n\xff\x01\x7f"), "a\\\"b\\\\c\\n\\xff\\x01\\x7f");
        assert_eq!(unquoted("\\u00e4\\U0001F600\\101\\'").as_deref(), Some("ä😀A'".as_bytes()));
        for wrong in ["\\", "\\x1", "\\q", "\\ud800", "\\777"] {
            assert_eq!(unquoted(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name: Vec<u8>) {
            prop_assert_eq!(unquoted(&quoted(&name)), Some(name.clone()));
            let mut json = Vec::new();
            push_quoted_name(&mut json, &name);
            let text: String = serde_json::from_slice(&json).unwrap();
            prop_assert_eq!(unquoted(&text), Some(name));
        }
        #[test]
        fn every_text_is_a_json_string(text: String) {
            let mut json = Vec::new();
            push_json(&mut json, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), text);
        }
    }
}

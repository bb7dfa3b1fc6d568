//! How restic writes bytes as text: base64 in keys and attributes, Go's quoting in names.

use crate::id::HEX;
use serde::{Deserialize, Deserializer, Serializer};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Standard base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word = u32::from(group[0]) << 16
            | u32::from(group.get(1).copied().unwrap_or(0)) << 8
            | u32::from(group.get(2).copied().unwrap_or(0));
        for digit in 0..4 {
            let sextet = (word >> (18 - 6 * digit)) & 63;
            text.push(if digit <= group.len() { char::from(ALPHABET[sextet as usize]) } else { '=' });
        }
    }
    text
}

/// What [`base64`] wrote; `None` for anything else.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let padding = digits.iter().rev().take_while(|digit| **digit == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    let (mut word, mut bits) = (0_u32, 0);
    for digit in &digits[..digits.len() - padding] {
        let sextet = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        word = word << 6 | u32::from(sextet);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
        }
    }
    Some(bytes)
}

/// For serde: bytes as base64, and `null` as no bytes, as Go has it.
pub(crate) mod base64_bytes {
    use super::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::base64(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?.unwrap_or_default();
        super::from_base64(&text).ok_or_else(|| serde::de::Error::custom("this is not base64"))
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
                let code = letter as u32;
                out.extend_from_slice(b"\\u");
                for shift in [12, 8, 4, 0] {
                    out.push(HEX[(code >> shift & 15) as usize]);
                }
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
    text.push_str("\\x");
    text.push(char::from(HEX[usize::from(byte >> 4)]));
    text.push(char::from(HEX[usize::from(byte & 15)]));
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
    fn base64_has_padding() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(from_base64(text).as_deref(), Some(bytes.as_bytes()));
        }
        for wrong in ["Z", "Zg=", "====", "Zm9v!AAA", "Zg==Zg=="] {
            assert_eq!(from_base64(wrong), None, "{wrong}");
        }
    }

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
        #[test]
        fn all_bytes_survive_base64(bytes: Vec<u8>) {
            prop_assert_eq!(from_base64(&base64(&bytes)), Some(bytes));
        }
    }
}

//! Addresses in their normal form (RFC 3986, 6.2.2), so that two forms of one page are one item.

use loadline_web::Url;
use std::borrow::Cow;
use std::fmt::Write as _;

/// An address in its normal form, without a user and a password, which are not sent. Scheme, host and dots in the path are so already.
pub(super) fn normal(mut url: Url) -> Url {
    // Only an address without a host refuses, and has none.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    let changed = |text: &str| match normal_octets(text, |_| false) {
        Cow::Borrowed(_) => None,
        Cow::Owned(other) => Some(other),
    };
    let (path, query) = (changed(url.path()), url.query().and_then(changed));
    if let Some(path) = path {
        url.set_path(&path);
    }
    if query.is_some() {
        url.set_query(query.as_deref());
    }
    url
}

/// Where an address leads, by which sites differ: its host, and its port, unless its scheme has that anyway.
pub(super) fn place(url: &Url) -> Option<String> {
    let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"))?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// A text with all octets of one form: those outside of US-ASCII, and those that `is_special` names, stand behind a percent sign in upper
/// case; those that need none (letters, digits, `-._~`) have none.
pub(super) fn normal_octets(text: &str, is_special: impl Fn(u8) -> bool) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    if !bytes.iter().any(|byte| *byte == b'%' || !byte.is_ascii() || is_special(*byte)) {
        return Cow::Borrowed(text);
    }
    let mut normal = String::with_capacity(text.len() + 8);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let coded = (byte == b'%').then(|| octet(bytes.get(at + 1..at + 3)?)).flatten();
        at += if coded.is_some() { 3 } else { 1 };
        match coded {
            Some(octet) if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) => normal.push(char::from(octet)),
            None if byte.is_ascii() && !is_special(byte) => normal.push(char::from(byte)),
            coded => {
                let _ = write!(normal, "%{:02X}", coded.unwrap_or(byte));
            }
        }
    }
    if normal == text { Cow::Borrowed(text) } else { Cow::Owned(normal) }
}

/// The octet of two hexadecimal digits.
fn octet(digits: &[u8]) -> Option<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(digits.first()?)? * 16 + digit(digits.get(1)?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_port_is_another_place() {
        let of = |text| place(&Url::parse(text).unwrap());
        assert_eq!((of("http://h:80/"), of("https://h/")), (Some("h".to_owned()), Some("h".to_owned())));
        assert_eq!((of("http://h:22/"), of("http://h:443/")), (Some("h:22".to_owned()), Some("h:443".to_owned())));
        assert_eq!((of("file://h/etc/passwd"), of("gopher://h/")), (None, None));
    }

    #[test]
    fn forms_of_one_address_are_one() {
        for (one, other) in [
            ("HTTP://Example.COM:80/a", "http://example.com/a"),
            ("http://h/%7euser/%62%61z", "http://h/~user/baz"),
            ("http://h/a/./b/../c", "http://h/a/c"),
            ("http://h/a/%2e%2E/c", "http://h/c"),
            ("http://h/%e3%83%84?q=%c3%bc%41", "http://h/%E3%83%84?q=%C3%BCA"),
            ("http://h", "http://h/"),
            ("http://user:password@h/a", "http://h/a"),
        ] {
            let of = |text| normal(Url::parse(text).unwrap()).to_string();
            assert_eq!(of(one), of(other), "{one}");
            assert_eq!(of(&of(one)), of(one), "the form of a form is itself");
        }
        for apart in ["http://h/a%2Fb", "http://h/a%3Fb", "http://h/a%25", "http://h/A"] {
            let plain = apart.replace("%2F", "/").replace("%3F", "?").replace("%25", "%").replace('A', "a");
            assert_ne!(normal(Url::parse(apart).unwrap()), normal(Url::parse(&plain).unwrap()), "{apart}");
        }
    }
}

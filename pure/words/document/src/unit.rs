//! Words of systemd's unit files.

/// A word as it stands in a text: `%` and `$` mean something there.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('%', "%%").replace('$', "$$")
}

/// One word of a command: in quotes, if it has spaces.
#[must_use]
pub fn quoted(text: &str) -> String {
    let text = escaped(text);
    if text.contains(|c: char| c.is_whitespace() || c == '"' || c == '\\' || c == '\'') {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        text
    }
}

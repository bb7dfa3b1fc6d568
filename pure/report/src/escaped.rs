//! Text that is safe in HTML, SVG and other XML, and in Markdown.

use crate::plain_text::{plain, visible};

/// Text as HTML and XML show it, in elements and in quoted attributes. Characters that XML forbids, or that steer, are replaced.
#[derive(Debug)]
pub struct Escaped<T>(pub T);

impl<T: AsRef<str>> std::fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write;
        for c in self.0.as_ref().chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(c)?,
                c => f.write_char(visible(c))?,
            }
        }
        Ok(())
    }
}

/// Text that Markdown shows as it is.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

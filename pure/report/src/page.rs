//! A page in the form of the reports, for other results than runs.

use crate::escaped::Escaped;
use crate::put;

/// The look of every page.
pub(crate) const STYLE: &str = include_str!("html/style.css");

/// Text as HTML shows it, in elements and in quoted attributes.
pub(crate) fn escaped(text: &str) -> String {
    Escaped(text).to_string()
}

/// Whether a page has scripts of its own; none has others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scripts {
    /// It has none, and may have none.
    None,
    /// Its own.
    Own,
}

/// The beginning of a page, up to its first heading within the header. The page loads nothing from anywhere, whatever its texts contain.
pub(crate) fn opening(title: &str, heading: &str, scripts: Scripts) -> String {
    let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    let scripts = if scripts == Scripts::Own { "; script-src 'unsafe-inline'" } else { "" };
    put!(
        out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{scripts}\">\n"
    );
    put!(out, "<title>{} – loadline</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n", Escaped(title));
    put!(out, "<header class=\"top\">\n<p class=\"brand\">loadline</p>\n<h1>{}</h1>\n", Escaped(heading));
    out
}

/// A self-contained page with a title; `body` is HTML, whose texts are [`escaped`].
pub(crate) fn page(title: &str, body: &str) -> String {
    let mut out = opening(title, title, Scripts::None);
    put!(out, "</header>\n<main>\n{body}</main>\n</body>\n</html>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_and_its_title_is_text() {
        let text = page("a < b", "<p>x</p>\n");
        assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"));
        assert!(text.contains("<h1>a &lt; b</h1>") && text.contains("<p>x</p>"));
        assert_eq!(escaped("\"<&\u{202e}"), "&quot;&lt;&amp;\u{fffd}");
    }
}

//! The page that computes: what to buy and what storage would do, in a browser, with the catalog and the model inside the file.

use crate::escaped::Escaped;
use crate::page::STYLE;
use crate::put;
use data_encoding::BASE64;
use sha2::{Digest, Sha256};

const LOOK: &str = include_str!("explorer/look.css");
const FORM: &str = include_str!("explorer/form.html");
const SCRIPT: &str = include_str!("explorer/script.js");
const WORKER: &str = include_str!("explorer/worker.js");

/// What the page carries.
#[derive(Debug)]
pub struct ExplorerParts<'a> {
    /// The model as WebAssembly, packed by gzip.
    pub module: &'a [u8],
    /// The catalog's texts as the module reads them, packed by gzip.
    pub catalog: &'a [u8],
    /// The question that it opens with, as the address has it: `buy&iops=9000`; empty for its own.
    pub opening: &'a str,
    /// When it was made and from which prices, for people.
    pub made: &'a str,
}

/// The page: one file that loads nothing. The only script that may run is its own, by its hash; the model may be compiled.
#[must_use]
pub fn explorer_page(parts: &ExplorerParts<'_>) -> String {
    let script = BASE64.encode(&Sha256::digest(SCRIPT.as_bytes()));
    let mut out = String::with_capacity(parts.module.len() * 2 + parts.catalog.len() * 2);
    out.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    put!(
        out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}' \
         'wasm-unsafe-eval'; worker-src blob:; base-uri 'none'; form-action 'none'\">\n"
    );
    put!(
        out,
        "<title>What to buy, and what it would do – loadline</title>\n<style>\n{STYLE}{LOOK}</style>\n</head>\n<body>\n"
    );
    out.push_str(FORM);
    put!(out, "<footer class=\"note\">{}</footer>\n", Escaped(parts.made));
    for (id, bytes) in [("module", parts.module), ("catalog", parts.catalog)] {
        put!(out, "<script type=\"application/octet-stream\" id=\"{id}\">{}</script>\n", BASE64.encode(bytes));
    }
    put!(out, "<script type=\"text/plain\" id=\"worker\">{WORKER}</script>\n");
    // Text in such an element is taken as it stands: an address has no need of what would end it.
    put!(out, "<script type=\"text/plain\" id=\"opening\">{}</script>\n", parts.opening.replace('<', "%3C"));
    put!(out, "<script>{SCRIPT}</script>\n</body>\n</html>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_loads_nothing_and_runs_only_its_own_script() {
        let page = explorer_page(&ExplorerParts {
            module: b"m",
            catalog: b"c",
            opening: "buy&iops=</script><b>",
            made: "of 2026-11-29 <b>",
        });
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        assert!(!page.contains("<b>") && !page.contains("http://") && !page.contains("https://"));
        assert!(page.contains("id=\"opening\">buy&iops=%3C/script>%3Cb></script>"));
        assert!(page.contains("script-src 'sha256-") && !page.contains("script-src 'unsafe-inline'"));
        // What stands in a script's element ends with it.
        for text in [SCRIPT, WORKER] {
            assert!(!text.contains("</"), "an element would end in the middle");
        }
    }
}

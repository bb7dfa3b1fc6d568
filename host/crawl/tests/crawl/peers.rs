//! Searches beside a peer: recoll indexes the same pages and is asked the same words. Differences are counted by their cause.

use crate::files::crawl_of;
use loadline_crawl::{CrawlMode, CrawlSearch};
use loadline_pipeline::{CrawlPlan, SourcePlan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGES: usize = 1_000;
const QUERIES: usize = 200;

/// HTML files below a folder, sorted.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|of| of.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            found.push(path);
        }
    }
}

/// Text outside of tags, roughly: only to choose words, and to sort differences.
fn visible(html: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for letter in html.chars() {
        match letter {
            '<' => in_tag = true,
            '>' => {
                in_tag = false;
                text.push(' ');
            }
            _ if !in_tag => text.push(letter),
            _ => {}
        }
    }
    text
}

/// Why one finds a page by these words and the other does not.
fn cause(html: &str, words: &[&str]) -> &'static str {
    let text = visible(html).to_lowercase();
    let is_word = |word: &str| text.split(|letter: char| !letter.is_alphabetic()).any(|of| of == word);
    let is_apart =
        |word: &str| text.split_whitespace().any(|of| of.trim_matches(|c: char| !c.is_alphanumeric()) == word);
    if words.iter().any(|word| !is_word(word)) {
        "not in the visible text: a script, an attribute, or another form"
    } else if words.iter().any(|word| !is_apart(word)) {
        "part of a longer word: underscore, colon, digit"
    } else {
        "other"
    }
}

#[test]
#[ignore = "long: indexes thousands of pages twice"]
fn searches_find_what_a_peer_finds_and_differences_have_causes() {
    let has = |program: &str| Command::new(program).arg("-h").output().is_ok();
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let documents = Path::new(String::from_utf8_lossy(&sysroot.stdout).trim()).join("share/doc");
    let mut found = Vec::new();
    pages(&documents, &mut found);
    if !has("recollindex") || !has("recollq") || found.len() < PAGES {
        eprintln!("skipped: needs recollindex and recollq (Debian: recollcmd), and the HTML of rust-docs");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs");
    std::fs::create_dir_all(&docs).unwrap();
    let mut html = BTreeMap::new();
    let mut frequency: BTreeMap<String, usize> = BTreeMap::new();
    let step = found.len() / PAGES;
    for (number, page) in found.iter().step_by(step).take(PAGES).enumerate() {
        let text = std::fs::read_to_string(page).unwrap_or_default();
        let path = docs.join(format!("{number:05}.html"));
        std::fs::write(&path, &text).unwrap();
        let visible = visible(&text).to_lowercase();
        let words: BTreeSet<&str> = visible.split(|letter: char| !letter.is_alphabetic()).collect();
        for word in words.into_iter().filter(|word| word.is_ascii() && (4..=12).contains(&word.len())) {
            *frequency.entry(word.to_owned()).or_default() += 1;
        }
        html.insert(path.canonicalize().unwrap().display().to_string(), text);
    }
    // Words of a middle frequency, evenly over the alphabet.
    let middle: Vec<String> =
        frequency.into_iter().filter(|(_, pages)| (PAGES / 100..=PAGES / 5).contains(pages)).map(|of| of.0).collect();
    assert!(middle.len() >= QUERIES, "{}", middle.len());
    let queries = (0..QUERIES).map(|number| {
        let at = number * middle.len() / QUERIES;
        let other = (at + middle.len() / 2) % middle.len();
        if number % 2 == 0 { vec![middle[at].as_str()] } else { vec![middle[at].as_str(), middle[other].as_str()] }
    });
    crawl_of(folder.path(), CrawlPlan::of("docs", vec![SourcePlan::of_files("docs", docs.clone())]), CrawlMode::Full);
    let search = CrawlSearch::open(&folder.path().join("made/index")).unwrap();
    let settings = folder.path().join("recoll");
    std::fs::create_dir_all(&settings).unwrap();
    let text = format!(
        "topdirs = {}\ndbdir = {}/db\nfollowLinks = 0\nskippedNames =\nskippedPaths =\nnoaspell = 1\nloglevel = 1\n",
        docs.canonicalize().unwrap().display(),
        settings.display()
    );
    std::fs::write(settings.join("recoll.conf"), text).unwrap();
    let indexed = Command::new("recollindex").arg("-c").arg(&settings).arg("-z").output().unwrap();
    assert!(indexed.status.success(), "{}", String::from_utf8_lossy(&indexed.stderr));
    let (mut both, mut same_queries) = (0_usize, 0);
    let mut differences: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for words in queries {
        let ours: BTreeSet<String> = search.all(&words).unwrap().into_iter().collect();
        // A capital letter keeps recoll from looking for other forms of the word.
        let capital = words.iter().map(|word| format!("{}{}", word[..1].to_uppercase(), &word[1..]));
        let mut recollq = Command::new("recollq");
        let answer = recollq.arg("-c").arg(&settings).args(["-b", "-n", "0-100000"]).args(capital).output().unwrap();
        let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
        let theirs: BTreeSet<String> =
            answer.lines().filter_map(|line| line.trim().strip_prefix("file://")).map(str::to_owned).collect();
        both += ours.intersection(&theirs).count();
        same_queries += usize::from(ours == theirs);
        for (who, path) in ours
            .difference(&theirs)
            .map(|path| ("loadline alone", path))
            .chain(theirs.difference(&ours).map(|path| ("recoll alone", path)))
        {
            *differences.entry((who, cause(html.get(path).map_or("", String::as_str), &words))).or_default() += 1;
        }
    }
    let apart: usize = differences.values().sum();
    eprintln!(
        "{same_queries} of {QUERIES} searches have the same results; {both} results in both, {apart} in one alone"
    );
    for ((who, cause), count) in &differences {
        eprintln!("  {who}: {cause}: {count}");
    }
    assert!(both > 1_000 && apart * 10 < both, "{both} in both, {apart} in one alone");
}

//! A catalog of the user's own, downloaded from anywhere: what its names and texts say steers nothing, wherever they are shown.

use crate::hostile::{HOSTILE, steers};
use crate::pty::Pty;
use crate::{Bench, text};
use loadline_catalog::CatalogTexts;
use loadline_explorer::{CatalogBundle, Session};
use loadline_report::{ExplorerParts, explorer_page};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Files of a catalog: what they say at each place of a name or a text.
#[derive(Debug, Clone)]
struct Said<'a> {
    provider: &'a str,
    family: &'a str,
    region: &'a str,
    sold_as: &'a str,
    disk: &'a str,
    machine: &'a str,
    /// The beginning of an ARM machine's name.
    arm64: &'a str,
    /// Titles, sources, dates, notes, terms, reasons.
    words: &'a str,
}

const PLAIN: Said<'_> = Said {
    provider: "aws",
    family: "mine",
    region: "cellar",
    sold_as: "mine",
    disk: "mine",
    machine: "m9.large",
    arm64: "m9g",
    words: "words",
};

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

impl Said<'_> {
    fn files(&self) -> [(&'static str, String); 4] {
        let [provider, family, region, sold_as, disk, machine, arm64, words] =
            [self.provider, self.family, self.region, self.sold_as, self.disk, self.machine, self.arm64, self.words]
                .map(quoted);
        let head = |kind: &str| {
            format!(
                "schema = 1\nkind = \"{kind}\"\nprovider = {provider}\nfamily = {family}\ntitle = {words}\nsource = {words}\ndate = {words}\n"
            )
        };
        let disks = head("disk")
            + &format!("sold_as = {sold_as}\n[units]\npublished = \"MB/s\"\ntaken_as = \"MiB/s\"\nbecause = {words}\n")
            + &format!("[[deviation]]\nmeasured = {words}\nsource = {words}\nof = \"reads\"\n")
            + "[latency.read]\nmedian = \"300 us\"\np99 = \"900 us\"\n[latency.write]\nmedian = \"300 us\"\np99 = \"900 us\"\n"
            + &format!(
                "[disk]\n{disk} = {{ size = {{ least = \"1 GiB\", most = \"16 TiB\" }}, iops = \"90000 IOPS\", throughput = \"900 MB/s\", \
                 note = {words}, source = {words}, date = {words} }}\n"
            );
        let machines = head("vm")
            + &format!("arm64 = [{arm64}]\nbare_metal = {words}\ncpu_credits = [\"t9*\"]\n[vm]\n{machine} = {{ ")
            + &format!(
                "uncached = {{ iops = \"80000 IOPS\", throughput = \"900 MB/s\" }}, data_disks = 8, vcpus = 4, note = {words}, source = {words} }}\n"
            );
        let prices = head("prices")
            + &format!("terms = {words}\n[region.{region}]\n{disk} = \"0.01 USD per GiB-month\"\n")
            + &format!("{machine} = \"1 USD per month\"\n");
        let places = head("regions") + &format!("[place]\n\"us-east-1\" = {words}\n");
        [("a.toml", disks), ("b.toml", machines), ("c.toml", prices), ("d.toml", places)]
    }

    /// A folder of these files.
    fn folder(&self, bench: &Bench, name: &str) -> String {
        let folder = bench.path(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (file, text) in self.files() {
            std::fs::write(folder.join(file), text).unwrap();
        }
        folder.display().to_string()
    }
}

/// What a need of the catalog's is asked with.
fn advise(region: &str) -> Vec<String> {
    let words =
        ["advise", "--iops", "9000", "--size", "500GiB", "--provider", "aws", "--os-disk", "none", "--limits-only"];
    words.map(str::to_owned).into_iter().chain(["--region".to_owned(), region.to_owned()]).collect()
}

/// Every verb that shows it.
fn verbs(region: &str) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = Vec::new();
    let words = |of: &[&str]| of.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    for format in ["table", "markdown", "csv", "json"] {
        all.push(words(&["catalog", "list", "--name", "m", "--provider", "aws", "--kind", "disk", "--format", format]));
        all.push(words(&["catalog", "show", "aws/mine", "--format", format]));
        all.push(words(&["catalog", "show", "aws/m9.large", "--format", format]));
        all.push(words(&["predict", "load.toml", "--env", "disk.toml", "--limits-only", "--format", format]));
        all.push([advise(region), words(&["--format", format])].concat());
    }
    all.push(words(&["catalog", "list", "--name", "m9.large"]));
    all.push(words(&["environments", "cost", "disk.toml", "--region", region]));
    all.push([advise(region), words(&["--script", "aws-cli"])].concat());
    all.push([advise(region), words(&["--script", "terraform"])].concat());
    all
}

const ENVIRONMENT: &str = "schema = 1\nname = \"a\"\nvm = \"aws/m9.large\"\n[volume.data]\ndisks = [{ sku = \"aws/mine\", count = 1, size = \"500 GiB\" }]\n";
const LOAD: &str =
    "schema = 1\nname = \"load\"\n[[load]]\npattern = \"random\"\nblock = \"8 KiB\"\nduration = \"4 s\"\n";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("disk.toml", ENVIRONMENT);
    bench.file("load.toml", LOAD);
    bench
}

fn is_harmless(printed: &str) -> bool {
    !printed.contains("<script>alert") && steers(printed).is_none()
}

#[test]
fn texts_of_an_own_catalog_steer_no_output() {
    let bench = bench();
    let folder = Said { words: HOSTILE, ..PLAIN }.folder(&bench, "own");
    for verb in verbs("cellar") {
        let mut words: Vec<&str> = verb.iter().map(String::as_str).collect();
        words.extend(["--catalog", &folder]);
        let piped = bench.done(&words);
        let is_markdown = words.contains(&"markdown");
        assert!(!is_markdown || !piped.contains("<script>alert"), "{words:?}: {piped}");
        let mut terminal = Pty::start(&bench.command(&words), (200, 50));
        let status = terminal.child.wait().unwrap();
        terminal.wait("its words", |of| !of.raw().is_empty());
        let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
        // A line of progress is taken back by the command itself.
        let printed = raw.replace("\u{1b}[1A\u{1b}[J", "");
        assert_eq!(steers(&printed), None, "{words:?}, {status}: {raw:?}");
    }
    for file in ["advice.html", "advice.md"] {
        let place = bench.path(file).display().to_string();
        let asked = advise("cellar");
        let words: Vec<&str> = asked.iter().map(String::as_str).chain(["--catalog", &folder, "-o", &place]).collect();
        bench.done(&words);
        let page = std::fs::read_to_string(&place).unwrap();
        assert!(page.contains("aws/mine") && is_harmless(&page), "{file}");
    }
}

#[test]
fn scripts_have_no_line_of_a_catalogs_or_a_needs() {
    let bench = bench();
    for words in
        ["'; touch harmed; '", "\ntouch harmed\n", "$(touch harmed)", "`touch harmed`", "a'\"\\\nEND\ntouch harmed\n#"]
    {
        for said in [
            Said { words, ..PLAIN },
            Said { region: words, ..PLAIN },
            Said { sold_as: words, ..PLAIN },
            Said { family: words, ..PLAIN },
        ] {
            let folder = said.folder(&bench, "own");
            let need = format!("schema = 1\nname = {}\nsize = \"500 GiB\"\niops = \"9000 IOPS\"\n", quoted(words));
            let need = bench.file("need.toml", need);
            for tool in ["aws-cli", "terraform"] {
                let asked = [
                    "advise",
                    &need,
                    "--provider",
                    "aws",
                    "--region",
                    said.region,
                    "--os-disk",
                    "none",
                    "--limits-only",
                    "--catalog",
                    &folder,
                    "--script",
                    tool,
                ];
                let output = bench.run(&asked);
                let script = text(&output.stdout);
                let lines: Vec<&str> = script.lines().filter(|line| line.contains("touch harmed")).collect();
                assert!(
                    lines.iter().all(|line| line.starts_with('#') && line.len() < 400),
                    "{said:?}, {tool}: {script}"
                );
            }
        }
    }
}

/// Where a name stands: each of a hostile catalog in turn.
fn named(name: &str) -> [Said<'_>; 7] {
    [
        Said { provider: name, ..PLAIN },
        Said { family: name, ..PLAIN },
        Said { region: name, ..PLAIN },
        Said { sold_as: name, ..PLAIN },
        Said { disk: name, ..PLAIN },
        Said { machine: name, ..PLAIN },
        Said { arm64: name, ..PLAIN },
    ]
}

#[test]
fn names_of_an_own_catalog_are_refused_or_harmless() {
    let bench = bench();
    let long = "x".repeat(1 << 20);
    let stars = "*".repeat(60) + "0";
    for (number, name) in [HOSTILE, "../x", "/etc/x", "a\nb", "a|b", "", " ", &long, &stars].into_iter().enumerate() {
        for (place, said) in named(name).iter().enumerate() {
            let folder = said.folder(&bench, &format!("own{number}-{place}"));
            let of = |verb: &[&str]| bench.run(&[verb, &["--catalog", &folder]].concat());
            for verb in [
                &["catalog", "list", "--kind", "disk", "--name", "mine"][..],
                &["catalog", "show", "aws/mine"],
                &["predict", "load.toml", "--env", "disk.toml", "--limits-only"],
                &["advise", "--iops", "9000", "--size", "500GiB", "--limits-only"],
            ] {
                let output = of(verb);
                let (told, printed) = (text(&output.stderr), text(&output.stdout));
                let which = format!("name {number} at place {place}, {verb:?}: {}", output.status);
                assert!(matches!(output.status.code(), Some(0..=2)), "{which}: {}", &told[..told.len().min(2_000)]);
                assert!(steers(&told).is_none() && !told.contains("panicked"), "{which}: {told:?}");
                assert!(told.len() < 8_000, "{which}: {} bytes on standard error", told.len());
                assert!(printed.len() < 200_000, "{which}: {} bytes on standard output", printed.len());
                assert!(output.status.success() || !told.is_empty(), "{which}");
            }
        }
    }
}

/// What a page asks and is answered, with a catalog of these files over the one that comes along; `None`: it says that it cannot be read.
fn page_answers(said: &Said<'_>) -> Option<Vec<Value>> {
    let own = said.files().map(|(file, text)| (file.to_owned(), text)).to_vec();
    let bundle = CatalogBundle::of(CatalogTexts { own, ..CatalogTexts::default() });
    let mut session = Session::open(&bundle).ok()?;
    let buy = json!({"ask": "buy", "words": [["iops", "9000"], ["size", "500GiB"], ["provider", "aws"], ["region", said.region],
                      ["os-disk", "none"]], "values": true, "today": "2026-11-29"});
    let sku = format!("{}/{}", said.provider, said.disk);
    let storage = json!({"ask": "storage", "words": [["pattern", "random"], ["reads", "50%"], ["block", "8KiB"]],
                         "sides": [[["sku", sku], ["size", "500"]], [["sku", "aws/gp3"], ["size", "500"]]]});
    let mut answer = |question: &Value| serde_json::from_str(&session.answer(&question.to_string())).unwrap();
    Some(vec![answer(&json!({"ask": "choices"})), answer(&buy), answer(&storage)])
}

#[test]
fn the_page_that_computes_has_no_tag_and_no_command_of_a_catalog() {
    let mut of_names = 0;
    let breaks = "a\nEND_OF_FILE\ntouch harmed\n";
    let long = "x".repeat(1 << 20);
    let others = [HOSTILE, breaks, "../x", "'; touch harmed; '", &long];
    let all = others.into_iter().flat_map(|name| named(name).into_iter().chain([Said { words: name, ..PLAIN }]));
    for said in all {
        let Some(answers) = page_answers(&said) else { continue };
        of_names += 1;
        for answer in &answers {
            let html = answer["html"].as_str().unwrap_or_default();
            assert!(is_harmless(html), "{said:?}: {html}");
            let command = answer["command"].as_str().unwrap_or_default();
            let ends = command.lines().filter(|line| *line == "END_OF_FILE").count();
            assert!(ends % 3 == 0 && !command.lines().any(|line| line == "touch harmed"), "{said:?}: {command}");
        }
    }
    assert!(of_names > 4, "{of_names}");
    // The catalog's texts are packed in the page: nothing of them stands in it as it is.
    let mut own = String::new();
    let _ = write!(own, "{HOSTILE}</script><script>alert(1)</script>");
    let page = explorer_page(&ExplorerParts { module: b"m", catalog: own.as_bytes(), opening: &own, made: &own });
    assert!(!page.contains("<script>alert"), "{page}");
}

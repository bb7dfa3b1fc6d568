//! The page that computes: its answers are those of the command, and a browser gives the same.

use crate::browser::{Browser, axe};
use crate::{Bench, or_skip, text};
use loadline_catalog::CatalogTexts;
use loadline_explorer::{CatalogBundle, Session};
use loadline_report::{ExplorerParts, explorer_page};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// Questions that a gate draws; all of them are asked by the long test.
const DRAWN: usize = 6;
const DRAWN_LONG: usize = 200;

/// Numbers out of a seed, each in a range.
struct Draw(u64);

impl Draw {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }
    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

fn seed() -> u64 {
    std::env::var("LOADLINE_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Today, by which the command tells old prices, too.
fn today() -> String {
    text(&Command::new("date").args(["-u", "+%F"]).output().unwrap().stdout).trim().to_owned()
}

fn session() -> Session {
    Session::open(&CatalogBundle::of(CatalogTexts::default())).unwrap()
}

fn answered(session: &mut Session, question: &Value) -> Value {
    serde_json::from_str(&session.answer(&question.to_string())).unwrap()
}

/// What a shell makes of a command, whose first `loadline` is the one under test; its standard output as JSON.
fn by_command(bench: &Bench, command: &str) -> Value {
    let printed = by_shell(bench, &format!("{command} --format json"));
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{command}: {error}"))
}

/// The same as it is printed.
fn by_shell(bench: &Bench, command: &str) -> String {
    let commands = bench.path("bin");
    std::fs::create_dir_all(&commands).unwrap();
    let link = commands.join("loadline");
    if !link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_loadline"), &link).unwrap();
    }
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{command} --quiet")).current_dir(bench.path(""));
    shell.env("PATH", format!("{}:{}", commands.display(), std::env::var("PATH").unwrap_or_default()));
    let output = shell.env("HOME", bench.path("home")).env_remove("XDG_DATA_HOME").output().unwrap();
    assert!(!output.stdout.is_empty(), "{command}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// A need in words.
fn drawn_need(draw: &mut Draw) -> Vec<[String; 2]> {
    let iops = [100, 500, 2_000, 9_000, 30_000, 120_000][draw.below(6) as usize] + draw.below(90);
    let mut words = vec![
        ["iops".to_owned(), iops.to_string()],
        ["reads".to_owned(), format!("{}%", draw.below(101))],
        ["block".to_owned(), draw.of(&["4KiB", "8KiB", "16KiB", "64KiB", "256KiB"]).to_owned()],
        ["size".to_owned(), format!("{}GiB", 20 + draw.below(4_000))],
    ];
    let mut often = |field: &str, typed: String, draw: &mut Draw| {
        if draw.below(3) == 0 {
            words.push([field.to_owned(), typed]);
        }
    };
    let growth = format!("{}%", draw.below(120));
    often("growth", growth, draw);
    let vcpus = (1 + draw.below(16)).to_string();
    often("vcpus", vcpus, draw);
    let memory = format!("{}GiB", 2 + draw.below(64));
    often("memory", memory, draw);
    let arch = draw.of(&["x86_64", "arm64"]).to_owned();
    often("arch", arch, draw);
    often("sequential", "yes".to_owned(), draw);
    let provider = draw.of(&["aws", "azure", "gcp"]).to_owned();
    often("provider", provider, draw);
    words
}

/// The same as options.
fn options(words: &[[String; 2]]) -> String {
    let mut options = String::new();
    for [field, typed] in words {
        let value = if typed == "yes" { "" } else { typed };
        write!(options, " --{field} {value}").unwrap();
    }
    options
}

/// A load and the storage under it, in words.
fn drawn_storage(draw: &mut Draw, session: &mut Session) -> (Value, Value) {
    let choices = answered(session, &json!({"ask": "choices"}));
    let pick = |name: &str, draw: &mut Draw| {
        let all = choices[name].as_array().unwrap();
        all[draw.below(all.len() as u64) as usize].as_str().unwrap().to_owned()
    };
    let words = json!([
        ["pattern", draw.of(&["random", "sequential"])],
        ["reads", format!("{}%", draw.below(101))],
        ["block", draw.of(&["4KiB", "8KiB", "64KiB", "1MiB"])],
        ["bursts", draw.of(&["full", "empty"])],
    ]);
    let side = json!([
        ["vm", pick("machines", draw)],
        ["sku", pick("disks", draw)],
        ["count", (1 + draw.below(4)).to_string()],
        ["host-cache", draw.of(&["none", "none", "read-only"])],
    ]);
    (words, json!([side, choices["sides"][0]]))
}

/// The answer for a drawn storage. What a machine does not take, or whose size must be said, is refused, and the next is drawn.
fn taken_storage(draw: &mut Draw, session: &mut Session) -> Value {
    for _ in 0..200 {
        let (words, sides) = drawn_storage(draw, session);
        let answer = answered(session, &json!({"ask": "storage", "words": words, "sides": sides, "values": true}));
        if answer["command"].is_string() {
            return answer;
        }
        assert!(!answer["problems"][0]["text"].as_str().unwrap().is_empty());
    }
    panic!("of 200 drawn storages none was taken");
}

fn held_to_the_command(count: usize) {
    let (bench, mut session, mut draw) = (Bench::new(), session(), Draw(seed()));
    for number in 0..count {
        let words = drawn_need(&mut draw);
        let answer = answered(&mut session, &json!({"ask": "buy", "words": words, "values": true, "today": today()}));
        let Some(command) = answer["command"].as_str() else {
            // The page names the field of a filter that leaves nothing. The command finds nothing there.
            let command = format!("loadline advise{} --limits-only", options(&words));
            assert_eq!(by_command(&bench, &command)["candidates"], json!([]), "{command}: {}", answer["problems"]);
            continue;
        };
        let command = format!("{command} --limits-only");
        assert_eq!(answer["values"], by_command(&bench, &command), "{command}");
        if number % 5 == 0 {
            let words: Vec<Value> = words.iter().map(|word| json!(word)).chain([json!(["p99", "12ms"])]).collect();
            let asked = json!({"ask": "buy", "words": words, "values": true, "today": today(), "simulate": 0});
            let answer = answered(&mut session, &asked);
            let command = answer["command"].as_str().unwrap();
            assert_eq!(answer["values"], by_command(&bench, command), "{command}");
        }
        let answer = taken_storage(&mut draw, &mut session);
        let command = answer["command"].as_str().unwrap();
        assert_eq!(figures(&answer["values"]), figures(&by_command(&bench, command)["rows"]), "{command}");
    }
}

/// Rows without the environment's name, which is a file's there.
fn figures(rows: &Value) -> Vec<Value> {
    let mut rows = rows.as_array().expect("rows").clone();
    for row in &mut rows {
        row["environment"] = Value::Null;
    }
    rows
}

#[test]
fn answers_are_those_of_the_command_that_stands_below_them() {
    held_to_the_command(DRAWN);
}

#[test]
#[ignore = "long: 200 drawn questions, each by the command, too"]
fn answers_are_those_of_the_command_for_200_drawn_questions() {
    held_to_the_command(DRAWN_LONG);
}

#[test]
fn simulated_rows_are_those_of_the_command() {
    let (bench, mut session) = (Bench::new(), session());
    let choices = answered(&mut session, &json!({"ask": "choices"}));
    let words = json!([["pattern", "random"], ["reads", "70%"], ["block", "64KiB"], ["p99", "20ms"]]);
    let question = |row: usize| json!({"ask": "storage", "words": words, "sides": [choices["sides"][0]], "values": true, "simulate": row});
    let mut answer = answered(&mut session, &question(0));
    let mut row = 0;
    while answer["more"] == true {
        row += 1;
        answer = answered(&mut session, &question(row));
    }
    let command = answer["command"].as_str().unwrap();
    assert_eq!(figures(&answer["values"]), figures(&by_command(&bench, command)["rows"]), "{command}");
    assert!(answer["html"].as_str().unwrap().contains("p99"));
    // The command prints the latencies as it stands, in its table.
    let shown = by_shell(&bench, command);
    assert!(shown.lines().next().unwrap().contains("p99") && shown.contains(" ms"), "{shown}");
}

#[test]
fn a_field_that_cannot_be_is_named_and_the_others_are_kept() {
    let mut session = session();
    let words = json!([["iops", "many"], ["size", "500GiB"], ["budget", "-1"]]);
    let answer = answered(&mut session, &json!({"ask": "buy", "words": words}));
    let fields: Vec<&str> =
        answer["problems"].as_array().unwrap().iter().map(|problem| problem["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["iops", "budget"]);
    let side = json!([["vm", "nothing/like-this"], ["sku", ""]]);
    let words = json!([["pattern", "random"], ["reads", "100%"], ["block", "8KiB"]]);
    let answer = answered(&mut session, &json!({"ask": "storage", "words": words, "sides": [side]}));
    assert_eq!(answer["problems"][0]["field"], "a.vm", "{answer}");
    assert!(answer["html"].is_null());
    let answer = answered(&mut session, &json!({"ask": "weather"}));
    assert!(!answer["problems"][0]["text"].as_str().unwrap().is_empty());
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// The page with the module as it is shipped, built here.
fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--package", "loadline-browser", "--target", "wasm32-unknown-unknown", "--profile", "module"]);
    // Where the build of the command has it.
    let folder = root.join("target/page");
    cargo.arg("--target-dir").arg(&folder).current_dir(&root);
    assert!(cargo.status().unwrap().success(), "rustup target add wasm32-unknown-unknown");
    let module = std::fs::read(folder.join("wasm32-unknown-unknown/module/loadline_browser.wasm")).unwrap();
    let bundle = serde_json::to_vec(&CatalogBundle::of(CatalogTexts::default())).unwrap();
    let (module, catalog) = (packed(&module), packed(&bundle));
    println!("module {} kB packed, catalog {} kB packed", module.len() / 1000, catalog.len() / 1000);
    explorer_page(&ExplorerParts { module: &module, catalog: &catalog, opening: "", made: "of a test" })
}

/// Waits until the page shows its answer by limits to the question that its address has, or all of the simulated one.
const ANSWERED: &str = "new Promise((go) => { const look = () => { const all = document.body.dataset; \
                        const state = document.getElementById((location.hash.slice(1).split('&')[0] || 'buy') + '-state').textContent; \
                        if (all.answered && (WANTED)) go(state); else setTimeout(look, 10); }; look(); })";

fn wait(browser: &mut Browser, simulated: bool) -> String {
    let wanted =
        if simulated { "state.startsWith('By simulation') || state.includes('red')" } else { "state.startsWith('By')" };
    browser.text(&ANSWERED.replace("WANTED", wanted))
}

/// The page answers as the session does on this machine, moves in time, and can be used by keys, in the dark and on a phone.
#[test]
#[ignore = "long: the module is built, and questions are asked in a browser"]
fn a_browser_gives_the_same_answers_and_can_be_used_without_a_mouse() {
    let bench = Bench::new();
    let page = page();
    println!("page {} kB, {} kB packed", page.len() / 1000, packed(page.as_bytes()).len() / 1000);
    let file = bench.file("explorer.html", &page);
    let mut browser = or_skip!(Browser::start(), "it takes chromium");
    browser.resize(1200, 900);
    browser.open(Path::new(&file));
    wait(&mut browser, true);
    let (mut session, mut draw) = (session(), Draw(seed()));
    for _ in 0..20 {
        let words = drawn_need(&mut draw);
        // Units are the fields' own; a box that is not said is as it was.
        let plain = |typed: &str| typed.trim_end_matches(['%', 'K', 'G', 'i', 'B']).to_owned();
        let providers: Vec<&[String; 2]> = words.iter().filter(|word| word[0] == "provider").collect();
        let mut address = "buy&p99=".to_owned();
        for [field, typed] in words.iter().filter(|word| word[0] != "provider") {
            write!(address, "&{field}={}", plain(typed)).unwrap();
        }
        if let Some([_, name]) = providers.first() {
            for other in ["aws", "azure", "gcp"].iter().filter(|other| *other != name) {
                write!(address, "&provider.{other}=").unwrap();
            }
        }
        let has_growth = words.iter().any(|word| word[0] == "growth");
        let today = browser.text("new Date().toISOString().slice(0, 10)");
        browser.value(&format!("document.body.dataset.answered = ''; location.hash = '#{address}'; undefined"));
        browser.value("new Promise((go) => setTimeout(go, 50))");
        wait(&mut browser, false);
        let mut words = words.clone();
        if !has_growth {
            words.push(["growth".to_owned(), "0%".to_owned()]);
        }
        let answer = answered(&mut session, &json!({"ask": "buy", "words": words, "today": today}));
        let same = browser.value(&format!(
            "(() => {{ const made = document.createElement('div'); made.innerHTML = {}; \
             return made.textContent === document.getElementById('buy-answer').textContent; }})()",
            answer["html"]
        ));
        assert_eq!(same, true, "{address}");
    }
    // Moves of a slider, from the key to the new rows.
    let times = browser.value(
        "(async () => { location.hash = '#buy&p99=&provider.aws=&provider.gcp='; await new Promise((go) => setTimeout(go, 500)); \
         const slider = document.querySelector('#buy input[type=range]'); const all = []; \
         for (let move = 0; move < 20; move += 1) { const since = performance.now(); document.body.dataset.answered = ''; \
         slider.value = Number(slider.value) + 1; slider.dispatchEvent(new Event('input')); \
         while (!document.body.dataset.answered.startsWith('limits')) await new Promise((go) => setTimeout(go, 1)); \
         all.push(performance.now() - since); await new Promise((go) => setTimeout(go, 300)); } return all.sort((a, b) => a - b); })()",
    );
    println!("a move of a slider to new rows, one cloud, ms: {times}");
    // A drag: rows follow while it moves, and no question of the way is left to answer when it rests.
    let followed = browser.value(
        "(async () => { const slider = document.querySelector('#buy input[type=range]'); let shown = 0; \
         const watch = new MutationObserver(() => { shown += 1; }); watch.observe(document.getElementById('buy-answer'), { childList: true }); \
         for (let move = 0; move < 40; move += 1) { document.body.dataset.answered = ''; slider.value = Number(slider.value) + (move < 20 ? 1 : -1); \
         slider.dispatchEvent(new Event('input')); await new Promise((go) => setTimeout(go, 50)); } \
         const during = shown; const since = performance.now(); \
         while (!document.body.dataset.answered.startsWith('limits')) await new Promise((go) => setTimeout(go, 1)); \
         watch.disconnect(); return { during, after: shown - during, ms: Math.round(performance.now() - since) }; })()",
    );
    println!("a drag of 40 moves: rows during it, after it, ms until the last: {followed}");
    assert!(followed["during"].as_u64() > Some(1) && followed["after"].as_u64() < Some(4), "{followed}");
    // The other question.
    browser.value("document.body.dataset.answered = ''; document.getElementById('tab-storage').click(); undefined");
    wait(&mut browser, true);
    let shown = browser.text("document.getElementById('storage-answer').textContent");
    assert!(shown.contains("IOPS at most") && shown.contains("p99"), "{shown}");
    assert!(browser.text("document.getElementById('storage-command').textContent").contains("loadline predict"));
    browser.value("document.getElementById('tab-buy').click(); undefined");
    wait(&mut browser, true);
    assert!(browser.tab_to("document.activeElement.name === 'iops'") < 8);
    let spoken = browser.text("document.querySelector('#buy input[type=range]').getAttribute('aria-valuetext')");
    let written = browser.text("document.querySelector('#buy [name=iops]').value");
    assert!(!written.is_empty() && spoken.starts_with(&written), "{spoken}, {written} in the field");
    // What cannot be leaves the old answer, grey and not to be copied; so do boxes of which none is ticked.
    let is_old = "document.getElementById('buy-answer').classList.contains('stale') && \
                  document.querySelector('[data-copy=buy-command]').disabled";
    let state = "document.getElementById('buy-state').textContent";
    for (address, field) in [
        ("iops=many", "iops"),
        ("provider.aws=&provider.azure=&provider.gcp=", "provider"),
        ("machine=no%20such", "machine"),
    ] {
        // The answer before was no answer either: it is not taken for this one.
        browser.value(&format!("document.body.dataset.answered = ''; location.hash = '#buy&{address}'; undefined"));
        let until = format!(
            "new Promise((go) => {{ const look = () => document.body.dataset.answered && ({is_old}) && \
             {state}.includes('question before') ? go('old') : setTimeout(look, 10); look(); }})"
        );
        assert_eq!(browser.text(&until), "old");
        assert_eq!(browser.text("document.querySelector('#buy [aria-invalid]').name"), field);
        assert_eq!(browser.value("document.querySelectorAll('#buy .problem').length"), 1, "{field}");
    }
    browser.value("document.body.dataset.answered = ''; location.hash = '#buy'; undefined");
    wait(&mut browser, true);
    assert_eq!(browser.value(is_old), false);
    // The other question takes the first two choices of this one, and calls them a and b.
    browser.value("document.getElementById('tab-storage').click(); document.getElementById('take').click(); undefined");
    browser.value("new Promise((go) => setTimeout(go, 1000))");
    wait(&mut browser, false);
    let shown = browser.text("document.getElementById('storage-answer').textContent");
    assert!(shown.contains("storage a") && shown.contains("storage b"), "{shown}");
    browser.value("document.getElementById('tab-buy').click(); undefined");
    wait(&mut browser, false);
    assert_eq!(browser.complaints, Vec::<String>::new());
    let axe = or_skip!(axe(), "it takes axe-core: cargo xtask peers --long");
    for (scheme, width) in [("light", 1200), ("dark", 1200), ("light", 390), ("dark", 390)] {
        browser.prefer("prefers-color-scheme", scheme);
        browser.resize(width, 900);
        for tab in ["buy", "storage"] {
            browser.value(&format!("document.getElementById('tab-{tab}').click(); undefined"));
            wait(&mut browser, false);
            assert_eq!(browser.violations(&axe), Vec::<String>::new(), "{scheme} {width} {tab}");
            assert_eq!(browser.sideways(), 0, "{scheme} {width} {tab}");
        }
    }
}

//! `report --all`: a folder of pages that is brought up to date, and read in a browser.

use crate::browser::{Browser, axe};
use crate::{Bench, entries, or_skip};
use loadline_record::{RunRecord, Tag};
use loadline_store::Store;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const PLAN: &str = "schema = 1\nname = \"nightly\"\n[[load]]\nblock = \"4 KiB\"\nqueue_depth = [4, 16]\nduration = \"1 s\"\nsize = \"1 GiB\"\n";
const DISK: &str = "schema = 1\nname = \"disk\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p30\" }]\n";
const NO_BROWSER: &str = "it takes chromium";

/// A store with three runs of one name, one of another, and one whose name is hostile.
fn filled() -> Bench {
    let bench = Bench::new();
    let (plan, env) = (bench.file("plan.toml", PLAN), bench.file("disk.toml", DISK));
    let predict = |seed: &str, more: &[&str]| {
        let words = ["predict", &plan, "--env", &env, "--quiet", "--seed", seed, "--draws", "1"];
        bench.done(&[&words[..], more].concat());
    };
    predict("1", &["--tag", "host=db1", "--tag", "baseline"]);
    predict("2", &["--tag", "host=db1"]);
    predict("3", &[]);
    predict("4", &["--name", "other"]);
    predict("5", &["--name", "<img src=x onerror=alert(1)> --> \"'&"]);
    bench
}

/// The pages below the folder, with what tells whether they were written again.
fn pages(folder: &Path) -> BTreeMap<String, (u64, String)> {
    let mut all = BTreeMap::new();
    for inner in ["", "runs/"] {
        for name in entries(&folder.join(inner)) {
            let path = folder.join(inner).join(&name);
            if path.is_file() {
                let number = std::fs::metadata(&path).unwrap().ino();
                all.insert(format!("{inner}{name}"), (number, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    all
}

/// What is there under the same name, but was written again.
fn changed(before: &BTreeMap<String, (u64, String)>, now: &BTreeMap<String, (u64, String)>) -> Vec<String> {
    let differs = |name: &&String| before.get(*name).is_some_and(|old| old.0 != now[*name].0);
    now.keys().filter(differs).cloned().collect()
}

#[test]
fn a_folder_has_an_index_and_a_page_for_each_run_and_only_what_changed_is_written_again() {
    let bench = filled();
    let folder = bench.path("pages");
    let report = |more: &[&str]| bench.done(&[&["report", "--all", "-o", "pages", "--quiet"], more].concat());
    report(&[]);
    let first = pages(&folder);
    let runs = bench.runs();
    let page = |place: usize| format!("runs/{}.html", runs[place]["run"].as_str().unwrap());
    let month = format!("{}.html", &runs[0]["started"].as_str().unwrap()[..7]);
    let mut wanted: Vec<String> = (0..5).map(page).chain([month.clone(), "index.html".to_owned()]).collect();
    wanted.sort();
    assert_eq!(first.keys().cloned().collect::<Vec<_>>(), wanted);
    // The list has the newest first: 4 is the baseline, 3 and 2 follow it.
    let links = |place: usize| -> Vec<usize> {
        let (_, html) = &first[&page(place)];
        (0..5).filter(|of| html.contains(&format!("href=\"{}\"", &page(*of)["runs/".len()..]))).collect()
    };
    assert_eq!((links(4), links(3), links(2), links(1)), (vec![], vec![4], vec![3, 4], vec![4]));
    for (name, (_, html)) in &first {
        assert!(!html.contains("<img") && !html.contains("src=\"") && !html.contains("href=\"http"), "{name}");
        assert!(html.contains("default-src 'none'"), "{name}");
    }

    report(&[]);
    assert_eq!(changed(&first, &pages(&folder)), Vec::<String>::new());
    // A tag is about its own page and the index; a new run has a page, and changes none.
    bench.done(&["tag", "2", "--note", "new kernel"]);
    report(&[]);
    let tagged = pages(&folder);
    assert_eq!(changed(&first, &tagged), [month.clone(), "index.html".to_owned(), page(3)]);
    let (plan, env) = (bench.path("plan.toml").display().to_string(), bench.path("disk.toml").display().to_string());
    bench.done(&["predict", &plan, "--env", &env, "--quiet", "--seed", "6", "--draws", "1"]);
    report(&[]);
    let grown = pages(&folder);
    assert_eq!(changed(&tagged, &grown), [month.clone(), "index.html".to_owned()]);
    assert_eq!(grown.len(), tagged.len() + 1);
    // What is not shown any more goes, and what is not ours stays.
    std::fs::write(folder.join("runs/mine.html"), "<!DOCTYPE html>\nmine").unwrap();
    report(&["--tag", "host=db1"]);
    let mut left = vec![month.clone(), "index.html".to_owned(), page(3), page(4), "runs/mine.html".to_owned()];
    left.sort();
    assert_eq!(pages(&folder).into_keys().collect::<Vec<_>>(), left);
}

#[test]
fn what_another_put_in_the_place_of_the_index_is_left_alone() {
    let bench = filled();
    std::fs::create_dir(bench.path("pages")).unwrap();
    std::fs::write(bench.path("pages/index.html"), "<!DOCTYPE html>\nmy home page").unwrap();
    let refused = bench.refused(2, &["report", "--all", "-o", "pages"]);
    assert!(refused.contains("--force") && refused.contains("index.html"), "{refused}");
    assert_eq!(entries(&bench.path("pages/runs")), Vec::<String>::new(), "nothing was written");
    bench.done(&["report", "--all", "-o", "pages", "--force", "--quiet"]);
    assert!(bench.refused(2, &["report", "--all"]).contains("--output"));
    assert!(bench.refused(2, &["report", "last", "--tag", "baseline"]).contains("--all"));
}

#[test]
fn tags_the_note_and_the_page_of_a_run_are_the_same_in_every_form() {
    let bench = filled();
    bench.done(&["tag", "1", "--note", "before the new kernel"]);
    let document = bench.document(&["show", "1"]);
    let tags: Vec<Tag> = serde_json::from_value(document["run"]["tags"].clone()).unwrap();
    let tags: Vec<String> = tags.iter().map(Tag::to_string).collect();
    assert_eq!(tags, ["baseline", "host=db1", "note=before the new kernel"]);
    bench.done(&["report", "1", "-o", "one.html"]);
    let page = std::fs::read_to_string(bench.path("one.html")).unwrap();
    for shown in [bench.done(&["show", "1"]), bench.done(&["show", "1", "--format", "markdown"]), page] {
        assert!(shown.contains("baseline host=db1") && shown.contains("before the new kernel"), "{shown}");
    }
}

#[test]
fn a_page_is_whole_whenever_the_command_is_killed() {
    let bench = filled();
    let store = Store::open(&bench.path("store.db")).unwrap();
    copies(&store, 60);
    let folder = bench.path("pages");
    let whole =
        |html: &str| html.starts_with("<!DOCTYPE html>\n<!-- loadline report -->\n") && html.ends_with("</html>\n");
    let mut seen = 0;
    while seen < 65 {
        let mut command = bench.command(&["report", "--all", "-o", "pages", "--quiet"]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        // Until it has made some pages more.
        let is_over = loop {
            let count = folder.join("runs").read_dir().map_or(0, Iterator::count);
            if let Some(status) = child.try_wait().unwrap() {
                break status.success();
            }
            if count >= seen + 15 {
                child.kill().unwrap();
                child.wait().unwrap();
                break false;
            }
        };
        let all = pages(&folder);
        let of_runs = all.iter().filter(|(name, _)| name.starts_with("runs/") && is_page(name));
        let now = of_runs.inspect(|(name, (_, html))| assert!(whole(html), "{name}")).count();
        assert!(now > seen || is_over);
        seen = now;
    }
    bench.done(&["report", "--all", "-o", "pages", "--quiet"]);
    assert!(pages(&folder).keys().all(|name| is_page(name)), "nothing is left on its way");
}

fn is_page(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "html")
}

/// Adds so many runs to a store, an hour apart: copies of its first, under names of their own.
fn copies(store: &Store, count: u32) {
    let record = store.load(&store.resolve("1").unwrap()).unwrap();
    for number in 0..count {
        let (day, hour) = (number / 24, number % 24);
        let (month, day) = (1 + day / 28, 1 + day % 28);
        let mut copy = RunRecord::clone(&record);
        copy.header.id = format!("2025{month:02}{day:02}-{hour:02}0000-{number:06x}");
        copy.header.started = format!("2025-{month:02}-{day:02}T{hour:02}:00:00Z");
        ["nightly", "hourly", "weekly"][number as usize % 3].clone_into(&mut copy.header.name);
        store.replace_run(&copy).unwrap();
    }
}

/// A folder of 1,000 runs.
fn thousand() -> (Bench, PathBuf) {
    let bench = filled();
    let store = Store::open(&bench.path("store.db")).unwrap();
    copies(&store, 995);
    let odd = store.resolve("20250105-0500").unwrap();
    store.tag(&odd, &["host=odd1".parse().unwrap(), Tag::new("note", "the night of the flood").unwrap()], &[]).unwrap();
    drop(store);
    bench.done(&["report", "--all", "-o", "pages", "--quiet"]);
    let folder = bench.path("pages");
    (bench, folder)
}

#[test]
#[ignore = "long: a thousand runs in a browser"]
fn a_run_is_found_among_a_thousand_and_three_are_compared() {
    let mut browser = or_skip!(Browser::start(), NO_BROWSER);
    let (bench, folder) = thousand();
    browser.resize(1280, 900);
    browser.open(&folder.join("index.html"));
    assert_eq!(browser.value("document.querySelectorAll('.runs tbody').length"), 500);
    // It is none of the newest: the search knows it all the same.
    browser.tab_to("document.activeElement.matches('.filter')");
    browser.type_in("flood");
    assert_eq!(browser.text("document.querySelector('.found').textContent"), "1 of 1000");
    let shown = "Array.from(document.querySelectorAll('.runs tbody')).filter(b => !b.hidden)";
    assert_eq!(browser.value(&format!("{shown}.length")), 1);
    let page = browser.text(&format!("{shown}[0].querySelector('a').href"));
    assert!(page.contains("/runs/20250105-0500"), "{page}");
    // From the keyboard alone: to its box, then to its link.
    browser.tab_to("document.activeElement.matches('.runs tbody:not([hidden]) input')");
    browser.press(" ");
    browser.tab_to("document.activeElement.matches('.runs tbody:not([hidden]) a')");
    browser.follow(|browser| browser.press("Enter"));
    assert_eq!(browser.text("document.querySelector('h2').textContent"), "Beside other runs");
    assert!(browser.text("document.querySelector('.remark').textContent").contains("host=odd1"));
    assert!(browser.value("document.querySelectorAll('#r1-beside a').length").as_u64().unwrap() >= 2);
    assert_eq!(browser.complaints, Vec::<String>::new());

    // Sorting by a heading, from the keyboard.
    browser.open(&folder.join("index.html"));
    browser.tab_to("document.activeElement.closest('thead') && document.activeElement.textContent.includes('started')");
    browser.press("Enter");
    let first = "document.querySelector('.runs tbody td').textContent";
    let oldest = browser.text(first);
    browser.press("Enter");
    assert!(oldest < browser.text(first));
    // Three are picked; the command that the page prints runs as printed.
    browser.open(&folder.join("index.html"));
    for place in 1..=3 {
        browser.tab_to(&format!("document.activeElement === document.querySelectorAll('.runs tbody input')[{place}]"));
        browser.press(" ");
    }
    let commands = browser.value("Array.from(document.querySelectorAll('.picked code')).map(c => c.textContent)");
    let links = browser.value("document.querySelectorAll('.picked a').length");
    assert_eq!(links, 3);
    for command in commands.as_array().unwrap() {
        let words: Vec<&str> = command.as_str().unwrap().split(' ').collect();
        assert_eq!(words[0], "loadline");
        bench.done(&words[1..]);
    }
    assert!(bench.path("side-by-side.html").is_file());
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "long: many pages in a browser"]
fn pages_are_for_everybody_dark_or_light_wide_or_narrow_with_script_or_without() {
    let mut browser = or_skip!(Browser::start(), NO_BROWSER);
    let axe = or_skip!(axe(), "it takes axe-core: npm install axe-core");
    let bench = filled();
    copies(&Store::open(&bench.path("store.db")).unwrap(), 60);
    bench.done(&["report", "--all", "-o", "pages", "--quiet"]);
    let folder = bench.path("pages");
    let last = bench.runs().into_iter().find(|run| run["number"] == 3).unwrap();
    let of_run = format!("runs/{}.html", last["run"].as_str().unwrap());
    for width in [1280, 390] {
        for scheme in ["light", "dark"] {
            browser.prefer("prefers-color-scheme", scheme);
            browser.resize(width, 844);
            for page in ["index.html", "2025-01.html", &of_run] {
                browser.open(&folder.join(page));
                assert!(browser.sideways() <= 0, "{page} at {width} scrolls sideways by {}", browser.sideways());
                let found = browser.violations(&axe);
                assert_eq!(found, Vec::<String>::new(), "{page} at {width}, {scheme}");
                let ground = browser.text("getComputedStyle(document.body).backgroundColor");
                assert_eq!(ground == "rgb(255, 255, 255)", scheme == "light", "{ground}");
            }
        }
    }
    let scrolls = "getComputedStyle(document.documentElement).scrollBehavior";
    assert_eq!(browser.text(scrolls), "smooth");
    browser.prefer("prefers-reduced-motion", "reduce");
    assert_eq!(browser.text(scrolls), "auto");
    assert_eq!(browser.complaints, Vec::<String>::new());
    browser.run_scripts(false);
    browser.open(&folder.join("index.html"));
    assert_eq!(browser.value("document.querySelectorAll('.runs tbody a').length"), 65);
    assert_eq!(browser.value("document.querySelectorAll('.months a').length").as_u64().map(|n| n > 1), Some(true));
    let hidden = "getComputedStyle(document.querySelector('.tools')).display";
    assert_eq!(browser.text(hidden), "none", "what needs a script is not shown");
}

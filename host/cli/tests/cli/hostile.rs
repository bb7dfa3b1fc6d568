//! Names that were made to steer: whatever form prints them, they are text.

use crate::Bench;
use crate::pty::Pty;
use std::os::unix::net::UnixListener;

/// A title, a colour, a move of the cursor, tags, cells, code, lines, writing directions.
pub(crate) const HOSTILE: &str = "x\x1b]0;title\x07\x1b[31m\x1b[2J\u{9b}1A<script>alert(1)</script>|`a`|\r\n# y\u{202e}z\u{200f}\u{2066}q\u{2028}=1+1";

/// Every form in which something is printed.
const FORMS: [&[&str]; 22] = [
    &["list"],
    &["list", "--format", "markdown"],
    &["list", "--format", "csv"],
    &["list", "--format", "json"],
    &["show", "last"],
    &["show", "last", "--all"],
    &["show", "last", "--format", "markdown"],
    &["show", "last", "--format", "csv"],
    &["show", "last", "--format", "json"],
    &["compare", "1", "2"],
    &["compare", "1", "2", "--format", "markdown"],
    &["compare", "1", "2", "--format", "csv"],
    &["export", "last", "--as", "csv"],
    &["export", "last", "--as", "openmetrics"],
    &["export", "last", "--as", "fio"],
    &["export", "last", "--as", "record"],
    &["export", "last", "--as", "customBiggerIsBetter"],
    &["tag", "last"],
    &["show", HOSTILE],
    &["report", HOSTILE],
    &["import", HOSTILE],
    &["plans", HOSTILE],
];

/// fio's results of jobs, targets and a version of this name.
fn results() -> String {
    let job = |direction: &str| {
        serde_json::json!({
            "jobname": format!("{direction} {HOSTILE}"),
            "job options": {"rw": direction, "bs": "4k", "filename": format!("/tmp/{HOSTILE}"), "iodepth": "4", "ioengine": "libaio", "runtime": "10"},
            "job_runtime": 10_000,
            "read": {"io_bytes": 40_960_000, "io_kbytes": 40_000, "total_ios": 10_000, "runtime": 10_000, "iops": 1000.0},
        })
    };
    let all = serde_json::json!({"fio version": "fio-3.33", "timestamp": 1_700_000_000, "jobs": [job("read"), job("randread")]});
    all.to_string()
}

fn stored() -> Bench {
    let bench = Bench::new();
    let file = bench.file("results.json", results());
    for _ in 0..2 {
        let tag = format!("host={HOSTILE}");
        let named = bench.run(&["import", &file, "--name", HOSTILE, "--tag", &tag]);
        if !named.status.success() {
            // A name and a tag may be refused; what the file says is not the user's choice.
            bench.done(&["import", &file]);
        }
        let _ = bench.run(&["tag", "last", "--note", HOSTILE]);
    }
    bench
}

/// What steers a terminal, besides colours of our own.
pub(crate) fn steers(text: &str) -> Option<char> {
    let mut rest = text.to_owned();
    while let Some(at) = rest.find("\x1b[") {
        let code = rest[at + 2..].trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        if !code.starts_with('m') {
            return Some('\x1b');
        }
        rest = format!("{}{}", &rest[..at], &code[1..]);
    }
    rest.chars().find(|c| {
        (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

#[test]
fn no_form_lets_a_name_steer_the_terminal() {
    let bench = stored();
    for form in FORMS {
        let mut terminal = Pty::start(&bench.command(form), (200, 50));
        let status = terminal.child.wait().unwrap();
        terminal.wait("its words", |of| !of.raw().is_empty());
        let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
        assert_eq!(steers(&raw), None, "{form:?}, {status}: {raw:?}");
    }
}

#[test]
fn no_markdown_and_no_page_has_a_tag_of_a_name() {
    let bench = stored();
    for form in [
        &["list", "--format", "markdown"][..],
        &["show", "last", "--format", "markdown"],
        &["compare", "1", "2", "--format", "markdown"],
    ] {
        let text = bench.done(form);
        assert!(!text.contains("<script>alert") && steers(&text).is_none(), "{form:?}: {text}");
        assert!(!text.lines().any(|line| line.starts_with("# y")), "{form:?}: {text}");
    }
    for (form, file) in [(&["report", "last", "-o"][..], "r.html"), (&["report", "1", "2", "-o"], "c.html")] {
        let place = bench.path(file).display().to_string();
        bench.done(&[form, &[place.as_str()]].concat());
        let text = std::fs::read_to_string(&place).unwrap();
        assert!(!text.contains("<script>alert") && steers(&text).is_none(), "{file}");
    }
}

#[test]
fn what_is_attached_to_is_not_believed() {
    let bench = Bench::new();
    let attached = || bench.command(&["live", "a", "--lines"]).env("XDG_RUNTIME_DIR", bench.folder.path()).output();
    // Frames without an end.
    let listener = UnixListener::bind(bench.path("loadline-live-a.sock")).unwrap();
    std::thread::spawn(move || {
        use std::io::Write as _;
        let (mut client, _) = listener.accept().unwrap();
        let open = vec![b'['; 1 << 16];
        while client.write_all(&open).is_ok() {}
    });
    let output = attached().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && told.contains("a frame of more than 16 MiB"), "{told}");
}

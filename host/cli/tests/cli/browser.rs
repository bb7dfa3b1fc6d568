//! A browser that is driven over pipes by the Chrome DevTools Protocol, without any package: pages are opened, keys typed, sizes changed.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The browser, and the only page that is open in it.
pub(crate) struct Browser {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    last: u64,
    /// Pages that were loaded.
    loads: u64,
    session: Option<String>,
    /// What the page wrote to its console, and what its policy refused.
    pub(crate) complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

/// Keys by their names in the protocol, with their codes.
const KEYS: [(&str, u32, &str); 3] = [("Tab", 9, ""), ("Enter", 13, "\r"), (" ", 32, " ")];

impl Browser {
    /// Starts one; `None` where there is none.
    pub(crate) fn start() -> Option<Self> {
        let profile = tempfile::tempdir().unwrap();
        // The protocol comes by the third descriptor and goes by the fourth.
        let script = "exec chromium --headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run \
                      --hide-scrollbars --remote-debugging-pipe --user-data-dir=\"$0\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let shell = Command::new("sh").args(["-c", "command -v chromium"]).stdout(Stdio::null()).status().ok()?;
        if !shell.success() {
            return None;
        }
        let mut process = Command::new("sh")
            .args(["-c", script])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let requests = process.stdin.take()?;
        let answers = BufReader::new(process.stdout.take()?);
        let mut browser = Self {
            process,
            requests,
            answers,
            last: 0,
            loads: 0,
            session: None,
            complaints: Vec::new(),
            _profile: profile,
        };
        let target = browser.ask("Target.createTarget", &json!({"url": "about:blank"}));
        let session = browser.ask("Target.attachToTarget", &json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.ask(domain, &json!({}));
        }
        Some(browser)
    }

    /// Opens a file, and waits until it is loaded.
    pub(crate) fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        self.follow(|browser| drop(browser.ask("Page.navigate", &json!({ "url": url }))));
    }

    /// Does what leads to another page, and waits until that is loaded.
    pub(crate) fn follow(&mut self, lead: impl FnOnce(&mut Self)) {
        let before = self.loads;
        lead(self);
        while self.loads == before {
            self.next();
        }
    }

    /// The value of an expression of the page; a promise is waited for.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", &asked);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The same as a text.
    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_else(|| panic!("{expression} is no text")).to_owned()
    }

    /// The size of the window, in CSS pixels.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", &size);
    }

    /// A preference of the reader: `prefers-color-scheme` is `dark`.
    pub(crate) fn prefer(&mut self, feature: &str, value: &str) {
        let features = json!({"features": [{"name": feature, "value": value}]});
        self.ask("Emulation.setEmulatedMedia", &features);
    }

    /// Whether pages run scripts.
    pub(crate) fn run_scripts(&mut self, runs: bool) {
        self.ask("Emulation.setScriptExecutionDisabled", &json!({"value": !runs}));
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str) {
        let (_, code, text) = KEYS.iter().find(|(name, ..)| *name == key).unwrap_or_else(|| panic!("no key {key}"));
        let event = json!({"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
        self.ask("Input.dispatchKeyEvent", &event);
        self.ask("Input.dispatchKeyEvent", &json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}));
    }

    /// Types a text where the focus is.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.ask("Input.insertText", &json!({"text": text}));
    }

    /// Presses Tab until the page says that the focus is where it should be; how often.
    pub(crate) fn tab_to(&mut self, is_there: &str) -> usize {
        const TABS_MAX: usize = 200;
        for tabs in 1..=TABS_MAX {
            self.press("Tab");
            if self.value(&format!("Boolean(document.activeElement && ({is_there}))")) == true {
                return tabs;
            }
        }
        panic!("{TABS_MAX} times Tab do not lead to {is_there}");
    }

    /// What axe finds on the page: the rules that it breaks, with where.
    pub(crate) fn violations(&mut self, axe: &Path) -> Vec<String> {
        let script = std::fs::read_to_string(axe).unwrap();
        self.value(&format!("{script}; undefined"));
        let found = self.value(
            "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(v => \
             `${v.id} (${v.impact}): ${v.nodes.slice(0, 3).map(n => n.target.join(' ') + ' ' + n.failureSummary).join('; ')}`))",
        );
        serde_json::from_value(found).unwrap()
    }

    /// How many pixels the page is wider than its window.
    pub(crate) fn sideways(&mut self) -> i64 {
        let wider = self.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        wider.as_i64().unwrap()
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut request = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).unwrap();
        loop {
            let answer = self.next();
            if answer["id"] == id {
                assert_eq!(answer["error"], Value::Null, "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The next answer or event.
    fn next(&mut self) -> Value {
        let mut message = Vec::new();
        self.answers.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser is gone");
        let message: Value = serde_json::from_slice(&message).unwrap();
        match message["method"].as_str() {
            Some("Log.entryAdded" | "Runtime.exceptionThrown" | "Runtime.consoleAPICalled") => {
                self.complaints.push(message["params"].to_string());
            }
            Some("Page.loadEventFired") => self.loads += 1,
            _ => {}
        }
        message
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.requests.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.process.wait();
    }
}

/// The script of axe, where `cargo xtask peers` has it, or the environment names it.
pub(crate) fn axe() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/axe/node_modules/axe-core/axe.min.js");
    let named = std::env::var_os("LOADLINE_AXE").map(PathBuf::from);
    named.into_iter().chain([own]).find(|path| path.is_file())
}

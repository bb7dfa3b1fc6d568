//! robots.txt by RFC 9309, with the crawl delay that many add.

use super::address::normal_octets;
use std::time::Duration;

/// Bytes of a file that are read; what stands behind them counts as not there.
pub(super) const BYTES_MAX: usize = 500 << 10;
/// Redirects that are followed on the way to a file.
pub(super) const REDIRECTS_MAX: usize = 5;
/// Bytes of a line that are read.
const LINE_MAX: usize = 8 * 2083;
/// A longer delay is taken as this.
const DELAY_MAX: Duration = Duration::from_secs(60);
/// The name that groups of rules know this crawler by.
const AGENT: &str = "loadline";

/// What a host lets this crawler do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Robots {
    rules: Vec<Rule>,
    pub(crate) delay: Option<Duration>,
    /// Why the file could not be fetched, with its URL: nothing is to be fetched from this host.
    pub(crate) unknown: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    allows: bool,
    /// In normal octets, with `*` and a final `$`.
    pattern: String,
}

impl Robots {
    /// What the answer to the question for the file `url` says: what is not there forbids nothing, and a server that cannot answer is left
    /// alone. `None`: the file is elsewhere.
    pub(super) fn of_answer(url: &str, status: u16, body: &[u8]) -> Option<Self> {
        match status {
            200..300 => Some(Self::read(body)),
            300..400 => None,
            400..500 => Some(Self::default()),
            _ => Some(Self::unknown(format!("{url}: HTTP {status}"))),
        }
    }

    /// Reads a file.
    pub(crate) fn read(file: &[u8]) -> Self {
        Self::read_for(file, AGENT)
    }

    fn read_for(file: &[u8], own: &str) -> Self {
        let mut ours = Self::default();
        let mut anyones = Self::default();
        let mut has_ours = false;
        // The names of the group under way, and whether its rules have begun.
        let (mut is_ours, mut is_anyones, mut has_rules) = (false, false, true);
        for line in without_mark(&file[..file.len().min(BYTES_MAX)]).split(|byte| matches!(byte, b'\n' | b'\r')) {
            let line = String::from_utf8_lossy(&line[..line.len().min(LINE_MAX)]);
            let Some((name, value)) = record(&line) else { continue };
            let mut of_group = |change: &dyn Fn(&mut Self)| {
                for (of, applies) in [(&mut ours, is_ours), (&mut anyones, is_anyones)] {
                    if applies {
                        change(of);
                    }
                }
            };
            match name.to_ascii_lowercase().as_str() {
                "user-agent" => {
                    if has_rules {
                        (is_ours, is_anyones, has_rules) = (false, false, false);
                    }
                    is_anyones |= value == "*" || value.starts_with("* ");
                    is_ours |= product(value).eq_ignore_ascii_case(own);
                    has_ours |= is_ours;
                }
                rule @ ("allow" | "disallow") => {
                    has_rules = true;
                    let allows = rule == "allow";
                    of_group(&|of| of.add(allows, value));
                }
                // No rule of the RFC: it ends no group.
                "crawl-delay" => {
                    let seconds = value.parse().ok().filter(|seconds: &f64| *seconds > 0.0 && seconds.is_finite());
                    let delay = seconds.map(|seconds| Duration::from_secs_f64(seconds.min(DELAY_MAX.as_secs_f64())));
                    of_group(&|of| of.delay = delay);
                }
                _ => {}
            }
        }
        if has_ours { ours } else { anyones }
    }

    fn add(&mut self, allows: bool, pattern: &str) {
        if pattern.is_empty() {
            return;
        }
        let (body, end) = pattern.strip_suffix('$').map_or((pattern, ""), |body| (body, "$"));
        let pattern = format!("{}{end}", normal_octets(body, |byte| byte == b'$'));
        // Who may see the page of a folder may see the folder.
        if let Some((folder, file)) = pattern.rsplit_once('/').filter(|_| allows)
            && matches!(file, "index.html" | "index.htm")
        {
            self.rules.push(Rule { allows, pattern: format!("{folder}/$") });
        }
        self.rules.push(Rule { allows, pattern });
    }

    /// A host that was not reached, or that cannot answer.
    pub(crate) fn unknown(why: String) -> Self {
        Self { unknown: Some(why), ..Self::default() }
    }

    /// Whether a path with its query may be fetched: the longest rule decides, and allows where two are as long.
    pub(crate) fn allows(&self, path: &str) -> bool {
        if self.unknown.is_some() {
            return false;
        }
        let path = normal_octets(path, |byte| matches!(byte, b'$' | b'*'));
        let fits = self.rules.iter().filter(|rule| fits(&rule.pattern, &path));
        fits.max_by_key(|rule| (rule.pattern.len(), rule.allows)).is_none_or(|rule| rule.allows)
    }
}

/// A file without its byte order mark, or the part of one that is left.
fn without_mark(file: &[u8]) -> &[u8] {
    let mark = file.iter().zip(b"\xef\xbb\xbf").take_while(|(byte, of_mark)| byte == of_mark).count();
    &file[mark..]
}

/// Name and value of a line. A colon that is missing between two words is meant.
fn record(line: &str) -> Option<(&str, &str)> {
    let line = line.split('#').next().unwrap_or_default().trim();
    if let Some((name, value)) = line.split_once(':') {
        return Some((name.trim(), value.trim()));
    }
    let mut words = line.split_whitespace();
    let both = words.next().zip(words.next());
    both.filter(|_| words.next().is_none())
}

/// The name of a crawler: letters, `_` and `-`; a version may stand behind it.
fn product(value: &str) -> &str {
    let end = value.find(|c: char| !c.is_ascii_alphabetic() && !matches!(c, '_' | '-')).unwrap_or(value.len());
    &value[..end]
}

/// Whether a pattern with `*` and a final `$` fits the beginning of a path.
fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return !is_whole || rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    if is_whole { rest.ends_with(last) } else { rest.contains(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a crawler may fetch each of these paths: `+` before those that it may, `-` before others.
    fn judged(file: &str, agent: &str, paths: &str) {
        let robots = Robots::read_for(file.as_bytes(), agent);
        for path in paths.split(' ') {
            let (sign, path) = path.split_at(1);
            assert_eq!(robots.allows(path), sign == "+", "{agent} and {path} by {file:?}");
        }
    }

    /// A file, a crawler and what it may fetch: what RFC 9309 says, and what Google's parser is tested on.
    const CASES: [(&str, &str, &str); 46] = [
        // Lines.
        ("user-agent: bot\ndisallow: /\n", "bot", "-/x"),
        ("foo: bot\nbar: /\n", "bot", "+/x"),
        ("user-agent bot\ndisallow /\n", "bot", "-/x"),
        ("USER-AGENT: bot\nALLOW: /x/\ndIsAlLoW: /\n", "bot", "+/x/y -/a"),
        ("user-agent: bot\rdisallow: /\r", "bot", "-/x"),
        ("user-agent: bot\r\nallow: /x\r\ndisallow: /", "bot", "+/x -/a"),
        ("user-agent: bot # us\n# disallow: /\ndisallow: /foo/quz#qux\nallow: /\n", "bot", "+/foo/bar -/foo/quz"),
        ("\u{feff}user-agent: bot\ndisallow: /\n", "bot", "-/x"),
        ("user-agent: bot\n\u{feff}disallow: /\n", "bot", "+/x"),
        // Groups.
        ("disallow: /\nuser-agent: bot\nallow: /\n", "bot", "+/x"),
        (
            "user-agent: a\ndisallow: /\nallow: /x/\nuser-agent: b\ndisallow: /\nallow: /y/\n\n\nallow: /w/\n",
            "a",
            "+/x/b -/y/c",
        ),
        (
            "user-agent: a\ndisallow: /\nallow: /x/\nuser-agent: b\ndisallow: /\nallow: /y/\n\n\nallow: /w/\n",
            "b",
            "+/y/c +/w/a -/z/d",
        ),
        ("user-agent: a\ndisallow: /\nuser-agent: c\n\nuser-agent: a\nallow: /z/\ndisallow: /\n", "a", "+/z/d -/y"),
        ("user-agent: a\ndisallow: /\nuser-agent: c\n\nuser-agent: a\nallow: /z/\ndisallow: /\n", "c", "+/z/d -/y"),
        ("user-agent: b\nsitemap: https://h/s\nuser-agent: *\ndisallow: /\n", "b", "-/"),
        ("user-agent: b\nsitemap: https://h/s\nuser-agent: *\ndisallow: /\n", "a", "-/"),
        ("user-agent: b\nunknown: line\nuser-agent: *\ndisallow: /\n", "b", "-/"),
        ("user-agent: b\ncrawl-delay: 1\nuser-agent: *\ndisallow: /\n", "b", "-/"),
        ("user-agent: *\nallow: /\nuser-agent: bot\ndisallow: /\n", "bot", "-/x"),
        ("user-agent: *\nallow: /\nuser-agent: bot\ndisallow: /\n", "other", "+/x"),
        ("user-agent: a\ndisallow: /\n", "other", "+/x"),
        ("user-agent: *\ndisallow: /x/\nuser-agent: bot\ndisallow: /y/\n", "bot", "+/x/p -/y/p"),
        ("", "bot", "+/x"),
        // Names of crawlers.
        ("user-agent: BOT\ndisallow: /\n", "bot", "-/x"),
        ("user-agent: bot/2.1\ndisallow: /\n", "bot", "-/x"),
        ("user-agent: botany\ndisallow: /\n", "bot", "+/x"),
        ("user-agent: *\ndisallow: /\nuser-agent: bot images\nallow: /x/\ndisallow: /\n", "bot", "+/x/y"),
        // The longest rule.
        ("user-agent: bot\ndisallow: /x/page.html\nallow: /x/\n", "bot", "-/x/page.html"),
        ("user-agent: bot\nallow: /x/page.html\ndisallow: /x/\n", "bot", "+/x/page.html -/x/"),
        ("user-agent: bot\ndisallow:\nallow:\n", "bot", "+/x"),
        ("user-agent: bot\ndisallow: /\nallow: /\n", "bot", "+/x"),
        ("user-agent: bot\ndisallow: /x\nallow: /x/\n", "bot", "-/x +/x/"),
        ("user-agent: bot\nallow: /page\ndisallow: /*.html\n", "bot", "-/page.html +/page"),
        ("user-agent: bot\nallow: /x/page.\ndisallow: /*.html\n", "bot", "+/x/page.html -/x/y.html"),
        ("user-agent: bot\ndisallow: /X/\n", "bot", "+/x/y -/X/y"),
        ("user-agent: bot\nallow: /$\ndisallow: /\n", "bot", "+/ -/page.html"),
        // Octets in any form.
        ("user-agent: bot\ndisallow: /\nallow: /a/b?q=t&u=http://f.b?t&p\n", "bot", "+/a/b?q=t&u=http://f.b?t&p"),
        ("user-agent: bot\ndisallow: /\nallow: /a/ツ\n", "bot", "+/a/%E3%83%84 +/a/%e3%83%84 +/a/ツ"),
        ("user-agent: bot\ndisallow: /\nallow: /a/%e3%83%84\n", "bot", "+/a/%E3%83%84 +/a/ツ"),
        ("user-agent: bot\ndisallow: /\nallow: /a/%62%61%7a\n", "bot", "+/a/baz +/a/%62%61%7A -/a/bax"),
        ("user-agent: bot\ndisallow: /a%2Fb\n", "bot", "-/a%2fb +/a/b"),
        ("user-agent: bot\ndisallow: /a-%2A.html\ndisallow: /b%24\n", "bot", "-/a-*.html +/a-x.html -/b$ -/b%24"),
        // Special characters.
        ("user-agent: bot\ndisallow: /foo/bar/quz\nallow: /foo/*/qux\n", "bot", "-/foo/bar/quz +/foo/quz +/foo//quz"),
        (
            "user-agent: bot\ndisallow: /foo/bar$\nallow: /foo/bar/qux\n",
            "bot",
            "-/foo/bar +/foo/bar/qux +/foo/bar/ +/foo/bar/baz",
        ),
        ("user-agent: *\nallow: /in/index.html\ndisallow: /\n", "bot", "+/in/ -/in/index.htm +/in/index.html -/any"),
        ("user-agent: bot\ndisallow: /a$b\n", "bot", "-/a$b -/a$bc +/a"),
    ];

    #[test]
    fn files_mean_what_the_rfc_and_others_take_them_for() {
        for (file, agent, paths) in CASES {
            judged(file, agent, paths);
        }
    }

    /// A rule, what it fits and what not: the tables of the documents on matching.
    const FISH: [(&str, &str); 6] = [
        (
            "/fish",
            "+/fish +/fish.html +/fish/salmon.html +/fishheads +/fishheads/y.html +/fish.html?id=any -/Fish.asp -/catfish -/?id=fish",
        ),
        ("/fish*", "+/fish +/fish.html +/fishheads/y.html +/fish.html?id=any -/Fish.bar -/catfish -/?id=fish"),
        ("/fish/", "+/fish/ +/fish/salmon +/fish/?salmon +/fish/?id=any -/fish -/fish.html -/Fish/Salmon.html"),
        (
            "/*.php",
            "+/filename.php +/folder/filename.php?p +//folder/any.php.file.html +/filename.php/ +/index?f=filename.php/ -/php/ \
                    -/index?php -/windows.PHP",
        ),
        (
            "/*.php$",
            "+/filename.php +/folder/filename.php -/filename.php?p -/filename.php/ -/filename.php5 -/php/ -/filename?php",
        ),
        ("/fish*.php", "+/fish.php +/fishheads/catfish.php?p -/Fish.PHP"),
    ];

    #[test]
    fn a_rule_fits_what_its_document_says() {
        for (rule, paths) in FISH {
            judged(&format!("user-agent: bot\ndisallow: /\nallow: {rule}\n"), "bot", paths);
        }
    }

    #[test]
    fn a_part_of_a_mark_is_none_and_what_is_too_long_is_cut() {
        for mark in [&b"\xef\xbb\xbf"[..], b"\xef\xbb", b"\xef"] {
            assert!(!Robots::read(&[mark, b"user-agent: *\ndisallow: /"].concat()).allows("/x"));
        }
        assert!(Robots::read(b"\xef\x11\xbfuser-agent: *\ndisallow: /").allows("/x"));
        let long = "a".repeat(LINE_MAX);
        let cut = Robots::read(format!("user-agent: *\ndisallow: /x/{long}/qux").as_bytes());
        assert!(!cut.allows(&format!("/x/{long}/fux")) && cut.allows("/x"));
        let late = format!("user-agent: *\n{}disallow: /", "#\n".repeat(BYTES_MAX / 2));
        assert!(Robots::read(late.as_bytes()).allows("/x"), "it stands behind what is read");
    }

    /// RFC 9309, 2.3.1: by the status of the answer.
    #[test]
    fn a_file_that_is_not_there_forbids_nothing_and_a_server_that_cannot_answer_all() {
        let of = |status| Robots::of_answer("http://a/robots.txt", status, b"user-agent: *\ndisallow: /x");
        for status in [200, 203, 206] {
            assert!(of(status).is_some_and(|robots| !robots.allows("/x") && robots.allows("/y")), "{status}");
        }
        for status in [400, 401, 403, 404, 410, 418, 429, 451, 499] {
            assert_eq!(of(status), Some(Robots::default()), "{status}");
        }
        for status in [500, 501, 502, 503, 504, 599] {
            let robots = of(status).unwrap();
            assert!(!robots.allows("/x") && !robots.allows("/y"), "{status}");
            assert_eq!(robots.unknown, Some(format!("http://a/robots.txt: HTTP {status}")));
        }
        assert!([301, 302, 303, 307, 308].into_iter().all(|status| of(status).is_none()));
    }

    #[test]
    fn no_text_makes_it_fail_and_delays_are_bounded() {
        for text in
            ["", ":::", "allow", "user-agent", "Disallow: /\nUser-agent:*\ncrawl-delay: -1", "\u{0}", "%", "%f", "%%%"]
        {
            assert!(Robots::read(text.as_bytes()).allows("/x%"));
        }
        assert_eq!(Robots::read(b"user-agent: *\ncrawl-delay: 1e30").delay, Some(DELAY_MAX));
        assert_eq!(Robots::read(b"user-agent: *\ncrawl-delay: 1.5").delay, Some(Duration::from_millis(1_500)));
        assert!(!Robots::unknown("HTTP 500".to_owned()).allows("/x"));
        judged("user-agent: bot\ndisallow: /a*b*c\ndisallow: /d*e*f$\n", "bot", "-/axxbyyc +/dxef? -/dxexf +/defd");
    }

    #[test]
    fn no_pattern_takes_a_stack_or_an_age() {
        let read = || {
            for pattern in ["*", "a*", "*a", "*aa$", "%2a", "$*"] {
                let file = format!("user-agent: *\n{}", format!("disallow: /{}\n", pattern.repeat(5_000)).repeat(50));
                for path in ["/".to_owned() + &"a".repeat(2_000), "/ab".repeat(700)] {
                    let _ = Robots::read(file.as_bytes()).allows(&path);
                }
            }
        };
        std::thread::Builder::new().stack_size(512 << 10).spawn(read).unwrap().join().unwrap();
    }
}

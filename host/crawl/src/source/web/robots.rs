//! robots.txt by RFC 9309, with the crawl delay that many add.

use std::time::Duration;

/// Bytes of a file that are read.
pub(super) const BYTES_MAX: usize = 500 << 10;
/// A longer delay is taken as this.
const DELAY_MAX: Duration = Duration::from_secs(60);
/// The name that groups of rules know this crawler by.
const AGENT: &str = "loadline";

/// What a host lets this crawler do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Robots {
    rules: Vec<(bool, String)>,
    pub(crate) delay: Option<Duration>,
    /// Why the file could not be fetched, with its URL: nothing is to be fetched from this host.
    pub(crate) unknown: Option<String>,
}

impl Robots {
    /// Reads a file.
    pub(crate) fn read(text: &str) -> Self {
        let mut ours = Self::default();
        let mut anyones = Self::default();
        let mut has_ours = false;
        // The names of the group under way, and whether its rules have begun.
        let (mut is_ours, mut is_anyones, mut has_rules) = (false, false, true);
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match name.trim().to_ascii_lowercase().as_str() {
                "user-agent" => {
                    if has_rules {
                        (is_ours, is_anyones, has_rules) = (false, false, false);
                    }
                    let agent = value.to_ascii_lowercase();
                    is_anyones |= agent == "*";
                    is_ours |= agent.starts_with(AGENT);
                    has_ours |= is_ours;
                }
                rule @ ("allow" | "disallow") => {
                    has_rules = true;
                    if !value.is_empty() {
                        for (of, applies) in [(&mut ours, is_ours), (&mut anyones, is_anyones)] {
                            if applies {
                                of.rules.push((rule == "allow", value.to_owned()));
                            }
                        }
                    }
                }
                "crawl-delay" => {
                    has_rules = true;
                    let seconds = value.parse().ok().filter(|seconds: &f64| *seconds > 0.0 && seconds.is_finite());
                    let delay = seconds.map(|seconds| Duration::from_secs_f64(seconds.min(DELAY_MAX.as_secs_f64())));
                    for (of, applies) in [(&mut ours, is_ours), (&mut anyones, is_anyones)] {
                        if applies {
                            of.delay = delay;
                        }
                    }
                }
                _ => {}
            }
        }
        if has_ours { ours } else { anyones }
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
        let fits = self.rules.iter().filter(|(_, pattern)| fits(pattern, path));
        fits.max_by_key(|(allows, pattern)| (pattern.len(), *allows)).is_none_or(|(allows, _)| *allows)
    }
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
    if parts.is_empty() {
        return !is_whole || rest.is_empty();
    }
    let (last, middle) = parts.split_last().expect("there are parts");
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    if is_whole { rest.ends_with(last) } else { rest.contains(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_our_own_name_counts_alone_and_the_longest_rule_decides() {
        let text = "User-agent: *\nDisallow: /\n\nUser-Agent: other\nUser-agent: Loadline # us\nDisallow: /a\n\
            Allow: /a/b\nDisallow: /*.pdf$\nCrawl-delay: 1.5\nUser-agent: third\nDisallow: /c\n";
        let robots = Robots::read(text);
        assert!(robots.allows("/x") && robots.allows("/a/b/c") && robots.allows("/c"));
        assert!(!robots.allows("/a") && !robots.allows("/a/c") && !robots.allows("/x/y.pdf"));
        assert!(robots.allows("/x/y.pdf?z"));
        assert_eq!(robots.delay, Some(Duration::from_millis(1_500)));
        assert!(!Robots::read("User-agent: *\nDisallow: /").allows("/x"));
        assert!(Robots::read("User-agent: *\nDisallow:").allows("/x"));
        assert!(!Robots::unknown("HTTP 500".to_owned()).allows("/x"));
    }

    #[test]
    fn no_text_makes_it_fail_and_delays_are_bounded() {
        for text in ["", ":::", "allow", "user-agent", "Disallow: /\nUser-agent:*\ncrawl-delay: -1", "\u{0}"] {
            assert!(Robots::read(text).allows("/x"));
        }
        assert_eq!(Robots::read("user-agent: *\ncrawl-delay: 1e30").delay, Some(DELAY_MAX));
        assert!(fits("/a*b*c", "/axxbyyc") && !fits("/a*b*c$", "/abcd") && fits("*", "/"));
    }
}

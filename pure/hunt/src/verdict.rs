//! The verdict of a hunt: what the load gets, what holds it, what moved it, what was ruled out, and what to do next.

use crate::effect::Effect;
use crate::factor::Factor;
use crate::result::{HuntResult, HuntRow, Standing, Suspect};
use loadline_analysis::listed;
use loadline_record::DoubtGrade;
use loadline_report::doubt_detail;
use loadline_units::words::number;

/// Settings that a line names; the others are counted.
const NAMED_MAX: usize = 3;

/// A line of the verdict: what it is about, and what is said of that.
pub type HuntVerdictLine = (String, String);

impl HuntResult {
    /// The answer in at most seven lines.
    #[must_use]
    pub fn verdict_lines(&self) -> Vec<HuntVerdictLine> {
        let mut lines = Vec::new();
        let mut say = |about: &str, text: String| lines.push((about.to_owned(), text));
        if let (Some(iops), Some(bytes)) = (self.iops, self.bytes_per_s) {
            say("gives", format!("{} IOPS, {} MB/s: {}", number(iops), number(bytes / 1e6), self.label));
        }
        // What only a longer run would show is in the run's report.
        for doubt in self.doubts.iter().filter(|doubt| doubt.code.grade() != DoubtGrade::Note) {
            say(
                "doubt",
                format!("{} ({}): {}", doubt.code, doubt.code.meaning(), doubt_detail(doubt).trim_end_matches('.')),
            );
        }
        if let Some(why) = &self.nothing_bound {
            say("held by", why.clone());
            return lines;
        }
        say("held by", self.held_by());
        let changed = |effect: Effect| self.rows.iter().filter(move |row| row.effect == effect);
        if let Some(best) = changed(Effect::Moved).max_by(|a, b| gain(a).total_cmp(&gain(b))) {
            say("moved by", shortened(best, changed(Effect::Moved).map(in_words).collect()));
        }
        let harmful: Vec<String> = changed(Effect::Lowered).map(in_words).collect();
        if !harmful.is_empty() {
            say("lowered by", cut(harmful));
        }
        let out: Vec<String> = self.of(Standing::RuledOut).map(|suspect| suspect.what.clone()).collect();
        if !out.is_empty() {
            say("ruled out", cut(out));
        }
        say("how sure", self.certainty());
        say("next", self.next());
        lines
    }

    fn of(&self, standing: Standing) -> impl Iterator<Item = &Suspect> {
        self.suspects.iter().filter(move |suspect| suspect.standing == standing)
    }

    fn held_by(&self) -> String {
        let named = |suspect: &Suspect| format!("{} ({})", suspect.what, suspect.because);
        let binding: Vec<String> = self.of(Standing::Binds).map(named).collect();
        let possible: Vec<String> = self.of(Standing::Possible).map(|suspect| suspect.what.clone()).collect();
        match (binding.is_empty(), possible.is_empty()) {
            (false, _) => listed(&binding),
            (true, false) => format!("not known yet; possible: {}", cut(possible)),
            (true, true) => "nothing that was varied: what holds the load is outside of these settings".to_owned(),
        }
    }

    fn certainty(&self) -> String {
        let rounds = self.rows.iter().map(|row| row.rounds).max().unwrap_or(0);
        let open = self.rows.iter().filter(|row| row.effect == Effect::CannotTell).count();
        let settings = self.rows.len();
        let decided = settings - open;
        format!(
            "{decided} of {settings} settings decided in up to {rounds} rounds; all intervals hold together with 95 %"
        )
    }

    /// What to do next.
    #[must_use]
    pub fn next_step(&self) -> HuntStep<'_> {
        if self.nothing_bound.is_some() {
            return HuntStep::Read;
        }
        if let Some(command) = &self.lift {
            return HuntStep::LiftThrottle(command);
        }
        let best =
            self.rows.iter().filter(|row| row.effect == Effect::Moved).max_by(|a, b| gain(a).total_cmp(&gain(b)));
        if let Some(row) = best {
            return match row.variant.factor {
                Factor::Layout | Factor::Vm | Factor::Interleave => HuntStep::SetInEnvironment(row),
                _ => HuntStep::SetInPlan(row),
            };
        }
        if let Some(row) = self.rows.iter().find(|row| row.effect == Effect::CannotTell) {
            return HuntStep::LongerTrials(row);
        }
        let of_storage =
            |suspect: &Suspect| suspect.limits.iter().any(|limit| limit.contains("disk") || limit.contains("vm-"));
        if self.of(Standing::Binds).any(of_storage) { HuntStep::MoreStorage } else { HuntStep::Read }
    }

    /// Whether all that limits the load is the machine's, and no disk is.
    fn is_of_the_machine(&self) -> bool {
        let mut limits = self.of(Standing::Binds).flat_map(|suspect| &suspect.limits).peekable();
        limits.peek().is_some() && limits.all(|limit| limit.contains("vm-"))
    }

    fn next(&self) -> String {
        let set = |row: &HuntRow, place: &str| {
            let (factor, to) = (row.variant.factor.name(), &row.variant.to);
            format!("set {factor} to {to} in the {place}, and hunt again from there")
        };
        match self.next_step() {
            HuntStep::LiftThrottle(_) => "if this limit is not meant, lift it: that costs nothing".to_owned(),
            HuntStep::SetInEnvironment(row) => set(row, "environment"),
            HuntStep::SetInPlan(row) => set(row, "plan"),
            HuntStep::LongerTrials(row) => {
                let (factor, to) = (row.variant.factor.name(), &row.variant.to);
                format!("{factor} {to} is not decided: hunt again with longer trials")
            }
            HuntStep::MoreStorage => {
                let more = if self.is_of_the_machine() {
                    "a larger VM does, faster disks do not"
                } else {
                    "more or faster storage does"
                };
                format!("no other load raises the rate: {more}; `advise` ranks them by price")
            }
            HuntStep::Read => match self.of(Standing::Possible).next() {
                Some(open) => format!("{} is still possible: {}", open.what, open.because),
                None => {
                    "no setting of this load raises the rate: hunt around another load, or on other storage".to_owned()
                }
            },
        }
    }
}

/// What follows from a hunt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HuntStep<'a> {
    /// A throttle of the kernel is what binds; the command lifts it.
    LiftThrottle(&'a str),
    /// This setting raised the rate most, and the environment has it.
    SetInEnvironment(&'a HuntRow),
    /// This setting raised the rate most, and the plan has it.
    SetInPlan(&'a HuntRow),
    /// Chance is left in the effect of this setting.
    LongerTrials(&'a HuntRow),
    /// The storage limits the load, whatever its settings.
    MoreStorage,
    /// What was found has to be read: no single step follows.
    Read,
}

/// How many times the rate it brought.
fn gain(row: &HuntRow) -> f64 {
    row.ratio.unwrap_or(1.0)
}

/// "threads 1 to 4: 3.90 times the rate (3.72 to 4.11)".
fn in_words(row: &HuntRow) -> String {
    let crate::plan::HuntVariant { factor, from, to, .. } = &row.variant;
    // An interval that rounds to its middle says no more than that.
    let interval = row.low.zip(row.high).filter(|(low, high)| high - low >= 0.005);
    let interval = interval.map_or_else(String::new, |(low, high)| format!(" ({low:.2} to {high:.2})"));
    let what = if row.in_bytes { "the bytes" } else { "the rate" };
    format!("{} {from} to {to}: {:.2} times {what}{interval}", factor.name(), gain(row))
}

/// The largest first, then the others as far as there is room.
fn shortened(best: &HuntRow, all: Vec<String>) -> String {
    let first = in_words(best);
    let others = all.into_iter().filter(|one| *one != first);
    cut(std::iter::once(first.clone()).chain(others).collect())
}

/// So many of them as a line has room for; the others are counted.
fn cut(mut all: Vec<String>) -> String {
    let more = all.len().saturating_sub(NAMED_MAX);
    all.truncate(NAMED_MAX);
    let text = all.join("; ");
    if more == 0 { text } else { format!("{text}; {more} more in the table") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::HuntVariant;

    fn row(factor: Factor, to: &str, ratio: f64, effect: Effect) -> HuntRow {
        HuntRow {
            variant: HuntVariant { cell: "c".into(), factor, from: "1".into(), to: to.into() },
            rounds: 6,
            before: Some(1_000.0),
            after: Some(1_000.0 * ratio),
            ratio: Some(ratio),
            low: Some(ratio * 0.98),
            high: Some(ratio * 1.02),
            effect,
            in_bytes: factor.in_bytes(),
        }
    }

    fn suspect(what: &str, standing: Standing) -> Suspect {
        Suspect { limits: Vec::new(), what: what.into(), standing, because: "as was seen".into() }
    }

    fn found(rows: Vec<HuntRow>, suspects: Vec<Suspect>) -> HuntResult {
        HuntResult {
            schema: crate::HUNT_SCHEMA.into(),
            run: "r".into(),
            name: "hunt".into(),
            cell: "c".into(),
            label: "4 KiB random reads, depth 1".into(),
            iops: Some(1_000.0),
            bytes_per_s: Some(4_096_000.0),
            margin: 0.05,
            rows,
            not_tried: Vec::new(),
            nothing_bound: None,
            suspects,
            lift: None,
            doubts: Vec::new(),
        }
    }

    fn line(lines: &[HuntVerdictLine], about: &str) -> Option<String> {
        lines.iter().find(|(what, _)| what == about).map(|(_, text)| text.clone())
    }

    #[test]
    fn the_largest_gain_comes_first_and_is_the_next_step() {
        let rows = vec![
            row(Factor::Threads, "2", 1.5, Effect::Moved),
            row(Factor::Depth, "16", 8.0, Effect::Moved),
            row(Factor::Engine, "aio", 1.0, Effect::RuledOut),
        ];
        let suspects =
            vec![suspect("too few requests at once", Standing::Binds), suspect("the engine", Standing::RuledOut)];
        let lines = found(rows, suspects).verdict_lines();
        assert!(lines.len() <= 9, "{lines:?}");
        assert_eq!(line(&lines, "held by").unwrap(), "too few requests at once (as was seen)");
        let moved = line(&lines, "moved by").unwrap();
        assert!(moved.starts_with("depth 1 to 16: 8.00 times the rate (7.84 to 8.16); threads 1 to 2"), "{moved}");
        assert_eq!(line(&lines, "next").unwrap(), "set depth to 16 in the plan, and hunt again from there");
        assert_eq!(line(&lines, "ruled out").unwrap(), "the engine");
    }

    #[test]
    fn a_machine_that_limits_is_not_mended_by_faster_disks() {
        let of = |limits: &[&str]| {
            let limits = limits.iter().map(|limit| (*limit).to_owned()).collect();
            let binding = Suspect { limits, ..suspect("the limits", Standing::Binds) };
            line(&found(Vec::new(), vec![binding]).verdict_lines(), "next").unwrap()
        };
        assert!(of(&["vm-uncached-iops"]).contains("a larger VM does, faster disks do not"));
        assert!(of(&["vm-uncached-iops", "disk-iops"]).contains("more or faster storage does"));
    }

    #[test]
    fn what_is_open_is_said_to_be_open() {
        let rows = vec![row(Factor::Block, "8 KiB", 1.02, Effect::CannotTell)];
        let lines = found(rows, vec![suspect("the disks", Standing::Possible)]).verdict_lines();
        assert_eq!(line(&lines, "held by").unwrap(), "not known yet; possible: the disks");
        assert_eq!(line(&lines, "next").unwrap(), "block 8 KiB is not decided: hunt again with longer trials");
        let why = "Nothing bound this cell: it got all.".to_owned();
        let unbound = HuntResult { nothing_bound: Some(why.clone()), ..found(Vec::new(), Vec::new()) };
        assert_eq!(line(&unbound.verdict_lines(), "held by"), Some(why));
    }

    #[test]
    fn a_doubt_about_the_rate_stands_beside_it_and_a_note_does_not() {
        use loadline_record::{Doubt, DoubtCode};
        let doubt = |code, detail: &str| Doubt::written(code, detail);
        let doubts = vec![
            doubt(DoubtCode::KnownDeviation, "own/small: measured at half (a report)."),
            doubt(DoubtCode::ShortRun, "Measured for 2 s."),
        ];
        for nothing_bound in [None, Some("all that was offered was served".to_owned())] {
            let found = HuntResult { doubts: doubts.clone(), nothing_bound, ..found(Vec::new(), Vec::new()) };
            let lines = found.verdict_lines();
            let text = line(&lines, "doubt").unwrap();
            assert!(text.starts_with("known-deviation (") && text.ends_with("measured at half (a report)"), "{text}");
            assert!(!lines.iter().any(|(_, text)| text.contains("short-run")), "{lines:?}");
        }
    }
}

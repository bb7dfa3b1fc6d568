//! A hunt in words: its verdict, its tables, and the document for programs.

use crate::answer::{AnswerTable, RunAnswer};
use crate::document::DoubtDocument;
use crate::rates::{iops, megabytes_per_s};
use crate::table::{Column, Field, Table};
use crate::verdict_line::{About, VerdictLine};
use crate::words::throttle::{standing as standing_limit, throttle};
use crate::words::{doubt_detail, evidence as seen};
use loadline_analysis::listed;
use loadline_hunt::{
    Effect, Factor, HUNT_SCHEMA, HuntCause, HuntEvidence, HuntInstead, HuntResult, HuntRow, HuntSetting, HuntStep,
    LeftToVary, NothingBound, SkippedSetting, Standing, Suspect,
};
use loadline_record::{Binding, DoubtGrade, Limit};
use loadline_units::words::number;
use serde::Serialize;

/// Settings that a line names; the others are counted.
const NAMED_MAX: usize = 3;

/// The answer in at most eight lines.
#[must_use]
pub fn hunt_lines(found: &HuntResult) -> Vec<VerdictLine> {
    let mut lines = Vec::new();
    if let (Some(iops), Some(bytes)) = (found.iops, found.bytes_per_s) {
        lines.push(About::Gives.says(format!("{} IOPS, {} MB/s: {}", number(iops), number(bytes / 1e6), found.label)));
    }
    // What only a longer run would show is in the run's report.
    for doubt in found.doubts.iter().filter(|doubt| doubt.code.grade() != DoubtGrade::Note) {
        let detail = doubt_detail(doubt);
        let detail = detail.trim_end_matches('.');
        lines.push(About::Doubt.says(format!("{} ({}): {detail}", doubt.code, doubt.code.meaning())));
    }
    if let Some(nothing) = &found.nothing_bound {
        lines.push(About::HeldBy.says(nothing_bound(nothing)));
        return lines;
    }
    lines.push(About::HeldBy.says(held_by(found)));
    if let Some(best) = found.best() {
        let first = change(best);
        let others = found.with(Effect::Moved).map(change).filter(|one| *one != first);
        lines.push(About::MovedBy.says(cut(std::iter::once(first.clone()).chain(others).collect())));
    }
    let mut list = |about: About, all: Vec<String>| {
        if !all.is_empty() {
            lines.push(about.says(cut(all)));
        }
    };
    list(About::LoweredBy, found.with(Effect::Lowered).map(change).collect());
    list(About::RuledOut, found.of(Standing::RuledOut).map(cause).collect());
    lines.push(About::HowSure.says(certainty(found)));
    lines.push(About::Next.says(next(found)));
    lines
}

/// What a report of the hunt opens with.
#[must_use]
pub fn hunt_answer(found: &HuntResult) -> RunAnswer {
    let mut tables = Vec::new();
    if !nothing_varied(found) {
        tables
            .push(AnswerTable { title: "What was varied, one setting at a time".to_owned(), table: hunt_table(found) });
        let mut limits = Table::new(&[
            Column::words("stands", "standing"),
            Column::words("what may hold the load", "what"),
            Column::words("why", "because"),
        ]);
        for suspect in &found.suspects {
            limits.push(
                [standing(suspect.standing).to_owned(), cause(suspect), because(suspect)].map(Field::text).into(),
            );
        }
        tables.push(AnswerTable { title: "What may hold it".to_owned(), table: limits });
    }
    RunAnswer { lines: hunt_lines(found), tables }
}

/// Whether the hunt stopped before anything was varied: there is no row to show.
#[must_use]
pub fn nothing_varied(found: &HuntResult) -> bool {
    found.nothing_bound.is_some() && found.rows.iter().all(|row| row.rounds == 0)
}

/// The settings with their effects.
#[must_use]
pub fn hunt_table(found: &HuntResult) -> Table {
    let mut table = Table::new(&[
        Column::words("factor", "factor"),
        Column::words("from", "from"),
        Column::words("to", "to"),
        Column::numbers("rounds", "rounds"),
        Column::numbers("before", "before"),
        Column::numbers("after", "after"),
        Column::numbers("ratio", "ratio"),
        Column::words("interval", "interval"),
        Column::words("verdict", "verdict"),
    ]);
    for row in &found.rows {
        let rate = if row.in_bytes { megabytes_per_s } else { iops };
        let interval =
            row.low.zip(row.high).map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:.3}–{high:.3}"));
        table.push(vec![
            Field::text(row.variant.factor.name()),
            Field::text(&row.variant.from),
            Field::text(&row.variant.to),
            Field::count(row.rounds.into()),
            Field::figure(row.before, rate),
            Field::figure(row.after, rate),
            Field::figure(row.ratio, |ratio| format!("{ratio:.3}")),
            Field::text(interval),
            Field::text(row.effect.words()),
        ]);
    }
    table
}

/// What is usually varied and was not, with the reasons, each once: "not tried: interleave, layout (...)".
#[must_use]
pub fn not_tried(all: &[SkippedSetting]) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for one in all {
        let name = match &one.to {
            Some(to) => format!("{} {to}", one.factor.name()),
            None => one.factor.name().to_owned(),
        };
        match reasons.iter_mut().find(|(because, _)| *because == one.because) {
            Some((_, names)) => names.push(name),
            None => reasons.push((&one.because, vec![name])),
        }
    }
    let lines = reasons.iter().map(|(because, names)| format!("not tried: {} ({because})\n", names.join(", ")));
    let text: String = lines.collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// The rate of the cell behind a colon; nothing where it is not known.
#[must_use]
pub fn hunt_rate(found: &HuntResult) -> String {
    let rate = found.iops.zip(found.bytes_per_s);
    rate.map_or_else(String::new, |(rate, bytes)| format!(": {}, {}", iops(rate), megabytes_per_s(bytes)))
}

/// A line for everything that may bind, or one on why nothing did.
#[must_use]
pub fn hunt_limits(found: &HuntResult) -> Vec<String> {
    if let Some(nothing) = &found.nothing_bound {
        return vec![nothing_bound(nothing)];
    }
    let line = |suspect: &Suspect| {
        let names: Vec<&str> = suspect.limits.iter().map(|limit| limit.name()).collect();
        let limits = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        format!("{}: {}{limits}: {}", standing(suspect.standing), cause(suspect), because(suspect))
    };
    found.suspects.iter().map(line).collect()
}

/// What a hunt found, for programs.
#[derive(Debug, Serialize)]
pub struct HuntDocument<'a> {
    schema: &'static str,
    run: &'a str,
    name: &'a str,
    cell: &'a str,
    label: &'a str,
    iops: Option<f64>,
    bytes_per_s: Option<f64>,
    margin: f64,
    rows: &'a [HuntRow],
    not_tried: &'a [SkippedSetting],
    nothing_bound: Option<String>,
    suspects: Vec<SuspectDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lift: Option<&'a str>,
    doubts: Vec<DoubtDocument<'a>>,
    next: StepDocument<'a>,
}

#[derive(Debug, Serialize)]
struct SuspectDocument<'a> {
    limits: &'a [Limit],
    what: String,
    standing: Standing,
    because: String,
    cause: &'a HuntCause,
    evidence: &'a HuntEvidence,
    left_to_vary: &'a [LeftToVary],
}

/// What to do next: its kind, the setting it is about, and the sentence.
#[derive(Debug, Serialize)]
struct StepDocument<'a> {
    step: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    setting: Option<HuntSetting>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<HuntInstead>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<&'a Binding>,
    text: String,
}

/// The document of a hunt: `docs/formats/hunt.schema.json`.
#[must_use]
pub fn hunt_document(found: &HuntResult) -> HuntDocument<'_> {
    let suspect = |suspect| SuspectDocument { what: cause(suspect), because: because(suspect), ..typed(suspect) };
    HuntDocument {
        schema: HUNT_SCHEMA,
        run: &found.run,
        name: &found.name,
        cell: &found.cell,
        label: &found.label,
        iops: found.iops,
        bytes_per_s: found.bytes_per_s,
        margin: found.margin,
        rows: &found.rows,
        not_tried: &found.not_tried,
        nothing_bound: found.nothing_bound.as_ref().map(nothing_bound),
        suspects: found.suspects.iter().map(suspect).collect(),
        lift: found.lift.as_deref(),
        doubts: DoubtDocument::of_all(&found.doubts),
        next: step(found),
    }
}

fn typed(suspect: &Suspect) -> SuspectDocument<'_> {
    let Suspect { limits, cause, standing, evidence, left } = suspect;
    let (what, because) = (String::new(), String::new());
    SuspectDocument { limits, what, standing: *standing, because, cause, evidence, left_to_vary: left }
}

fn step(found: &HuntResult) -> StepDocument<'_> {
    let (step, setting) = match found.next_step() {
        HuntStep::LiftThrottle(_) => ("lift-throttle", None),
        HuntStep::SetInEnvironment(row) => ("set-in-environment", Some(row)),
        HuntStep::SetInPlan(row) => ("set-in-plan", Some(row)),
        HuntStep::LongerTrials(row) => ("longer-trials", Some(row)),
        HuntStep::LargerVm => ("larger-vm", None),
        HuntStep::MoreStorage => ("more-storage", None),
        HuntStep::Read(_) => ("read", None),
    };
    let nothing = found.nothing_bound.as_ref();
    StepDocument {
        step,
        setting: setting.map(HuntSetting::of),
        instead: nothing.map(|nothing| nothing.instead),
        evidence: nothing.map(|nothing| &nothing.binding),
        text: nothing.map_or_else(|| next(found), |nothing| instead(nothing.instead).to_owned()),
    }
}

fn held_by(found: &HuntResult) -> String {
    let named = |suspect: &Suspect| format!("{} ({})", cause(suspect), because(suspect));
    let binding: Vec<String> = found.of(Standing::Binds).map(named).collect();
    let possible: Vec<String> = found.of(Standing::Possible).map(cause).collect();
    match (binding.is_empty(), possible.is_empty()) {
        (false, _) => listed(&binding),
        (true, false) => format!("not known yet; possible: {}", cut(possible)),
        (true, true) => "nothing that was varied: what holds the load is outside of these settings".to_owned(),
    }
}

fn certainty(found: &HuntResult) -> String {
    let rounds = found.rows.iter().map(|row| row.rounds).max().unwrap_or(0);
    let settings = found.rows.len();
    let decided = settings - found.with(Effect::CannotTell).count();
    format!("{decided} of {settings} settings decided in up to {rounds} rounds; all intervals hold together with 95 %")
}

fn next(found: &HuntResult) -> String {
    let set = |row: &HuntRow, place: &str| format!("set {} in the {place}, and hunt again from there", to(row));
    let more = |what: &str| format!("no other load raises the rate: {what}; `advise` ranks them by price");
    match found.next_step() {
        HuntStep::LiftThrottle(_) => "if this limit is not meant, lift it: that costs nothing".to_owned(),
        HuntStep::SetInEnvironment(row) => set(row, "environment"),
        HuntStep::SetInPlan(row) => set(row, "plan"),
        HuntStep::LongerTrials(row) => {
            let HuntSetting { factor, to } = HuntSetting::of(row);
            format!("{} {to} is not decided: hunt again with longer trials", factor.name())
        }
        HuntStep::LargerVm => more("a larger VM does, faster disks do not"),
        HuntStep::MoreStorage => more("more or faster storage does"),
        HuntStep::Read(Some(open)) => format!("{} is still possible: {}", cause(open), because(open)),
        HuntStep::Read(None) => {
            "no setting of this load raises the rate: hunt around another load, or on other storage".to_owned()
        }
    }
}

fn to(row: &HuntRow) -> String {
    format!("{} to {}", row.variant.factor.name(), row.variant.to)
}

fn nothing_bound(nothing: &NothingBound) -> String {
    let next = instead(nothing.instead);
    let seen = seen(&nothing.binding.seen);
    format!("Nothing bound this cell: {seen} No setting can show a limit that was not reached. {next}")
}

const fn instead(instead: HuntInstead) -> &'static str {
    match instead {
        HuntInstead::HigherRate => "Hunt around a higher rate of arrivals, or around a closed loop.",
        HuntInstead::HigherCeiling => "Hunt around a higher rate ceiling, or without it.",
        HuntInstead::MoreOutstanding => "Hunt without think time, or with more requests outstanding.",
    }
}

const fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Binds => "binds",
        Standing::Possible => "possible",
        Standing::RuledOut => "ruled out",
    }
}

/// What a suspect is.
fn cause(suspect: &Suspect) -> String {
    let words = match &suspect.cause {
        HuntCause::FewRequests => "too few requests at once",
        HuntCause::Disks => "the disks, by their number",
        HuntCause::Vm => "the VM's limits",
        HuntCause::UndeclaredVm => "other limits of a VM",
        HuntCause::Spread => "how requests fall on the disks of a stripe",
        HuntCause::Requests => "a limit on requests per second",
        HuntCause::Bytes => "a limit on bytes per second",
        HuntCause::Rate => "a limit on requests or bytes per second",
        HuntCause::Tool => "the load threads and the way to the device",
        HuntCause::FileSystem => "the file system, or locks in it",
        HuntCause::Misalignment => "requests that lie across blocks of the storage",
        HuntCause::Cache => "a cache above the disks",
        HuntCause::Throttle(held) => return throttle(held),
        HuntCause::Standing(limit) => return standing_limit(limit),
    };
    words.to_owned()
}

/// Why a suspect stands where it does, and what to vary to know more.
fn because(suspect: &Suspect) -> String {
    let seen = evidence(&suspect.evidence);
    let left: Vec<String> = suspect.left.iter().map(left).collect();
    if left.is_empty() { seen } else { format!("{seen}; to vary {}", left.join(", and ")) }
}

fn left(left: &LeftToVary) -> String {
    match left {
        LeftToVary::Whose { factors } => format!("{} tells whose it is", names(factors)),
        LeftToVary::RequestsOrBytes => "block tells requests from bytes".to_owned(),
    }
}

fn names(factors: &[Factor]) -> String {
    factors.iter().map(|factor| factor.name()).collect::<Vec<_>>().join(" or ")
}

fn evidence(evidence: &HuntEvidence) -> String {
    let all = |settings: &[HuntSetting]| {
        let texts: Vec<String> = settings.iter().map(|one| format!("{} {}", one.factor.name(), one.to)).collect();
        listed(&texts)
    };
    match evidence {
        HuntEvidence::Raised { by } => format!("{} raised the rate", all(by)),
        HuntEvidence::Unchanged { by } => format!("{} changed nothing", all(by)),
        HuntEvidence::OnlyLowered { by } => format!("{} only lowered the rate", all(by)),
        HuntEvidence::OneWay { lowered_by: HuntSetting { factor, to } } => {
            format!("{0} {to} lowered the rate; to vary {0} the other way", factor.name())
        }
        HuntEvidence::Undecided => "the rounds do not tell".to_owned(),
        HuntEvidence::NotVaried { vary } => format!("not varied; vary {}", names(vary)),
        HuntEvidence::CannotBeVaried { because } => format!("not varied: {because}"),
        HuntEvidence::HasNoneOfIt => "not varied: this storage has none of it".to_owned(),
        HuntEvidence::BlockUntold => "not varied, or not told; vary block".to_owned(),
        HuntEvidence::ThreadsOrRequests { to, depth_tells } => {
            let tells = if *depth_tells { "; to vary depth tells which" } else { "" };
            format!("threads {to} raised the rate, as more requests at once or as more threads{tells}")
        }
        HuntEvidence::FewerBlocks { to } => format!(
            "alignment {to} raised the rate; its requests fall on fewer different blocks, too, and a cache may keep those: a larger \
             size tells"
        ),
        HuntEvidence::PageCache { files_tell } => {
            let more = if *files_tell { "; to vary files tells more" } else { "" };
            format!("buffered requests raised the rate, but the page cache answers those{more}")
        }
        HuntEvidence::FollowsDisks { to, ratio } => format!("{to} do {ratio:.2} of the rate: it follows their number"),
        HuntEvidence::FewerDisks { to } => {
            format!("{to} lowered the rate, but not in proportion; vary to more disks")
        }
        HuntEvidence::AsManyRequests { to } => format!("blocks of {to} are as many per second"),
        HuntEvidence::AsManyBytes { to, near } => {
            let near = if *near { ": both limits are near" } else { "" };
            format!("blocks of {to} move as many bytes per second{near}")
        }
        HuntEvidence::OtherRequests { to } => format!("with blocks of {to} the requests per second differ"),
        HuntEvidence::MoreBytes { to, ratio } => format!("blocks of {to} move {ratio:.2} times the bytes"),
        HuntEvidence::FewerBytes { margin } => {
            format!("smaller blocks move fewer bytes, by more than {:.0} %", margin * 100.0)
        }
        HuntEvidence::Undeclared => "the environment puts none of them in the way of this load".to_owned(),
        HuntEvidence::ShownByItself { binding } => {
            format!("the cell shows it by itself: {}", seen(&binding.seen).trim_end_matches('.'))
        }
        HuntEvidence::Read { file } => format!("read from {file}, and the load reaches it"),
    }
}

/// "threads 1 to 4: 3.90 times the rate (3.72 to 4.11)".
fn change(row: &HuntRow) -> String {
    // An interval that rounds to its middle says no more than that.
    let interval = row.low.zip(row.high).filter(|(low, high)| high - low >= 0.005);
    let interval = interval.map_or_else(String::new, |(low, high)| format!(" ({low:.2} to {high:.2})"));
    let what = if row.in_bytes { "the bytes" } else { "the rate" };
    let (factor, from) = (row.variant.factor.name(), &row.variant.from);
    format!("{factor} {from} to {}: {:.2} times {what}{interval}", row.variant.to, row.gain())
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
    use loadline_hunt::HuntVariant;
    use loadline_record::{Doubt, DoubtCode};

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

    fn suspect(cause: HuntCause, standing: Standing, evidence: HuntEvidence) -> Suspect {
        Suspect { limits: Vec::new(), cause, standing, evidence, left: Vec::new() }
    }

    fn found(rows: Vec<HuntRow>, suspects: Vec<Suspect>) -> HuntResult {
        HuntResult {
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

    fn text(found: &HuntResult, about: &About) -> String {
        hunt_lines(found).into_iter().find(|line| line.about == *about).unwrap().text
    }

    #[test]
    fn the_largest_gain_comes_first_and_is_the_next_step() {
        let rows = vec![
            row(Factor::Threads, "2", 1.5, Effect::Moved),
            row(Factor::Depth, "16", 8.0, Effect::Moved),
            row(Factor::Engine, "aio", 1.0, Effect::RuledOut),
        ];
        let raised = HuntEvidence::Raised { by: vec![HuntSetting { factor: Factor::Depth, to: "16".into() }] };
        let suspects = vec![
            suspect(HuntCause::FewRequests, Standing::Binds, raised),
            suspect(HuntCause::Tool, Standing::RuledOut, HuntEvidence::Unchanged { by: Vec::new() }),
        ];
        let found = found(rows, suspects);
        assert!(hunt_lines(&found).len() <= 9);
        assert_eq!(text(&found, &About::HeldBy), "too few requests at once (depth 16 raised the rate)");
        let moved = text(&found, &About::MovedBy);
        assert!(moved.starts_with("depth 1 to 16: 8.00 times the rate (7.84 to 8.16); threads 1 to 2"), "{moved}");
        assert_eq!(text(&found, &About::Next), "set depth to 16 in the plan, and hunt again from there");
        assert_eq!(text(&found, &About::RuledOut), "the load threads and the way to the device");
    }

    #[test]
    fn a_machine_that_limits_is_not_mended_by_faster_disks() {
        let of = |limits: &[Limit]| {
            let binding = suspect(HuntCause::Vm, Standing::Binds, HuntEvidence::Undecided);
            text(&found(Vec::new(), vec![Suspect { limits: limits.to_vec(), ..binding }]), &About::Next)
        };
        assert!(of(&[Limit::VmUncachedIops]).contains("a larger VM does, faster disks do not"));
        assert!(of(&[Limit::VmUncachedIops, Limit::DiskIops]).contains("more or faster storage does"));
    }

    #[test]
    fn what_is_open_is_said_to_be_open() {
        let rows = vec![row(Factor::Block, "8 KiB", 1.02, Effect::CannotTell)];
        let open = suspect(HuntCause::Disks, Standing::Possible, HuntEvidence::Undecided);
        let mut found = found(rows, vec![open]);
        assert_eq!(text(&found, &About::HeldBy), "not known yet; possible: the disks, by their number");
        assert_eq!(text(&found, &About::Next), "block 8 KiB is not decided: hunt again with longer trials");
        found.rows.clear();
        let next = "the disks, by their number is still possible: the rounds do not tell";
        assert_eq!(text(&found, &About::Next), next);
        found.suspects[0].left =
            vec![LeftToVary::Whose { factors: vec![Factor::Layout, Factor::Vm] }, LeftToVary::RequestsOrBytes];
        let because = because(&found.suspects[0]);
        let wanted =
            "the rounds do not tell; to vary layout or vm tells whose it is, and block tells requests from bytes";
        assert_eq!(because, wanted);
    }

    #[test]
    fn a_doubt_about_the_rate_stands_beside_it_and_a_note_does_not() {
        let doubt = |code, detail: &str| Doubt::written(code, detail);
        let doubts = vec![
            doubt(DoubtCode::KnownDeviation, "own/small: measured at half (a report)."),
            doubt(DoubtCode::ShortRun, "Measured for 2 s."),
        ];
        let found = HuntResult { doubts, ..found(Vec::new(), Vec::new()) };
        let text = text(&found, &About::Doubt);
        assert!(text.starts_with("known-deviation (") && text.ends_with("measured at half (a report)"), "{text}");
        assert_eq!(hunt_lines(&found).iter().filter(|line| line.about == About::Doubt).count(), 1);
    }
}

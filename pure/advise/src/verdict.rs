//! The verdict of an advice, as field reports write theirs: at most nine lines, ten with a heading.

use crate::advice::{Advice, AdviceDoubt, AdviceDoubtCode, Candidate, Miss, VerdictLine};
use crate::advisor::{clock, rate_words};
use crate::need::Need;
use crate::words::{capital, number, percent, span};

/// Lines at most.
const LINES_MAX: usize = 9;
/// Lines that give way where there are more, the first of them first: the list says them, too.
const GIVE_WAY: [&str; 3] = ["for tests", "10 % more", "cheaper"];

/// The verdict, line by line. `simulated`: latencies are judged, and not limits alone.
pub(crate) fn verdict(need: &Need, advice: &Advice, simulated: bool) -> Vec<VerdictLine> {
    let mut lines = all_lines(need, advice, simulated);
    for about in GIVE_WAY {
        if lines.len() > LINES_MAX {
            lines.retain(|line| line.about != about);
        }
    }
    lines
}

fn all_lines(need: &Need, advice: &Advice, simulated: bool) -> Vec<VerdictLine> {
    let mut lines = Vec::new();
    let mut say = |about: &str, text: String| lines.push(VerdictLine { about: about.to_owned(), text });
    let Some(winner) = advice.winner() else {
        let meets = advice.unpriced.iter().find(|row| row.meets);
        let priced = if meets.is_some() { " with a complete price" } else { "" };
        let among =
            if advice.dearer_left { "the cheapest choices whose limits carry it" } else { "what the catalog knows" };
        say("take", format!("Nothing{priced} among {among} meets the need."));
        say("need", whole_need(need, advice, simulated));
        if let Some(row) = meets {
            say("unpriced", format!("{} does: {} a month in {}.", row.words(), row.price_words(), row.region));
        }
        if let Some(miss) = advice.misses.first() {
            say("nearest", missed(miss, None));
        }
        if let Some(first) = advice.doubts.iter().find(|doubt| doubt.code == AdviceDoubtCode::SourceLimited) {
            say("doubt", sentence(&first.detail));
        }
        let unknown = |note: &&String| {
            note.contains("without a known memory") || note.contains("without a known number of vCPUs")
        };
        for note in advice.not_looked_at.iter().filter(unknown) {
            say("left out", format!("{note}: a need that asks for no memory and no vCPUs looks at them, too."));
        }
        return lines;
    };
    let system = winner.price_month.items.iter().find(|item| item.what == "system's disk").and_then(|item| item.amount);
    // An environment has no system's disk, so that its bill is lower by that.
    let system = system.map_or_else(String::new, |amount| format!(", of which the system's disk is {amount:.2}"));
    let price = winner.price_words();
    say("take", format!("Take {}: {price} a month in {}{system}.", winner.sized_words(), winner.region));
    say("need", whole_need(need, advice, simulated));
    let used = if winner.used > 1.0 {
        format!("at its peak the need uses {}, and credits carry that", percent(winner.used))
    } else {
        format!("the need uses {}", percent(winner.used))
    };
    say(
        "binds",
        format!(
            "Its first limit is that of {} ({}). That is {} IOPS of this load; {used}.",
            winner.binding.source,
            winner.binding.limit,
            number(winner.binding.ceiling_iops),
        ),
    );
    say("meets", met(need, winner));
    if let Some(line) = same_requests(advice, winner) {
        say("same requests", line);
    }
    if let Some(at) = winner.burst_ends_s {
        say(
            "burst",
            format!(
                "Its burst ends after {}{}; then it is short: {} of the time.",
                clock(at),
                if at > advice.need.recorded_s.unwrap_or(0.0) {
                    " if the record goes on as it is"
                } else {
                    " of the record"
                },
                percent(winner.short_share.unwrap_or(0.0))
            ),
        );
    }
    if let Some(miss) = advice.misses.first() {
        say("cheaper", missed(miss, Some(winner)));
    }
    if let Some(step) = advice.staircase.iter().find(|step| (step.times - 1.1).abs() < 1e-9) {
        say("10 % more", more(step.amount, step.choice.as_deref(), winner));
    }
    let half = advice.staircase.iter().find(|step| (step.times - 0.5).abs() < 1e-9);
    if let Some((amount, choice)) = half.and_then(|step| step.amount.zip(step.choice.as_ref())) {
        let saved = 1.0 - amount / winner.price_month.amount.max(1e-9);
        // A verdict has nine lines at most.
        if saved >= 0.1 && winner.replayed.is_empty() {
            say(
                "for tests",
                format!(
                    "Half the need costs {} less: {choice}, {amount:.2} {}.",
                    percent(saved),
                    winner.price_month.currency
                ),
            );
        }
    }
    // Of the need first, then of the row itself.
    let of = |doubts: &[AdviceDoubt], codes: &[AdviceDoubtCode]| {
        codes.iter().find_map(|code| doubts.iter().find(|doubt| doubt.code == *code)).cloned()
    };
    let gravest =
        of(&advice.doubts, &[AdviceDoubtCode::SourceLimited, AdviceDoubtCode::Averaged, AdviceDoubtCode::ShortHistory])
            .or_else(|| of(&winner.doubts, &[AdviceDoubtCode::KnownDeviation, AdviceDoubtCode::OldPrices]));
    if let Some(first) = gravest {
        say("doubt", format!("{} ({})", sentence(&first.detail), first.code));
    }
    // What is known of its price may already be more than the winner costs.
    let cheaper = |row: &&Candidate| {
        row.price_month.amount < winner.price_month.amount && !advice.candidates.iter().any(|other| is_less(other, row))
    };
    if let Some(row) = advice.unpriced.iter().find(cheaper) {
        let missing = row.price_month.items.iter().find_map(|item| item.missing.as_deref());
        let why = missing.map_or_else(String::new, |missing| format!(": {missing}"));
        let more = match advice.unpriced.iter().filter(cheaper).count() {
            1 => String::new(),
            count => format!(" So may {} more.", count - 1),
        };
        say("unpriced", format!("{} costs {} and may be cheaper{why}.{more}", row.words(), row.price_words()));
    }
    lines
}

/// Whether `less` is the same machine and disks with no more provisioned, so that the other costs no less.
fn is_less(less: &Candidate, more: &Candidate) -> bool {
    let (one, other) = (&less.volumes[0].disks[0], &more.volumes[0].disks[0]);
    let same = (&less.machine, &one.sku, one.count, one.size_bytes)
        == (&more.machine, &other.sku, other.count, other.size_bytes);
    let no_more = one.iops.unwrap_or(0) <= other.iops.unwrap_or(0)
        && one.throughput_bytes_per_s.unwrap_or(0) <= other.throughput_bytes_per_s.unwrap_or(0);
    same && no_more
}

/// What the recorded requests would meet on the winner: of an application that waits for answers, and of one that does not.
fn same_requests(advice: &Advice, winner: &Candidate) -> Option<String> {
    let recorded = advice.recorded.as_ref().map_or_else(String::new, |found| format!(" Recorded: {}.", found.words()));
    let all: Vec<String> = (winner.replayed.iter())
        .map(|found| match found.by.as_str() {
            "answers" => format!("after the answers that they waited for {}", found.words()),
            _ => format!("at their recorded times {}", found.words()),
        })
        .collect();
    let broken = match winner.replayed.iter().find(|found| found.keeps == Some(false)).map(|found| found.by.as_str()) {
        Some("answers") => " That breaks the objective for an application that waits for its answers.",
        Some(_) => " That breaks the objective for an application that waits for no answers.",
        None => "",
    };
    (!all.is_empty()).then(|| format!("The recorded requests would have there, {}.{broken}{recorded}", all.join("; ")))
}

/// "9,000 IOPS of 8 KiB, 70 % reads (73.7 MB/s) on 500 GiB; p99 of 10 ms."
fn whole_need(need: &Need, advice: &Advice, simulated: bool) -> String {
    let objective = match need.objective_text() {
        _ if !simulated => "limits alone were judged, no latency".to_owned(),
        Some(text) => text,
        None => "no latency to keep".to_owned(),
    };
    let rate = loadline_units::ByteRate::per_second(advice.need.throughput_bytes_per_s.round() as u64);
    let rate = rate.map_or_else(String::new, |rate| format!(" ({})", loadline_catalog::rate_text(rate)));
    let peak = if advice.need.recorded_s.is_some() { "At its peak " } else { "" };
    format!("{peak}{}{rate} on {}; {objective}.", rate_words(&advice.need), need.size_in_the_end().human())
}

fn met(need: &Need, winner: &Candidate) -> String {
    let latency = winner.latency_ns.map(|found| {
        let figure = need.objective.map_or("p99", |found| found.of.words());
        format!(
            "{figure} is {} ({} to {})",
            span(found.p99 as f64),
            span(found.p99_low as f64),
            span(found.p99_high as f64)
        )
    });
    let limit = need.objective.map(|found| format!(", {} allowed", found.limit));
    let random = if winner.replayed.is_empty() { "" } else { " for requests at random times of the busiest second" };
    let scenarios = format!("met in {} of {} scenarios", winner.scenarios.met, winner.scenarios.of);
    match latency {
        Some(latency) => format!("{}{random}{}; {scenarios}.", capital(&latency), limit.unwrap_or_default()),
        None => format!("{}.", capital(&scenarios)),
    }
}

fn missed(miss: &Miss, winner: Option<&Candidate>) -> String {
    let price = miss.candidate.price_month.amount;
    let less = winner.map(|winner| 1.0 - price / winner.price_month.amount.max(1e-9));
    let begin = match less {
        Some(less) => format!("{} costs {} less and {}", miss.candidate.words(), percent(less), miss.text),
        None => format!("{} ({}) {}", miss.candidate.words(), miss.candidate.price_words(), miss.text),
    };
    let fix = miss.fix.as_ref().map_or_else(String::new, |fix| {
        format!(" {} would do, at {:.2} {}.", fix.text, fix.amount, miss.candidate.price_month.currency)
    });
    format!("{begin}.{fix}")
}

fn more(amount: Option<f64>, choice: Option<&str>, winner: &Candidate) -> String {
    match (amount, choice) {
        (Some(amount), Some(choice)) if amount > winner.price_month.amount + 0.005 => {
            format!(
                "10 % more need costs {:.2} {} more a month: {choice}.",
                amount - winner.price_month.amount,
                winner.price_month.currency
            )
        }
        (Some(_), _) => "10 % more need costs nothing more: the limits leave room for it.".to_owned(),
        (None, _) => "Nothing carries 10 % more.".to_owned(),
    }
}

fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    // A name of the catalog stays as it is.
    let is_named = text.split(' ').next().is_some_and(|word| word.contains('/'));
    format!("{}.", if is_named { text.to_owned() } else { capital(text) })
}

//! The verdict of an advice, as field reports write theirs: at most nine lines, ten with a heading.

use crate::advice::{Advice, AdviceDoubt, Candidate, Miss, VerdictLine};
use crate::advisor::{clock, rate_words};
use crate::need::Need;
use crate::words::{capital, number, percent, span};

/// The verdict, line by line.
pub(crate) fn verdict(need: &Need, advice: &Advice) -> Vec<VerdictLine> {
    let mut lines = Vec::new();
    let mut say = |about: &str, text: String| lines.push(VerdictLine { about: about.to_owned(), text });
    let Some(winner) = advice.winner() else {
        let meets = advice.unpriced.iter().find(|row| row.meets);
        let priced = if meets.is_some() { " with a complete price" } else { "" };
        say("take", format!("Nothing{priced} that the catalog knows meets {}.", whole_need(need, advice)));
        if let Some(row) = meets {
            say("unpriced", format!("{} does: {} a month in {}.", row.words(), row.price_words(), row.region));
        }
        if let Some(miss) = advice.misses.first() {
            say("nearest", missed(miss, None));
        }
        if let Some(first) = advice.doubts.iter().find(|doubt| doubt.code == "source-limited") {
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
    say("take", format!("Take {}: {} a month in {}.", winner.sized_words(), winner.price_words(), winner.region));
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
    let of = |doubts: &[AdviceDoubt], codes: &[&str]| {
        codes.iter().find_map(|code| doubts.iter().find(|doubt| doubt.code == *code)).cloned()
    };
    let gravest = of(&advice.doubts, &["source-limited", "averaged", "short-history"])
        .or_else(|| of(&winner.doubts, &["known-deviation", "old-prices"]));
    if let Some(first) = gravest {
        say("doubt", format!("{} ({})", sentence(&first.detail), first.code));
    }
    // What is known of its price may already be more than the winner costs.
    let cheaper = |row: &&Candidate| row.price_month.amount < winner.price_month.amount;
    if advice.unpriced.iter().any(|row| cheaper(&row)) {
        let items = advice.unpriced.iter().filter(cheaper).flat_map(|row| &row.price_month.items);
        let mut names: Vec<&str> = items.filter(|item| item.amount.is_none()).map(|item| item.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let (have, them) = if names.len() == 1 { ("has", "it") } else { ("have", "them") };
        say(
            "unpriced",
            format!(
                "{} {have} no complete price in the catalog: a choice with {them} may be cheaper.",
                names.join(", ")
            ),
        );
    }
    lines
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
    (!all.is_empty()).then(|| format!("The recorded requests would have there, {}.{recorded}", all.join("; ")))
}

fn whole_need(need: &Need, advice: &Advice) -> String {
    let objective = need.objective_text().map_or_else(String::new, |text| format!(" with {text}"));
    format!("{}{objective} on {}", rate_words(&advice.need), need.size_in_the_end().human())
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
    let limit = need.objective.map(|found| format!(", {} allowed", found.limit.human()));
    let scenarios = format!("met in {} of {} scenarios", winner.scenarios.met, winner.scenarios.of);
    match latency {
        Some(latency) => format!("{}{}; {scenarios}.", capital(&latency), limit.unwrap_or_default()),
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

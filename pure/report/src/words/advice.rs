//! An advice in words: its verdict, its rows, what stands below them, and its page.

mod doubt;
mod miss;
mod next;

use self::miss::missed;

use crate::console::{Style, TerminalOptions, length, wrap};
use crate::draft::{Draft, Noun, Weight};
use crate::put;
use crate::table::{Column, Field, Table};
use crate::verdict_line::{About, VerdictLine};
use loadline_advise::{
    Advice, AdviceDoubt, AdviceDoubtCode, Candidate, Cheapest, CurvePoint, NotLookedAt, PriceStep, PricedPart,
    RegionPrice, ReplayedFigures, RequestTiming, SumKnown, VolumeChoice, limit_words, objective_words, request_size,
};
use loadline_record::VOLUME_DEFAULT;
use loadline_units::Duration;
use loadline_units::words::{capital, number, percent, span};

pub(crate) use self::doubt::advice_doubt;
pub(crate) use self::miss::{change, shortfall};
pub use self::next::{AdviceNext, advice_next};

/// Lines at most.
const LINES_MAX: usize = 9;
/// Lines that give way where there are more, the first of them first: the list says them, too.
const GIVE_WAY: [About; 3] = [About::ForTests, About::TenPercentMore, About::Cheaper];
/// Regions that are shown with their cheapest choice, at most.
const REGIONS_MAX: usize = 10;
/// A line of a row is at least so long, however narrow the terminal.
const LINE_MIN: usize = 30;

/// The verdict, as field reports write theirs: at most nine lines.
#[must_use]
pub fn advice_lines(advice: &Advice) -> Vec<VerdictLine> {
    let mut lines = all_lines(advice);
    give_way(&mut lines, &GIVE_WAY, LINES_MAX);
    lines
}

/// The verdict as text: a sentence a line.
#[must_use]
pub fn advice_verdict(advice: &Advice) -> String {
    let lines = advice_lines(advice);
    lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// Takes lines out, the first of these first, until no more than so many are left.
pub fn give_way(lines: &mut Vec<VerdictLine>, order: &[About], most: usize) {
    for about in order {
        if lines.len() > most {
            lines.retain(|line| line.about != *about);
        }
    }
}

fn all_lines(advice: &Advice) -> Vec<VerdictLine> {
    let mut lines = Vec::new();
    let mut say = |about: About, text: String| lines.push(about.says(text));
    let Some(winner) = advice.winner() else {
        let meets = advice.unpriced.iter().find(|row| row.meets);
        let priced = if meets.is_some() { " with a complete price" } else { "" };
        let among =
            if advice.dearer_left { "the cheapest choices whose limits carry it" } else { "what the catalog knows" };
        say(About::Take, format!("Nothing{priced} among {among} meets the need."));
        say(About::Need, whole_need(advice));
        if let Some(row) = meets {
            say(About::Unpriced, format!("{} does: {} a month in {}.", row.words(), row.price_words(), row.region));
        }
        if let Some(miss) = advice.misses.first() {
            say(About::Nearest, missed(miss, advice.judged_by.objective, None));
        }
        if let Some(first) = advice.doubts.iter().find(|doubt| doubt.code() == AdviceDoubtCode::SourceLimited) {
            say(About::Doubt, sentence(&advice_doubt(first)));
        }
        let is_unknown = |note: &&NotLookedAt| {
            matches!(note, NotLookedAt::MachinesWithoutMemory { .. } | NotLookedAt::MachinesWithoutVcpus { .. })
        };
        for note in advice.not_looked_at.iter().filter(is_unknown) {
            let note = not_looked_at(note);
            say(About::LeftOut, format!("{note}: a need that asks for no memory and no vCPUs looks at them, too."));
        }
        return lines;
    };
    let system = winner.price_month.paid_for(PricedPart::SystemDisk);
    // An environment has no system's disk, so that its bill is lower by that.
    let system = system.map_or_else(String::new, |amount| format!(", of which the system's disk is {amount:.2}"));
    let price = winner.price_words();
    say(About::Take, format!("Take {}: {price} a month in {}{system}.", winner.sized_words(), winner.region));
    say(About::Need, whole_need(advice));
    let used = if winner.used > 1.0 {
        format!("at its peak the need uses {}, and credits carry that", percent(winner.used))
    } else {
        format!("the need uses {}", percent(winner.used))
    };
    say(
        About::Binds,
        format!(
            "Its first limit is that of {} ({}). For requests like these it is {} IOPS; {used}.",
            winner.binding.source,
            winner.binding.limit,
            number(winner.binding.ceiling_iops),
        ),
    );
    say(About::Meets, met(advice, winner));
    if let Some(line) = same_requests(advice, winner) {
        say(About::SameRequests, line);
    }
    if let Some(at) = winner.burst_ends_s {
        say(
            About::Burst,
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
        say(About::Cheaper, missed(miss, advice.judged_by.objective, Some(winner)));
    }
    if let Some(step) = advice.staircase.iter().find(|step| (step.times - 1.1).abs() < 1e-9) {
        say(About::TenPercentMore, by_limits(advice, more(&step.cheapest, winner)));
    }
    let half = advice.staircase.iter().find(|step| (step.times - 0.5).abs() < 1e-9);
    let half = half.map(|step| &step.cheapest);
    if let Some((cheapest, amount)) = half.and_then(|half| Some((half, half.amount?))) {
        let saved = 1.0 - amount / winner.price_month.amount.max(1e-9);
        // A verdict has nine lines at most.
        if saved >= 0.1 && winner.replayed.is_empty() {
            say(
                About::ForTests,
                by_limits(
                    advice,
                    format!(
                        "Half the need costs {} less: {}, {} {}.",
                        percent(saved),
                        cheapest.choice.as_deref().unwrap_or_default(),
                        cheapest.amount_words().unwrap_or_default(),
                        winner.price_month.currency
                    ),
                ),
            );
        }
    }
    // Of the need first, then of the row itself.
    let gravest = {
        use AdviceDoubtCode as Code;
        first_of(&advice.doubts, &[Code::SourceLimited, Code::Averaged, Code::ShortHistory])
            .or_else(|| first_of(&winner.doubts, &[Code::KnownDeviation, Code::EstimatedPrices, Code::OldPrices]))
    };
    if let Some(first) = gravest {
        say(About::Doubt, format!("{} ({})", sentence(&advice_doubt(first)), first.code()));
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
        say(About::Unpriced, format!("{} costs {} and may be cheaper{why}.{more}", row.words(), row.price_words()));
    }
    lines
}

/// The first doubt of the first of these kinds that there is.
fn first_of<'a>(doubts: &'a [AdviceDoubt], codes: &[AdviceDoubtCode]) -> Option<&'a AdviceDoubt> {
    codes.iter().find_map(|code| doubts.iter().find(|doubt| doubt.code() == *code))
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
        .map(|found| match found.by {
            RequestTiming::Answers => format!("after the answers that they waited for {}", found.words()),
            _ => format!("at their recorded times {}", found.words()),
        })
        .collect();
    let broken = match winner.replayed.iter().find(|found| found.keeps == Some(false)).map(|found| found.by) {
        Some(RequestTiming::Answers) => " That breaks the objective for an application that waits for its answers.",
        Some(_) => " That breaks the objective for an application that waits for no answers.",
        None => "",
    };
    let by_answers = winner.replayed.iter().find(|found| found.by == RequestTiming::Answers);
    let both = by_answers.zip(advice.recorded.as_ref());
    let of_commits = both.filter(|(found, before)| found.flushes_per_s.is_some() && before.flushes_per_s.is_some());
    let commits = of_commits.map_or_else(String::new, |(found, before)| {
        format!(" Commits wait for flushes: {:.2} times as many.", found.pace_over(before))
    });
    let there = all.join("; ");
    (!all.is_empty()).then(|| format!("The recorded requests would have there, {there}.{broken}{recorded}{commits}"))
}

/// "9,000 IOPS of 8 KiB, 70 % reads (73.7 MB/s) on 500 GiB; p99 of 10 ms."
fn whole_need(advice: &Advice) -> String {
    let objective = match (advice.judged_by.pending, advice.judged_by.objective) {
        (Some(found), _) => format!("limits alone are judged so far, not yet the {}", objective_words(found)),
        _ if !advice.judged_by.simulated => "limits alone were judged, no latency".to_owned(),
        (None, Some(found)) => objective_words(found),
        (None, None) => "no latency to keep".to_owned(),
    };
    let rate = loadline_units::ByteRate::per_second(advice.need.throughput_bytes_per_s.round() as u64);
    let rate = rate.map_or_else(String::new, |rate| format!(" ({})", loadline_catalog::rate_text(rate)));
    let peak = if advice.need.recorded_s.is_some() { "At its peak " } else { "" };
    let asked = format!(
        "{} IOPS of {}, {} reads",
        number(advice.need.iops),
        request_size(advice.need.block_bytes as f64),
        percent(advice.need.read_ratio)
    );
    format!("{peak}{asked}{rate} on {}; {objective}.", advice.judged_by.size.human())
}

fn met(advice: &Advice, winner: &Candidate) -> String {
    let objective = advice.judged_by.objective;
    let latency = winner.latency_ns.map(|found| {
        let figure = objective.map_or("p99", |found| found.of.words());
        format!(
            "{figure} is {} ({} to {})",
            span(found.p99 as f64),
            span(found.p99_low as f64),
            span(found.p99_high as f64)
        )
    });
    let limit = objective.map(|found| format!(", {} allowed", limit_words(found.limit)));
    let random = if winner.replayed.is_empty() { "" } else { " for requests at random times of the busiest second" };
    let scenarios = format!("met in {} of {} scenarios", winner.scenarios.met, winner.scenarios.of);
    match latency {
        Some(latency) => format!("{}{random}{}; {scenarios}.", capital(&latency), limit.unwrap_or_default()),
        None if advice.judged_by.simulated => format!("{}.", capital(&scenarios)),
        None => {
            let open = advice
                .judged_by
                .pending
                .map(|found| format!(" Whether it keeps a {} is still open.", objective_words(found)));
            format!("By its limits alone, {scenarios}.{}", open.unwrap_or_default())
        }
    }
}

/// How shares of the need were judged if the need itself has a latency to keep: "By limits, ".
fn by_limits(advice: &Advice, sentence: String) -> String {
    if !judges_latency(advice) {
        return sentence;
    }
    let mut letters = sentence.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string());
    format!("By limits, {}{}", first.unwrap_or_default(), letters.as_str())
}

/// Whether rows must keep a latency in simulation, which other shares of the need are not simulated for.
pub(crate) const fn judges_latency(advice: &Advice) -> bool {
    advice.judged_by.simulated && advice.judged_by.objective.is_some()
}

fn more(cheapest: &Cheapest, winner: &Candidate) -> String {
    match (cheapest.amount, &cheapest.choice) {
        (Some(amount), Some(choice)) if amount > winner.price_month.amount + 0.005 => {
            let known = SumKnown::of(true, cheapest.estimated || winner.price_month.estimated);
            let more = known.words(amount - winner.price_month.amount);
            format!("10 % more need costs {more} {} more a month: {choice}.", winner.price_month.currency)
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

/// A time of a record: "14 h 20 min".
fn clock(seconds: f64) -> String {
    Duration::from_s(seconds.max(0.0).round() as u64).clock()
}

pub(crate) fn not_looked_at(note: &NotLookedAt) -> String {
    let machines =
        |count: &u32, provider: &str, without: &str| format!("{count} machines of {provider} without {without}");
    match note {
        NotLookedAt::MachinesWithoutMemory { provider, count } => machines(count, provider, "a known memory"),
        NotLookedAt::MachinesWithoutVcpus { provider, count } => {
            machines(count, provider, "a known number of vCPUs")
        }
        NotLookedAt::MachinesWithoutLimit { provider, count } => {
            machines(count, provider, "a known limit for network disks")
        }
        NotLookedAt::MachinesWithoutPrice { provider, region, count } => {
            machines(count, provider, &format!("a price in {region}"))
        }
        NotLookedAt::MachinesWithoutPriceIn { provider, regions, most } => {
            format!("up to {}", machines(most, provider, &format!("a price, in {regions} regions")))
        }
        NotLookedAt::Superseded { disk, by } => format!("{disk}: its provider recommends {by}"),
        NotLookedAt::PaidOptions { provider, disks } => format!("paid options of {disks} disks of {provider}"),
        NotLookedAt::Memory => "memory of machines: none was asked for".to_owned(),
        NotLookedAt::Vcpus => "processors of machines: none were asked for".to_owned(),
        NotLookedAt::HostDisks => "disks in the machine's host, which lose their data when it stops".to_owned(),
        NotLookedAt::Mirrors => "mirrors: the disks of these providers are replicated already".to_owned(),
        NotLookedAt::OtherCosts => {
            "reserved terms, licences, snapshots, backups, network traffic, charges for requests on disks for which the catalog has \
             none"
                .to_owned()
        }
    }
}

/// The choices as a table.
#[must_use]
pub fn advice_table(candidates: &[Candidate]) -> Table {
    let mut table = Table::new(&[
        Column::numbers("", "rank"),
        Column::words("machine", "machine"),
        Column::words(VOLUME_DEFAULT, "volume"),
        Column::numbers("a month", "cost_per_month"),
        Column::words("", "currency"),
        Column::words("binds first", "binding"),
        Column::numbers("used", "used"),
        Column::numbers("p99", "latency_p99_ns"),
        Column::words("range", "latency_range"),
        Column::words("scenarios", "scenarios"),
        Column::words("prices of", "price_dates"),
        Column::words("region", "region"),
        Column::words("architecture", "architecture"),
    ]);
    let time = |ns: u64| Duration::from_ns(ns).human();
    for row in candidates {
        let volumes: Vec<String> = row.volumes.iter().map(VolumeChoice::words).collect();
        let range = |found: loadline_advise::LatencyRange| {
            Field::text(format!("{} to {}", time(found.p99_low), time(found.p99_high)))
        };
        table.push(vec![
            Field::count(u64::from(row.rank)),
            Field::text(&row.machine),
            Field::text(volumes.join("; ")),
            Field::both(row.price_month.amount_words(), row.price_month.amount),
            Field::text(&row.price_month.currency),
            Field::text(&row.binding.source),
            Field::both(format!("{:.0} %", row.used * 100.0), row.used),
            Field::figure(row.latency_ns.map(|found| found.p99), time),
            row.latency_ns.map_or_else(Field::missing, range),
            Field::text(format!("{} of {}", row.scenarios.met, row.scenarios.of)),
            Field::text(row.price_month.dates.join(", ")),
            Field::text(&row.region),
            row.architecture.map_or_else(Field::missing, |own| Field::text(own.name())),
        ]);
    }
    table
}

/// For a terminal: each row with its price at the left, and beside it what is bought, its first limit, and what it is sure of.
pub fn advice_rows(text: &mut Draft, candidates: &[Candidate], options: &TerminalOptions) {
    if candidates.is_empty() {
        return;
    }
    let prices: Vec<String> = candidates.iter().map(Candidate::price_words).collect();
    let of_rank = candidates.len().to_string().len();
    let of_price = prices.iter().map(|price| length(price)).max().unwrap_or(0).max("a month".len());
    let indent = of_rank + 2 + of_price + 2;
    let room = options.width.saturating_sub(indent).max(LINE_MIN);
    let heading = format!("{:of_rank$}  {:>of_price$}  machine and disks", "", "a month");
    put!(text, "{}\n", options.colour.paint(Style::Bold, &heading));
    // Rows of one provider in several regions: each says where it is.
    let is_elsewhere = |a: &Candidate, b: &Candidate| a.provider == b.provider && a.region != b.region;
    let are_several = candidates.iter().any(|a| candidates.iter().any(|b| is_elsewhere(a, b)));
    for (row, price) in candidates.iter().zip(&prices) {
        text.item(Noun::Row, if row.rank == 1 { Weight::Carries } else { Weight::Details });
        let mut begin = format!("{:>of_rank$}  {price:>of_price$}  ", row.rank);
        let place = if are_several { format!(", {}", row.region) } else { String::new() };
        for part in [row.words() + &place, sure_of(row)] {
            for line in wrap(&part, room) {
                put!(text, "{begin}{line}\n");
                begin = " ".repeat(indent);
            }
        }
    }
    let mut dates: Vec<&str> = candidates.iter().flat_map(|row| &row.price_month.dates).map(String::as_str).collect();
    dates.sort_unstable();
    dates.dedup();
    if !dates.is_empty() {
        text.item(Noun::Note, Weight::Explains);
        for line in wrap(&format!("Prices of {}.", dates.join(", ")), options.width.max(LINE_MIN)) {
            put!(text, "{line}\n");
        }
    }
}

/// "75 % of each of 2 disks: 5,000 IOPS; p99 1.17 ms (0.54 to 1.97 ms); 48 of 48 scenarios".
fn sure_of(row: &Candidate) -> String {
    let time = |ns: u64| Duration::from_ns(ns).human();
    let latency = row.latency_ns.map_or_else(String::new, |found| {
        format!(" p99 {} ({} to {});", time(found.p99), time(found.p99_low), time(found.p99_high))
    });
    let (used, limit) = (row.used * 100.0, &row.binding.source);
    format!("{used:.0} % of {limit};{latency} {} of {} scenarios", row.scenarios.met, row.scenarios.of)
}

/// What stands below the rows: headings, each with its lines.
#[must_use]
pub fn advice_sections(advice: &Advice) -> Vec<(&'static str, Vec<String>)> {
    let at = |cheapest: &Cheapest| {
        let amount = cheapest.amount_words().unwrap_or_else(|| "nothing carries it".to_owned());
        format!("{amount}  {}", cheapest.choice.as_deref().unwrap_or(""))
    };
    let mut sections: Vec<(&'static str, Vec<String>)> = Vec::new();
    if advice.candidates.iter().any(|row| !row.replayed.is_empty()) {
        let recorded = advice.recorded.iter().map(|found| format!("as recorded: {}", found.words()));
        let rows = advice.candidates.iter().map(|row| {
            let by = |found: &ReplayedFigures| format!("by {} {}", found.by.name(), found.words());
            format!("row {}: {}", row.rank, row.replayed.iter().map(by).collect::<Vec<_>>().join("; "))
        });
        let heading = "The recorded requests on each row, without credits for bursts";
        sections.push((heading, recorded.chain(rows).collect()));
    }
    let taken_off = advice.candidates.iter().filter_map(taken_off);
    sections.push(("Taken off list prices, a month", taken_off.collect()));
    let misses = advice.misses.iter().map(|miss| missed(miss, advice.judged_by.objective, None));
    sections.push(("Cheaper, and just missed", misses.collect()));
    let unpriced = |row: &Candidate| {
        let missing: Vec<&str> = row.price_month.items.iter().filter_map(|item| item.missing.as_deref()).collect();
        format!("{}: {} ({})", row.words(), row.price_words(), missing.join("; "))
    };
    sections.push(("Without a complete price", advice.unpriced.iter().map(unpriced).collect()));
    // Disks that are too slow by themselves are left out; what queues take beyond that is not simulated for these.
    let (regions, shares) = if judges_latency(advice) {
        (
            "The cheapest of each region, by limits, on disks fast enough for the latency, a month",
            "What more and less of the need costs a month, by limits, on disks fast enough for the latency",
        )
    } else {
        ("The cheapest of each region, by limits, a month", "What more and less of the need costs a month, by limits")
    };
    sections.push((regions, region_lines(&advice.regions)));
    let step = |step: &PriceStep| format!("{:.0} %: {}", step.times * 100.0, at(&step.cheapest));
    sections.push((shares, advice.staircase.iter().map(step).collect()));
    let point = |point: &CurvePoint| format!("{:.1} %: {}", point.short_share * 100.0, at(&point.cheapest));
    sections.push(("Cost by the share of time that may be short", advice.curve.iter().map(point).collect()));
    let coded = |doubt: &AdviceDoubt| format!("{}: {}", doubt.code(), advice_doubt(doubt));
    let doubts = advice.doubts.iter().map(coded);
    let of_rows = (advice.candidates.iter())
        .flat_map(|row| row.doubts.iter().map(move |doubt| format!("row {}: {}", row.rank, coded(doubt))));
    sections.push(("Doubts", doubts.chain(of_rows).collect()));
    sections.push(("Not looked at", advice.not_looked_at.iter().map(not_looked_at).collect()));
    sections.retain(|(_, lines)| !lines.is_empty());
    sections
}

/// What commitments and discounts take off a row's list prices.
fn taken_off(row: &Candidate) -> Option<String> {
    let items = &row.price_month.items;
    let listed: f64 = items.iter().filter(|item| item.off.is_none()).filter_map(|item| item.amount).sum();
    let taken = items.iter().filter(|item| item.off.is_some()).filter_map(|item| {
        let what = if item.what == PricedPart::Commitment { "commitment" } else { "discount" };
        let (amount, share) = (item.amount?, percent(item.share?));
        let from = item.date.as_ref().map_or_else(String::new, |date| format!(", shares of {date}"));
        let terms = item.terms.as_ref().map_or_else(String::new, |terms| format!(", {terms}"));
        let about = SumKnown::of(true, !item.estimated.is_empty()).words(-amount);
        Some(format!("{about} by the {what} ({share} of {}{terms}{from})", item.name))
    });
    let taken: Vec<String> = taken.collect();
    (!taken.is_empty()).then(|| format!("row {}: list {listed:.2}, less {}", row.rank, taken.join(", less ")))
}

/// The cheapest regions, and how many more there are.
fn region_lines(regions: &[RegionPrice]) -> Vec<String> {
    let line = |found: &RegionPrice| {
        let RegionPrice { provider, region, cheapest } = found;
        let (amount, choice) = (cheapest.amount_words()?, cheapest.choice.as_deref()?);
        Some(format!("{provider} {region}: {amount}  {choice}"))
    };
    let mut lines: Vec<String> = regions.iter().filter_map(line).take(REGIONS_MAX).collect();
    let last = regions.iter().filter(|found| found.cheapest.amount.is_some()).nth_back(0);
    let more = regions.iter().filter(|found| found.cheapest.amount.is_some()).count().saturating_sub(REGIONS_MAX);
    if let (Some(last), 1..) = (last.and_then(|last| last.cheapest.amount_words()), more) {
        lines.push(format!("{more} more regions, up to {last}"));
    }
    match regions.iter().filter(|found| found.cheapest.amount.is_none()).count() {
        0 => {}
        1 => lines.push("1 region in which nothing carries it".to_owned()),
        none => lines.push(format!("{none} regions in which nothing carries it")),
    }
    lines
}

/// What only the page says of each row: its price by item, the rate at its first limit, and when its burst ends.
pub(crate) fn details(row: &Candidate) -> String {
    let items = row.price_month.items.iter().map(|item| {
        let amount = item.amount.map_or_else(|| "no price".to_owned(), |amount| format!("{amount:.2}"));
        let day = item.fetched.as_deref().map(|fetched| fetched.split('T').next().unwrap_or(fetched));
        let fetched = day.map_or(String::new(), |day| format!(", fetched {day}"));
        format!("{} {amount} ({}{fetched})", item.name, item.date.as_deref().unwrap_or("no date"))
    });
    let ceiling = format!("{} at {} IOPS", row.binding.source, number(row.binding.ceiling_iops));
    let burst = row.burst_ends_s.map(|at| format!("its burst ends after {}", clock(at)));
    let all: Vec<String> = items.chain([ceiling]).chain(burst).collect();
    format!("row {}: {}", row.rank, all.join("; "))
}

//! An advice as a page: its verdict, what more and less of the need costs as a chart, its rows, and all that stands below them.

use super::overview::figure;
use crate::chart::{Axis, Line, LineChart, Mark, Point, Reference, Size};
use crate::figures::tick;
use crate::page::{escaped, page};
use crate::put;
use crate::table::{Column, Field};
use crate::verdict_line::{About, VerdictLine, lines_html};
use crate::words::advice::{
    AdviceNext, advice_lines, advice_next, advice_sections, advice_table, details, judges_latency,
};
use loadline_advise::{Advice, Candidate, ROWS_ALIKE_MAX};
use loadline_units::words::{number, percent};

/// The name of the limit of storage whose credits are spent.
const BURST_EXHAUSTED: &str = "burst-exhausted";

/// The page of an advice.
#[must_use]
pub fn advice_html(advice: &Advice) -> String {
    page(&format!("Advice for {}", advice.need.name), &advice_body(advice, &PageWishes::default()))
}

/// What a page shows of an advice besides the advice itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageWishes<'a> {
    /// An amount a month, in the currency of the rows.
    pub budget: Option<f64>,
    /// Which prices count: "on demand, by the hour".
    pub paid: Option<&'a str>,
    /// Whether the next step stands in the verdict.
    pub next: bool,
}

/// What stands on that page below its heading.
#[must_use]
pub fn advice_body(advice: &Advice, wishes: &PageWishes<'_>) -> String {
    let budget = wishes.budget;
    let mut out = String::from("<section>\n<h2>Verdict</h2>\n<div class=\"verdict\">\n");
    let mut lines = advice_lines(advice);
    lines.extend(wishes.paid.map(|paid| About::subject("prices").says(format!("They are those {paid}."))));
    lines.extend(budget.and_then(|budget| within_budget(advice, budget)));
    let is_any_machine = advice.need.vcpus.is_none() && advice.need.memory_bytes.is_none();
    if wishes.next && advice.winner().is_some() && is_any_machine {
        lines.extend(advice_next(AdviceNext::NameMachine, None));
    }
    lines_html(&mut out, "answers", &lines.iter().collect::<Vec<_>>());
    cost_curve(&mut out, advice, budget);
    out.push_str("</div>\n</section>\n");
    let mut table = advice_table(&advice.candidates);
    if let Some(budget) = budget {
        let over = |row: &Candidate| Field::text(over_budget(row, budget));
        table = table.with_column(Column::words("budget", "budget"), advice.candidates.iter().map(over).collect());
    }
    put!(out, "<section>\n<h2>Choices by price</h2>\n{}", table.html());
    for note in notes(advice) {
        put!(out, "<p class=\"note\">{}</p>\n", escaped(&note));
    }
    out.push_str("</section>\n");
    let details = advice.candidates.iter().map(details).collect();
    for (heading, lines) in [("Each row in detail", details)].into_iter().chain(advice_sections(advice)) {
        let items: Vec<String> = lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
        put!(out, "<section>\n<h2>{heading}</h2>\n<ul>\n{}</ul>\n</section>\n", items.concat());
    }
    out
}

/// How a row stands to a budget.
fn over_budget(row: &Candidate, budget: f64) -> String {
    let over = row.price_month.amount - budget;
    if over > 0.0 { format!("over by {over:.2}") } else { "within".to_owned() }
}

/// What the table shows, how many there are, and what its columns mean.
fn notes(advice: &Advice) -> Vec<String> {
    let Some(first) = advice.candidates.first() else { return Vec::new() };
    let alike = match advice.alike_left {
        0 => String::new(),
        count => format!(
            " {} cheaper than the last row left out: the same disks in other numbers or sizes.",
            if count == 1 { "1 choice is".to_owned() } else { format!("{} choices are", number(count as f64)) }
        ),
    };
    let shown = format!(
        "Shown: {} of the cheapest choices, at most {ROWS_ALIKE_MAX} with the same disk, and of each other provider its cheapest.{alike} \
         Pairs of machine and disks that were judged: {}.",
        advice.candidates.len(),
        number(advice.judged as f64)
    );
    let by = if advice.judged_by.simulated { "" } else { ", by limits alone" };
    let mut meant = format!(
        "Scenarios: plausible versions of the storage ({}), and how many of them meet the need{by}.",
        first.scenarios.of
    );
    if advice.judged_by.simulated {
        meant += " Range: where the latency lies in 90 % of them.";
    }
    if advice.candidates.iter().any(|row| row.binding.limit == BURST_EXHAUSTED) {
        meant += " Burst-exhausted: the rate that is left once the credits for bursts are spent.";
    }
    vec![shown, meant]
}

/// A share of the need with what it costs a month.
struct Step {
    times: f64,
    amount: f64,
    choice: String,
}

/// The steps with a price, by their share; the first row is the need itself.
fn steps(advice: &Advice, winner: &Candidate) -> Vec<Step> {
    let own = Step { times: 1.0, amount: winner.price_month.amount, choice: winner.words() };
    let others = advice.staircase.iter().filter_map(|step| {
        let choice = step.cheapest.choice.clone()?;
        Some(Step { times: step.times, amount: step.cheapest.amount?, choice })
    });
    let mut all: Vec<Step> = others.filter(|step| (step.times - 1.0).abs() > 1e-9).chain([own]).collect();
    all.sort_by(|a, b| a.times.total_cmp(&b.times));
    all
}

/// The chart; nothing where less than two shares of the need have a price.
fn cost_curve(out: &mut String, advice: &Advice, budget: Option<f64>) {
    let Some(winner) = advice.winner() else { return };
    let steps = steps(advice, winner);
    if steps.len() < 2 {
        return;
    }
    let currency = &winner.price_month.currency;
    let here = advice.need.iops;
    let point = |step: &Step| Point {
        x: here * step.times,
        y: step.amount,
        interval: None,
        doubted: false,
        title: format!("{} IOPS: {:.2} {currency} a month, {}", number(here * step.times), step.amount, step.choice),
    };
    let ends = [&steps[0], &steps[steps.len() - 1]];
    let described: Vec<String> = ends.map(point).into_iter().map(|point| point.title).collect();
    let chart = LineChart {
        id: "cost".to_owned(),
        title: "Price by need".to_owned(),
        description: described.join("; "),
        x: Axis::linear("IOPS", tick, steps.iter().map(|step| here * step.times)),
        y: Axis::linear(&format!("{currency} a month"), tick, steps.iter().map(|step| step.amount).chain(budget)),
        lines: vec![Line::marked(String::new(), 0, steps.iter().map(point).collect())],
        references: budget.map(|y| Reference { y, label: "budget".to_owned() }).into_iter().collect(),
        separators: Vec::new(),
        marks: vec![Mark { x: here, label: "you are here".to_owned(), is_named: true }],
        size: Size::Lead,
        names: false,
        hover: None,
    };
    out.push_str("<div class=\"chart-beside\">");
    let caption = if judges_latency(advice) {
        "Other shares of the need than the whole are judged by limits alone, on disks fast enough for the latency."
    } else {
        "All shares of the need are judged by limits alone."
    };
    figure(out, Size::Lead, "What more and less of the need costs a month", &chart, caption);
    out.push_str("</div>\n");
}

/// How the need stands to a budget: what is left, or what is short; and the highest rate on the curve that the budget buys.
fn within_budget(advice: &Advice, budget: f64) -> Option<VerdictLine> {
    let winner = advice.winner()?;
    let (amount, currency) = (winner.price_month.amount, &winner.price_month.currency);
    let stands = if amount <= budget {
        format!("leaves {:.2} a month", budget - amount)
    } else {
        format!("is {:.2} a month short", amount - budget)
    };
    let all = steps(advice, winner);
    let most = all.iter().rev().find(|step| step.amount <= budget);
    let buys = if let Some(step) = most {
        let rate = number(advice.need.iops * step.times);
        let share = percent(step.times);
        // The curve goes no further.
        let least = if all.last().is_some_and(|last| last.times <= step.times) { "at least " } else { "up to " };
        let by = if (step.times - 1.0).abs() < 1e-9 { "" } else { ", by limits" };
        format!("It buys {least}{rate} IOPS ({share} of the need{by}): {}, {:.2}", step.choice, step.amount)
    } else {
        let least = all.first().map_or(amount, |step| step.amount);
        format!("It buys not even half of the need, which costs {least:.2} a month")
    };
    Some(About::Budget.says(format!("The budget of {budget:.2} {currency} {stands}. {buys}.")))
}

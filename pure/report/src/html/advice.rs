//! An advice as a page: its verdict, what more and less of the need costs as a chart, its rows, and all that stands below them.

use super::overview::figure;
use crate::chart::{Axis, Line, LineChart, Mark, Point, Reference, Size};
use crate::figures::tick;
use crate::page::{escaped, page};
use crate::put;
use crate::verdict_line::{About, VerdictLine, lines_html};
use crate::words::advice::{advice_lines, advice_sections, advice_table, details};
use loadline_advise::{Advice, Candidate};
use loadline_units::words::{number, percent};

/// The page of an advice.
#[must_use]
pub fn advice_html(advice: &Advice) -> String {
    page(&format!("Advice for {}", advice.need.name), &advice_body(advice, None))
}

/// What stands on that page below its heading. `budget` is an amount a month, in the currency of the rows.
#[must_use]
pub fn advice_body(advice: &Advice, budget: Option<f64>) -> String {
    let mut out = String::from("<section>\n<h2>Verdict</h2>\n<div class=\"verdict\">\n");
    let mut lines = advice_lines(advice);
    lines.extend(budget.and_then(|budget| within_budget(advice, budget)));
    lines_html(&mut out, "answers", &lines.iter().collect::<Vec<_>>());
    cost_curve(&mut out, advice, budget);
    out.push_str("</div>\n</section>\n");
    let table = advice_table(&advice.candidates).html();
    put!(out, "<section>\n<h2>Choices by price</h2>\n{table}</section>\n");
    let details = advice.candidates.iter().map(details).collect();
    for (heading, lines) in [("Each row in detail", details)].into_iter().chain(advice_sections(advice)) {
        let items: Vec<String> = lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
        put!(out, "<section>\n<h2>{heading}</h2>\n<ul>\n{}</ul>\n</section>\n", items.concat());
    }
    out
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
    let caption = "Other shares of the need than the whole are judged by limits alone.";
    figure(out, Size::Lead, "What more and less of the need costs a month", &chart, caption);
    out.push_str("</div>\n");
}

/// How the need stands to a budget: what is left, or the largest known share of it that the budget carries.
fn within_budget(advice: &Advice, budget: f64) -> Option<VerdictLine> {
    let winner = advice.winner()?;
    let (amount, currency) = (winner.price_month.amount, &winner.price_month.currency);
    if amount <= budget {
        let left = budget - amount;
        return Some(About::Budget.says(format!("The budget of {budget:.2} {currency} leaves {left:.2} a month.")));
    }
    let all = steps(advice, winner);
    let carried = all.iter().rev().find(|step| step.amount <= budget);
    let text = if let Some(step) = carried {
        format!(
            "The budget of {budget:.2} {currency} carries {} of the need: {}, {:.2} a month.",
            percent(step.times),
            step.choice,
            step.amount
        )
    } else {
        let least = all.first().map_or(amount, |step| step.amount);
        format!(
            "The budget of {budget:.2} {currency} carries not even half of the need, which costs {least:.2} a month."
        )
    };
    Some(About::Budget.says(text))
}

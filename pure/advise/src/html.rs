//! The advice as a page: the verdict, the choices, what just misses, what more would cost.

use crate::advice::{Advice, Candidate};
use crate::advisor::clock;
use crate::words::{number, percent, span};
use loadline_report::{escaped, page};
use std::fmt::Write as _;

/// The page of an advice.
#[must_use]
pub fn advice_html(advice: &Advice) -> String {
    let mut out = String::new();
    out.push_str("<section>\n<h2>Verdict</h2>\n<div class=\"scroll\"><table>\n");
    for line in &advice.verdict_lines {
        let _ =
            writeln!(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escaped(&line.about), escaped(&line.text));
    }
    out.push_str("</table></div>\n</section>\n");
    section(&mut out, "Choices by price", &advice.candidates);
    let rows = advice.candidates.iter().flat_map(|row| {
        row.replayed.iter().map(move |found| format!("{}, by {}: {}", row.words(), found.by, found.words()))
    });
    let recorded = advice.recorded.iter().map(|found| format!("As recorded: {}", found.words()));
    list(&mut out, "The recorded requests on each choice", recorded.chain(rows));
    if !advice.misses.is_empty() {
        out.push_str("<section>\n<h2>Cheaper, and just missed</h2>\n<ul>\n");
        for miss in &advice.misses {
            let fix = miss.fix.as_ref().map_or_else(String::new, |fix| {
                format!(" {} would do, at {:.2} {}.", fix.text, fix.amount, miss.candidate.price_month.currency)
            });
            let text = format!("{} ({}) {}.{fix}", miss.candidate.words(), miss.candidate.price_words(), miss.text);
            let _ = writeln!(out, "<li>{}</li>", escaped(&text));
        }
        out.push_str("</ul>\n</section>\n");
    }
    if !advice.unpriced.is_empty() {
        section(&mut out, "Without a complete price", &advice.unpriced);
    }
    out.push_str("<section>\n<h2>What more and less of the need costs</h2>\n<div class=\"scroll\"><table>\n<tr><th>of the need</th><th>a month</th><th>choice</th></tr>\n");
    for step in &advice.staircase {
        let amount = step.amount.map_or_else(|| "nothing carries it".to_owned(), |amount| format!("{amount:.2}"));
        let choice = escaped(step.choice.as_deref().unwrap_or("-"));
        let _ = writeln!(out, "<tr><td>{}</td><td>{amount}</td><td>{choice}</td></tr>", percent(step.times));
    }
    out.push_str("</table></div>\n</section>\n");
    if !advice.curve.is_empty() {
        out.push_str("<section>\n<h2>Cost by the share of time short</h2>\n<div class=\"scroll\"><table>\n<tr><th>short at most</th><th>a month</th><th>choice</th></tr>\n");
        for point in &advice.curve {
            let amount = point.amount.map_or_else(|| "nothing carries it".to_owned(), |amount| format!("{amount:.2}"));
            let choice = escaped(point.choice.as_deref().unwrap_or("-"));
            let _ = writeln!(out, "<tr><td>{}</td><td>{amount}</td><td>{choice}</td></tr>", percent(point.short_share));
        }
        out.push_str("</table></div>\n</section>\n");
    }
    list(&mut out, "Doubts", advice.doubts.iter().map(|doubt| format!("{}: {}", doubt.code, doubt.detail)));
    list(&mut out, "Not looked at", advice.not_looked_at.iter().cloned());
    page(&format!("Advice for {}", advice.need.name), &out)
}

fn section(out: &mut String, title: &str, candidates: &[Candidate]) {
    let _ = write!(
        out,
        "<section>\n<h2>{title}</h2>\n<div class=\"scroll\"><table>\n<tr><th>machine and disks</th><th>a month</th><th>binds first</th><th>used</th>\
         <th>latency</th><th>scenarios</th><th>doubts</th></tr>\n"
    );
    for row in candidates {
        let items: Vec<String> = row
            .price_month
            .items
            .iter()
            .map(|item| {
                let amount = item.amount.map_or_else(|| "no price".to_owned(), |amount| format!("{amount:.2}"));
                format!("{} {} ({})", item.name, amount, item.date.as_deref().unwrap_or("no date"))
            })
            .collect();
        let latency = row.latency_ns.map_or_else(
            || "-".to_owned(),
            |found| {
                format!(
                    "{} ({} to {})",
                    span(found.p99 as f64),
                    span(found.p99_low as f64),
                    span(found.p99_high as f64)
                )
            },
        );
        let burst = row.burst_ends_s.map_or_else(String::new, |at| format!("; its burst ends after {}", clock(at)));
        let doubts: Vec<String> = row.doubts.iter().map(|doubt| format!("{}: {}", doubt.code, doubt.detail)).collect();
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td title=\"{}\">{}</td><td>{} at {} IOPS</td><td>{}</td><td>{}{}</td><td>{} of {}</td><td>{}</td></tr>",
            escaped(&row.words()),
            escaped(&items.join("; ")),
            escaped(&row.price_words()),
            escaped(&row.binding.source),
            number(row.binding.ceiling_iops),
            percent(row.used),
            escaped(&latency),
            escaped(&burst),
            row.scenarios.met,
            row.scenarios.of,
            escaped(&doubts.join("; "))
        );
    }
    out.push_str("</table></div>\n</section>\n");
}

fn list(out: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.map(|item| format!("<li>{}</li>\n", escaped(&item))).collect();
    if !items.is_empty() {
        let _ = write!(out, "<section>\n<h2>{title}</h2>\n<ul>\n{}</ul>\n</section>\n", items.concat());
    }
}

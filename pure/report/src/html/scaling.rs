//! Bars of the gain from more disks, beside perfect scaling.

use super::Escaped;
use super::overview::figure;
use crate::chart::{Bar, BarChart, Size};
use crate::figures::{self, plain};
use crate::put;
use crate::words::disks::scaling_sentences;
use loadline_analysis::{Comparison, Figure, Gain, Scaling};

/// Cells in the unfolded table of efficiencies.
const OPEN_MAX: usize = 24;

/// The totals by number of disks, their sentences, and each cell's efficiency. `prefix` makes ids unique.
pub(crate) fn scaling(out: &mut String, comparison: &Comparison, level: usize, prefix: &str) {
    let Some(scaling) = &comparison.scaling else { return };
    put!(out, "<h{level}>With more disks</h{level}>\n");
    for sentence in scaling_sentences(scaling) {
        put!(out, "<p class=\"story\">{}</p>\n", Escaped(plain(&sentence)));
    }
    bars(out, scaling, prefix);
    cells(out, scaling);
}

fn bars(out: &mut String, scaling: &Scaling, prefix: &str) {
    for (index, total) in scaling.totals.iter().enumerate() {
        let (Some(first), bytes) = (total.values.first(), total.figure == Figure::Throughput) else { continue };
        let scale = if bytes { 1e6 } else { 1.0 };
        let unit = if bytes { "MB/s" } else { "IOPS" };
        let print = |v: f64| if bytes { figures::megabytes(v) } else { figures::iops(v) };
        let bars = scaling.disks.iter().zip(&total.values).map(|(disks, value)| {
            let linear = first * f64::from(*disks) / f64::from(scaling.disks[0]);
            let share = value / linear;
            Bar {
                group: String::new(),
                name: format!("{disks} {}", if *disks == 1 { "disk" } else { "disks" }),
                // Below half of linear scaling the disks are more of a price than of a gain.
                style: usize::from(share < 0.5),
                value: Some(value / scale),
                wanted: Some(linear / scale),
                interval: None,
                doubted: false,
                text: format!("{} · {:.0} %", print(*value), share * 100.0),
                title: format!(
                    "{disks} {}: {} {unit}, {:.1} % of linear scaling ({} {unit})",
                    if *disks == 1 { "disk" } else { "disks" },
                    print(*value),
                    share * 100.0,
                    print(linear)
                ),
            }
        });
        let bars: Vec<Bar> = bars.collect();
        let spoken: Vec<String> = bars.iter().map(|b| b.title.clone()).collect();
        let chart = BarChart {
            id: format!("{prefix}scaling-{index}"),
            title: format!("{unit} by disks: {}", plain(&total.label)),
            description: spoken.join(". "),
            label: format!("{unit}; the mark is linear scaling"),
            print: figures::tick,
            linear: true,
            bars,
        };
        figure(out, Size::Wide, &format!("{unit} by disks: {}", plain(&total.label)), &chart, "");
    }
}

/// Each cell's efficiency at each number of disks, with its interval.
fn cells(out: &mut String, scaling: &Scaling) {
    let open = if scaling.cells.len() <= OPEN_MAX { " open" } else { "" };
    put!(out, "<details class=\"all\"{open}><summary>Efficiency cell by cell</summary>\n");
    out.push_str("<p class=\"note\">100 % is linear scaling, with the 95 % interval; what a verdict was reached on is coloured.</p>\n");
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table class=\"beside\"><thead><tr><th scope=\"col\">load</th>");
    put!(
        out,
        "<th scope=\"col\" class=\"num\">IOPS, {} disk{}</th>",
        scaling.disks[0],
        if scaling.disks[0] == 1 { "" } else { "s" }
    );
    for disks in &scaling.disks[1..] {
        put!(out, "<th scope=\"col\" class=\"num\">{disks} disks</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    for cell in &scaling.cells {
        let first = cell.iops.first().copied().flatten().map_or_else(|| figures::MISSING.to_owned(), figures::iops);
        put!(out, "<tr><th scope=\"row\">{}</th><td class=\"num\">{first}</td>", Escaped(plain(&cell.label)));
        for disks in &scaling.disks[1..] {
            let Some(point) = cell.points.iter().find(|p| p.disks == *disks) else {
                put!(out, "<td class=\"num\">{}</td>", figures::MISSING);
                continue;
            };
            let ends = point.efficiency_low.zip(point.efficiency_high);
            let interval =
                ends.map_or_else(String::new, |(low, high)| format!(" ({:.0}–{:.0})", low * 100.0, high * 100.0));
            let class = match point.gain {
                Gain::Gains => "better",
                Gain::Loses => "worse",
                Gain::Unchanged | Gain::CannotTell => "even",
            };
            put!(out, "<td class=\"num {class}\">{:.0} %{interval}</td>", point.efficiency * 100.0);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></details>\n");
}

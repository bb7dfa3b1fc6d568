//! Rooflines: the ceilings of loads as lines over block size or depth, and the cells below them, with marks by limit.

use super::overview::{after_bursts, figure, legend, point};
use super::traits::{BLOCK, THREADS, traits};
use super::{CellView, Escaped, Run};
use crate::chart::{Axis, Line, LineChart, STYLES, Size};
use crate::figures;
use crate::put;
use crate::rows::{doubts_the_rate, limit_name};
use loadline_record::{Access, Limit};
use loadline_units::Bytes;
use std::collections::BTreeMap;

/// Charts that are unfolded; the others are folded.
const OPEN_MAX: usize = 4;
/// Charts of one kind at most: more are a matrix, for which the heat maps are better.
const CHARTS_MAX: usize = 24;
/// A ceiling this many times above every cell would only compress the cells.
const ABOVE_MAX: f64 = 6.0;

/// The x-axis of a roofline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Along {
    Block,
    Depth,
}

/// One chart: cells that differ in block size and depth, or in depth alone.
struct Roof<'a> {
    name: String,
    along: Along,
    views: Vec<CellView<'a>>,
}

/// Ceilings and cells by block size and by depth; nothing if no ceiling is known.
pub(crate) fn rooflines(out: &mut String, run: &Run<'_>) {
    let closed: Vec<CellView<'_>> =
        run.views.iter().filter(|v| outstanding(v).is_some() && rate(v).is_some()).copied().collect();
    let by_block = grouped(run, &closed, Along::Block);
    let by_depth = grouped(run, &closed, Along::Depth);
    if by_block.is_empty() && by_depth.is_empty() {
        return;
    }
    let styles = Styles::of(by_block.iter().chain(&by_depth).flat_map(|roof| &roof.views));
    put!(out, "<h{0}>Ceilings and what binds</h{0}>\n", run.level + 1);
    let inferred = closed.iter().any(|v| v.summary.binding.as_ref().is_some_and(|b| b.inferred));
    put!(
        out,
        "<p class=\"note\">Each line is a ceiling of the load, put as requests per second; each mark is a cell, in the colour and \
         shape of what bound it. A cell on a line is stopped there; the distance to the next line is what can still be had.{}{}</p>\n",
        if inferred { " No limits were declared: ceilings are inferred from the cells themselves." } else { "" },
        after_bursts(closed.iter())
    );
    legend(out, &styles.legend());
    for (roofs, what, code) in [(by_block, "block size", "roof"), (by_depth, "outstanding requests", "reach")] {
        charts(out, run, &roofs, &styles, &Naming { what, code });
    }
}

/// The names of charts of one kind.
struct Naming {
    what: &'static str,
    code: &'static str,
}

fn charts(out: &mut String, run: &Run<'_>, roofs: &[Roof<'_>], styles: &Styles, naming: &Naming) {
    let (open, folded) = roofs.split_at(roofs.len().min(OPEN_MAX));
    let draw = |out: &mut String, index: usize, roof: &Roof<'_>| {
        let chart = chart(run, roof, styles, format!("r{}-{}-{index}", run.number, naming.code));
        figure(out, Size::Roof, &format!("IOPS by {}: {}", naming.what, roof.name), &chart, "");
    };
    if !open.is_empty() {
        out.push_str("<div class=\"figs\">\n");
        open.iter().enumerate().for_each(|(index, roof)| draw(out, index, roof));
        out.push_str("</div>\n");
    }
    if !folded.is_empty() {
        let shown = folded.len().min(CHARTS_MAX - OPEN_MAX);
        put!(
            out,
            "<details class=\"all\"><summary>{shown} more by {}</summary>\n<div class=\"figs\">\n",
            Escaped(naming.what)
        );
        folded.iter().take(shown).enumerate().for_each(|(index, roof)| draw(out, OPEN_MAX + index, roof));
        out.push_str("</div></details>\n");
    }
}

fn outstanding(view: &CellView<'_>) -> Option<f64> {
    let load = &view.summary.load;
    Some(f64::from(load.queue_depth?) * f64::from(load.threads))
}

fn rate(view: &CellView<'_>) -> Option<f64> {
    view.summary.iops_lasting().filter(|iops| iops.is_finite() && *iops > 0.0)
}

/// The ceilings of a cell: those declared or modelled; or else the one that was inferred for it.
fn ceilings(view: &CellView<'_>) -> Vec<(Limit, f64)> {
    let cell = view.summary;
    let mut known: Vec<(Limit, f64)> = cell.ceilings.iter().map(|c| (c.limit, c.iops)).collect();
    if known.is_empty()
        && let Some(binding) = &cell.binding
        && let Some(iops) = binding.ceiling_iops
    {
        known.push((binding.limit, iops));
    }
    known.retain(|(_, iops)| iops.is_finite() && *iops > 0.0);
    known
}

/// Cells in charts with at least two positions along the axis and a ceiling; the most informative first.
fn grouped<'a>(run: &Run<'a>, views: &[CellView<'a>], along: Along) -> Vec<Roof<'a>> {
    // A mix of sizes has no place along them.
    let is_placed = |view: &CellView<'_>| along == Along::Depth || view.summary.load.details.block_mix.is_none();
    let views: Vec<(usize, CellView<'a>)> = views.iter().filter(|v| is_placed(v)).map(|view| (0, *view)).collect();
    let all = traits(&views, run.volumes_several);
    let mut roofs: Vec<(Vec<&str>, Roof<'a>)> = Vec::new();
    for ((_, view), traits) in views.iter().zip(&all) {
        let load = &view.summary.load;
        // Sequential threads are separate streams, so their number is part of the load.
        let streams = load.pattern == Access::Sequential;
        let other = [Some(BLOCK).filter(|_| along == Along::Block), Some(THREADS).filter(|_| !streams)];
        let shared = traits.without(&other.into_iter().flatten().collect::<Vec<_>>());
        let name = traits.name(&all, |place| match place {
            BLOCK => along == Along::Depth,
            THREADS => streams && load.threads > 1,
            _ => true,
        });
        match roofs.iter_mut().find(|(key, _)| *key == shared) {
            Some((_, roof)) => roof.views.push(*view),
            None => roofs.push((shared, Roof { name, along, views: vec![*view] })),
        }
    }
    let mut roofs: Vec<Roof<'a>> = roofs.into_iter().map(|(_, roof)| roof).collect();
    roofs.retain(|roof| {
        let mut places: Vec<u64> = roof.views.iter().filter_map(|v| Some(place(v, along)?.to_bits())).collect();
        places.sort_unstable();
        places.dedup();
        places.len() >= 2 && roof.views.iter().any(|v| !ceilings(v).is_empty())
    });
    // Pure reads and writes are more informative than mixes, random more than sequential; of several block sizes the
    // extremes.
    let block = |roof: &Roof<'_>| roof.views.iter().map(|v| v.summary.load.block_bytes).max().unwrap_or(0);
    let ends = (roofs.iter().map(block).min(), roofs.iter().map(block).max());
    roofs.sort_by_key(|roof| {
        let load = &roof.views[0].summary.load;
        let mixed = load.read_ratio > 0.0 && load.read_ratio < 1.0;
        let between = along == Along::Depth && Some(block(roof)) != ends.0 && Some(block(roof)) != ends.1;
        (mixed, load.pattern != Access::Random, between)
    });
    roofs
}

fn place(view: &CellView<'_>, along: Along) -> Option<f64> {
    match along {
        Along::Block => Some(view.summary.load.block_bytes as f64),
        Along::Depth => outstanding(view),
    }
}

fn chart(run: &Run<'_>, roof: &Roof<'_>, styles: &Styles, id: String) -> LineChart {
    let placed: Vec<(f64, f64, &CellView<'_>)> =
        roof.views.iter().filter_map(|v| Some((place(v, roof.along)?, rate(v)?, v))).collect();
    let most = placed.iter().map(|(_, y, _)| *y).fold(0.0, f64::max);
    let roof_lines = lines(roof);
    let near = |line: &&RoofLine| line.points.iter().any(|(_, y)| *y <= most * ABOVE_MAX);
    let shown: Vec<&RoofLine> = roof_lines.iter().filter(near).collect();
    // As high as the lowest part of each line, with room above the cells, so that the frame does not look like a
    // ceiling.
    let heights = shown.iter().map(|line| line.points.iter().map(|(_, y)| *y).fold(f64::MAX, f64::min));
    let values = placed.iter().map(|(_, y, _)| *y).chain(heights).chain([most * 1.5]);
    let y = Axis::logarithmic("IOPS", figures::tick, values);
    let along: Vec<f64> = placed.iter().map(|(x, _, _)| *x).collect();
    let x = match roof.along {
        Along::Block => Axis { logarithmic: true, ..Axis::at_values("block size", block_tick, along) },
        Along::Depth => Axis::at_values("outstanding requests (depth × threads)", figures::tick, along),
    };
    let mut drawn: Vec<Line> = tracks(&placed, roof.along).into_iter().map(Line::faint).collect();
    for line in &shown {
        let name = format!("{} {}", limit_name(line.limit), line.height());
        drawn.push(Line::bare(name.trim_end().to_owned(), styles.of_limit(line.limit), clipped(&line.points, y.high)));
    }
    for limit in styles.limits() {
        let bound = placed.iter().filter(|(_, _, v)| bound_by(v) == Some(limit));
        let points: Vec<_> = bound.map(|(x, y, v)| titled(run, *x, *y, v)).collect();
        if !points.is_empty() {
            drawn.push(Line::scattered(styles.of_limit(limit), points));
        }
    }
    let spoken: Vec<String> = shown
        .iter()
        .map(|line| format!("{} {}", limit_name(line.limit), line.height()).trim_end().to_owned())
        .collect();
    let words = match roof.along {
        Along::Block => "block size",
        Along::Depth => "outstanding requests",
    };
    LineChart {
        id,
        title: format!("IOPS and ceilings by {words}: {}", roof.name),
        description: format!(
            "{} cells, up to {} IOPS. Ceilings: {}.",
            placed.len(),
            figures::iops(most),
            if spoken.is_empty() { "none near".to_owned() } else { spoken.join(", ") }
        ),
        x,
        y,
        lines: drawn,
        references: Vec::new(),
        separators: Vec::new(),
        marks: Vec::new(),
        size: Size::Roof,
        names: true,
        hover: None,
    }
}

fn titled(run: &Run<'_>, x: f64, y: f64, view: &CellView<'_>) -> crate::chart::Point {
    let mut point = point(run, x, y, view);
    point.doubted = doubts_the_rate(view.summary);
    if let Some(limit) = bound_by(view) {
        put!(point.title, "\nbound by {}", limit_name(limit));
    }
    point
}

fn bound_by(view: &CellView<'_>) -> Option<Limit> {
    view.summary.binding.as_ref().map(|b| b.limit)
}

fn block_tick(bytes: f64) -> String {
    Bytes::new(bytes.round() as u64).to_string()
}

/// A ceiling over a chart.
struct RoofLine {
    limit: Limit,
    /// By place along.
    points: Vec<(f64, f64)>,
    /// In bytes per second, if that is the same everywhere.
    bytes_per_s: Option<f64>,
}

impl RoofLine {
    /// "5,000", "200 MB/s"; empty without a single height.
    fn height(&self) -> String {
        let first = self.points.first().map_or(f64::NAN, |p| p.1);
        if self.limit != Limit::Latency && self.points.iter().all(|(_, iops)| (iops / first - 1.0).abs() < 0.01) {
            return figures::iops(first);
        }
        self.bytes_per_s.map_or_else(String::new, |rate| format!("{} MB/s", figures::megabytes(rate)))
    }
}

/// The lowest ceiling of each name at each place. Over block sizes the latency's depends on the depth, so it is left
/// out if there are several depths.
fn lines(roof: &Roof<'_>) -> Vec<RoofLine> {
    let mut depths: Vec<u64> = roof.views.iter().filter_map(|v| Some(outstanding(v)?.to_bits())).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut by_limit: BTreeMap<Limit, BTreeMap<u64, (f64, u64)>> = BTreeMap::new();
    for view in &roof.views {
        let Some(x) = place(view, roof.along) else { continue };
        for (limit, iops) in ceilings(view) {
            if limit == Limit::Latency && roof.along == Along::Block && depths.len() > 1 {
                continue;
            }
            let at = by_limit.entry(limit).or_default().entry(x.to_bits()).or_insert((iops, 0));
            *at = (at.0.min(iops), view.summary.load.block_bytes);
        }
    }
    let line = |(limit, points): (Limit, BTreeMap<u64, (f64, u64)>)| {
        let rates: Vec<f64> = points.values().map(|(iops, block)| iops * *block as f64).collect();
        let first = rates.first().copied().unwrap_or(0.0);
        RoofLine {
            limit,
            bytes_per_s: rates.iter().all(|r| (r / first - 1.0).abs() < 0.01).then_some(first),
            points: points.into_iter().map(|(x, (iops, _))| (f64::from_bits(x), iops)).collect(),
        }
    };
    by_limit.into_iter().map(line).collect()
}

/// The cells of one depth over the block sizes, or all of them over the depths: lines in the background.
fn tracks(placed: &[(f64, f64, &CellView<'_>)], along: Along) -> Vec<Vec<(f64, f64)>> {
    let mut tracks: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for (x, y, view) in placed {
        let key = if along == Along::Block { outstanding(view).unwrap_or(0.0) as u64 } else { 0 };
        tracks.entry(key).or_default().push((*x, *y));
    }
    tracks
        .into_values()
        .map(|mut track| {
            track.sort_by(|a, b| a.0.total_cmp(&b.0));
            track
        })
        .collect()
}

/// The part of a line below `top`, cut at the crossing; on logarithmic axes a line between two points is straight.
fn clipped(points: &[(f64, f64)], top: f64) -> Vec<(f64, f64)> {
    let mut kept = Vec::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let crossing =
            index.checked_sub(1).map(|before| points[before]).filter(|(_, before)| (*before <= top) != (*y <= top));
        if let Some((x0, y0)) = crossing.filter(|(x0, y0)| *x0 > 0.0 && *y0 > 0.0) {
            let share = (top / y0).ln() / (y / y0).ln();
            kept.push((x0 * (x / x0).powf(share), top));
        }
        if *y <= top {
            kept.push((*x, *y));
        }
    }
    kept
}

/// Which limit has which colour and mark, in all charts of the run.
struct Styles(Vec<Limit>);

impl Styles {
    /// The most frequent limit comes first; limits beyond the number of styles share the last.
    fn of<'a>(views: impl Iterator<Item = &'a CellView<'a>>) -> Self {
        let mut counts: BTreeMap<Limit, usize> = BTreeMap::new();
        for view in views {
            for (limit, _) in ceilings(view) {
                counts.entry(limit).or_insert(0);
            }
            if let Some(limit) = bound_by(view) {
                *counts.entry(limit).or_insert(0) += 1;
            }
        }
        let mut limits: Vec<(Limit, usize)> = counts.into_iter().collect();
        limits.sort_by_key(|(limit, count)| (std::cmp::Reverse(*count), *limit));
        Self(limits.into_iter().map(|(limit, _)| limit).collect())
    }
    fn limits(&self) -> impl Iterator<Item = Limit> + '_ {
        self.0.iter().copied()
    }
    fn of_limit(&self, limit: Limit) -> usize {
        self.0.iter().position(|l| *l == limit).unwrap_or(0).min(STYLES - 1)
    }
    fn legend(&self) -> Vec<(String, usize)> {
        self.0.iter().map(|limit| (limit_name(*limit).to_owned(), self.of_limit(*limit))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_it_leaves_the_chart() {
        // In proportion to x: at the top of 400, x is 4.
        let cut = clipped(&[(1.0, 100.0), (2.0, 200.0), (8.0, 800.0)], 400.0);
        assert_eq!(cut.len(), 3);
        assert!((cut[2].0 - 4.0).abs() < 1e-9 && (cut[2].1 - 400.0).abs() < 1e-9, "{cut:?}");
        // And the point at which it enters from above.
        let cut = clipped(&[(1.0, 800.0), (8.0, 100.0)], 400.0);
        assert!((cut[0].0 - 2.0).abs() < 1e-9, "{cut:?}");
        assert!(clipped(&[(1.0, 800.0), (8.0, 900.0)], 400.0).is_empty());
    }
}

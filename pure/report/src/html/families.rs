//! Groups a run's cells into curves (one load at several depths or rates) and curves into legible charts.

use super::traits::{THREADS, Traits, VOLUME, is_key, spoken_order, traits};
use crate::chart::LINES_MAX;
use crate::html::CellView;

/// Cells that differ in nothing but depth or rate, at least two of them, by rising depth or rate.
pub(crate) struct Curve<'a> {
    traits: Traits,
    /// Name within its panel; empty if nothing distinguishes it.
    pub(crate) name: String,
    /// Colour, marker and dash: the same name has the same style in every panel.
    pub(crate) style: usize,
    /// Place of the cell along the chart (outstanding requests, or offered IOPS), and the cell.
    pub(crate) cells: Vec<(f64, CellView<'a>)>,
}

/// Curves in one chart.
pub(crate) struct Panel<'a> {
    /// The common traits of its curves that other panels lack; empty if there is one panel.
    pub(crate) name: String,
    /// At most [`LINES_MAX`] of them.
    pub(crate) curves: Vec<Curve<'a>>,
}

/// Charts of one kind.
pub(crate) struct Family<'a> {
    /// The common traits of all curves.
    pub(crate) shared: String,
    /// The charts.
    pub(crate) panels: Vec<Panel<'a>>,
}

impl<'a> Family<'a> {
    /// Closed loops by outstanding requests.
    pub(crate) fn by_depth(views: &[CellView<'a>]) -> Self {
        let cells = views.iter().filter_map(|view| {
            let load = &view.summary.load;
            let depth = load.queue_depth?;
            Some((f64::from(depth) * f64::from(load.threads), *view))
        });
        Self::new(cells, LINES_MAX)
    }
    /// Open loops by offered rate; each curve alone, since it has several lines.
    pub(crate) fn by_rate(views: &[CellView<'a>]) -> Self {
        let cells = views.iter().filter_map(|view| {
            if view.summary.load.queue_depth.is_some() {
                return None;
            }
            let achieved = view.summary.total.as_ref().map(|t| t.iops);
            let rate = view.summary.offered_iops.or(view.summary.load.rate_iops).or(achieved)?;
            rate.is_finite().then_some((rate, *view))
        });
        Self::new(cells, 1)
    }

    fn new(cells: impl Iterator<Item = (f64, CellView<'a>)>, curves_max: usize) -> Self {
        let cells: Vec<(f64, CellView<'a>)> = cells.collect();
        let views: Vec<(usize, CellView<'a>)> = cells.iter().map(|(_, view)| (0, *view)).collect();
        let mut curves: Vec<Curve<'a>> = Vec::new();
        for ((place, view), traits) in cells.into_iter().zip(traits(&views, true)) {
            match curves.iter_mut().find(|c| c.traits.values == traits.values) {
                Some(curve) => curve.cells.push((place, view)),
                None => curves.push(Curve { traits, name: String::new(), style: 0, cells: vec![(place, view)] }),
            }
        }
        for curve in &mut curves {
            curve.cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        // If there are sweeps, two cells that differ only by chance are not another sweep.
        let places = |curve: &Curve<'_>| {
            let mut places: Vec<u64> = curve.cells.iter().map(|(place, _)| place.to_bits()).collect();
            places.dedup();
            places.len()
        };
        let most = curves.iter().map(places).max().unwrap_or(0);
        curves.retain(|c| places(c) >= most.clamp(2, 3));
        let dimensions = curves.first().map_or(0, |c| c.traits.values.len());
        let varies = |d: &usize| curves.iter().any(|c| c.traits.values[*d] != curves[0].traits.values[*d]);
        let varying: Vec<usize> = (0..dimensions).filter(varies).collect();
        // As many dimensions within a panel as leave it legible; the others make panels.
        let mut within: Vec<usize> = Vec::new();
        for dimension in &varying {
            within.push(*dimension);
            if distinct(&curves, &within).len() > curves_max {
                within.pop();
            }
        }
        let styles = distinct(&curves, &within);
        let shared = curves.first().map_or_else(String::new, |c| {
            // The only volume need not be named, and asides are set apart.
            let load = c.traits.spoken(|d| !varying.contains(&d) && d != VOLUME && d != THREADS && !is_key(d));
            let asides = spoken_order(dimensions).filter(|d| *d == THREADS || c.traits.is_said(*d));
            let asides = asides.filter(|d| !varying.contains(d)).map(|d| c.traits.words[d].clone());
            let parts: Vec<String> = [load].into_iter().chain(asides).filter(|part| !part.is_empty()).collect();
            parts.join(", ")
        });
        let mut panels: Vec<Panel<'a>> = Vec::new();
        for mut curve in curves {
            curve.name = curve.traits.spoken(|d| within.contains(&d));
            curve.style = styles.iter().position(|s| *s == key(&curve, &within)).unwrap_or(0);
            let name = curve.traits.spoken(|d| varying.contains(&d) && !within.contains(&d));
            match panels.iter_mut().find(|p| p.name == name && p.curves.len() < curves_max) {
                Some(panel) => panel.curves.push(curve),
                None => panels.push(Panel { name, curves: vec![curve] }),
            }
        }
        Self { shared, panels }
    }

    /// Each curve's name and style, once.
    pub(crate) fn legend(&self) -> Vec<(String, usize)> {
        let mut names: Vec<(String, usize)> = Vec::new();
        for curve in self.panels.iter().flat_map(|p| &p.curves) {
            if !curve.name.is_empty() && !names.iter().any(|n| n.0 == curve.name) {
                names.push((curve.name.clone(), curve.style));
            }
        }
        names
    }
    /// Every cell of every curve.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &CellView<'a>> {
        self.panels.iter().flat_map(|p| &p.curves).flat_map(|c| &c.cells).map(|(_, view)| view)
    }
}

fn key(curve: &Curve<'_>, dimensions: &[usize]) -> Vec<String> {
    dimensions.iter().map(|d| curve.traits.values[*d].clone()).collect()
}

/// The distinct values of some dimensions, in order of first appearance.
fn distinct(curves: &[Curve<'_>], dimensions: &[usize]) -> Vec<Vec<String>> {
    let mut seen: Vec<Vec<String>> = Vec::new();
    for curve in curves {
        let key = key(curve, dimensions);
        if !seen.contains(&key) {
            seen.push(key);
        }
    }
    seen
}

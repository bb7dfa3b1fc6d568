//! Sorts a run's cells into curves (one load at several depths or rates) and curves into charts that stay legible.

use crate::chart::LINES_MAX;
use crate::figures;
use crate::html::CellView;
use loadline_units::Bytes;

/// What tells one curve from another, apart from its depth or rate, in the order in which curves are put side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dimension {
    Volume,
    Reads,
    Pattern,
    Block,
    Threads,
    Rest,
}

impl Dimension {
    const ALL: [Self; 6] = [Self::Volume, Self::Reads, Self::Pattern, Self::Block, Self::Threads, Self::Rest];
    /// The order in which a person names them.
    const SPOKEN: [Self; 6] = [Self::Volume, Self::Pattern, Self::Reads, Self::Block, Self::Threads, Self::Rest];

    fn of(self, view: &CellView<'_>) -> String {
        let load = &view.summary.load;
        match self {
            Self::Volume => figures::plain(&view.summary.volume),
            Self::Reads => operation_mix(view),
            Self::Pattern => figures::plain(&load.pattern),
            Self::Block => Bytes::new(load.block_bytes).to_string(),
            Self::Threads => match load.threads {
                1 => "1 thread".to_owned(),
                count => format!("{count} threads"),
            },
            Self::Rest => {
                let mut parts = Vec::new();
                if let Some(every) = view.record.and_then(|r| r.load.flush_every) {
                    parts.push(format!("flush every {}", figures::count(every)));
                }
                if load.buffered {
                    parts.push("buffered".to_owned());
                }
                if let (Some(rate), true) = (load.rate_iops, load.queue_depth.is_some()) {
                    parts.push(format!("at most {} IOPS", figures::iops(rate)));
                }
                if load.arrival != "closed" {
                    let arrival = if load.arrival == "poisson" { "Poisson" } else { load.arrival.as_str() };
                    parts.push(format!("{} arrivals", figures::plain(arrival)));
                }
                parts.join(", ")
            }
        }
    }
}

/// Everything that tells a load from others apart from its depth or rate, with its volume where runs have several.
pub(crate) fn traits(view: &CellView<'_>, volumes_several: bool) -> [String; 6] {
    Dimension::ALL.map(|d| if d == Dimension::Volume && !volumes_several { String::new() } else { d.of(view) })
}

/// [`traits`] as a person says them; the threads only where they are not alike among `all`.
pub(crate) fn spoken(traits: &[String; 6], all: &[[String; 6]]) -> String {
    let parts: Vec<&str> = Dimension::SPOKEN
        .into_iter()
        .filter(|d| *d != Dimension::Threads || all.iter().any(|other| other[*d as usize] != traits[*d as usize]))
        .map(|d| traits[d as usize].as_str())
        .filter(|text| !text.is_empty())
        .collect();
    parts.join(" ")
}

/// What a load is apart from its block size and its depth: "random read", with its volume where runs have several. Sequential
/// threads are streams of their own, so their number is part of it.
pub(crate) fn kind(view: &CellView<'_>, volumes_several: bool) -> String {
    let streams = view.summary.load.pattern == "sequential" && view.summary.load.threads > 1;
    let parts = Dimension::SPOKEN.into_iter().filter(|d| match d {
        Dimension::Volume => volumes_several,
        Dimension::Threads => streams,
        Dimension::Block => false,
        Dimension::Pattern | Dimension::Reads | Dimension::Rest => true,
    });
    let parts: Vec<String> = parts.map(|d| d.of(view)).filter(|text| !text.is_empty()).collect();
    parts.join(" ")
}

/// "read", "write", "70 % read", "trim".
pub(crate) fn operation_mix(view: &CellView<'_>) -> String {
    let cell = view.summary;
    if cell.trim.is_some() && cell.read.is_none() && cell.write.is_none() {
        return "trim".to_owned();
    }
    match cell.load.read_ratio {
        r if r >= 1.0 => "read".to_owned(),
        r if r <= 0.0 => "write".to_owned(),
        r => format!("{} % read", figures::tick(r * 100.0)),
    }
}

/// Cells that differ in nothing but depth or rate, at least two of them, by rising depth or rate.
pub(crate) struct Curve<'a> {
    values: [String; 6],
    /// Name within its panel; empty where nothing is to be told apart.
    pub(crate) name: String,
    /// Colour, marker and dash: the same name has the same style in every panel.
    pub(crate) style: usize,
    /// Place of the cell along the chart (outstanding requests, or offered IOPS), and the cell.
    pub(crate) cells: Vec<(f64, CellView<'a>)>,
}

/// Curves in one chart.
pub(crate) struct Panel<'a> {
    /// What all of its curves share and other panels do not; empty when there is one panel.
    pub(crate) name: String,
    /// At most [`LINES_MAX`] of them.
    pub(crate) curves: Vec<Curve<'a>>,
}

/// Charts of one kind.
pub(crate) struct Family<'a> {
    /// What every curve shares.
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
        let mut curves: Vec<Curve<'a>> = Vec::new();
        for (place, view) in cells {
            let values = Dimension::ALL.map(|d| d.of(&view));
            match curves.iter_mut().find(|c| c.values == values) {
                Some(curve) => curve.cells.push((place, view)),
                None => curves.push(Curve { values, name: String::new(), style: 0, cells: vec![(place, view)] }),
            }
        }
        for curve in &mut curves {
            curve.cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        // Where there are sweeps, two cells that happen to differ in nothing else are not one more.
        let places = |curve: &Curve<'_>| {
            let mut places: Vec<u64> = curve.cells.iter().map(|(place, _)| place.to_bits()).collect();
            places.dedup();
            places.len()
        };
        let most = curves.iter().map(places).max().unwrap_or(0);
        curves.retain(|c| places(c) >= most.clamp(2, 3));
        let varies = |d: Dimension| curves.iter().any(|c| c.values[d as usize] != curves[0].values[d as usize]);
        let varying: Vec<Dimension> = Dimension::ALL.into_iter().filter(|d| varies(*d)).collect();
        // As many dimensions within a panel as leave it legible; the others make panels.
        let mut within: Vec<Dimension> = Vec::new();
        for dimension in &varying {
            within.push(*dimension);
            if distinct(&curves, &within).len() > curves_max {
                within.pop();
            }
        }
        let styles = distinct(&curves, &within);
        let spoken = |curve: &Curve<'_>, wanted: &dyn Fn(Dimension) -> bool| {
            let parts: Vec<&str> = Dimension::SPOKEN
                .into_iter()
                .filter(|d| wanted(*d))
                .map(|d| curve.values[d as usize].as_str())
                .filter(|text| !text.is_empty())
                .collect();
            parts.join(" ")
        };
        let shared = curves.first().map_or_else(String::new, |c| {
            // The only volume need not be named, and asides are set apart.
            let aside = |d: Dimension| matches!(d, Dimension::Threads | Dimension::Rest);
            let load = spoken(c, &|d| !varying.contains(&d) && !aside(d) && d != Dimension::Volume);
            let asides =
                [Dimension::Threads, Dimension::Rest].map(|one| spoken(c, &|d| d == one && !varying.contains(&d)));
            let parts: Vec<String> = [load].into_iter().chain(asides).filter(|part| !part.is_empty()).collect();
            parts.join(", ")
        });
        let mut panels: Vec<Panel<'a>> = Vec::new();
        for mut curve in curves {
            curve.name = spoken(&curve, &|d| within.contains(&d));
            curve.style = styles.iter().position(|s| *s == key(&curve, &within)).unwrap_or(0);
            let name = spoken(&curve, &|d| varying.contains(&d) && !within.contains(&d));
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

fn key(curve: &Curve<'_>, dimensions: &[Dimension]) -> Vec<String> {
    dimensions.iter().map(|d| curve.values[*d as usize].clone()).collect()
}

/// The distinct values of some dimensions, in order of first appearance.
fn distinct(curves: &[Curve<'_>], dimensions: &[Dimension]) -> Vec<Vec<String>> {
    let mut seen: Vec<Vec<String>> = Vec::new();
    for curve in curves {
        let key = key(curve, dimensions);
        if !seen.contains(&key) {
            seen.push(key);
        }
    }
    seen
}

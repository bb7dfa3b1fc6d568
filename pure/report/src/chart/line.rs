//! A line chart: lines with markers and intervals, or long series without; each line named at its end.

use super::labels::{LABEL_GAP, LabelBox, Labels};
use super::{Axis, Chart, Ticks, at, fitted, marker, text_width};
use crate::escaped::Escaped;
use crate::put;

/// The size of one chart, in units of about a pixel each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Half of the page.
    Large,
    /// The first of a report: readable on a phone.
    Lead,
    /// One of several small multiples.
    Small,
    /// As wide as the page and low: time series.
    Wide,
    /// Half of the page, with room for the names of ceilings beside it.
    Roof,
}

/// A measured point.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    /// Along.
    pub(crate) x: f64,
    /// Up.
    pub(crate) y: f64,
    /// An interval around `y`.
    pub(crate) interval: Option<(f64, f64)>,
    /// A doubted point is drawn hollow.
    pub(crate) doubted: bool,
    /// The figures in words.
    pub(crate) title: String,
}

/// One line.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Its name; may be empty if there is only one.
    pub(crate) name: String,
    /// Colour, marker and dash.
    pub(crate) style: usize,
    /// In the order of `x`.
    pub(crate) points: Points,
}

/// A line's points.
#[derive(Debug, Clone)]
pub(crate) enum Points {
    /// Few, each with a marker and a title.
    Marked(Vec<Point>),
    /// The same, with no line between them.
    Scattered(Vec<Point>),
    /// Few, with a thin line that stays behind everything else.
    Faint(Vec<(f64, f64)>),
    /// Many: (x, y), nothing but a line.
    Bare(Vec<(f64, f64)>),
}

/// A horizontal line across the chart: an objective.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    /// Position.
    pub(crate) y: f64,
    /// Label.
    pub(crate) label: String,
}

/// A vertical line across the chart: something happened.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    /// Position.
    pub(crate) x: f64,
    /// The label under the pointer.
    pub(crate) label: String,
    /// Whether the label is printed beside the line, too.
    pub(crate) is_named: bool,
}

/// A whole chart.
#[derive(Debug, Clone)]
pub(crate) struct LineChart {
    /// Unique in the document; letters, digits and dashes.
    pub(crate) id: String,
    /// One line.
    pub(crate) title: String,
    /// A description for readers who cannot see it.
    pub(crate) description: String,
    /// Along.
    pub(crate) x: Axis,
    /// Up.
    pub(crate) y: Axis,
    /// The lines.
    pub(crate) lines: Vec<Line>,
    /// Objectives.
    pub(crate) references: Vec<Reference>,
    /// Vertical separators at the ends of trials.
    pub(crate) separators: Vec<f64>,
    /// Vertical lines at events.
    pub(crate) marks: Vec<Mark>,
    /// How much room.
    pub(crate) size: Size,
    /// Whether lines are named at their ends.
    pub(crate) names: bool,
    /// Data for the script that shows the values of bare lines under the pointer.
    pub(crate) hover: Option<Hover>,
}

/// The units of both axes, as the script knows them: s, percent, ns, IOPS, bytes/s.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hover {
    /// Along.
    pub(crate) x: &'static str,
    /// Up.
    pub(crate) y: &'static str,
}

impl Line {
    /// A line through few points that are worth a marker each.
    pub(crate) fn marked(name: String, style: usize, points: Vec<Point>) -> Self {
        Self { name, style, points: Points::Marked(points) }
    }
    /// Points that belong to no line.
    pub(crate) fn scattered(style: usize, points: Vec<Point>) -> Self {
        Self { name: String::new(), style, points: Points::Scattered(points) }
    }
    /// A line in the background.
    pub(crate) fn faint(points: Vec<(f64, f64)>) -> Self {
        Self { name: String::new(), style: 0, points: Points::Faint(points) }
    }
    /// A line through many points.
    pub(crate) fn bare(name: String, style: usize, points: Vec<(f64, f64)>) -> Self {
        Self { name, style, points: Points::Bare(points) }
    }
}

/// The plotting area within a chart.
struct Frame {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn x(&self, axis: &Axis, value: f64) -> Option<f64> {
        axis.place(value).map(|place| self.left + place * (self.right - self.left))
    }
    fn y(&self, axis: &Axis, value: f64) -> Option<f64> {
        axis.place(value).map(|place| self.bottom - place * (self.bottom - self.top))
    }
}

/// An end of a whisker.
struct WhiskerEnd {
    y: f64,
    /// It is at the edge of the chart, and the interval goes on.
    beyond: bool,
}

/// Widest name at the end of a line.
const NAME_WIDTH_MAX: f64 = 150.0;
/// Widest name of a ceiling, including its height.
const ROOF_NAME_WIDTH_MAX: f64 = 240.0;
/// Distance between the rows of names of marks.
const LINE_HEIGHT: f64 = 12.5;
/// Rows for the names of marks.
const MARK_ROWS: usize = 4;
/// Distance between names at the ends of lines.
const NAME_DISTANCE: f64 = 14.0;

/// Room for the labels of the ticks of charts that stand below each other: their plotting areas begin at one place.
pub(super) const WIDE_TICKS: f64 = 52.0;

impl Chart for LineChart {
    fn svg(&self) -> String {
        let frame = self.frame();
        let mut out = String::new();
        put!(
            out,
            "<svg class=\"chart\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" viewBox=\"0 0 {} {}\"",
            at(frame.width),
            at(frame.height),
            id = self.id,
        );
        if let Some(hover) = self.hover {
            let ends = [(frame.left, frame.right, &self.x, hover.x), (frame.bottom, frame.top, &self.y, hover.y)];
            for ((start, end, axis, unit), name) in ends.into_iter().zip(["x", "y"]) {
                let scale = if axis.logarithmic { "log" } else { "linear" };
                put!(out, " data-{name}=\"{} {} {} {} {scale} {unit}\"", at(start), at(end), axis.low, axis.high);
            }
        }
        out.push('>');
        put!(out, "<title id=\"{}-t\">{}</title>", self.id, Escaped(&self.title));
        put!(out, "<desc id=\"{}-d\">{}</desc>", self.id, Escaped(&self.description));
        let mut labels = Labels::within((frame.left, frame.right), (frame.top, frame.bottom));
        self.axes(&mut out, &frame, &mut labels);
        for reference in &self.references {
            self.reference(&mut out, &frame, reference);
        }
        for line in &self.lines {
            self.line(&mut out, &frame, line);
        }
        self.reference_labels(&mut out, &frame, &mut labels);
        if self.names {
            self.line_names(&mut out, &frame);
        }
        out.push_str("</svg>");
        out
    }

    fn narrow(&self) -> Option<(String, Vec<(String, usize)>)> {
        if matches!(self.size, Size::Lead | Size::Small) {
            return None;
        }
        let lines = self.lines.iter().filter(|line| self.names && !line.name.is_empty());
        let names = lines.map(|line| (line.name.clone(), line.style)).collect();
        let id = format!("{}-n", self.id);
        Some((Self { id, size: Size::Lead, names: false, hover: None, ..self.clone() }.svg(), names))
    }
}

impl Size {
    /// Width and height.
    const fn area(self) -> (f64, f64) {
        match self {
            Self::Large => (560.0, 330.0),
            Self::Lead => (380.0, 250.0),
            Self::Small => (300.0, 210.0),
            Self::Wide => (760.0, 190.0),
            Self::Roof => (640.0, 330.0),
        }
    }
    /// Labels up at most.
    const fn y_room(self) -> usize {
        match self {
            Self::Large | Self::Roof => 10,
            Self::Lead | Self::Small => 6,
            Self::Wide => 4,
        }
    }
}

/// Where the plotting area begins, to the right of the labels of this axis.
pub(super) fn plot_begin(y: &Axis, size: Size) -> f64 {
    let ticks = y.tick_labels(size.y_room());
    let tick = ticks.iter().map(|t| text_width(&t.1)).fold(0.0, f64::max);
    let tick = if size == Size::Wide { tick.max(WIDE_TICKS) } else { tick };
    let label = if size == Size::Small { 6.0 } else { 24.0 };
    label + tick.min(size.area().0 / 4.0) + 8.0
}

impl LineChart {
    fn frame(&self) -> Frame {
        let (width, height) = self.size.area();
        let widest = if self.names {
            // Bold letters are wider.
            self.lines.iter().map(|l| text_width(&l.name) * 1.1).fold(0.0, f64::max).min(self.name_width_max())
        } else {
            0.0
        };
        Frame {
            width,
            height,
            left: plot_begin(&self.y, self.size),
            right: width - if widest > 0.0 { widest + 14.0 } else { 14.0 },
            top: if self.size == Size::Small { 10.0 } else { 14.0 },
            bottom: height - 42.0,
        }
    }

    const fn name_width_max(&self) -> f64 {
        if matches!(self.size, Size::Roof) { ROOF_NAME_WIDTH_MAX } else { NAME_WIDTH_MAX }
    }

    fn axes(&self, out: &mut String, frame: &Frame, labels: &mut Labels) {
        put!(out, "<g class=\"grid\" aria-hidden=\"true\">");
        let mut texts = String::new();
        for (value, label) in self.y.tick_labels(self.size.y_room()) {
            let Some(y) = frame.y(&self.y, value) else { continue };
            let class = if label.is_empty() { " class=\"minor\"" } else { "" };
            put!(out, "<path{class} d=\"M{} {}H{}\"/>", at(frame.left), at(y), at(frame.right));
            if !label.is_empty() {
                let (x, y) = (at(frame.left - 6.0), at(y + 4.0));
                put!(texts, "<text class=\"end\" x=\"{x}\" y=\"{y}\">{}</text>", Escaped(&label));
            }
        }
        for (value, label) in self.x_ticks(frame) {
            let Some(x) = frame.x(&self.x, value) else { continue };
            let class = if label.is_empty() { " class=\"minor\"" } else { "" };
            put!(out, "<path{class} d=\"M{} {}V{}\"/>", at(x), at(frame.top), at(frame.bottom));
            if !label.is_empty() {
                let y = at(frame.bottom + 16.0);
                put!(texts, "<text class=\"mid\" x=\"{}\" y=\"{y}\">{}</text>", at(x), Escaped(&label));
            }
        }
        put!(out, "<path class=\"axis\" d=\"M{} {}H{}\"/>", at(frame.left), at(frame.bottom), at(frame.right));
        for separator in &self.separators {
            if let Some(x) = frame.x(&self.x, *separator) {
                put!(out, "<path class=\"sep\" d=\"M{} {}V{}\"/>", at(x), at(frame.top), at(frame.bottom));
            }
        }
        for Mark { x, label, is_named } in &self.marks {
            let Some(x) = frame.x(&self.x, *x) else { continue };
            // What has no room keeps its line, whose title names it.
            if *is_named && self.size != Size::Small {
                let rows = (0..MARK_ROWS).map(|row| frame.top + 11.0 + row as f64 * LINE_HEIGHT);
                let places = rows
                    .flat_map(|y| [LabelBox::until(x - LABEL_GAP, y, label), LabelBox::from(x + LABEL_GAP, y, label)]);
                if let Some(place) = labels.place(places) {
                    let (start, y) = (at(place.start), at(place.baseline));
                    put!(texts, "<text class=\"limit\" x=\"{start}\" y=\"{y}\">{}</text>", Escaped(label));
                }
            }
            let (x, label) = (at(x), Escaped(label));
            let (top, bottom) = (at(frame.top), at(frame.bottom));
            put!(out, "<path class=\"mark\" d=\"M{x} {top}V{bottom}\"><title>{label}</title></path>");
        }
        out.push_str(&texts);
        let middle = at(f64::midpoint(frame.left, frame.right));
        let label = fitted(&self.x.label, frame.width - 20.0);
        put!(out, "<text class=\"mid lab\" x=\"{middle}\" y=\"{}\">{}</text>", at(frame.height - 7.0), Escaped(&label));
        if self.size != Size::Small {
            let middle = at(f64::midpoint(frame.top, frame.bottom));
            let label = fitted(&self.y.label, frame.height - 10.0);
            put!(
                out,
                "<text class=\"mid lab\" transform=\"translate(13 {middle}) rotate(-90)\">{}</text>",
                Escaped(&label)
            );
        }
        put!(out, "</g>");
    }

    /// Ticks along, with labels that have room beside each other: the last one always, of measured values then the first.
    fn x_ticks(&self, frame: &Frame) -> Vec<(f64, String)> {
        let all = self.x.tick_labels(usize::MAX);
        let widest = all.iter().map(|t| text_width(&t.1)).fold(20.0, f64::max);
        let mut ticks = match self.x.ticks {
            // Round numbers are as far apart as configured.
            Ticks::Round => self.x.tick_labels(((frame.right - frame.left) / (widest + 8.0)).floor().max(2.0) as usize),
            Ticks::At(_) | Ticks::Named(_) => all,
        };
        let mut order: Vec<usize> = (0..ticks.len()).rev().collect();
        let ends = matches!(self.x.ticks, Ticks::At(_));
        order.sort_by_key(|index| ends && *index != ticks.len() - 1 && *index != 0);
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for index in order {
            let (value, label) = &mut ticks[index];
            let (Some(x), half) = (frame.x(&self.x, *value), text_width(label) / 2.0) else { continue };
            if label.is_empty() {
                continue;
            }
            if taken.iter().all(|(start, end)| x + half + LABEL_GAP <= *start || end + LABEL_GAP <= x - half) {
                taken.push((x - half, x + half));
            } else {
                label.clear();
            }
        }
        ticks
    }

    fn reference(&self, out: &mut String, frame: &Frame, reference: &Reference) {
        let Some(y) = frame.y(&self.y, reference.y) else { return };
        put!(out, "<path class=\"ref\" d=\"M{} {}H{}\"/>", at(frame.left), at(y), at(frame.right));
    }

    /// On top of the lines, so that none crosses them out. A label without room beside the others is left out.
    fn reference_labels(&self, out: &mut String, frame: &Frame, labels: &mut Labels) {
        for reference in &self.references {
            let Some(y) = frame.y(&self.y, reference.y) else { continue };
            let label = fitted(&reference.label, frame.right - frame.left - 8.0);
            // Above its line, or below if there is no room above.
            let baselines = if y - 16.0 < frame.top { [y + 13.0; 2] } else { [y - 5.0, y + 13.0] };
            let after = labels.ends().into_iter().map(|end| end + 8.0);
            let starts: Vec<f64> = std::iter::once(frame.left + 5.0).chain(after).collect();
            let places = starts
                .into_iter()
                .flat_map(|start| baselines.map(|baseline| LabelBox::from(start, baseline, &label)))
                .chain(baselines.map(|baseline| LabelBox::until(frame.right, baseline, &label)));
            let Some(place) = labels.place(places) else { continue };
            let (x, baseline) = (at(place.start), at(place.baseline));
            put!(out, "<text class=\"reft\" x=\"{x}\" y=\"{baseline}\">{}</text>", Escaped(&label));
        }
    }

    fn line(&self, out: &mut String, frame: &Frame, line: &Line) {
        let style = line.style % super::STYLES;
        let bare = matches!(line.points, Points::Bare(_));
        if let Points::Faint(_) = line.points {
            put!(out, "<g class=\"faint\">");
        } else {
            put!(out, "<g class=\"s{style}\">");
        }
        let mut path = String::new();
        // A gap in the figures is a gap in the line; between neighbours a separator breaks it, too.
        let (mut last_x, mut gap) = (None::<f64>, false);
        for (x_value, place) in line.points.values().map(|(x, y)| (x, self.place(frame, x, y))) {
            let Some((x, y)) = place else {
                (last_x, gap) = (None, true);
                continue;
            };
            let broken = last_x.is_none_or(|last| self.separators.iter().any(|s| last < *s && *s <= x_value));
            put!(path, "{}{} {}", if broken { 'M' } else { 'L' }, at(x), at(y));
            // One alone between two gaps is seen as a dot.
            if std::mem::take(&mut gap) {
                path.push_str("h0");
            }
            last_x = Some(x_value);
        }
        if !path.is_empty() && !matches!(line.points, Points::Scattered(_)) {
            let thin = if bare { " bare" } else { "" };
            let name = Escaped(&line.name);
            if bare {
                put!(out, "<path class=\"ln{thin}\" data-name=\"{name}\" d=\"{path}\"/>");
            } else {
                put!(out, "<path class=\"ln{thin}\" d=\"{path}\"/>");
            }
        }
        if let Points::Marked(points) | Points::Scattered(points) = &line.points {
            for point in points {
                self.point(out, frame, point, style);
            }
        }
        put!(out, "</g>");
    }

    fn place(&self, frame: &Frame, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((frame.x(&self.x, x)?, frame.y(&self.y, y)?))
    }

    fn point(&self, out: &mut String, frame: &Frame, point: &Point, style: usize) {
        let Some((x, y)) = self.place(frame, point.x, point.y) else { return };
        if let Some((low, high)) = point.interval
            && let (Some(low), Some(high)) = (self.whisker_end(frame, low), self.whisker_end(frame, high))
            && low.y - high.y > 2.0
        {
            let (x, top, bottom) = (at(x), at(high.y), at(low.y));
            put!(out, "<path class=\"bar\" d=\"M{x} {bottom}V{top}");
            if !high.beyond {
                out.push_str("m-3 0h6");
            }
            if !low.beyond {
                put!(out, "M{x} {bottom}m-3 0h6");
            }
            out.push_str("\"/>");
        }
        let hollow = if point.doubted { " hollow" } else { "" };
        put!(
            out,
            "<path class=\"mk{hollow}\" transform=\"translate({} {})\" d=\"{}\"><title>{}</title></path>",
            at(x),
            at(y),
            marker(style),
            Escaped(&point.title)
        );
    }

    /// The end of a whisker: at the edge of the chart if its value lies beyond, since the widest of all must not be
    /// missing.
    fn whisker_end(&self, frame: &Frame, value: f64) -> Option<WhiskerEnd> {
        if value.is_nan() {
            return None;
        }
        let edge = if value > self.y.high { frame.top } else { frame.bottom };
        Some(frame.y(&self.y, value).map_or(WhiskerEnd { y: edge, beyond: true }, |y| WhiskerEnd { y, beyond: false }))
    }

    /// Names at the ends of the lines, moved apart if they would overlap.
    fn line_names(&self, out: &mut String, frame: &Frame) {
        let mut names: Vec<(f64, &Line)> = self
            .lines
            .iter()
            .filter(|line| !line.name.is_empty())
            .filter_map(|line| {
                let (x, y) = line.points.values().filter(|(x, y)| self.place(frame, *x, *y).is_some()).last()?;
                Some((self.place(frame, x, y)?.1, line))
            })
            .collect();
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut next = frame.top;
        for (y, _) in &mut names {
            *y = y.max(next);
            next = *y + NAME_DISTANCE;
        }
        let mut next = frame.bottom;
        for (y, _) in names.iter_mut().rev() {
            *y = y.min(next);
            next = *y - NAME_DISTANCE;
        }
        for (y, line) in names {
            put!(
                out,
                "<text class=\"nm s{}\" x=\"{}\" y=\"{}\">{}</text>",
                line.style % super::STYLES,
                at(frame.right + 8.0),
                at(y + 4.0),
                Escaped(&fitted(&line.name, self.name_width_max() / 1.1))
            );
        }
    }
}

impl Points {
    /// Every (x, y) in order.
    pub(crate) fn values(&self) -> Box<dyn DoubleEndedIterator<Item = (f64, f64)> + '_> {
        match self {
            Self::Marked(points) | Self::Scattered(points) => Box::new(points.iter().map(|p| (p.x, p.y))),
            Self::Bare(points) | Self::Faint(points) => Box::new(points.iter().copied()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures;
    use proptest::prelude::*;

    fn chart(depths: Vec<f64>, objectives: &[f64], size: Size) -> LineChart {
        let references = objectives.iter().map(|y| Reference { y: *y, label: format!("objective: p99 {y} ns") });
        let points = depths.iter().map(|x| (*x, 1e6)).collect();
        LineChart {
            id: "c".to_owned(),
            title: String::new(),
            description: String::new(),
            x: Axis::at_values("depth", figures::tick, depths),
            y: Axis::logarithmic("latency", figures::latency_tick, objectives.iter().copied().chain([1e6])),
            lines: vec![Line::bare(String::new(), 0, points)],
            references: references.collect(),
            separators: Vec::new(),
            marks: Vec::new(),
            size,
            names: false,
            hover: None,
        }
    }

    /// A text as it stands in the file: start and end along, height, and content.
    type Text = (f64, f64, f64, String);

    /// Whether no letter covers another. Letters are 11.5 high; places in the file are rounded to a tenth, and lines of
    /// text 12 apart may be 11.9 there.
    fn are_apart(one: &Text, other: &Text) -> bool {
        one.1 <= other.0 || other.1 <= one.0 || (one.2 - other.2).abs() >= 11.5
    }

    /// Texts of a class. Those of class "mid" are centred.
    fn texts(svg: &str, class: &str) -> Vec<Text> {
        let number = |tag: &str, name: &str| {
            let (_, rest) = tag.split_once(&format!(" {name}=\"")).unwrap();
            rest.split_once('"').unwrap().0.parse::<f64>().unwrap()
        };
        let start = format!("<text class=\"{class}\"");
        let texts = svg.split(&start).skip(1).map(|rest| {
            let (tag, rest) = rest.split_once('>').unwrap();
            let text = rest.split_once('<').unwrap().0.to_owned();
            let (x, width) = (number(tag, "x"), text_width(&text));
            let start = match class {
                "mid" => x - width / 2.0,
                "end" => x - width,
                _ => x,
            };
            (start, start + width, number(tag, "y"), text)
        });
        texts.collect()
    }

    #[test]
    fn a_whisker_that_leaves_the_chart_goes_to_its_edge() {
        let mut chart = chart(vec![1.0, 2.0], &[], Size::Large);
        chart.y = Axis::linear("IOPS", figures::tick, [800.0].into_iter());
        let mut whisker = |interval| {
            let point = Point { x: 1.0, y: 800.0, interval: Some(interval), doubted: false, title: String::new() };
            chart.lines = vec![Line::marked(String::new(), 0, vec![point])];
            let svg = chart.svg();
            let (_, bar) = svg.split_once("<path class=\"bar\" d=\"").expect("a whisker");
            (bar.split_once('"').unwrap().0.to_owned(), at(chart.frame().top), at(chart.frame().bottom))
        };
        let (inside, ..) = whisker((700.0, 900.0));
        assert_eq!(inside.matches("m-3 0h6").count(), 2, "{inside}");
        let (above, top, _) = whisker((400.0, 1200.0));
        assert!(above.contains(&format!("V{top}M")), "no end where it goes on: {above}");
        let (both, top, bottom) = whisker((-400.0, 2000.0));
        assert!(both.ends_with(&format!(" {bottom}V{top}")), "{both}");
    }

    #[test]
    fn names_of_limits_near_each_other_stand_in_rows() {
        let mut chart = chart(vec![1.0, 100.0], &[], Size::Large);
        let mark = |x: f64| Mark { x, label: "vm-cached-throughput 2,040".to_owned(), is_named: true };
        chart.marks = [1.0, 1.1, 1.2, 90.0].map(mark).into();
        let svg = chart.svg();
        let named = texts(&svg, "limit");
        assert_eq!(named.len(), 4, "{svg}");
        for (index, one) in named.iter().enumerate() {
            assert!(named[..index].iter().all(|other| are_apart(one, other)), "{one:?} of {named:?}");
        }
    }

    #[test]
    fn depths_of_a_search_are_named_where_there_is_room() {
        let depths = vec![1.0, 2.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0];
        for size in [Size::Large, Size::Small] {
            let svg = chart(depths.clone(), &[], size).svg();
            let named: Vec<String> = texts(&svg, "mid").into_iter().map(|t| t.3).collect();
            assert!(["1", "2", "16"].iter().all(|depth| named.iter().any(|n| n == depth)), "{named:?}");
            assert!(named.len() < depths.len(), "{named:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_of_a_chart_covers_another(
            depths in prop::collection::btree_set(1u32..5000, 2..12),
            objectives in prop::collection::vec(1e3f64..1e9, 0..4),
            limits in prop::collection::vec((1f64..5000.0, "[a-z-]{4,22} [0-9]{3,6}"), 0..6),
            size in prop::sample::select(vec![Size::Lead, Size::Small, Size::Large, Size::Wide]),
        ) {
            let mut chart = chart(depths.into_iter().map(f64::from).collect(), &objectives, size);
            chart.marks = limits.into_iter().map(|(x, label)| Mark { x, label, is_named: true }).collect();
            let svg = chart.svg();
            let all: Vec<_> = ["limit", "reft", "mid", "end"].into_iter().flat_map(|class| texts(&svg, class)).collect();
            for (index, one) in all.iter().enumerate() {
                prop_assert!(all[..index].iter().all(|other| are_apart(one, other)), "{one:?} of {all:?}");
            }
        }
        #[test]
        fn labels_never_overlap(
            depths in prop::collection::btree_set(1u32..5000, 1..40),
            objectives in prop::collection::vec(1e3f64..1e9, 0..4),
            small: bool,
        ) {
            let (first, last) = (*depths.first().unwrap(), *depths.last().unwrap());
            let size = if small { Size::Small } else { Size::Large };
            let svg = chart(depths.into_iter().map(f64::from).collect(), &objectives, size).svg();
            let depths = texts(&svg, "mid");
            for pair in depths.windows(2) {
                prop_assert!(pair[0].1 < pair[1].0, "{pair:?}");
            }
            prop_assert_eq!(&depths.last().unwrap().3, &figures::tick(f64::from(last)));
            let room = depths.len() > 1 || first == last;
            prop_assert!(!room || depths[0].3 == figures::tick(f64::from(first)), "{depths:?}");
            let objectives = texts(&svg, "reft");
            for (index, one) in objectives.iter().enumerate() {
                prop_assert!(objectives[..index].iter().all(|other| are_apart(one, other)), "{one:?} of {objectives:?}");
            }
        }
        #[test]
        fn named_ticks_never_overlap(places in prop::collection::btree_set(0u32..1000, 2..30)) {
            let mut chart = chart(vec![1.0, 2.0], &[], Size::Small);
            let named = places.into_iter().map(|x| (f64::from(x) / 1000.0, format!("{x}"))).collect();
            chart.x = Axis { low: 0.0, high: 1.0, logarithmic: false, ticks: Ticks::Named(named), ..chart.x };
            for pair in texts(&chart.svg(), "mid").windows(2) {
                prop_assert!(pair[0].1 < pair[1].0, "{pair:?}");
            }
        }
    }
}

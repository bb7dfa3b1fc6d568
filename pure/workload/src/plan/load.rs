//! One `[[load]]` of a plan: its keys, the dimensions that they make, and the cells of their matrix.

use super::ways::{read_gaps, read_shares, read_staggered, read_zones};
use super::{Budget, CELLS_MAX, LIST_MAX, Order, PLAN_TRIALS_MAX, PlanLoad, TOP_KEYS};
use loadline_document::{Item, Key, Reader, entries, kind, list, nested};
use loadline_load::{
    Arrival, BlockShare, Distribution, FILES_MAX, Fill, FlushCadence, FlushMethod, LatencyFigure, LoadSpec, Objective,
    Pattern, QUEUE_DEPTH_MAX, Staggered, SteadyStateRule, THREADS_MAX, TRIALS_MAX, Walk, ZoneGaps,
};
use loadline_units::{Bytes, Duration, Iops, Ratio};
use std::collections::BTreeSet;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Keys of which each list is a dimension of the matrix.
const DIMENSIONS: &[&str] = &[
    "pattern",
    "reads",
    "trims",
    "block",
    "align",
    "distribution",
    "stride",
    "queue_depth",
    "threads",
    "arrival",
    "rate_max",
    "think_time",
    "size",
    "size_share",
    "staggered",
    "start",
    "files",
    "in_turn",
    "continued",
    "zones",
    "flush",
    "buffered",
    "compressible",
    "duplicate",
    "verify",
    "fill",
    "drop_caches",
    "warm_up",
    "cool_down",
    "steady_state",
    "duration",
    "volume",
    "passes",
    "walk",
    "overlap",
    "end_flush",
];
/// Keys with one value for the whole load.
const SINGLES: &[&str] = &["name", "on", "trials", "pause", "order", "hang_limit", "objective", "best_of_trials"];
/// Every key of a load.
pub(super) fn keys() -> Vec<&'static str> {
    SINGLES.iter().chain(DIMENSIONS).copied().collect()
}

const ORDERS: &[(&str, Order)] = &[("interleaved", Order::Interleaved), ("as-listed", Order::AsListed)];
const SHAPES: &[(&str, Shape)] = &[("random", Shape::Random), ("sequential", Shape::Sequential)];
const WALKS: &[(&str, Walk)] = &[("onward", Walk::Onward), ("again", Walk::Again), ("back", Walk::Back)];
const FILLS: &[(&str, Fill)] =
    &[("auto", Fill::Auto), ("always", Fill::Always), ("never", Fill::Never), ("hole", Fill::Hole)];
const FLUSH_METHODS: &[(&str, FlushMethod)] = &[("fdatasync", FlushMethod::Fdatasync), ("fua", FlushMethod::Fua)];
const FIGURES: &[LatencyFigure] = &[
    LatencyFigure::Mean,
    LatencyFigure::P50,
    LatencyFigure::P90,
    LatencyFigure::P95,
    LatencyFigure::P99,
    LatencyFigure::P999,
];
const ARRIVAL_WANTED: &str = "{ poisson = \"1000 IOPS\" } or { constant = \"1000 IOPS\" }";
const BLOCK_WANTED: &str = "a size such as \"8 KiB\", or a mix such as { \"4 KiB\" = \"60 %\", \"64 KiB\" = \"40 %\" }";
const HOT_WANTED: &str = "{ hot = { requests = \"90 %\", blocks = \"10 %\" } }";
const DISTRIBUTION_WANTED: &str = " or { zipf = 1.2 } or { hot = { requests = \"90 %\", blocks = \"10 %\" } }";
const FLUSH_WANTED: &str = "{ every = 1, how = \"fdatasync\" } or \"never\"";
const OBJECTIVE_WANTED: &str = "one figure, such as { p99 = \"20 ms\" }";
/// The largest exponent of a zipf distribution.
const ZIPF_MAX: f64 = 5.0;

/// Where requests fall, before the distribution or stride is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Random,
    Sequential,
}

/// One value of one dimension. Applying several gives the same load in any order, as long as none contradict.
#[derive(Debug, Clone, PartialEq)]
enum Setting {
    Pattern(Shape),
    Distribution(Distribution),
    Stride(Bytes),
    Reads(Ratio),
    Trims(Ratio),
    Blocks(Vec<BlockShare>),
    Align(Bytes),
    QueueDepth(u32),
    RateMax(Iops),
    ThinkTime(Duration),
    Arrival(Arrival),
    Threads(u32),
    Size(Bytes),
    SizeShare(Ratio),
    Staggered(Staggered),
    Start(Bytes),
    Files(u32),
    InTurn(u32),
    Continued(Ratio),
    Zones(ZoneGaps),
    Flush(Option<FlushCadence>),
    Buffered(bool),
    Compressible(Ratio),
    Duplicate(Ratio),
    Verify(bool),
    Fill(Fill),
    DropCaches(bool),
    WarmUp(Duration),
    CoolDown(Duration),
    SteadyState(Option<SteadyStateRule>),
    Duration(Duration),
    Volume(Bytes),
    Passes(u32),
    Walk(Walk),
    Overlap(bool),
    EndFlush(bool),
}

impl Setting {
    fn apply(&self, spec: &mut LoadSpec) {
        match self {
            Self::Pattern(Shape::Random) => {
                if !matches!(spec.pattern, Pattern::Random(_)) {
                    spec.pattern = Pattern::Random(Distribution::Uniform);
                }
            }
            Self::Pattern(Shape::Sequential) => {
                if !matches!(spec.pattern, Pattern::Sequential { .. }) {
                    spec.pattern = Pattern::Sequential { stride: None };
                }
            }
            Self::Distribution(distribution) => spec.pattern = Pattern::Random(distribution.clone()),
            Self::Stride(stride) => spec.pattern = Pattern::Sequential { stride: Some(*stride) },
            Self::Reads(share) => spec.reads = *share,
            Self::Trims(share) => spec.trims = *share,
            Self::Blocks(blocks) => spec.blocks.clone_from(blocks),
            Self::Align(align) => spec.align = Some(*align),
            Self::QueueDepth(depth) => {
                if let Arrival::Closed { queue_depth, .. } = &mut spec.arrival {
                    *queue_depth = *depth;
                }
            }
            Self::RateMax(rate) => {
                if let Arrival::Closed { rate_max, .. } = &mut spec.arrival {
                    *rate_max = Some(*rate);
                }
            }
            Self::ThinkTime(time) => {
                if let Arrival::Closed { think_time, .. } = &mut spec.arrival {
                    *think_time = *time;
                }
            }
            Self::Arrival(arrival) => spec.arrival = arrival.clone(),
            Self::Threads(threads) => spec.threads = *threads,
            Self::Size(size) => spec.size = Some(*size),
            Self::SizeShare(share) => spec.size_share = Some(*share),
            Self::Staggered(staggered) => spec.staggered = Some(*staggered),
            Self::Start(start) => spec.start = *start,
            Self::Files(files) => spec.files = *files,
            Self::InTurn(requests) => spec.in_turn = Some(*requests),
            Self::Continued(share) => spec.continued = *share,
            Self::Zones(zones) => spec.zones = Some(*zones),
            Self::Flush(flush) => spec.flush = *flush,
            Self::Buffered(buffered) => spec.buffered = *buffered,
            Self::Compressible(share) => spec.content.compressible = *share,
            Self::Duplicate(share) => spec.content.duplicate = *share,
            Self::Verify(verify) => spec.verify = *verify,
            Self::Fill(fill) => spec.fill = *fill,
            Self::DropCaches(drop) => spec.drop_caches = *drop,
            Self::WarmUp(time) => spec.warm_up = *time,
            Self::CoolDown(time) => spec.cool_down = *time,
            Self::SteadyState(rule) => spec.steady_state = *rule,
            Self::Duration(time) => spec.duration = *time,
            Self::Volume(volume) => spec.volume = Some(*volume),
            Self::Passes(passes) => spec.passes = Some(*passes),
            Self::Walk(walk) => spec.walk = *walk,
            Self::Overlap(overlap) => spec.overlap = *overlap,
            Self::EndFlush(flush) => spec.end_flush = *flush,
        }
    }
}

/// A setting with the place where it was written.
#[derive(Debug)]
struct Choice {
    setting: Setting,
    span: Range<usize>,
}

/// A key with all its values.
#[derive(Debug)]
struct Dimension {
    key: &'static str,
    span: Range<usize>,
    choices: Vec<Choice>,
}

/// Reads the load whose table is given and takes its cells from `left`; `None` after telling a problem.
pub(super) fn read(
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    header: Range<usize>,
    left: &mut Budget,
) -> Option<PlanLoad> {
    let before = reader.problem_count();
    let mut base = LoadSpec::default();
    let (mut order, mut on) = (Order::Interleaved, None);
    let mut dimensions: Vec<Dimension> = Vec::new();
    for (key, item) in entries(table) {
        let word: &str = key.get_ref();
        if let Some(key_name) = DIMENSIONS.iter().find(|known| **known == word) {
            dimensions.push(read_dimension(reader, key_name, key, item));
        } else if word == "on" {
            on = reader.name(word, item);
        } else if SINGLES.contains(&word) {
            read_single(reader, word, item, &mut base, &mut order);
        } else if TOP_KEYS.contains(&word) {
            let message = "belongs to the plan: write it at the top, before the first [[load]]".to_owned();
            reader.problem(key.span(), word, message);
        } else {
            reader.unknown_key("", key, &keys(), "a load");
        }
    }
    tell_contradictions(reader, &dimensions);
    if reader.problem_count() > before {
        tell_alone(reader, &base, &dimensions, table);
        return None;
    }
    take_from_budget(reader, &dimensions, base.trials, &header, left)?;
    let cells = cells(reader, &base, &dimensions, table, &header);
    (reader.problem_count() == before).then_some(PlanLoad { cells, order, on })
}

/// One value for the whole load.
fn read_single(reader: &mut Reader<'_>, key: &str, item: &Item<'_>, base: &mut LoadSpec, order: &mut Order) {
    if item.get_ref().is_array() {
        reader.problem(item.span(), key, "has one value for the whole load: write it without a list".into());
        return;
    }
    match key {
        "name" => base.name = reader.name(key, item),
        "trials" => {
            if let Some(trials) = reader.count_u32(key, item, TRIALS_MAX) {
                base.trials = trials;
            }
        }
        "pause" => {
            if let Some(pause) = reader.quantity(key, item) {
                base.pause = pause;
            }
        }
        "hang_limit" => {
            if let Some(limit) = reader.quantity(key, item) {
                base.hang_limit = limit;
            }
        }
        "order" => {
            if let Some(word) = reader.word(key, item, ORDERS, "") {
                *order = word;
            }
        }
        "objective" => base.objective = read_objective(reader, item),
        "best_of_trials" => base.best_of_trials = reader.switch(key, item).unwrap_or_default(),
        _ => unreachable!("{key} is one of SINGLES"),
    }
}

fn read_objective(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<Objective> {
    let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name()).collect();
    let before = reader.problem_count();
    let figures = reader.table("objective", item, &names, OBJECTIVE_WANTED)?;
    if reader.problem_count() > before {
        return None;
    }
    let [(name, value)] = figures[..] else {
        reader.problem(item.span(), "objective", format!("write {OBJECTIVE_WANTED}; the figures are {}", list(&names)));
        return None;
    };
    let key = nested("objective", name);
    let limit: Duration = reader.quantity(&key, value)?;
    if limit == Duration::ZERO {
        reader.problem(value.span(), &key, "no storage answers in no time: write a time above 0".into());
        return None;
    }
    let of = *FIGURES.iter().find(|figure| figure.name() == name).expect("the name is one of theirs");
    Some(Objective { of, limit })
}

/// All values of one key; telling of any that is written twice.
fn read_dimension(reader: &mut Reader<'_>, name: &'static str, key: &Key<'_>, item: &Item<'_>) -> Dimension {
    let mut choices: Vec<Choice> = Vec::new();
    for value in reader.values(name, item) {
        for choice in read_choices(reader, name, value) {
            if choices.iter().any(|c| c.setting == choice.setting) {
                let message = "is in the list twice: write it once, and use trials to repeat".to_owned();
                reader.problem(choice.span, name, message);
            } else if choices.len() < LIST_MAX {
                choices.push(choice);
            } else {
                reader.problem(item.span(), name, format!("has more than {LIST_MAX} values: write fewer"));
                return Dimension { key: name, span: key.span(), choices };
            }
        }
    }
    Dimension { key: name, span: key.span(), choices }
}

/// What one element of a dimension's list stands for: one setting, or several where it holds lists itself.
fn read_choices(r: &mut Reader<'_>, key: &str, v: &Item<'_>) -> Vec<Choice> {
    if v.get_ref().is_array() {
        r.problem(v.span(), key, "is a list within a list: write one list".into());
        return Vec::new();
    }
    let setting = match key {
        "arrival" => return read_arrivals(r, v),
        "distribution" => return read_distributions(r, v),
        "flush" => return read_flushes(r, v),
        "pattern" => r.word(key, v, SHAPES, "").map(Setting::Pattern),
        "stride" => r.quantity(key, v).map(Setting::Stride),
        "reads" => r.quantity(key, v).map(Setting::Reads),
        "trims" => r.quantity(key, v).map(Setting::Trims),
        "block" => read_blocks(r, v).map(Setting::Blocks),
        "align" => r.quantity(key, v).map(Setting::Align),
        "queue_depth" => r.count_u32(key, v, QUEUE_DEPTH_MAX).map(Setting::QueueDepth),
        "rate_max" => r.quantity(key, v).map(Setting::RateMax),
        "think_time" => r.quantity(key, v).map(Setting::ThinkTime),
        "threads" => r.count_u32(key, v, THREADS_MAX).map(Setting::Threads),
        "size" => r.quantity(key, v).map(Setting::Size),
        "size_share" => r.quantity(key, v).map(Setting::SizeShare),
        "staggered" => read_staggered(r, v).map(Setting::Staggered),
        "start" => r.quantity(key, v).map(Setting::Start),
        "files" => r.count_u32(key, v, FILES_MAX).map(Setting::Files),
        "in_turn" => r.count_u32(key, v, u32::MAX).map(Setting::InTurn),
        "continued" => r.quantity(key, v).map(Setting::Continued),
        "zones" => read_gaps(r, v).map(Setting::Zones),
        "buffered" => r.switch(key, v).map(Setting::Buffered),
        "compressible" => r.quantity(key, v).map(Setting::Compressible),
        "duplicate" => r.quantity(key, v).map(Setting::Duplicate),
        "verify" => r.switch(key, v).map(Setting::Verify),
        "fill" => r.word(key, v, FILLS, "").map(Setting::Fill),
        "drop_caches" => r.switch(key, v).map(Setting::DropCaches),
        "warm_up" => r.quantity(key, v).map(Setting::WarmUp),
        "cool_down" => r.quantity(key, v).map(Setting::CoolDown),
        "steady_state" => read_steady_state(r, v),
        "duration" => r.quantity(key, v).map(Setting::Duration),
        "passes" => r.count_u32(key, v, u32::MAX).map(Setting::Passes),
        "walk" => r.word(key, v, WALKS, "").map(Setting::Walk),
        "overlap" => r.switch(key, v).map(Setting::Overlap),
        "end_flush" => r.switch(key, v).map(Setting::EndFlush),
        "volume" => {
            if let Some(text) = v.get_ref().as_str()
                && !text.starts_with(|c: char| c.is_ascii_digit())
            {
                let message = format!(
                    "is how much a trial transfers, such as \"1 GiB\", and {text:?} is no amount; a plan names no volume to run on: \
                     that is named when it is run"
                );
                r.problem(v.span(), key, message);
                None
            } else {
                r.quantity(key, v).map(Setting::Volume)
            }
        }
        _ => unreachable!("{key} is one of DIMENSIONS"),
    };
    setting.map(|setting| Choice { setting, span: v.span() }).into_iter().collect()
}

/// A size, or a mix of sizes with their shares, the smallest size first.
fn read_blocks(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<Vec<BlockShare>> {
    let Some(table) = item.get_ref().as_table() else {
        if item.get_ref().is_str() || item.get_ref().is_integer() {
            return reader.quantity("block", item).map(|size| vec![BlockShare { size, share: Ratio::ONE }]);
        }
        reader.problem(item.span(), "block", format!("is {}: write {BLOCK_WANTED}", kind(item.get_ref())));
        return None;
    };
    let mut blocks: Vec<BlockShare> = Vec::new();
    let before = reader.problem_count();
    for (key, value) in entries(table) {
        let word: &str = key.get_ref();
        let share: Option<Ratio> = reader.quantity(&nested("block", word), value);
        match word.parse::<Bytes>() {
            Err(error) => reader.problem(key.span(), &nested("block", word), error.to_string()),
            Ok(size) if blocks.iter().any(|b| b.size == size) => {
                reader.problem(key.span(), &nested("block", word), "is in the mix twice: add up its shares".into());
            }
            Ok(size) => blocks.extend(share.map(|share| BlockShare { size, share })),
        }
    }
    blocks.sort_by_key(|block| block.size);
    (reader.problem_count() == before).then_some(blocks)
}

fn read_arrivals(reader: &mut Reader<'_>, item: &Item<'_>) -> Vec<Choice> {
    let before = reader.problem_count();
    let Some(ways) = reader.table("arrival", item, &["poisson", "constant"], ARRIVAL_WANTED) else { return Vec::new() };
    if ways.is_empty() && reader.problem_count() == before {
        reader.problem(item.span(), "arrival", format!("says no rate: write {ARRIVAL_WANTED}"));
    }
    let mut choices = Vec::new();
    for (way, rates) in ways {
        let key = nested("arrival", way);
        for value in reader.values(&key, rates) {
            let Some(rate) = reader.quantity::<Iops>(&key, value) else { continue };
            let arrival = if way == "poisson" { Arrival::Poisson { rate } } else { Arrival::Constant { rate } };
            choices.push(Choice { setting: Setting::Arrival(arrival), span: value.span() });
        }
    }
    choices
}

fn read_distributions(reader: &mut Reader<'_>, item: &Item<'_>) -> Vec<Choice> {
    let one = |distribution, span| Choice { setting: Setting::Distribution(distribution), span };
    if item.get_ref().as_table().is_none() {
        let words = [("uniform", 0), ("permutation", 1), ("covering", 2)];
        let Some(word) = reader.word("distribution", item, &words, DISTRIBUTION_WANTED) else { return Vec::new() };
        let distribution = match word {
            0 => Distribution::Uniform,
            1 => Distribution::Permutation,
            _ => Distribution::Covering,
        };
        return vec![one(distribution, item.span())];
    }
    let before = reader.problem_count();
    let Some(ways) = reader.table("distribution", item, &["zipf", "hot", "pareto", "normal", "zones"], HOT_WANTED)
    else {
        return Vec::new();
    };
    if ways.is_empty() && reader.problem_count() == before {
        let message = format!("says no distribution: write \"uniform\" or \"permutation\"{DISTRIBUTION_WANTED}");
        reader.problem(item.span(), "distribution", message);
    }
    let mut choices = Vec::new();
    for (way, values) in ways {
        if way == "zones" {
            let distribution = read_zones(reader, values);
            choices.extend(distribution.map(|distribution| one(distribution, values.span())));
            continue;
        }
        for value in reader.values(&nested("distribution", way), values) {
            let distribution = match way {
                "zipf" => read_zipf(reader, value),
                "pareto" => read_pareto(reader, value),
                "normal" => {
                    reader.quantity("distribution.normal", value).map(|deviation| Distribution::Normal { deviation })
                }
                _ => read_hot(reader, value),
            };
            choices.extend(distribution.map(|distribution| one(distribution, value.span())));
        }
    }
    choices
}

/// A number with up to three decimals.
fn number(item: &Item<'_>) -> Option<f64> {
    match item.get_ref() {
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        _ => None,
    }
}

fn read_pareto(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<Distribution> {
    let milli = number(item).filter(|h| *h > 0.0 && *h < 1.0).map(|h| h * 1e3);
    let milli = milli.filter(|milli| (milli - milli.round()).abs() < 1e-6);
    if milli.is_none() {
        let message = format!(
            "is {}: write a share above 0 and below 1 with up to three decimals, such as 0.2 (80 % of the requests go to 20 % of \
             the blocks)",
            kind(item.get_ref())
        );
        reader.problem(item.span(), "distribution.pareto", message);
    }
    milli.map(|milli| Distribution::Pareto { h_milli: milli.round() as u32 })
}

fn read_zipf(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<Distribution> {
    let theta = number(item);
    let theta = theta.filter(|theta| *theta > 0.0 && *theta <= ZIPF_MAX);
    let milli = theta.map(|theta| theta * 1e3).filter(|milli| (milli - milli.round()).abs() < 1e-6);
    if milli.is_none() {
        let wanted = format!("write an exponent above 0 and at most {ZIPF_MAX} with up to three decimals, such as 1.2");
        reader.problem(item.span(), "distribution.zipf", format!("is {}: {wanted}", kind(item.get_ref())));
    }
    milli.map(|milli| Distribution::Zipf { theta_milli: milli.round() as u32 })
}

fn read_hot(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<Distribution> {
    const KEY: &str = "distribution.hot";
    let [requests, blocks] = read_shares(reader, KEY, item, HOT_WANTED)?;
    Some(Distribution::HotCold { requests: requests?, blocks: blocks? })
}

fn read_flushes(reader: &mut Reader<'_>, item: &Item<'_>) -> Vec<Choice> {
    const KEY: &str = "flush";
    let one = |flush, span| Choice { setting: Setting::Flush(flush), span };
    if item.get_ref().as_str() == Some("never") {
        return vec![one(None, item.span())];
    }
    let Some(parts) = reader.table(KEY, item, &["every", "how"], FLUSH_WANTED) else { return Vec::new() };
    let Some((_, everies)) = parts.iter().find(|(key, _)| *key == "every") else {
        reader.problem(item.span(), KEY, format!("does not say after how many writes: write {FLUSH_WANTED}"));
        return Vec::new();
    };
    let mut methods = Vec::new();
    match parts.iter().find(|(key, _)| *key == "how") {
        None => methods.push(FlushMethod::Fdatasync),
        Some((_, values)) => {
            for value in reader.values("flush.how", values) {
                methods.extend(reader.word("flush.how", value, FLUSH_METHODS, ""));
            }
        }
    }
    let mut choices = Vec::new();
    for value in reader.values("flush.every", everies) {
        let Some(every) = reader.count("flush.every", value, u64::from(u32::MAX)) else { continue };
        choices.extend(methods.iter().map(|how| one(Some(FlushCadence { every, how: *how }), value.span())));
    }
    choices
}

fn read_steady_state(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<Setting> {
    const KEY: &str = "steady_state";
    if let DeValue::Boolean(wanted) = item.get_ref() {
        return Some(Setting::SteadyState(wanted.then(SteadyStateRule::default)));
    }
    let wanted = "true, false, or a table such as { round = \"60 s\", rounds = 5, rounds_max = 25, range = \"20 %\", slope = \"10 %\" }";
    let before = reader.problem_count();
    let usual = SteadyStateRule::default();
    let rule = reader.fields(KEY, item, wanted, |t| SteadyStateRule {
        round: t.get("round", Reader::quantity).unwrap_or(usual.round),
        rounds: t.get("rounds", Reader::positive).unwrap_or(usual.rounds),
        rounds_max: t.get("rounds_max", Reader::positive).unwrap_or(usual.rounds_max),
        range: t.get("range", Reader::quantity).unwrap_or(usual.range),
        slope: t.get("slope", Reader::quantity).unwrap_or(usual.slope),
    })?;
    (reader.problem_count() == before).then_some(Setting::SteadyState(Some(rule)))
}

/// Keys that cannot stand together.
fn tell_contradictions(reader: &mut Reader<'_>, dimensions: &[Dimension]) {
    let find = |key: &str| dimensions.iter().find(|d| d.key == key);
    let has_shape = |shape| {
        find("pattern")
            .map_or(shape == Shape::Random, |d| d.choices.iter().any(|c| c.setting == Setting::Pattern(shape)))
    };
    if find("arrival").is_some() {
        for (key, loop_word) in
            [("queue_depth", "how many requests are outstanding"), ("rate_max", "a ceiling"), ("think_time", "a wait")]
        {
            if let Some(dimension) = find(key) {
                let message = format!(
                    "is {loop_word} in a closed loop, and arrival makes an open one: leave out {key} or arrival"
                );
                reader.problem(dimension.span.clone(), key, message);
            }
        }
    }
    if let Some(dimension) = find("distribution")
        && has_shape(Shape::Sequential)
    {
        let message = "says which blocks a random load prefers, and pattern has \"sequential\": \
                       leave it out, or give each pattern a [[load]] of its own";
        reader.problem(dimension.span.clone(), "distribution", message.into());
    }
    if let Some(dimension) = find("stride")
        && has_shape(Shape::Random)
    {
        let message = "is the step of a sequential load, and this one is random: \
                       write pattern = \"sequential\", or give each pattern a [[load]] of its own";
        reader.problem(dimension.span.clone(), "stride", message.into());
    }
    let flushes = |choice: &Choice| matches!(choice.setting, Setting::Flush(Some(_)));
    let only_reads = find("reads").is_none_or(|d| d.choices.iter().all(|c| c.setting == Setting::Reads(Ratio::ONE)));
    if let Some(dimension) = find("flush").filter(|d| only_reads && d.choices.iter().any(flushes)) {
        let message = "comes after writes, and this load only reads: write reads = \"0 %\", or leave out flush";
        reader.problem(dimension.span.clone(), "flush", message.into());
    }
}

/// Beside other problems, of which cells cannot be made: what is wrong with values by themselves, so that all is told at once.
fn tell_alone(reader: &mut Reader<'_>, base: &LoadSpec, dimensions: &[Dimension], table: &DeTable<'_>) {
    for error in base.broken_alone() {
        if let Some(item) = table.get(error.key) {
            reader.problem(item.span(), error.key, error.reason);
        }
    }
    for dimension in dimensions {
        for choice in &dimension.choices {
            let mut spec = LoadSpec::default();
            choice.setting.apply(&mut spec);
            if let Some(error) = spec.broken_alone().into_iter().find(|error| error.key == dimension.key) {
                reader.problem(choice.span.clone(), error.key, error.reason);
            }
        }
    }
}

/// Takes the cells and trials of a load from what the plan may still have; `None` after telling that it is too much.
fn take_from_budget(
    reader: &mut Reader<'_>,
    dimensions: &[Dimension],
    trials: u32,
    header: &Range<usize>,
    left: &mut Budget,
) -> Option<()> {
    let count = dimensions.iter().try_fold(1usize, |count, d| count.checked_mul(d.choices.len()));
    let Some(cells) = count.filter(|count| *count <= left.cells) else {
        let lists: Vec<String> = dimensions
            .iter()
            .map(|d| format!("{} {}", d.choices.len(), d.key))
            .filter(|l| !l.starts_with("1 "))
            .collect();
        let message = format!(
            "with this load ({}) the plan has more than the {CELLS_MAX} cells that it may have: \
             shorten the lists, or split the plan",
            if lists.is_empty() { "1 cell".to_owned() } else { lists.join(" x ") }
        );
        reader.problem(header.clone(), "load", message);
        return None;
    };
    let wanted = cells as u64 * u64::from(trials);
    if wanted > left.trials {
        let message = format!(
            "{cells} cells of {trials} trials are more than the {PLAN_TRIALS_MAX} trials that a plan may have: \
             write fewer trials, or split the plan"
        );
        reader.problem(header.clone(), "load", message);
        return None;
    }
    left.cells -= cells;
    left.trials -= wanted;
    Some(())
}

/// Every combination of the dimensions' values, the last dimension varying fastest, each checked.
fn cells(
    reader: &mut Reader<'_>,
    base: &LoadSpec,
    dimensions: &[Dimension],
    table: &DeTable<'_>,
    header: &Range<usize>,
) -> Vec<LoadSpec> {
    let count = dimensions.iter().map(|d| d.choices.len()).product();
    let mut told: BTreeSet<(&str, usize)> = BTreeSet::new();
    let mut cells = Vec::with_capacity(count);
    for index in 0..count {
        let mut spec = base.clone();
        let mut rest = index;
        let mut chosen: Vec<(&str, &Choice)> = Vec::with_capacity(dimensions.len());
        for dimension in dimensions.iter().rev() {
            let choice = &dimension.choices[rest % dimension.choices.len()];
            rest /= dimension.choices.len();
            choice.setting.apply(&mut spec);
            chosen.push((dimension.key, choice));
        }
        for error in spec.broken() {
            let span = chosen.iter().find(|(key, _)| *key == error.key).map_or_else(
                || table.get(error.key).map_or_else(|| header.clone(), Item::span),
                |(_, choice)| choice.span.clone(),
            );
            if told.insert((error.key, span.start)) {
                reader.problem(span, error.key, error.reason);
            }
        }
        cells.push(spec);
    }
    cells
}

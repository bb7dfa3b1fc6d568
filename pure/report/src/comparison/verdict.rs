//! A comparison in few lines: the ranks at its beginning, and the verdict at its end.

use super::rows::{names, numbers, words};
use super::stance::Standing;
use super::{applications, cells, counts_words, figure_name, figure_words, letter, margin, ratio};
use crate::figures::{self, MISSING, plain};
use crate::table::Table;
use crate::verdict::BROKEN;
use crate::verdict_line::{About, ObjectiveStanding, VerdictLine};
use crate::words;
use loadline_analysis::{
    ComparedSide, Comparison, Counts, Figure, InCommon, NextStep, Overall, RankedSide, Scaling, ScalingTotal,
    ThrottledSide, Verdict,
};

/// What decides between applications that set their own pace.
pub(super) const COUNT_WORK: &str = "say what the application counts in each, such as pgbench's tps";
/// Sentences on more disks in the verdict.
const TOTALS_MAX: usize = 2;
/// Loads named on either side of a trade-off.
const LOADS_NAMED_MAX: usize = 2;
/// Figures that several sides share, in the verdict.
const IN_COMMON_MAX: usize = 1;
/// Sides whose throttles are named in the verdict.
const THROTTLED_MAX: usize = 8;

/// The distinguishing name of a side.
fn name(comparison: &Comparison, side: &ComparedSide) -> String {
    let alike = comparison.sides.iter().filter(|other| other.name == side.name).count() > 1;
    let volume = side.volume.as_ref().map(|volume| plain(volume));
    let targets = || side.targets.iter().map(|target| plain(target)).collect::<Vec<_>>().join(", ");
    match volume {
        Some(volume) => volume,
        None if alike => format!("{} ({})", plain(&side.name), targets()),
        None => plain(&side.name),
    }
}

/// "B, data on pool-4".
fn called(comparison: &Comparison, ranked: &RankedSide) -> String {
    let side = &comparison.sides[ranked.side as usize];
    format!("{}, {}", letter(ranked.side as usize), name(comparison, side))
}

/// A column for each figure that any side has.
pub(crate) fn ranks(comparison: &Comparison) -> Table {
    let ranks = &comparison.ranking;
    let texts = |text: &dyn Fn(&RankedSide) -> String| ranks.iter().map(text).collect::<Vec<_>>();
    let or_missing = |text: Option<String>| text.unwrap_or_else(|| MISSING.to_owned());
    let mut columns = vec![
        numbers("rank", 0, texts(&|side| side.rank.to_string())),
        words("", texts(&|side| letter(side.side as usize))),
        names("layout", texts(&|side| name(comparison, &comparison.sides[side.side as usize]))),
        numbers("IOPS", 0, texts(&|side| or_missing(side.iops.map(figures::iops)))),
        numbers("MB/s", 0, texts(&|side| or_missing(side.throughput_bytes_per_s.map(figures::megabytes)))),
        numbers("p99", 0, texts(&|side| or_missing(side.p99_ns.map(figures::latency)))),
        numbers("times A", 0, texts(&|side| or_missing(side.score.map(ratio)))),
        words("verdict", texts(&|side| Standing::of(comparison, side).map_or("baseline", Standing::words).to_owned())),
    ];
    if ranks.iter().any(|side| side.objective_kept.is_some()) {
        columns.push(words("objective", texts(&|side| or_missing(holds(side)))));
    }
    columns.extend(applications::columns(comparison));
    if ranks.iter().any(|side| side.price_month.is_some()) {
        columns.push(numbers("a month", 0, texts(&|side| or_missing(price(side)))));
    }
    Table::of_columns(columns)
}

/// "holds", "up to depth 16", or "BROKEN at depth 1": the figures of a row are those of one load, and the objective is about all.
fn holds(side: &RankedSide) -> Option<String> {
    Some(match (side.objective_kept?, &side.objective_up_to) {
        (false, _) => side.objective_breaks_at.as_ref().map_or(BROKEN.to_owned(), |load| format!("{BROKEN} at {load}")),
        (true, Some(load)) => format!("up to {load}"),
        (true, None) => "holds".to_owned(),
    })
}

/// "135.17 USD", "about 135.17 USD" or "at least 135.17 USD".
fn price(side: &RankedSide) -> Option<String> {
    let price = side.price_month.as_ref()?;
    let region = side.price_region.as_ref().map_or_else(String::new, |region| format!(" ({})", plain(region)));
    let bound = match (side.price_complete, side.price_estimated) {
        (false, _) => "at least ",
        (true, true) => "about ",
        (true, false) => "",
    };
    Some(format!("{bound}{price}{region}"))
}

/// The verdict in at most ten lines.
pub(crate) fn lines(comparison: &Comparison) -> Vec<VerdictLine> {
    let mut lines: Vec<VerdictLine> = Vec::new();
    let mut add = |about: About, text: String| lines.push(about.says(text));
    let ids: Vec<String> = comparison.sides.iter().map(|side| plain(&side.run)).collect();
    let mut distinct: Vec<&str> = Vec::new();
    for id in &ids {
        if !distinct.contains(&id.as_str()) {
            distinct.push(id);
        }
    }
    let beside = || format!("loadline report {}", distinct.join(" "));
    let command = comparison.command.as_ref().map_or_else(beside, |command| plain(command));
    if !comparison.applications.is_empty() {
        return applications::lines(comparison, command);
    }
    let Some(first) = comparison.ranking.first().filter(|first| first.iops.is_some()) else {
        add(About::Verdict, "nothing can be compared: no load is in both".to_owned());
        add(About::Next, "run the same plan on each, or import results of the same jobs".to_owned());
        add(About::Command, command);
        return lines;
    };
    let shared: Vec<&RankedSide> = comparison.ranking.iter().filter(|side| side.rank == first.rank).collect();
    add(About::Best, best(comparison, &shared));
    add(About::BestGives, gives(first));
    // The baseline may be the best: what is said is of the next one then.
    let judged = comparison.ranking.iter().find_map(|ranked| {
        let against = comparison.against.iter().find(|against| against.side == ranked.side)?;
        Some((ranked, against.overall.first()?))
    });
    if let Some((ranked, overall)) = judged {
        let line = match comparison.trade_off(ranked.side) {
            Some((better, worse)) => format!("better at {}; worse at {}", some_of(&better), some_of(&worse)),
            None => overall_line(overall),
        };
        add(About::Side(letter(ranked.side as usize)), line);
        add(About::HowSure, how_sure(overall));
    }
    let added: u32 = comparison.sides.iter().map(|side| side.trials_added).sum();
    if added > 0 {
        let (count, verb) = (figures::count(added.into()), if added == 1 { "was" } else { "were" });
        add(About::Trials, format!("{count} {verb} predicted anew to decide this: figures here are over these too"));
    }
    let on = |wanted: bool| {
        let of = comparison.ranking.iter().filter(|side| side.objective_kept == Some(wanted)).map(|side| {
            let (word, load) =
                if wanted { ("up to", &side.objective_up_to) } else { ("at", &side.objective_breaks_at) };
            let load = load.as_ref().map_or_else(String::new, |load| format!(" {word} {}", plain(load)));
            format!("{}{load}", letter(side.side as usize))
        });
        let of: Vec<String> = of.collect();
        (!of.is_empty()).then(|| format!("{} on {}", if wanted { "holds" } else { BROKEN }, of.join(", ")))
    };
    let (kept, broken) = (on(true), on(false));
    if kept.is_some() || broken.is_some() {
        let standing = if broken.is_some() { ObjectiveStanding::Broken } else { ObjectiveStanding::Kept };
        let text: Vec<String> = kept.into_iter().chain(broken).collect();
        add(About::Objective(standing), text.join("; "));
    }
    if let Some(scaling) = &comparison.scaling {
        for total in scaling.totals.iter().take(TOTALS_MAX) {
            add(About::MoreDisks, growth(scaling, total));
        }
    }
    if !comparison.throttled.is_empty() {
        let of = |side: &ThrottledSide| {
            format!("{}: {}", letter(side.side as usize), plain(&words::comparison::throttled(side)))
        };
        let named: Vec<String> = comparison.throttled.iter().take(THROTTLED_MAX).map(of).collect();
        let more = match comparison.throttled.len().saturating_sub(THROTTLED_MAX) {
            0 => String::new(),
            others => format!(" (and {others} more sides have limits of their own)"),
        };
        add(About::HeldBack, format!("{}{more}", named.join("; ")));
    }
    for shared in comparison.in_common.iter().take(IN_COMMON_MAX) {
        let InCommon::OneFigure { sides, .. } = shared;
        let sides: Vec<String> = sides.iter().map(|side| letter(*side as usize)).collect();
        add(About::InCommon, format!("{} ({})", words::comparison::in_common(shared), sides.join(", ")));
    }
    let next = match comparison.next_step() {
        NextStep::SideBySide | NextStep::SamePlan => "see them side by side",
        NextStep::OneSeed => "predict all of them with one seed: each draw is then compared with its like",
        NextStep::RealStorage => "measure the real storage: the models are too uncertain to decide this",
        NextStep::MoreTrials => "measure both again with more trials, in turns",
        NextStep::CountWork => COUNT_WORK,
    };
    add(About::Next, next.to_owned());
    add(About::Command, command);
    lines
}

/// "5,000 IOPS, p99 9.1 ms (LOAD); 200 MB/s (LOAD); 135.17 USD a month".
fn gives(first: &RankedSide) -> String {
    let load = |load: &Option<String>| load.as_ref().map(|load| format!(" ({})", plain(load))).unwrap_or_default();
    let p99 = first.p99_ns.map(|ns| format!(", p99 {}", figures::latency(ns))).unwrap_or_default();
    let parts = [
        first.iops.map(|iops| format!("{} IOPS{p99}{}", figures::iops(iops), load(&first.iops_load))),
        first
            .throughput_bytes_per_s
            .map(|bytes| format!("{} MB/s{}", figures::megabytes(bytes), load(&first.throughput_load))),
        price(first).map(|price| format!("{price} a month")),
        first.doubted.then(|| "these loads are in doubt".to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The first loads by name, and how many more.
fn some_of(loads: &[&str]) -> String {
    let named: Vec<String> = loads.iter().take(LOADS_NAMED_MAX).map(|load| plain(load)).collect();
    let more = match loads.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", named.join(", "))
}

/// Who is best, as far as that is known. The sides that share the first rank are `shared`.
pub(super) fn best(comparison: &Comparison, shared: &[&RankedSide]) -> String {
    let named: Vec<String> = shared.iter().map(|side| called(comparison, side)).collect();
    // A side that shares the first rank, or the one after a baseline that is first.
    let second = comparison.ranking.iter().find(|side| side.verdict.is_some());
    let contested = shared.iter().copied().find(|side| side.verdict.is_some()).or(second);
    if let Some(side) = contested.filter(|side| comparison.trade_off(side.side).is_some()) {
        return format!("it depends on the load: {} and A are each better at some", letter(side.side as usize));
    }
    if shared.len() > 1 {
        return if shared.iter().all(|side| side.is_decided()) {
            let alike = format!("no difference above {} between {}", margin(comparison), named.join(" and "));
            match comparison.saving() {
                Some(saved) => format!("{}, for {saved} a month less: {alike}", letter(shared[0].side as usize)),
                None => alike,
            }
        } else {
            format!("not known: the cells do not decide between {}", named.join(" and "))
        };
    }
    // Whether the baseline is best follows from the verdict on the side after it.
    let undecided = |side: &&RankedSide| !side.is_decided();
    let of = if shared[0].verdict.is_some() { Some(shared[0]) } else { second };
    let Some(of) = of.filter(undecided) else { return named.concat() };
    let overall = comparison.against.iter().find(|against| against.side == of.side).and_then(|one| one.overall.first());
    // Without a ratio, and without a cell that decides, the order of the sides means nothing.
    if of.score.is_none() && overall.and_then(Overall::leaning).is_none() {
        let both = comparison.ranking.iter().filter(|side| side.verdict.is_none() || side.side == of.side);
        let both: Vec<String> = both.map(|side| called(comparison, side)).collect();
        return format!("not known: no figure decides between {}", both.join(" and "));
    }
    let by_cells = overall.and_then(|overall| {
        let Counts { better, worse, same, cannot_tell } = overall.counts;
        let all = better + worse + same + cannot_tell;
        let (count, word) = match overall.leaning()? {
            Verdict::Better => (better, "better"),
            Verdict::Worse => (worse, "worse"),
            Verdict::Same | Verdict::CannotTell => return None,
        };
        Some(format!(": {} is {word} in {count} of {}", letter(of.side as usize), cells(all)))
    });
    format!("probably {}{}", named.concat(), by_cells.unwrap_or_default())
}

/// "reads 200, 390, 780 MB/s with 1, 2, 4 disks: levels off at 4".
fn growth(scaling: &Scaling, total: &ScalingTotal) -> String {
    let in_bytes = total.figure == Figure::Throughput;
    let value = |v: &f64| if in_bytes { figures::megabytes(*v) } else { figures::iops(*v) };
    let values: Vec<String> = total.values.iter().map(value).collect();
    let disks: Vec<String> = scaling.disks.iter().map(u32::to_string).collect();
    let kind = match total.operations.as_str() {
        "read" => "reads",
        "write" => "writes",
        _ => "mixes",
    };
    let end = match (total.levels_off_at, total.clear) {
        (None, true) => "does not level off".to_owned(),
        (None, false) => "too few trials to show whether it levels off".to_owned(),
        (Some(at), true) => format!("levels off at {at} disks"),
        (Some(at), false) => format!("seems to level off at {at} disks"),
    };
    let doubts = doubts_of(total);
    format!("{kind} {} {} with {} disks: {end}{doubts}", values.join(", "), figure_name(total.figure), disks.join(", "))
}

/// What is in doubt of a total, or was left out of it for that: "; 2 loads in doubt are left out".
pub(super) fn doubts_of(total: &ScalingTotal) -> String {
    match total.doubted_left_out {
        _ if total.doubted => "; the load is in doubt".to_owned(),
        0 => String::new(),
        1 => "; 1 load in doubt is left out".to_owned(),
        count => format!("; {count} loads in doubt are left out"),
    }
}

/// "better: 1.99 times (1.95 to 2.03) in IOPS over 200 cells".
fn overall_line(overall: &Overall) -> String {
    let what = figure_words(overall.figure);
    let range = overall.low.zip(overall.high).map(|(low, high)| format!(" ({} to {})", ratio(low), ratio(high)));
    if overall.cells == 0 {
        return format!("{} from all cells together: none of them counts", overall.verdict.words());
    }
    let times = overall
        .ratio
        .map_or_else(String::new, |value| format!(": {} times the {what}{}", ratio(value), range.unwrap_or_default()));
    format!("{}{times} over {}", overall.verdict.words(), cells(overall.cells))
}

/// What the verdict rests on, or why there is none.
fn how_sure(overall: &Overall) -> String {
    let counts = counts_words(overall.counts);
    match (overall.undecided, overall.verdict) {
        (Some(why), Verdict::CannotTell) => format!("cells: {counts}; {}", words::undecided(why)),
        _ => format!("95 % interval; cells: {counts}"),
    }
}

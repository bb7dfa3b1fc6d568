//! What more disks bring, in sentences.

use super::NAMED_MAX;
use loadline_analysis::{Figure, Gain, Scaling, ScalingCell, ScalingPoint};
use loadline_units::words::{capital, counted, listed, number, percent, throughput};

/// What the numbers of disks brought, in sentences: the totals of reads, writes and mixes, then which cells gain and which lose.
pub(crate) fn scaling_sentences(scaling: &Scaling) -> Vec<String> {
    let counts: Vec<String> = scaling.disks.iter().map(u32::to_string).collect();
    let times = f64::from(scaling.disks[scaling.disks.len() - 1]) / f64::from(scaling.disks[0]);
    let totals = scaling.totals.iter().filter_map(|total| {
        let value = |v: &f64| match total.figure {
            Figure::Throughput => throughput(*v),
            _ => format!("{} IOPS", number(*v)),
        };
        let values: Vec<String> = total.values.iter().map(value).collect();
        let (first, last) = (total.values.first()?, total.values.last()?);
        let kind = match total.operations.as_str() {
            "read" => "reads",
            "write" => "writes",
            _ => "mixes",
        };
        let end = match (total.levels_off_at, total.clear) {
            (None, true) => "nothing levels off here".to_owned(),
            (None, false) => "too few trials to show whether it levels off".to_owned(),
            (Some(at), clear) => {
                format!(
                    "the total {} off at {}",
                    if clear { "levels" } else { "seems to level" },
                    counted(at as usize, "disk")
                )
            }
        };
        Some(format!(
            "{} reach {} with {} disks ({}), {} of linear scaling; {end}.",
            capital(kind),
            listed(&values),
            listed(&counts),
            total.label,
            percent(last / first / times)
        ))
    });
    totals.chain(gains(scaling)).collect()
}

/// Which cells gain from the most disks, which do not, and which lose most.
fn gains(scaling: &Scaling) -> Option<String> {
    let last = *scaling.disks.last()?;
    let at_last = |cell: &ScalingCell| cell.points.iter().find(|p| p.disks == last).copied();
    let points: Vec<(&ScalingCell, ScalingPoint)> =
        scaling.cells.iter().filter_map(|cell| Some((cell, at_last(cell)?))).collect();
    let of = |gain: Gain| points.iter().filter(|(_, p)| p.gain == gain).count();
    let worst = points.iter().filter(|(_, p)| p.gain == Gain::Loses).min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    let told = [
        (Gain::Gains, "gain"),
        (Gain::Unchanged, "stay the same"),
        (Gain::Loses, "lose"),
        (Gain::CannotTell, "are not decided"),
    ];
    // Few are named; a single one that loses is named below with its rates.
    let named = |gain: Gain| {
        let labels: Vec<&str> =
            points.iter().filter(|(_, p)| p.gain == gain).map(|(cell, _)| cell.label.as_str()).collect();
        let alone = gain == Gain::Loses && labels.len() == 1;
        if alone || labels.len() > NAMED_MAX { String::new() } else { format!(" ({})", labels.join("; ")) }
    };
    let parts: Vec<String> = (told.iter())
        .filter(|(gain, _)| of(*gain) > 0)
        .map(|(gain, word)| format!("{} {word}{}", of(*gain), named(*gain)))
        .collect();
    let worst = worst.map_or_else(String::new, |(cell, point)| {
        let rate = |side: usize| cell.iops.get(side).copied().flatten().map_or_else(|| "-".to_owned(), number);
        format!(
            "; most of all {}, from {} to {} IOPS ({:.2} x)",
            cell.label,
            rate(0),
            rate(scaling.disks.len() - 1),
            point.ratio
        )
    });
    (!parts.is_empty()).then(|| {
        format!(
            "Of {}, with {last} disks in place of {}: {}{worst}.",
            counted(points.len(), "closed-loop cell"),
            scaling.disks[0],
            listed(&parts)
        )
    })
}

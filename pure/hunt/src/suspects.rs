//! The verdict on each limit that the effects of a hunt allow: it binds, it is ruled out, or it remains possible.

use crate::effect::Effect;
use crate::factor::Factor;
use crate::plan::{HuntVariant, SkippedSetting};
use crate::result::{HuntRow, Standing, Suspect};
use loadline_units::Bytes;

/// What is known of the storage beside the effects.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StorageFacts<'a> {
    /// The limits that an environment puts in the way of the load; empty where there is no environment.
    pub(crate) declared: &'a [&'a str],
    /// Factors that there is nothing of.
    pub(crate) lacks: &'a [Factor],
    /// Factors that cannot be varied around this cell, with the reasons.
    pub(crate) fixed: &'a [SkippedSetting],
}

impl StorageFacts<'_> {
    /// Whether a hunt can vary the factor around this cell.
    fn can_vary(&self, factor: Factor) -> bool {
        !self.lacks.contains(&factor) && self.fixed.iter().all(|one| one.factor != factor)
    }

    /// What to vary of these factors, or why none of them can be.
    fn not_varied(&self, factors: &[Factor]) -> String {
        let wanted: Vec<&str> = factors.iter().filter(|factor| self.can_vary(**factor)).map(|f| f.name()).collect();
        let why = self.fixed.iter().find(|one| factors.contains(&one.factor) && !self.lacks.contains(&one.factor));
        match why {
            _ if !wanted.is_empty() => format!("not varied; vary {}", wanted.join(" or ")),
            Some(one) => format!("not varied: {}", one.because),
            None => "not varied: this storage has none of it".to_owned(),
        }
    }
}

/// What the effects say about each limit that there may be; where an environment declares limits, only those may be, and nothing that the
/// storage lacks.
pub(crate) fn suspects(rows: &[HuntRow], margin: f64, known: StorageFacts<'_>) -> Vec<Suspect> {
    let lacking = |factor: Factor| known.lacks.contains(&factor);
    let told = |limits: &[&str], what: &str, factors: &[Factor]| {
        let own: Vec<&HuntRow> = rows.iter().filter(|r| factors.contains(&r.variant.factor)).collect();
        let names = |effect: Effect| {
            let rows = own.iter().filter(|r| r.effect == effect);
            let texts: Vec<String> = rows.map(|r| format!("{} {}", r.variant.factor.name(), r.variant.to)).collect();
            texts
        };
        let (moved, out) = (names(Effect::Moved), names(Effect::RuledOut));
        let (standing, because) = if !moved.is_empty() {
            (Standing::Binds, format!("{} raised the rate", loadline_analysis::listed(&moved)))
        } else if own.is_empty() {
            (Standing::Possible, known.not_varied(factors))
        } else if own.iter().any(|r| r.effect == Effect::CannotTell) {
            (Standing::Possible, "the rounds do not tell".to_owned())
        } else if let Some(row) = own.iter().find(|row| only_one_way(row, &own)) {
            let HuntVariant { factor, to, .. } = &row.variant;
            let because = format!("{} {to} lowered the rate; to vary {0} the other way", factor.name());
            (Standing::Possible, because)
        } else if out.is_empty() {
            (
                Standing::RuledOut,
                format!("{} only lowered the rate", loadline_analysis::listed(&names(Effect::Lowered))),
            )
        } else {
            (Standing::RuledOut, format!("{} changed nothing", loadline_analysis::listed(&out)))
        };
        Suspect { limits: limits.iter().map(|l| (*l).to_owned()).collect(), what: what.to_owned(), standing, because }
    };
    // More threads are more requests at once, too: they tell of the threads only where more depth does not help.
    let deeper_helps = rows.iter().any(|r| r.variant.factor == Factor::Depth && r.effect == Effect::Moved);
    let of_tool: &[Factor] = if deeper_helps { &[Factor::Engine] } else { &[Factor::Engine, Factor::Threads] };
    // And of too few requests at once they tell only where the depth does not by itself.
    let of_varied = |factor: Factor| rows.iter().filter(move |r| r.variant.factor == factor);
    let depth_tells = of_varied(Factor::Depth).next().is_some();
    let of_latency: &[Factor] = if depth_tells { &[Factor::Depth] } else { &[Factor::Depth, Factor::Threads] };
    let moved_by = |factor: Factor| of_varied(factor).find(|r| r.effect == Effect::Moved);
    let unclear = |suspect: Suspect, because: Option<String>| match because {
        Some(because) if suspect.standing == Standing::Binds => {
            Suspect { standing: Standing::Possible, because, ..suspect }
        }
        _ => suspect,
    };
    let either = moved_by(Factor::Threads).filter(|_| !depth_tells && !lacking(Factor::Engine)).map(|row| {
        let tells = if known.can_vary(Factor::Depth) { "; to vary depth tells which" } else { "" };
        format!("threads {} raised the rate, as more requests at once or as more threads{tells}", row.variant.to)
    });
    let fewer_blocks = moved_by(Factor::Alignment).map(|row| {
        format!(
            "alignment {} raised the rate; its requests fall on fewer different blocks, too, and a cache may keep those: a larger \
             size tells",
            row.variant.to
        )
    });
    // What the page cache answers is no way past locks in the file system.
    let by_page_cache =
        moved_by(Factor::Direct).filter(|row| row.variant.to == "buffered" && moved_by(Factor::Files).is_none());
    let by_page_cache = by_page_cache.map(|_| {
        let more = if known.can_vary(Factor::Files) { "; to vary files tells more" } else { "" };
        format!("buffered requests raised the rate, but the page cache answers those{more}")
    });
    let on_stripe = !lacking(Factor::Interleave);
    let tool = told(&["generator", "cpu"], "the load threads and the way to the device", of_tool);
    let by_engine = moved_by(Factor::Engine).is_some();
    let others = [
        unclear(tool, either.clone().filter(|_| !by_engine)),
        unclear(told(&[], "the file system, or locks in it", &[Factor::Files, Factor::Direct]), by_page_cache),
        unclear(told(&[], "requests that lie across blocks of the storage", &[Factor::Alignment]), fewer_blocks),
    ];
    // A model has neither threads that could fall behind nor a file system.
    let exist = [!lacking(Factor::Engine), !(lacking(Factor::Files) && lacking(Factor::Direct)), true];
    let suspects = Axes {
        latency: unclear(told(&["latency"], "too few requests at once", of_latency), either),
        disks: by_fewer_disks(rows, margin).unwrap_or_else(|| told(&OF_DISKS, BY_NUMBER, &[Factor::Layout])),
        vm: told(&OF_VM, "the VM's limits", &[Factor::Vm]),
        interleave: told(if on_stripe { &["disk-iops"] } else { &[] }, OF_A_STRIPE, &[Factor::Interleave]),
        others: others.into_iter().zip(exist).filter(|(_, exists)| *exists).map(|(suspect, _)| suspect).collect(),
        block: by_block(rows, margin, &known),
        varied: rows.iter().map(|row| row.variant.factor).collect(),
        could: Factor::ALL.into_iter().filter(|factor| known.can_vary(*factor)).collect(),
    };
    let mut all = suspects.intersected(known.declared);
    all.retain(|suspect| on_stripe || suspect.what != OF_A_STRIPE);
    all
}

/// A setting that lowered the rate, of a factor of which nothing on the other side of the baseline was tried: there it might rise.
fn only_one_way(row: &HuntRow, all: &[&HuntRow]) -> bool {
    let of = |text: &str| {
        let number = || text.parse::<f64>().ok();
        text.parse::<Bytes>().ok().map(|bytes| bytes.get() as f64).or_else(number)
    };
    let is_more = |row: &HuntRow| {
        let (from, to) = of(&row.variant.from).zip(of(&row.variant.to))?;
        match to.total_cmp(&from) {
            std::cmp::Ordering::Equal => None,
            order => Some(order.is_gt()),
        }
    };
    let Some(own) = is_more(row).filter(|_| row.effect == Effect::Lowered) else { return false };
    // Of the others only more lifts a limit: where that lowered the rate, less is no way out.
    if own && row.variant.factor != Factor::Interleave {
        return false;
    }
    !all.iter().any(|other| other.variant.factor == row.variant.factor && is_more(other) == Some(!own))
}

/// What each factor tells by itself. A limit of disks or of a VM is on requests or on bytes: two factors tell of it.
struct Axes {
    latency: Suspect,
    /// Whose limit it is.
    disks: Suspect,
    vm: Suspect,
    /// How requests are spread over disks: of the disks' limits, but neither their number nor lifted by more of them.
    interleave: Suspect,
    others: Vec<Suspect>,
    /// On requests or on bytes.
    block: Vec<Suspect>,
    /// The factors that were looked at.
    varied: Vec<Factor>,
    /// The factors that can be.
    could: Vec<Factor>,
}

impl Axes {
    /// Each limit is told where most is known of it: what rules it out first, then what shows that it binds. So no limit is both, and
    /// what is left as possible is what no factor has ruled out.
    fn intersected(self, declared: &[&str]) -> Vec<Suspect> {
        let Self { latency, disks, vm, interleave, others, block, varied, could } = self;
        let is_told = block.iter().any(|kind| kind.standing != Standing::Possible);
        // An uneven spread shows by itself, whatever more disks do.
        let uneven = interleave.standing == Standing::Binds;
        let factor = |place: usize| [Factor::Interleave, Factor::Layout, Factor::Vm].get(place).copied();
        let is_varied = |place: usize| varied.contains(&factor(place).unwrap_or(Factor::Block));
        let mut all: Vec<Suspect> = vec![interleave, disks, vm];
        all.extend(block);
        let missing = without_undeclared(&mut all, declared);
        let decisive = |place: usize, suspect: &Suspect| match suspect.standing {
            Standing::Binds if place == SPREAD => 0,
            Standing::RuledOut if place != SPREAD => 1,
            Standing::Binds => 2,
            Standing::Possible if place != SPREAD && is_varied(place) => 3,
            Standing::Possible if place != SPREAD => 4,
            _ => 5,
        };
        for limit in OF_DISKS.into_iter().chain(OF_VM) {
            let having = || (0..all.len()).filter(|place| all[*place].limits.iter().any(|l| l == limit));
            let teller = having().min_by_key(|place| decisive(*place, &all[*place]));
            let rest: Vec<usize> = having().filter(|place| Some(*place) != teller).collect();
            for place in rest {
                all[place].limits.retain(|l| l != limit);
            }
        }
        let found = all.iter().any(|s| s.standing == Standing::Binds) || latency.standing == Standing::Binds;
        // A place that no factor has looked at, and whose limits others tell of, has nothing more to say; nor has the spread over disks
        // once something else is found.
        let mut place = 0;
        all.retain(|suspect| {
            place += 1;
            let is_open = suspect.standing == Standing::Possible && suspect.limits.is_empty();
            !is_open || (place - 1 == SPREAD && (!found || varied.contains(&Factor::Interleave)))
        });
        for suspect in &mut all {
            suspect.because.push_str(&what_is_left_to_tell(suspect, is_told, uneven, &could));
        }
        all.insert(0, latency);
        all.extend(others);
        all.extend(missing);
        // What was not varied is only listed where it says what is left to find.
        all.sort_by_key(|s| match s.standing {
            Standing::Binds => 0,
            Standing::Possible => 1,
            Standing::RuledOut => 2,
        });
        all
    }
}

const OF_A_STRIPE: &str = "how requests fall on the disks of a stripe";
/// Place of the spread over disks among suspects.
const SPREAD: usize = 0;

/// Takes away the limits that the environment does not have, where there is one, and tells of them.
fn without_undeclared(suspects: &mut [Suspect], declared: &[&str]) -> Option<Suspect> {
    if declared.is_empty() {
        return None;
    }
    let is_missing = |limit: &&str| !declared.contains(limit);
    let missing: Vec<String> = OF_VM.iter().filter(|l| is_missing(l)).map(|l| (*l).to_owned()).collect();
    for suspect in suspects {
        suspect.limits.retain(|limit| !missing.contains(limit));
    }
    (!missing.is_empty()).then(|| Suspect {
        limits: missing,
        what: "other limits of a VM".to_owned(),
        standing: Standing::RuledOut,
        because: "the environment puts none of them in the way of this load".to_owned(),
    })
}

/// What would tell limits apart of which a suspect names several.
fn what_is_left_to_tell(suspect: &Suspect, kind_is_told: bool, uneven: bool, could: &[Factor]) -> String {
    if suspect.standing == Standing::RuledOut {
        return String::new();
    }
    let any = |part: &str| suspect.limits.iter().any(|limit| limit.contains(part));
    let mut left: Vec<String> = Vec::new();
    let whose: Vec<&str> =
        [Factor::Layout, Factor::Vm].into_iter().filter(|factor| could.contains(factor)).map(Factor::name).collect();
    if any("disk-") && any("vm-") && !uneven && !suspect.because.contains("vary") && !whose.is_empty() {
        left.push(format!("{} tells whose it is", whose.join(" or ")));
    }
    let by_block = could.contains(&Factor::Block);
    if suspect.standing == Standing::Binds && any("iops") && any("throughput") && !kind_is_told && by_block {
        left.push("block tells requests from bytes".to_owned());
    }
    if left.is_empty() { String::new() } else { format!("; to vary {}", left.join(", and ")) }
}

/// Limits that more disks lift.
const OF_DISKS: [&str; 2] = ["disk-iops", "disk-throughput"];
/// Limits of a virtual machine.
const OF_VM: [&str; 4] = ["vm-uncached-iops", "vm-uncached-throughput", "vm-cached-iops", "vm-cached-throughput"];
const BY_NUMBER: &str = "the disks, by their number";

/// Fewer disks that lower the rate rule nothing out; where they lower it in proportion to their number, it is the disks' rate. `None`
/// where more disks, or another arrangement of them, tell by themselves.
fn by_fewer_disks(rows: &[HuntRow], margin: f64) -> Option<Suspect> {
    let disks = |text: &str| {
        let (count, rest) = text.split_once(' ')?;
        count.parse::<f64>().ok().filter(|_| ["disk", "disks"].contains(&rest))
    };
    let share = |row: &HuntRow| Some(disks(&row.variant.to)? / disks(&row.variant.from)?);
    let own = || rows.iter().filter(|row| row.variant.factor == Factor::Layout);
    if own().any(|row| matches!(row.effect, Effect::Moved | Effect::RuledOut)) {
        return None;
    }
    let fewer = |row: &&HuntRow| row.effect == Effect::Lowered && share(row).is_some_and(|share| share < 1.0);
    let in_proportion = |row: &&HuntRow| {
        let ratios = row.ratio.zip(share(row));
        ratios.is_some_and(|(ratio, share)| (ratio / share - 1.0).abs() <= margin)
    };
    let suspect = |standing, because| Suspect {
        limits: OF_DISKS.iter().map(|l| (*l).to_owned()).collect(),
        what: BY_NUMBER.to_owned(),
        standing,
        because,
    };
    if let Some(row) = own().filter(fewer).find(in_proportion) {
        let because = format!("{} do {:.2} of the rate: it follows their number", row.variant.to, row.ratio?);
        return Some(suspect(Standing::Binds, because));
    }
    let row = own().find(fewer)?;
    let because = format!("{} lowered the rate, but not in proportion; vary to more disks", row.variant.to);
    Some(suspect(Standing::Possible, because))
}

/// Larger requests tell a limit on requests from one on bytes: bytes that stay bind, bytes that grow in proportion do not.
fn by_block(rows: &[HuntRow], margin: f64, facts: &StorageFacts<'_>) -> Vec<Suspect> {
    let bytes = ["disk-throughput", "vm-uncached-throughput", "vm-cached-throughput"];
    let requests = ["disk-iops", "vm-uncached-iops", "vm-cached-iops"];
    let suspect = |limits: &[&str], what: &str, standing, because: String| Suspect {
        limits: limits.iter().map(|l| (*l).to_owned()).collect(),
        what: what.to_owned(),
        standing,
        because,
    };
    let (on_requests, on_bytes) = ("a limit on requests per second", "a limit on bytes per second");
    let known = || rows.iter().filter(|r| r.variant.factor == Factor::Block && r.effect != Effect::CannotTell);
    // Smaller requests that move fewer bytes in just that proportion are as many per second.
    let as_many = |row: &&HuntRow| {
        let size = |text: &str| text.parse::<Bytes>().ok().map(|b| b.get() as f64);
        let sizes = size(&row.variant.to).zip(size(&row.variant.from)).map(|(to, from)| to / from);
        row.effect == Effect::Lowered
            && row.ratio.zip(sizes).is_some_and(|(ratio, sizes)| (ratio / sizes - 1.0).abs() <= margin)
    };
    if let (Some(smaller), Some(larger)) = (known().find(as_many), known().find(|r| r.effect == Effect::RuledOut)) {
        return vec![
            suspect(
                &requests,
                on_requests,
                Standing::Binds,
                format!("blocks of {} are as many per second", smaller.variant.to),
            ),
            suspect(
                &bytes,
                on_bytes,
                Standing::Possible,
                format!("blocks of {} move as many bytes per second: both limits are near", larger.variant.to),
            ),
        ];
    }
    if known().any(|r| r.effect == Effect::RuledOut) {
        let to = known().find(|r| r.effect == Effect::RuledOut).map_or("", |r| &r.variant.to);
        return vec![
            suspect(&bytes, on_bytes, Standing::Binds, format!("blocks of {to} move as many bytes per second")),
            suspect(
                &requests,
                on_requests,
                Standing::RuledOut,
                format!("with blocks of {to} the requests per second differ"),
            ),
        ];
    }
    if let Some(row) = known().find(|r| r.effect == Effect::Moved) {
        let ratio = row.ratio.unwrap_or(1.0);
        let because = format!("blocks of {} move {ratio:.2} times the bytes", row.variant.to);
        return vec![
            suspect(&bytes, on_bytes, Standing::RuledOut, because.clone()),
            suspect(&requests, on_requests, Standing::Possible, because),
        ];
    }
    if let Some(row) = known().find(as_many) {
        let because = format!("blocks of {} are as many per second", row.variant.to);
        return vec![suspect(&requests, on_requests, Standing::Possible, because)];
    }
    if known().any(|r| r.effect == Effect::Lowered) {
        let because = format!("smaller blocks move fewer bytes, by more than {:.0} %", margin * 100.0);
        return vec![suspect(&requests, on_requests, Standing::Possible, because)];
    }
    vec![suspect(
        &[&requests[..], &bytes[..]].concat(),
        "a limit on requests or bytes per second",
        Standing::Possible,
        if facts.can_vary(Factor::Block) {
            "not varied, or not told; vary block".to_owned()
        } else {
            facts.not_varied(&[Factor::Block])
        },
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(factor: Factor, effect: Effect) -> HuntRow {
        let variant = HuntVariant { cell: "c".into(), factor, from: "1".into(), to: "4".into() };
        HuntRow {
            variant,
            rounds: 4,
            before: Some(100.0),
            after: Some(100.0),
            ratio: Some(1.0),
            low: Some(0.99),
            high: Some(1.01),
            effect,
            in_bytes: factor.in_bytes(),
        }
    }
    fn of<'a>(declared: &'a [&'a str]) -> StorageFacts<'a> {
        StorageFacts { declared, ..StorageFacts::default() }
    }
    fn standing(rows: &[HuntRow], what: &str) -> Standing {
        suspects(rows, 0.05, StorageFacts::default())
            .into_iter()
            .find(|s| s.what.contains(what))
            .unwrap_or_else(|| panic!("{what}"))
            .standing
    }

    #[test]
    fn what_moves_the_rate_binds_and_what_changes_nothing_is_ruled_out() {
        let rows = [
            row(Factor::Layout, Effect::RuledOut),
            row(Factor::Vm, Effect::Moved),
            row(Factor::Depth, Effect::RuledOut),
        ];
        assert_eq!(standing(&rows, "the disks, by their number"), Standing::RuledOut);
        assert_eq!(standing(&rows, "the VM's limits"), Standing::Binds);
        assert_eq!(standing(&rows, "too few requests"), Standing::RuledOut);
        assert_eq!(standing(&rows, "file system"), Standing::Possible);
    }

    #[test]
    fn fewer_disks_that_lower_the_rate_do_not_rule_the_disks_out() {
        let halved = |ratio: f64| {
            let lowered = row(Factor::Layout, Effect::Lowered);
            let variant = HuntVariant { from: "4 disks".into(), to: "2 disks".into(), ..lowered.variant.clone() };
            HuntRow { variant, ratio: Some(ratio), ..lowered }
        };
        assert_eq!(standing(&[halved(0.5)], "the disks, by their number"), Standing::Binds);
        assert_eq!(standing(&[halved(0.8)], "the disks, by their number"), Standing::Possible);
        let more = HuntRow { effect: Effect::RuledOut, ratio: Some(1.0), ..halved(1.0) };
        assert_eq!(standing(&[halved(0.5), more], "the disks, by their number"), Standing::RuledOut);
    }

    fn varied(factor: Factor, [from, to]: [&str; 2], effect: Effect) -> HuntRow {
        let plain = row(factor, effect);
        let variant = HuntVariant { from: from.into(), to: to.into(), ..plain.variant.clone() };
        HuntRow { variant, ratio: Some(if effect == Effect::Lowered { 0.2 } else { 1.0 }), ..plain }
    }

    #[test]
    fn what_lowers_the_rate_one_way_rules_nothing_out_until_the_other_way_was_tried() {
        let shorter = varied(Factor::Interleave, ["64 KiB", "1 KiB"], Effect::Lowered);
        let longer = varied(Factor::Interleave, ["64 KiB", "256 KiB"], Effect::RuledOut);
        let spread = "the disks of a stripe";
        assert_eq!(standing(std::slice::from_ref(&shorter), spread), Standing::Possible);
        assert_eq!(standing(&[shorter.clone(), longer.clone()], spread), Standing::RuledOut);
        assert_eq!(standing(&[longer], spread), Standing::RuledOut);
        // Beside something that binds it is told all the same.
        assert_eq!(standing(&[shorter, row(Factor::Depth, Effect::Moved)], spread), Standing::Possible);
        let deeper = varied(Factor::Depth, ["16", "64"], Effect::Lowered);
        assert_eq!(standing(&[deeper], "too few requests"), Standing::RuledOut);
        let shallower = varied(Factor::Depth, ["16", "4"], Effect::Lowered);
        assert_eq!(standing(&[shallower], "too few requests"), Standing::Possible);
        // What has no other way is ruled out.
        assert_eq!(standing(&[varied(Factor::Vm, ["ds3", "none"], Effect::Lowered)], "the VM's"), Standing::RuledOut);
    }

    #[test]
    fn what_raises_the_rate_in_two_ways_binds_in_neither() {
        let latency = "too few requests";
        let threads = row(Factor::Threads, Effect::Moved);
        // More depth changed nothing: it is the threads, not how much is asked at once.
        let beside_depth = [row(Factor::Depth, Effect::RuledOut), threads.clone()];
        assert_eq!(standing(&beside_depth, latency), Standing::RuledOut);
        assert_eq!(standing(&beside_depth, "load threads"), Standing::Binds);
        let untold = [row(Factor::Depth, Effect::CannotTell), threads.clone()];
        assert_eq!(standing(&untold, latency), Standing::Possible);
        // Threads alone may be either.
        assert_eq!(standing(std::slice::from_ref(&threads), latency), Standing::Possible);
        assert_eq!(standing(&[threads], "load threads"), Standing::Possible);
        // Offsets further apart are fewer blocks, and what the page cache answers no file system held.
        assert_eq!(standing(&[row(Factor::Alignment, Effect::Moved)], "lie across blocks"), Standing::Possible);
        let buffered = varied(Factor::Direct, ["direct", "buffered"], Effect::Moved);
        assert_eq!(standing(std::slice::from_ref(&buffered), "file system"), Standing::Possible);
        assert_eq!(standing(&[buffered, row(Factor::Files, Effect::Moved)], "file system"), Standing::Binds);
    }

    #[test]
    fn what_the_storage_lacks_is_no_suspect() {
        let lacks = [Factor::Files, Factor::Direct, Factor::Engine, Factor::Interleave];
        let rows = [row(Factor::Threads, Effect::RuledOut), row(Factor::Block, Effect::Moved)];
        let all = suspects(&rows, 0.05, StorageFacts { lacks: &lacks, ..StorageFacts::default() });
        let told = |what: &str| all.iter().any(|suspect| suspect.what.contains(what));
        assert!(told("requests per second") && told("too few requests"), "{all:?}");
        assert!(!told("file system") && !told("load threads") && !told("a stripe"), "{all:?}");
        // Where there are no files, they are not what to vary.
        let all = suspects(&rows, 0.05, StorageFacts { lacks: &[Factor::Files], ..StorageFacts::default() });
        let files = all.iter().find(|suspect| suspect.what.contains("file system")).unwrap();
        assert_eq!(files.because, "not varied; vary direct");
    }

    #[test]
    fn blocks_tell_requests_from_bytes() {
        let same_bytes = [row(Factor::Block, Effect::RuledOut)];
        assert_eq!(standing(&same_bytes, "on bytes"), Standing::Binds);
        assert_eq!(standing(&same_bytes, "on requests"), Standing::RuledOut);
        let more_bytes = [row(Factor::Block, Effect::Moved)];
        assert_eq!(standing(&more_bytes, "on bytes"), Standing::RuledOut);
        assert_eq!(standing(&more_bytes, "on requests"), Standing::Possible);
    }

    /// "binds vm-uncached-iops" and so on, sorted; panics where a limit is told twice.
    fn standings(rows: &[HuntRow], declared: &[&str]) -> Vec<String> {
        let mut told: Vec<(String, Standing)> = Vec::new();
        for suspect in suspects(rows, 0.05, of(declared)) {
            for limit in suspect.limits {
                assert!(told.iter().all(|(known, _)| *known != limit), "{limit} is told twice");
                told.push((limit, suspect.standing));
            }
        }
        let with = |wanted: Standing| {
            let names = told.iter().filter(|(_, standing)| *standing == wanted).map(|(limit, _)| limit.as_str());
            let mut names: Vec<&str> = names.collect();
            names.sort_unstable();
            format!("{wanted:?}: {}", names.join(", "))
        };
        [Standing::Binds, Standing::Possible, Standing::RuledOut].map(with).to_vec()
    }

    #[test]
    fn each_limit_is_told_once_by_the_factor_that_says_most_of_it() {
        // Under a VM's cap on requests: no VM raises the rate, more disks do not, and larger blocks move more bytes.
        let capped = [
            row(Factor::Vm, Effect::Moved),
            row(Factor::Layout, Effect::RuledOut),
            row(Factor::Block, Effect::Moved),
            row(Factor::Depth, Effect::RuledOut),
            row(Factor::Engine, Effect::RuledOut),
        ];
        let declared = ["latency", "disk-iops", "disk-throughput", "vm-uncached-iops", "vm-uncached-throughput"];
        assert_eq!(
            standings(&capped, &declared),
            [
                "Binds: vm-uncached-iops",
                "Possible: ",
                "RuledOut: cpu, disk-iops, disk-throughput, generator, latency, vm-cached-iops, vm-cached-throughput, \
                 vm-uncached-throughput"
            ]
        );
        assert!(
            suspects(&capped, 0.05, of(&declared))
                .iter()
                .all(|s| s.what != "how requests fall on the disks of a stripe")
        );
        // Without an environment the VM may have cached limits.
        assert_eq!(standings(&capped, &[])[0], "Binds: vm-cached-iops, vm-uncached-iops");
        // Blocks alone: a limit on bytes, and whose it is remains to be told.
        let bytes = [row(Factor::Block, Effect::RuledOut)];
        assert_eq!(
            standings(&bytes, &declared),
            [
                "Binds: disk-throughput, vm-uncached-throughput",
                "Possible: cpu, generator, latency",
                "RuledOut: disk-iops, vm-cached-iops, vm-cached-throughput, vm-uncached-iops"
            ]
        );
        let binds = suspects(&bytes, 0.05, of(&declared)).remove(0);
        assert!(binds.because.ends_with("; to vary layout or vm tells whose it is"), "{binds:?}");
        // With more disks ruled out only the VM's is left.
        let elsewhere = [row(Factor::Block, Effect::RuledOut), row(Factor::Layout, Effect::RuledOut)];
        assert_eq!(standings(&elsewhere, &declared)[0], "Binds: vm-uncached-throughput");
    }

    #[test]
    fn an_uneven_spread_binds_although_more_disks_do_not_help() {
        let rows = [row(Factor::Interleave, Effect::Moved), row(Factor::Layout, Effect::RuledOut)];
        assert_eq!(standings(&rows, &[])[0], "Binds: disk-iops");
        assert_eq!(standing(&rows, "the disks, by their number"), Standing::RuledOut);
    }

    #[test]
    fn no_factor_is_advised_that_cannot_be_varied_here() {
        let skipped = |factor, because: &str| SkippedSetting { factor, to: None, because: because.into() };
        let fixed = [
            skipped(Factor::Alignment, "a sequential load has its offsets one after the other"),
            skipped(Factor::Vm, "this machine is what it is"),
            skipped(Factor::Layout, "loadline did not make this storage"),
            skipped(Factor::Depth, "the cell is an open loop"),
        ];
        let rows = [row(Factor::Threads, Effect::Moved), row(Factor::Block, Effect::CannotTell)];
        for suspect in suspects(&rows, 0.05, StorageFacts { fixed: &fixed, ..StorageFacts::default() }) {
            for one in &fixed {
                let vary = format!("vary {}", one.factor.name());
                assert!(!suspect.because.contains(&vary), "{suspect:?}");
            }
            if suspect.what.contains("across blocks") {
                assert_eq!(suspect.because, "not varied: a sequential load has its offsets one after the other");
            }
        }
        // One that can be is advised as ever.
        let all = suspects(&rows, 0.05, StorageFacts::default());
        assert!(all.iter().any(|suspect| suspect.because == "not varied; vary alignment"), "{all:?}");
    }
}

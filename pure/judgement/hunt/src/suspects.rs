//! The verdict on each limit that the effects of a hunt allow: it binds, it is ruled out, or it remains possible.

use crate::effect::Effect;
use crate::factor::Factor;
use crate::plan::SkippedSetting;
use crate::result::{HuntCause, HuntEvidence, HuntRow, HuntSetting, LeftToVary, Standing, Suspect};
use loadline_record::Limit;
use loadline_units::Bytes;

/// What is known of the storage beside the effects.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StorageFacts<'a> {
    /// The limits that an environment puts in the way of the load; empty where there is no environment.
    pub(crate) declared: &'a [Limit],
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
    fn not_varied(&self, factors: &[Factor]) -> HuntEvidence {
        let vary: Vec<Factor> = factors.iter().copied().filter(|factor| self.can_vary(*factor)).collect();
        let why = self.fixed.iter().find(|one| factors.contains(&one.factor) && !self.lacks.contains(&one.factor));
        match why {
            _ if !vary.is_empty() => HuntEvidence::NotVaried { vary },
            Some(one) => HuntEvidence::CannotBeVaried { because: one.because.clone() },
            None => HuntEvidence::HasNoneOfIt,
        }
    }
}

/// What the effects say about each limit that there may be; where an environment declares limits, only those may be, and nothing that the
/// storage lacks.
pub(crate) fn suspects(rows: &[HuntRow], margin: f64, known: StorageFacts<'_>) -> Vec<Suspect> {
    let lacking = |factor: Factor| known.lacks.contains(&factor);
    let told = |limits: &[Limit], cause: HuntCause, factors: &[Factor]| {
        let own: Vec<&HuntRow> = rows.iter().filter(|r| factors.contains(&r.variant.factor)).collect();
        let having = |effect: Effect| -> Vec<HuntSetting> {
            own.iter().filter(|r| r.effect == effect).map(|r| HuntSetting::of(r)).collect()
        };
        let (moved, out) = (having(Effect::Moved), having(Effect::RuledOut));
        let (standing, evidence) = if !moved.is_empty() {
            (Standing::Binds, HuntEvidence::Raised { by: moved })
        } else if own.is_empty() {
            (Standing::Possible, known.not_varied(factors))
        } else if own.iter().any(|r| r.effect == Effect::CannotTell) {
            (Standing::Possible, HuntEvidence::Undecided)
        } else if let Some(row) = own.iter().find(|row| only_one_way(row, &own)) {
            (Standing::Possible, HuntEvidence::OneWay { lowered_by: HuntSetting::of(row) })
        } else if out.is_empty() {
            (Standing::RuledOut, HuntEvidence::OnlyLowered { by: having(Effect::Lowered) })
        } else {
            (Standing::RuledOut, HuntEvidence::Unchanged { by: out })
        };
        Suspect { limits: limits.to_vec(), cause, standing, evidence, left: Vec::new() }
    };
    // More threads are more requests at once, too: they tell of the threads only where more depth does not help.
    let deeper_helps = rows.iter().any(|r| r.variant.factor == Factor::Depth && r.effect == Effect::Moved);
    let of_tool: &[Factor] = if deeper_helps { &[Factor::Engine] } else { &[Factor::Engine, Factor::Threads] };
    // And of too few requests at once they tell only where the depth does not by itself.
    let of_varied = |factor: Factor| rows.iter().filter(move |r| r.variant.factor == factor);
    let depth_tells = of_varied(Factor::Depth).next().is_some();
    let of_latency: &[Factor] = if depth_tells { &[Factor::Depth] } else { &[Factor::Depth, Factor::Threads] };
    let moved_by = |factor: Factor| of_varied(factor).find(|r| r.effect == Effect::Moved);
    let unclear = |suspect: Suspect, evidence: Option<HuntEvidence>| match evidence {
        Some(evidence) if suspect.standing == Standing::Binds => {
            Suspect { standing: Standing::Possible, evidence, ..suspect }
        }
        _ => suspect,
    };
    let either = moved_by(Factor::Threads).filter(|_| !depth_tells && !lacking(Factor::Engine)).map(|row| {
        HuntEvidence::ThreadsOrRequests { to: row.variant.to.clone(), depth_tells: known.can_vary(Factor::Depth) }
    });
    let fewer_blocks = moved_by(Factor::Alignment).map(|row| HuntEvidence::FewerBlocks { to: row.variant.to.clone() });
    // What the page cache answers is no way past locks in the file system.
    let by_page_cache =
        moved_by(Factor::Direct).filter(|row| row.variant.to == "buffered" && moved_by(Factor::Files).is_none());
    let by_page_cache = by_page_cache.map(|_| HuntEvidence::PageCache { files_tell: known.can_vary(Factor::Files) });
    let on_stripe = !lacking(Factor::Interleave);
    let tool = told(&[Limit::Generator, Limit::Cpu], HuntCause::Tool, of_tool);
    let by_engine = moved_by(Factor::Engine).is_some();
    let others = [
        unclear(tool, either.clone().filter(|_| !by_engine)),
        unclear(told(&[], HuntCause::FileSystem, &[Factor::Files, Factor::Direct]), by_page_cache),
        unclear(told(&[], HuntCause::Misalignment, &[Factor::Alignment]), fewer_blocks),
    ];
    // A model has neither threads that could fall behind nor a file system.
    let exist = [!lacking(Factor::Engine), !(lacking(Factor::Files) && lacking(Factor::Direct)), true];
    let suspects = Axes {
        latency: unclear(told(&[Limit::Latency], HuntCause::FewRequests, of_latency), either),
        disks: by_fewer_disks(rows, margin).unwrap_or_else(|| told(&OF_DISKS, HuntCause::Disks, &[Factor::Layout])),
        vm: told(&OF_VM, HuntCause::Vm, &[Factor::Vm]),
        interleave: told(if on_stripe { &[Limit::DiskIops] } else { &[] }, HuntCause::Spread, &[Factor::Interleave]),
        others: others.into_iter().zip(exist).filter(|(_, exists)| *exists).map(|(suspect, _)| suspect).collect(),
        block: by_block(rows, margin, &known),
        varied: rows.iter().map(|row| row.variant.factor).collect(),
        could: Factor::ALL.into_iter().filter(|factor| known.can_vary(*factor)).collect(),
    };
    let mut all = suspects.intersected(known.declared);
    all.retain(|suspect| on_stripe || suspect.cause != HuntCause::Spread);
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
    fn intersected(self, declared: &[Limit]) -> Vec<Suspect> {
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
            let having = || (0..all.len()).filter(|place| all[*place].limits.contains(&limit));
            let teller = having().min_by_key(|place| decisive(*place, &all[*place]));
            let rest: Vec<usize> = having().filter(|place| Some(*place) != teller).collect();
            for place in rest {
                all[place].limits.retain(|l| *l != limit);
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
            suspect.left = left_to_vary(suspect, is_told, uneven, &could);
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

/// Place of the spread over disks among suspects.
const SPREAD: usize = 0;

/// Takes away the limits that the environment does not have, where there is one, and tells of them.
fn without_undeclared(suspects: &mut [Suspect], declared: &[Limit]) -> Option<Suspect> {
    if declared.is_empty() {
        return None;
    }
    let missing: Vec<Limit> = OF_VM.into_iter().filter(|limit| !declared.contains(limit)).collect();
    for suspect in suspects {
        suspect.limits.retain(|limit| !missing.contains(limit));
    }
    (!missing.is_empty()).then(|| Suspect {
        limits: missing,
        cause: HuntCause::UndeclaredVm,
        standing: Standing::RuledOut,
        evidence: HuntEvidence::Undeclared,
        left: Vec::new(),
    })
}

/// What distinguishes limits of which a suspect names several.
fn left_to_vary(suspect: &Suspect, kind_is_told: bool, uneven: bool, could: &[Factor]) -> Vec<LeftToVary> {
    if suspect.standing == Standing::RuledOut {
        return Vec::new();
    }
    let any = |is: fn(Limit) -> bool| suspect.limits.iter().any(|limit| is(*limit));
    let factors: Vec<Factor> =
        [Factor::Layout, Factor::Vm].into_iter().filter(|factor| could.contains(factor)).collect();
    let mut left = Vec::new();
    if any(is_of_disks) && any(is_of_vm) && !uneven && !suspect.evidence.says_what_to_vary() && !factors.is_empty() {
        left.push(LeftToVary::Whose { factors });
    }
    let by_block = could.contains(&Factor::Block);
    let is_either = any(|limit| ON_REQUESTS.contains(&limit)) && any(|limit| ON_BYTES.contains(&limit));
    if suspect.standing == Standing::Binds && is_either && !kind_is_told && by_block {
        left.push(LeftToVary::RequestsOrBytes);
    }
    left
}

/// Limits that more disks lift.
const OF_DISKS: [Limit; 2] = [Limit::DiskIops, Limit::DiskThroughput];
/// Limits of a virtual machine.
const OF_VM: [Limit; 4] =
    [Limit::VmUncachedIops, Limit::VmUncachedThroughput, Limit::VmCachedIops, Limit::VmCachedThroughput];
const ON_REQUESTS: [Limit; 3] = [Limit::DiskIops, Limit::VmUncachedIops, Limit::VmCachedIops];
const ON_BYTES: [Limit; 3] = [Limit::DiskThroughput, Limit::VmUncachedThroughput, Limit::VmCachedThroughput];

/// Whether more or faster disks lift it.
pub(crate) fn is_of_disks(limit: Limit) -> bool {
    OF_DISKS.contains(&limit)
}

/// Whether a larger VM lifts it.
pub(crate) fn is_of_vm(limit: Limit) -> bool {
    OF_VM.contains(&limit)
}

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
    let suspect = |standing, evidence| Suspect {
        limits: OF_DISKS.to_vec(),
        cause: HuntCause::Disks,
        standing,
        evidence,
        left: Vec::new(),
    };
    if let Some(row) = own().filter(fewer).find(in_proportion) {
        let evidence = HuntEvidence::FollowsDisks { to: row.variant.to.clone(), ratio: row.ratio? };
        return Some(suspect(Standing::Binds, evidence));
    }
    let evidence = HuntEvidence::FewerDisks { to: own().find(fewer)?.variant.to.clone() };
    Some(suspect(Standing::Possible, evidence))
}

/// Larger requests tell a limit on requests from one on bytes: bytes that stay bind, bytes that grow in proportion do not.
fn by_block(rows: &[HuntRow], margin: f64, facts: &StorageFacts<'_>) -> Vec<Suspect> {
    let suspect = |cause, standing, evidence| {
        let limits = match cause {
            HuntCause::Requests => ON_REQUESTS.to_vec(),
            HuntCause::Bytes => ON_BYTES.to_vec(),
            _ => [ON_REQUESTS, ON_BYTES].concat(),
        };
        Suspect { limits, cause, standing, evidence, left: Vec::new() }
    };
    let to = |row: &HuntRow| row.variant.to.clone();
    let known = || rows.iter().filter(|r| r.variant.factor == Factor::Block && r.effect != Effect::CannotTell);
    // Smaller requests that move fewer bytes in just that proportion are as many per second.
    let as_many = |row: &&HuntRow| {
        let size = |text: &str| text.parse::<Bytes>().ok().map(|b| b.get() as f64);
        let sizes = size(&row.variant.to).zip(size(&row.variant.from)).map(|(to, from)| to / from);
        row.effect == Effect::Lowered
            && row.ratio.zip(sizes).is_some_and(|(ratio, sizes)| (ratio / sizes - 1.0).abs() <= margin)
    };
    let same_bytes = known().find(|r| r.effect == Effect::RuledOut);
    let same_requests = known().find(as_many);
    if let Some(larger) = same_bytes {
        return match same_requests {
            Some(smaller) => vec![
                suspect(HuntCause::Requests, Standing::Binds, HuntEvidence::AsManyRequests { to: to(smaller) }),
                suspect(HuntCause::Bytes, Standing::Possible, HuntEvidence::AsManyBytes { to: to(larger), near: true }),
            ],
            None => vec![
                suspect(HuntCause::Bytes, Standing::Binds, HuntEvidence::AsManyBytes { to: to(larger), near: false }),
                suspect(HuntCause::Requests, Standing::RuledOut, HuntEvidence::OtherRequests { to: to(larger) }),
            ],
        };
    }
    if let Some(row) = known().find(|r| r.effect == Effect::Moved) {
        let evidence = HuntEvidence::MoreBytes { to: to(row), ratio: row.gain() };
        return vec![
            suspect(HuntCause::Bytes, Standing::RuledOut, evidence.clone()),
            suspect(HuntCause::Requests, Standing::Possible, evidence),
        ];
    }
    let evidence = if let Some(row) = same_requests {
        HuntEvidence::AsManyRequests { to: to(row) }
    } else if known().any(|r| r.effect == Effect::Lowered) {
        HuntEvidence::FewerBytes { margin }
    } else {
        let evidence = match facts.not_varied(&[Factor::Block]) {
            HuntEvidence::NotVaried { .. } => HuntEvidence::BlockUntold,
            other => other,
        };
        return vec![suspect(HuntCause::Rate, Standing::Possible, evidence)];
    };
    vec![suspect(HuntCause::Requests, Standing::Possible, evidence)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::HuntVariant;

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
    fn of(declared: &[Limit]) -> StorageFacts<'_> {
        StorageFacts { declared, ..StorageFacts::default() }
    }
    fn standing(rows: &[HuntRow], cause: &HuntCause) -> Standing {
        suspects(rows, 0.05, StorageFacts::default())
            .into_iter()
            .find(|s| s.cause == *cause)
            .unwrap_or_else(|| panic!("{cause:?}"))
            .standing
    }

    #[test]
    fn what_moves_the_rate_binds_and_what_changes_nothing_is_ruled_out() {
        let rows = [
            row(Factor::Layout, Effect::RuledOut),
            row(Factor::Vm, Effect::Moved),
            row(Factor::Depth, Effect::RuledOut),
        ];
        assert_eq!(standing(&rows, &HuntCause::Disks), Standing::RuledOut);
        assert_eq!(standing(&rows, &HuntCause::Vm), Standing::Binds);
        assert_eq!(standing(&rows, &HuntCause::FewRequests), Standing::RuledOut);
        assert_eq!(standing(&rows, &HuntCause::FileSystem), Standing::Possible);
    }

    #[test]
    fn fewer_disks_that_lower_the_rate_do_not_rule_the_disks_out() {
        let halved = |ratio: f64| {
            let lowered = row(Factor::Layout, Effect::Lowered);
            let variant = HuntVariant { from: "4 disks".into(), to: "2 disks".into(), ..lowered.variant.clone() };
            HuntRow { variant, ratio: Some(ratio), ..lowered }
        };
        assert_eq!(standing(&[halved(0.5)], &HuntCause::Disks), Standing::Binds);
        assert_eq!(standing(&[halved(0.8)], &HuntCause::Disks), Standing::Possible);
        let more = HuntRow { effect: Effect::RuledOut, ratio: Some(1.0), ..halved(1.0) };
        assert_eq!(standing(&[halved(0.5), more], &HuntCause::Disks), Standing::RuledOut);
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
        let spread = &HuntCause::Spread;
        assert_eq!(standing(std::slice::from_ref(&shorter), spread), Standing::Possible);
        assert_eq!(standing(&[shorter.clone(), longer.clone()], spread), Standing::RuledOut);
        assert_eq!(standing(&[longer], spread), Standing::RuledOut);
        // Beside something that binds it is told all the same.
        assert_eq!(standing(&[shorter, row(Factor::Depth, Effect::Moved)], spread), Standing::Possible);
        let deeper = varied(Factor::Depth, ["16", "64"], Effect::Lowered);
        assert_eq!(standing(&[deeper], &HuntCause::FewRequests), Standing::RuledOut);
        let shallower = varied(Factor::Depth, ["16", "4"], Effect::Lowered);
        assert_eq!(standing(&[shallower], &HuntCause::FewRequests), Standing::Possible);
        // What has no other way is ruled out.
        assert_eq!(
            standing(&[varied(Factor::Vm, ["ds3", "none"], Effect::Lowered)], &HuntCause::Vm),
            Standing::RuledOut
        );
    }

    #[test]
    fn what_raises_the_rate_in_two_ways_binds_in_neither() {
        let latency = &HuntCause::FewRequests;
        let threads = row(Factor::Threads, Effect::Moved);
        // More depth changed nothing: it is the threads, not how much is asked at once.
        let beside_depth = [row(Factor::Depth, Effect::RuledOut), threads.clone()];
        assert_eq!(standing(&beside_depth, latency), Standing::RuledOut);
        assert_eq!(standing(&beside_depth, &HuntCause::Tool), Standing::Binds);
        let untold = [row(Factor::Depth, Effect::CannotTell), threads.clone()];
        assert_eq!(standing(&untold, latency), Standing::Possible);
        // Threads alone may be either.
        assert_eq!(standing(std::slice::from_ref(&threads), latency), Standing::Possible);
        assert_eq!(standing(&[threads], &HuntCause::Tool), Standing::Possible);
        // Offsets further apart are fewer blocks, and what the page cache answers no file system held.
        assert_eq!(standing(&[row(Factor::Alignment, Effect::Moved)], &HuntCause::Misalignment), Standing::Possible);
        let buffered = varied(Factor::Direct, ["direct", "buffered"], Effect::Moved);
        assert_eq!(standing(std::slice::from_ref(&buffered), &HuntCause::FileSystem), Standing::Possible);
        assert_eq!(standing(&[buffered, row(Factor::Files, Effect::Moved)], &HuntCause::FileSystem), Standing::Binds);
    }

    #[test]
    fn what_the_storage_lacks_is_no_suspect() {
        let lacks = [Factor::Files, Factor::Direct, Factor::Engine, Factor::Interleave];
        let rows = [row(Factor::Threads, Effect::RuledOut), row(Factor::Block, Effect::Moved)];
        let all = suspects(&rows, 0.05, StorageFacts { lacks: &lacks, ..StorageFacts::default() });
        let told = |cause: &HuntCause| all.iter().any(|suspect| suspect.cause == *cause);
        assert!(told(&HuntCause::Requests) && told(&HuntCause::FewRequests), "{all:?}");
        assert!(!told(&HuntCause::FileSystem) && !told(&HuntCause::Tool) && !told(&HuntCause::Spread), "{all:?}");
        // Where there are no files, they are not what to vary.
        let all = suspects(&rows, 0.05, StorageFacts { lacks: &[Factor::Files], ..StorageFacts::default() });
        let files = all.iter().find(|suspect| suspect.cause == HuntCause::FileSystem).unwrap();
        assert_eq!(files.evidence, HuntEvidence::NotVaried { vary: vec![Factor::Direct] });
    }

    #[test]
    fn blocks_tell_requests_from_bytes() {
        let same_bytes = [row(Factor::Block, Effect::RuledOut)];
        assert_eq!(standing(&same_bytes, &HuntCause::Bytes), Standing::Binds);
        assert_eq!(standing(&same_bytes, &HuntCause::Requests), Standing::RuledOut);
        let more_bytes = [row(Factor::Block, Effect::Moved)];
        assert_eq!(standing(&more_bytes, &HuntCause::Bytes), Standing::RuledOut);
        assert_eq!(standing(&more_bytes, &HuntCause::Requests), Standing::Possible);
    }

    /// "binds vm-uncached-iops" and so on, sorted; panics where a limit is told twice.
    fn standings(rows: &[HuntRow], declared: &[Limit]) -> Vec<String> {
        let mut told: Vec<(&str, Standing)> = Vec::new();
        for suspect in suspects(rows, 0.05, of(declared)) {
            for limit in suspect.limits {
                assert!(told.iter().all(|(known, _)| *known != limit.name()), "{limit:?} stands there twice");
                told.push((limit.name(), suspect.standing));
            }
        }
        let with = |wanted: Standing| {
            let names = told.iter().filter(|(_, standing)| *standing == wanted).map(|(limit, _)| *limit);
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
        let declared = [
            Limit::Latency,
            Limit::DiskIops,
            Limit::DiskThroughput,
            Limit::VmUncachedIops,
            Limit::VmUncachedThroughput,
        ];
        assert_eq!(
            standings(&capped, &declared),
            [
                "Binds: vm-uncached-iops",
                "Possible: ",
                "RuledOut: cpu, disk-iops, disk-throughput, generator, latency, vm-cached-iops, vm-cached-throughput, \
                 vm-uncached-throughput"
            ]
        );
        assert!(suspects(&capped, 0.05, of(&declared)).iter().all(|s| s.cause != HuntCause::Spread));
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
        assert_eq!(binds.left, [LeftToVary::Whose { factors: vec![Factor::Layout, Factor::Vm] }]);
        // With more disks ruled out only the VM's is left.
        let elsewhere = [row(Factor::Block, Effect::RuledOut), row(Factor::Layout, Effect::RuledOut)];
        assert_eq!(standings(&elsewhere, &declared)[0], "Binds: vm-uncached-throughput");
    }

    #[test]
    fn an_uneven_spread_binds_although_more_disks_do_not_help() {
        let rows = [row(Factor::Interleave, Effect::Moved), row(Factor::Layout, Effect::RuledOut)];
        assert_eq!(standings(&rows, &[])[0], "Binds: disk-iops");
        assert_eq!(standing(&rows, &HuntCause::Disks), Standing::RuledOut);
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
            let to_vary: Vec<Factor> = match &suspect.evidence {
                HuntEvidence::NotVaried { vary } => vary.clone(),
                HuntEvidence::OneWay { lowered_by } => vec![lowered_by.factor],
                HuntEvidence::ThreadsOrRequests { depth_tells: true, .. } => vec![Factor::Depth],
                HuntEvidence::PageCache { files_tell: true } => vec![Factor::Files],
                HuntEvidence::FewerDisks { .. } => vec![Factor::Layout],
                HuntEvidence::BlockUntold => vec![Factor::Block],
                _ => Vec::new(),
            };
            let left = suspect.left.iter().flat_map(|left| match left {
                LeftToVary::Whose { factors } => factors.clone(),
                LeftToVary::RequestsOrBytes => vec![Factor::Block],
            });
            assert!(to_vary.into_iter().chain(left).all(|factor| fixed.iter().all(|one| one.factor != factor)));
            if suspect.cause == HuntCause::Misalignment {
                let because = "a sequential load has its offsets one after the other".to_owned();
                assert_eq!(suspect.evidence, HuntEvidence::CannotBeVaried { because });
            }
        }
        // One that can be is advised as ever.
        let all = suspects(&rows, 0.05, StorageFacts::default());
        let alignment = HuntEvidence::NotVaried { vary: vec![Factor::Alignment] };
        assert!(all.iter().any(|suspect| suspect.evidence == alignment), "{all:?}");
    }
}

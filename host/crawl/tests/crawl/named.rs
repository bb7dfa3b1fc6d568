//! Real crawls whose bound is known by their making: is it named, and does relieving it bring what the replay promises?

use crate::files::crawl_of;
use loadline_crawl::{CrawlMode, of_record};
use loadline_pipeline::{Attribution, Bound, CrawlPlan, Doubtful, Lever, MadeUpPlan, SourcePlan};
use loadline_units::{Bytes, Duration};

/// Changes a plan so that what binds it is twice as fast.
type Relief = fn(&mut CrawlPlan);

struct Case {
    name: &'static str,
    plan: CrawlPlan,
    is_right: fn(&Bound) -> bool,
    relief: Option<Relief>,
}

fn site(pages: u64, latency_ms: u64, slots: u32) -> CrawlPlan {
    let latency = Duration::from_ms(latency_ms);
    let made_up = MadeUpPlan { pages, size: Bytes::kib(2), latency, spread: 0.2, bad: false, ..MadeUpPlan::default() };
    let mut source = SourcePlan::of_made_up("site", made_up);
    source.slots = Some(slots);
    CrawlPlan::of("site", vec![source])
}

fn changed(mut plan: CrawlPlan, change: impl FnOnce(&mut CrawlPlan)) -> CrawlPlan {
    change(&mut plan);
    plan
}

/// Whether a part is named, alone or before others.
fn is_first(bound: &Bound, lever: Lever) -> bool {
    match bound {
        Bound::By(named) => *named == lever,
        Bound::Shared(named) => named.first() == Some(&lever),
        _ => false,
    }
}

fn cases() -> Vec<Case> {
    let repository = |bound: &Bound| is_first(bound, Lever::Repository(0));
    let politeness = |bound: &Bound| is_first(bound, Lever::Politeness(0));
    let twice_the_slots: Relief = |plan| plan.sources[0].slots = plan.sources[0].slots.map(|slots| slots * 2);
    let case = |name, plan, is_right, relief| Case { name, plan, is_right, relief };
    vec![
        case("20 ms, one slot", site(150, 20, 1), repository, Some(twice_the_slots)),
        case("200 ms, four slots", site(100, 200, 4), repository, Some(twice_the_slots)),
        case("20 ms, four slots", site(600, 20, 4), repository, Some(twice_the_slots)),
        case(
            "a heavy tail",
            changed(site(250, 50, 4), |plan| plan.sources[0].made_up.as_mut().unwrap().spread = 1.0),
            repository,
            Some(twice_the_slots),
        ),
        case("1 s, thirty slots", site(250, 1_000, 30), repository, Some(twice_the_slots)),
        case(
            "a crawl delay",
            changed(site(150, 1, 8), |plan| plan.sources[0].crawl_delay = Some(Duration::from_ms(20))),
            politeness,
            Some(|plan| plan.sources[0].crawl_delay = Some(Duration::from_ms(10))),
        ),
        case(
            "one fetch for each host",
            changed(site(150, 20, 8), |plan| plan.sources[0].per_host = Some(1)),
            politeness,
            Some(|plan| plan.sources[0].per_host = Some(2)),
        ),
        case(
            "two connections",
            changed(site(300, 20, 8), |plan| plan.sources[0].connections = Some(2)),
            |bound| is_first(bound, Lever::Connections(0)),
            Some(|plan| plan.sources[0].connections = Some(4)),
        ),
        case(
            "commits of five items",
            changed(site(300, 0, 8), |plan| plan.commit.every_items = 5),
            |bound| is_first(bound, Lever::Commit),
            Some(|plan| plan.commit.every_items = 10),
        ),
        case(
            "a slow source beside a fast one",
            changed(site(80, 50, 1), |plan| {
                let mut fast = site(500, 5, 4).sources.remove(0);
                "fast".clone_into(&mut fast.name);
                plan.sources.push(fast);
            }),
            repository,
            Some(twice_the_slots),
        ),
        case(
            "twenty items",
            site(20, 1, 2),
            |bound| matches!(bound, Bound::CannotTell(Doubtful::FewItems { .. })),
            None,
        ),
        case(
            "every item fails",
            changed(site(1, 1, 1), |plan| plan.caps.bytes = Bytes::new(10)),
            |bound| *bound == Bound::Failed,
            None,
        ),
    ]
}

fn crawled(plan: CrawlPlan) -> Vec<Attribution> {
    let folder = tempfile::tempdir().unwrap();
    of_record(&crawl_of(folder.path(), plan, CrawlMode::Full).record).unwrap()
}

#[test]
#[ignore = "long: measures this machine"]
fn bounds_of_real_crawls_are_named() {
    let (mut right, mut all) = (0, 0);
    let (mut kept, mut promised) = (0, 0);
    for Case { name, plan, is_right, relief } in cases() {
        let of = &crawled(plan.clone())[0];
        let is_named = is_right(&of.bound);
        all += 1;
        right += usize::from(is_named);
        let mut line = format!("{name}: {} {:?}", if is_named { "right" } else { "WRONG" }, of.bound);
        if let (Some(relief), true) = (relief, is_named) {
            let expected = of.evidence.by_replay[0].elasticity.exp2();
            let relieved = crawled(changed(plan, relief));
            let gain = relieved[0].evidence.rate_per_s / of.evidence.rate_per_s;
            promised += 1;
            kept += usize::from(gain - 1.0 >= 0.8 * (expected - 1.0));
            line = format!("{line}; relieved {gain:.2} times, expected {expected:.2}");
        }
        eprintln!("{line}");
    }
    eprintln!("{right} of {all} named; relief brought 0.8 of what was expected in {kept} of {promised}");
    assert!(right + 2 >= all, "{right} of {all}");
}

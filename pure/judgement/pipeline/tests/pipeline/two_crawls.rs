//! Two crawls compared, from a table that was published and from records of our own.

use crate::made_up::{items, wide_open};
use loadline_pipeline::{CrawlConfounder, CrawlFigures, CrawlFinding, Keep, RepositoryReading, compare_crawls, replay};
use loadline_units::NS_PER_S;
use std::collections::BTreeMap;

/// Full crawls of one farm before and after its databases moved to other disks, as a field report has them.
const FARM: &str = "\
crawl,source,items,duration,rate,latency
Dev,on-site file share,0,0:00:47,0 /s,0 ms
Dev,site collection,14040,1:09:13,3.7 /s,467 ms
Dev,local intranet sites,8559,0:14:56,9.7 /s,583 ms
Dev,user profiles,11544,0:15:40,12.3 /s,270 ms
Prod,on-site file share,73769,6:48:56,3.1 /s,6935 ms
Prod,site collection,17719,0:19:27,16.2 /s,237 ms
Prod,local intranet sites,13534,0:19:28,12.8 /s,381 ms
Prod,user profiles,11611,0:19:28,9.9 /s,149 ms
";

#[test]
fn a_published_table_gives_its_reading() {
    let crawls = CrawlFigures::read_table(FARM).unwrap();
    let compared = compare_crawls(&crawls[0], &crawls[1]);
    // In flight by Little's law, of count over duration.
    let in_flight: Vec<_> = compared
        .sources
        .iter()
        .map(|of| of.in_flight.map(|in_flight| in_flight.map(|of| (of * 10.0).round() / 10.0)))
        .collect();
    assert_eq!(in_flight, [[None, Some(20.9)], [Some(1.6), Some(3.6)], [Some(5.6), Some(4.4)], [Some(3.3), Some(1.5)]]);
    let readings: Vec<RepositoryReading> = compared.sources.iter().map(|of| of.reading).collect();
    assert_eq!(
        readings,
        [
            RepositoryReading::Failed,
            RepositoryReading::HeldBackBefore,
            RepositoryReading::HeldBackNow,
            RepositoryReading::NotBoundNow
        ]
    );
    // The source that failed is failed, and has no rate.
    assert_eq!(compared.sources[0].rate_ratio, None);
    let share = "on-site file share".to_owned();
    let failed = CrawlFinding::Failed { crawl: "Dev".to_owned(), source: share.clone(), after_ns: 47 * NS_PER_S };
    assert!(compared.findings.contains(&failed), "{:?}", compared.findings);
    // Three ends fall together, and in one crawl alone.
    let ends: Vec<_> = compared
        .findings
        .iter()
        .filter_map(|finding| match finding {
            CrawlFinding::EndsTogether { crawl, sources, within_ns } => {
                Some((crawl.as_str(), sources.len(), *within_ns))
            }
            _ => None,
        })
        .collect();
    assert_eq!(ends, [("Prod", 3, NS_PER_S)]);
    let not_bound: Vec<_> = compared
        .findings
        .iter()
        .filter_map(|finding| match finding {
            CrawlFinding::NotBoundByRepository { source, crawl, .. } => Some((source.as_str(), crawl.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(not_bound, [("user profiles", "Prod")]);
    let most = |finding: &CrawlFinding| matches!(finding, CrawlFinding::MostInFlight { crawl, source, .. } if crawl == "Prod" && *source == share);
    assert!(compared.findings.iter().any(most));
    let off: Vec<&str> = compared
        .findings
        .iter()
        .filter_map(|finding| match finding {
            CrawlFinding::StatedRateOff { crawl, source, .. } if crawl == "Prod" => Some(source.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(off, ["site collection", "local intranet sites"]);
    assert!(compared.confounders.contains(&CrawlConfounder::Beside { source: share, crawl: "Prod".to_owned() }));
    let items = compared.confounders.iter().filter(|of| matches!(of, CrawlConfounder::Items { .. })).count();
    assert_eq!(items, 2, "profiles have the same items: {:?}", compared.confounders);
}

#[test]
fn the_same_crawl_twice_shows_nothing() {
    let crawls = CrawlFigures::read_table(FARM).unwrap();
    let compared = compare_crawls(&crawls[1], &crawls[1]);
    assert!(compared.sources.iter().all(|of| of.rate_ratio == Some(1.0) && of.reading == RepositoryReading::Explains));
    assert_eq!(compared.confounders, []);
}

#[test]
fn records_compare_with_their_slots_and_facts() {
    // Four slots that do nothing but wait: in flight is what is allowed, at any latency.
    let of = |latency_ns: u64, cpu: &str| {
        let stream = items(400, || [latency_ns, 0, 0, 0]);
        let keep = Keep { interval_ns: 1_000_000, items_max: 400, seed: 0 };
        let record = replay(&wide_open(4), &stream, None, keep).unwrap().record;
        let facts = BTreeMap::from([("cpu".to_owned(), cpu.to_owned())]);
        CrawlFigures::of(cpu, &record, facts)
    };
    let (before, after) = (of(20_000_000, "old"), of(5_000_000, "new"));
    let compared = compare_crawls(&before, &after);
    assert_eq!(compared.sources[0].reading, RepositoryReading::Explains);
    assert!((compared.sources[0].rate_ratio.unwrap() - 4.0).abs() < 1e-9);
    let bound = compared.findings.iter().filter(|of| matches!(of, CrawlFinding::BoundByRepository { slots: 4, .. }));
    assert_eq!(bound.count(), 2);
    let fact = |of: &&CrawlConfounder| matches!(of, CrawlConfounder::Fact { name, .. } if name == "cpu");
    assert!(compared.confounders.iter().any(|of| fact(&of)));
}

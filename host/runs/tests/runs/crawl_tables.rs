//! A published table of crawls, as runs.

use loadline_pipeline::{CrawlFigures, CrawlFinding, RepositoryReading, compare_crawls};
use loadline_runs::{import_crawls, is_crawl_table};

/// Two crawls of one farm, as a field report has them.
const FARM: &str = "crawl,source,items,duration,rate,latency\n\
    Dev,share,0,0:00:47,0 /s,\nDev,profiles,11544,0:15:40,12.3 /s,270 ms\n\
    Prod,share,73769,6:48:56,3.1 /s,6935 ms\nProd,profiles,11611,0:19:28,9.9 /s,149 ms\n";

#[test]
fn a_published_table_becomes_runs_that_compare_as_our_own_do() {
    let folder = tempfile::tempdir().unwrap();
    let store = loadline_store::Store::open(&folder.path().join("runs.db")).unwrap();
    assert!(is_crawl_table(FARM) && !is_crawl_table("{\"fio version\": \"fio-3.33\"}"));
    let runs = import_crawls(FARM, "farm.csv", &store).unwrap();
    assert_eq!(runs.iter().map(|run| run.header.name.as_str()).collect::<Vec<_>>(), ["Dev", "Prod"]);
    let figures: Vec<_> = runs.iter().map(|run| CrawlFigures::of_run(run).unwrap()).collect();
    let compared = compare_crawls(&figures[0], &figures[1]);
    let share = compared.sources.iter().find(|of| of.source == "share").unwrap();
    assert_eq!((share.reading, share.rate_ratio), (RepositoryReading::Failed, None));
    let profiles = compared.sources.iter().find(|of| of.source == "profiles").unwrap();
    assert_eq!(profiles.reading, RepositoryReading::NotBoundNow);
    assert!(compared.findings.iter().any(
        |finding| matches!(finding, CrawlFinding::Failed { crawl, source, .. } if crawl == "Dev" && source == "share")
    ));
    assert!(import_crawls("crawl,source,items,duration\nDev,share,x,1 s\n", "farm.csv", &store).is_err());
}

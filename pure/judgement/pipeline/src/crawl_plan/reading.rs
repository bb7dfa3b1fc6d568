//! Reads a crawl's plan from TOML, every problem at its place.

use super::{
    CommitPlan, CrawlCaps, CrawlPlan, CrawlPlanError, DatabasePlan, ExtractPlan, IndexPlan, MadeUpPlan, QueuePlan,
    SearchPlan, SourcePlan, default_name,
};
use loadline_document::{DocumentError, Fields, Item, Quantity, Reader, Synonym, kind};
use std::path::PathBuf;
use toml::de::DeValue;

/// The largest whole number of TOML.
const WHOLE_MAX: u64 = i64::MAX as u64;
const SYNONYMS: &[Synonym] = &[
    ("folder", "files"),
    ("url", "web"),
    ("database", "sql"),
    ("threads", "workers"),
    ("concurrency", "slots"),
    ("parallel", "slots"),
    ("delay", "crawl_delay"),
    ("wal", "log"),
    ("limits", "caps"),
];

pub(super) fn parse(text: &str, source_name: &str) -> Result<CrawlPlan, DocumentError> {
    Reader::read(text, source_name, SYNONYMS, |reader, top| {
        let plan = reader.top_fields("", top, "a crawl's plan", plan)?;
        if reader.problem_count() == 0
            && let Err(error) = plan.check()
        {
            let key = if let CrawlPlanError::Zero(key) = &error { key } else { "source" };
            reader.problem(0..0, key, error.to_string());
        }
        Some(plan)
    })
}

fn plan(t: &mut Fields<'_, '_, '_, '_>) -> CrawlPlan {
    CrawlPlan {
        name: t.get("name", Reader::name).unwrap_or_else(default_name),
        sources: t.get("source", sources).unwrap_or_default(),
        extract: t.get("extract", extract).unwrap_or_default(),
        index: t.get("index", index).unwrap_or_default(),
        database: t.get("database", database).unwrap_or_default(),
        commit: t.get("commit", commit).unwrap_or_default(),
        search: t.get("search", search).unwrap_or_default(),
        caps: t.get("caps", caps).unwrap_or_default(),
    }
}

fn sources(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<SourcePlan>> {
    let DeValue::Array(list) = item.get_ref() else {
        reader.problem(item.span(), key, format!("is {}: write [[source]] with a name", kind(item.get_ref())));
        return None;
    };
    Some(list.iter().filter_map(|item| source(reader, key, item)).collect())
}

fn source(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<SourcePlan> {
    let before = reader.problem_count();
    let source = reader.fields(key, item, "[[source]] with a name", |t| SourcePlan {
        name: t.get("name", Reader::text).unwrap_or_default(),
        files: t.get("files", path),
        web: t.get("web", Reader::text),
        sql: t.get("sql", path),
        made_up: t.get("made_up", made_up),
        slots: t.get("slots", Reader::positive),
        crawl_delay: t.get("crawl_delay", Reader::quantity),
        per_host: t.get("per_host", Reader::positive),
        connections: t.get("connections", Reader::positive),
        hosts: t.get("hosts", texts).unwrap_or_default(),
        robots: t.get("robots", Reader::switch).unwrap_or(true),
        table: t.get("table", Reader::text),
        key: t.get("key", Reader::text),
        columns: t.get("columns", texts).unwrap_or_default(),
    })?;
    if reader.problem_count() == before
        && let Err(error) = source.check()
    {
        reader.problem(item.span(), key, error.to_string());
    }
    Some(source)
}

fn made_up(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<MadeUpPlan> {
    let usual = MadeUpPlan::default();
    reader.fields(key, item, "{ pages = 2000 }", |t| MadeUpPlan {
        seed: t.get("seed", whole).unwrap_or(usual.seed),
        pages: t.get("pages", whole).unwrap_or(usual.pages),
        size: t.get("size", Reader::quantity).unwrap_or(usual.size),
        latency: t.get("latency", Reader::quantity).unwrap_or(usual.latency),
        spread: t.get("spread", number).unwrap_or(usual.spread),
        bad: t.get("bad", Reader::switch).unwrap_or(usual.bad),
        documents: t.get("documents", Reader::switch).unwrap_or(usual.documents),
    })
}

fn queue(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<QueuePlan> {
    let (items, bytes) = reader.fields(key, item, "{ items = 64, bytes = \"32 MiB\" }", |t| {
        (t.strict("items", Reader::positive), t.strict("bytes", Reader::quantity))
    })?;
    let (Some(items), Some(bytes)) = (items, bytes) else {
        reader.problem(item.span(), key, "is not complete: write { items = 64, bytes = \"32 MiB\" }".into());
        return None;
    };
    Some(QueuePlan { items, bytes })
}

fn extract(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<ExtractPlan> {
    reader.fields(key, item, "[extract]", |t| ExtractPlan {
        workers: t.get("workers", Reader::positive),
        queue: t.get("queue", queue).unwrap_or_default(),
    })
}

fn index(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<IndexPlan> {
    let usual = IndexPlan::default();
    reader.fields(key, item, "[index]", |t| IndexPlan {
        workers: t.get("workers", Reader::positive),
        queue: t.get("queue", queue).unwrap_or(usual.queue),
        memory: t.get("memory", above_zero).unwrap_or(usual.memory),
        store_text: t.get("store_text", Reader::switch).unwrap_or(usual.store_text),
        merge_factor: t.get("merge_factor", Reader::positive).unwrap_or(usual.merge_factor),
        merges_pending: t.get("merges_pending", Reader::positive).unwrap_or(usual.merges_pending),
        folder: t.get("folder", path),
    })
}

fn database(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<DatabasePlan> {
    let usual = DatabasePlan::default();
    reader.fields(key, item, "[database]", |t| DatabasePlan {
        queue: t.get("queue", queue).unwrap_or(usual.queue),
        folder: t.get("folder", path),
        log: t.get("log", path),
        log_size: t.get("log_size", Reader::quantity).unwrap_or(usual.log_size),
    })
}

fn commit(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<CommitPlan> {
    let usual = CommitPlan::default();
    reader.fields(key, item, "[commit]", |t| CommitPlan {
        every_items: t
            .get("every_items", |reader, key, item| reader.count(key, item, WHOLE_MAX))
            .unwrap_or(usual.every_items),
        every: t.get("every", above_zero).unwrap_or(usual.every),
    })
}

fn search(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<SearchPlan> {
    reader.fields(key, item, "[search]", |t| SearchPlan { per_second: t.get("per_second", some_or_none).unwrap_or(0) })
}

fn caps(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<CrawlCaps> {
    let usual = CrawlCaps::default();
    reader.fields(key, item, "[caps]", |t| CrawlCaps {
        bytes: t.get("bytes", Reader::quantity).unwrap_or(usual.bytes),
        inflated: t.get("inflated", Reader::quantity).unwrap_or(usual.inflated),
        ratio: t.get("ratio", some_or_none).unwrap_or(usual.ratio),
        text: t.get("text", Reader::quantity).unwrap_or(usual.text),
        pages: t.get("pages", some_or_none).unwrap_or(usual.pages),
        entries: t.get("entries", some_or_none).unwrap_or(usual.entries),
        links: t.get("links", some_or_none).unwrap_or(usual.links),
        depth: t.get("depth", some_or_none).unwrap_or(usual.depth),
        redirects: t.get("redirects", some_or_none).unwrap_or(usual.redirects),
        url: t.get("url", Reader::quantity).unwrap_or(usual.url),
        per_prefix: t.get("per_prefix", some_or_none).unwrap_or(usual.per_prefix),
        items: t.get("items", |reader, key, item| reader.count(key, item, WHOLE_MAX)).unwrap_or(usual.items),
        fetch_time: t.get("fetch_time", Reader::quantity).unwrap_or(usual.fetch_time),
        extract_memory: t.get("extract_memory", Reader::quantity).unwrap_or(usual.extract_memory),
        extract_cpu: t.get("extract_cpu", Reader::quantity).unwrap_or(usual.extract_cpu),
        extract_time: t.get("extract_time", Reader::quantity).unwrap_or(usual.extract_time),
    })
}

fn path(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<PathBuf> {
    reader.text(key, item).map(PathBuf::from)
}

fn texts(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<String>> {
    reader.values(key, item).into_iter().map(|item| reader.text(key, item)).collect()
}

fn whole(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<u64> {
    reader.whole(key, item, 0..=WHOLE_MAX)
}

fn some_or_none(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<u32> {
    reader.whole(key, item, 0..=u64::from(u32::MAX)).map(|value| value as u32)
}

fn number(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<f64> {
    let found = match item.get_ref() {
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::Integer(number) => number.as_str().parse().ok(),
        _ => None,
    };
    if found.is_none() {
        reader.problem(item.span(), key, format!("is {}: write a number such as 0.5", kind(item.get_ref())));
    }
    found
}

fn above_zero<T: Quantity + Default + PartialEq>(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<T> {
    let value: T = reader.quantity(key, item)?;
    if value == T::default() {
        reader.problem(item.span(), key, format!("is nothing: write {}", T::EXAMPLE));
    }
    Some(value)
}

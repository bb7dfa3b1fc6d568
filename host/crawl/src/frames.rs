//! A crawl as it is now, once a second: a record of the time so far, judged as a stored one is where that costs little.

use crate::machine::MachineWatch;
use crate::state::SharedCrawl;
use crate::threads::record;
use loadline_analysis::{LiveFrame, LiveItems, LiveVolume};
use loadline_pipeline::{LIVE_REPLAYED_MAX, LiveCrawl};
use loadline_record::{Station, VolumeUse};
use loadline_runs::wall_clock::unix_ms;
use std::time::{Duration, Instant};

/// Between two frames.
const EVERY: Duration = Duration::from_secs(1);
/// Between two judgements at least,
const JUDGED_EVERY: Duration = Duration::from_secs(5);
/// which take one part in so many of the time at most.
const JUDGED_SHARE: u32 = 50;

/// Makes frames of a crawl.
pub(crate) struct CrawlFrames {
    frame: LiveFrame,
    next_at: Instant,
    judge_at: Instant,
}

impl CrawlFrames {
    /// Of a run that this frame names.
    pub(crate) fn new(frame: LiveFrame) -> Self {
        let now = Instant::now();
        Self { frame, next_at: now + EVERY, judge_at: now + JUDGED_EVERY }
    }

    /// The next frame, if it is time.
    pub(crate) fn next(&mut self, crawl: &SharedCrawl, watch: &MachineWatch) -> Option<LiveFrame> {
        let now = Instant::now();
        if now < self.next_at {
            return None;
        }
        self.next_at = now + EVERY;
        let (watched, wall_ns, is_due) = (watch.so_far(), crawl.clock.ns(), now >= self.judge_at);
        let names: Vec<String> = crawl.plan.sources.iter().map(|source| source.name.clone()).collect();
        let collected = if is_due { crawl.measured.collect(&names) } else { crawl.measured.collect_counts() };
        let record = record(crawl, &watched, collected, wall_ns);
        let left: Vec<u64> = crawl.frontiers.iter().map(|frontier| frontier.waiting()).collect();
        let queues = [
            (Station::Extract, crawl.extract_queue.fill()),
            (Station::Index, crawl.index_queue.fill()),
            (Station::Database, crawl.rows.fill()),
        ];
        let mut parts = LiveCrawl::of(&record, &left, &queues, crawl.epochs.now(crawl.plan.commit.every_items));
        if is_due {
            parts.judge(&record, LIVE_REPLAYED_MAX);
            self.judge_at = Instant::now() + (now.elapsed() * JUDGED_SHARE).max(JUDGED_EVERY);
        } else if let Some(before) = &self.frame.crawl {
            parts.judged_as(before);
        }
        let progress = crawl.progress();
        self.frame.at_unix_ms = unix_ms();
        (self.frame.elapsed_ns, self.frame.judged_ns) = (wall_ns, parts.judged_ns);
        self.frame.items =
            Some(LiveItems { items: progress.items, failed: progress.failed, waiting: progress.waiting });
        self.frame.volumes = record.volumes.iter().map(volume).collect();
        self.frame.crawl = Some(parts);
        Some(self.frame.clone())
    }
}

/// A volume over the last second.
fn volume(of: &VolumeUse) -> LiveVolume {
    let last = of.series.last().copied().unwrap_or_default();
    LiveVolume {
        name: of.name.clone(),
        iops: Some(last.requests as f64),
        throughput_bytes_per_s: Some(last.bytes as f64),
        latency_ns: last.latency_ns.checked_div(last.requests),
        outstanding: Some(last.latency_ns as f64 / 1e9),
        busy_share: Some(last.busy_ns as f64 / 1e9),
        ..LiveVolume::default()
    }
}

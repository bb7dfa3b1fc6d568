//! What an emulation is doing at the moment: one line for each volume, from the last second or so.

use crate::contents::ContentsState;
use crate::driver::Driver;
use crate::export::Export;
use crate::meter::ExportFigures;
use loadline_block::Operation;
use loadline_emulation::{Fault, TimeAccount, TimeCause, TimeShare, TimeShares};
use loadline_exposition::{Dialect, Exposition, Labels};
use loadline_record::Histogram;
use loadline_units::{Duration, Instant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One volume or disk over the last look's time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExportView {
    /// Its name.
    pub export: String,
    /// Whether it can be read and written, now.
    #[serde(default)]
    pub state: ContentsState,
    /// The numbers of the faults in force that its requests can meet.
    #[serde(default)]
    pub faults: Vec<u32>,
    /// Reads, writes and trims that were done in a second.
    pub iops: f64,
    /// Bytes read and written in a second; of trims where nothing else was done.
    pub bytes_per_s: f64,
    /// Of the latency as modelled; `None`: nothing was answered.
    pub p50_ns: Option<u64>,
    /// The same.
    pub p99_ns: Option<u64>,
    /// Requests outstanding in the mean, those that hang too.
    pub queue: f64,
    /// Share of the latency that was spent waiting at limits: of the disks, of pools, of the virtual machine.
    pub throttled: Option<f64>,
    /// What bound it; `None`: nothing was asked for.
    #[serde(default)]
    pub bound_by: Option<TimeCause>,
    /// Where its time went, the largest share first.
    #[serde(default)]
    pub held: Vec<TimeShare>,
    /// Share of burst credits left; `None`: nothing saves any.
    pub credits: Option<f64>,
    /// Share of reads that host caches answered; `None`: there is no cache, or nothing was read.
    pub cache_hits: Option<f64>,
    /// How late answers left.
    pub lateness_p99_ns: Option<u64>,
    /// Since the beginning.
    pub requests_total: u64,
    /// Since the beginning, reads and writes.
    pub bytes_total: u64,
    /// Since the beginning.
    pub errors_total: u64,
    /// Since the beginning, for those who collect counters.
    #[serde(skip)]
    pub totals: ExportTotals,
}

/// A volume or disk since the beginning.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExportTotals {
    /// Latencies as modelled, by operation, in the order of [`Operation::index`].
    pub latencies: [Histogram; 4],
    /// How late answers left.
    pub lateness: Histogram,
    /// Where its time went.
    pub causes_s: BTreeMap<TimeCause, f64>,
}

/// What an emulation is doing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Since the beginning, ns.
    pub elapsed_ns: u64,
    /// Clients over NBD at the moment.
    pub clients: usize,
    /// Whether its volumes are files or block devices of this machine as well.
    #[serde(default)]
    pub attached: bool,
    /// Faults in force.
    #[serde(default)]
    pub faults: Vec<NumberedFault>,
    /// Clients that got no export or lost it by what they sent, since the beginning.
    #[serde(default)]
    pub refused_total: u64,
    /// Why requests are not recorded any more; `None`: nobody wants them recorded, or they are.
    #[serde(default)]
    pub trace_trouble: Option<String>,
    /// Volumes, then disks.
    pub exports: Vec<ExportView>,
}

/// An active fault, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedFault {
    /// By which it is cleared.
    pub number: u32,
    /// What it is.
    pub fault: Fault,
    /// The same for people.
    pub text: String,
}

impl NumberedFault {
    pub(crate) fn of((number, fault): (u32, &Fault)) -> Self {
        Self { number, text: fault.to_string(), fault: fault.clone() }
    }
}

/// What the last look found, to tell what came since.
#[derive(Debug, Default)]
pub(crate) struct Viewer {
    at: Instant,
    accounts: Vec<TimeAccount>,
    causes_s: Vec<BTreeMap<TimeCause, f64>>,
}

impl Viewer {
    /// Looks again.
    pub(crate) fn look(&mut self, of_exports: &[Arc<Export>], driver: &Driver) -> View {
        let count = of_exports.len();
        let (now, accounts, credits) = driver.look(|model, now| {
            let accounts: Vec<TimeAccount> = (0..count).map(|export| model.account(now, export)).collect();
            let credits: Vec<_> = (0..count).map(|export| model.credits(now, export)).collect();
            (now, accounts, credits)
        });
        let span = now.since(self.at.min(now));
        self.at = now;
        self.accounts.resize(count, TimeAccount::default());
        self.causes_s.resize(count, BTreeMap::new());
        let mut exports = Vec::with_capacity(count);
        for (number, export) in of_exports.iter().enumerate() {
            let (recent, total) = export.meter.roll();
            let account = accounts[number].since(&self.accounts[number]);
            let view = over(&recent, &account, span);
            let causes_s = &mut self.causes_s[number];
            for held in &view.held {
                *causes_s.entry(held.by).or_default() += held.share * span.as_s_f64();
            }
            exports.push(ExportView {
                export: export.info.name.clone(),
                credits: credits[number].map(loadline_units::Ratio::as_f64),
                requests_total: total.requests(),
                bytes_total: total.transferred().get(),
                errors_total: total.errors_total(),
                totals: ExportTotals {
                    causes_s: causes_s.clone(),
                    lateness: total.lateness,
                    latencies: total.operations.map(|operation| operation.latency),
                },
                ..view
            });
        }
        self.accounts = accounts;
        View { elapsed_ns: now.since(Instant::ZERO).as_ns(), exports, ..View::default() }
    }
}

fn over(recent: &ExportFigures, account: &TimeAccount, span: Duration) -> ExportView {
    let latency = recent.latency();
    let seconds = span.as_s_f64().max(1e-9);
    let reads = account.waits.cache_hits + account.waits.cache_misses;
    let TimeShares { bound_by, shares } = account.shares_over(span);
    ExportView {
        iops: recent.done() as f64 / seconds,
        bytes_per_s: recent.moved().get() as f64 / seconds,
        p50_ns: latency.quantile(0.5).map(Duration::as_ns),
        p99_ns: latency.quantile(0.99).map(Duration::as_ns),
        queue: account.asked_time.as_s_f64() / seconds,
        throttled: account.throttled(),
        bound_by,
        held: shares,
        cache_hits: (reads > 0).then(|| account.waits.cache_hits as f64 / reads as f64),
        lateness_p99_ns: recent.lateness.quantile(0.99).map(Duration::as_ns),
        ..ExportView::default()
    }
}

impl View {
    /// The same as counters, histograms and gauges.
    #[must_use]
    pub fn exposition(&self, dialect: Dialect) -> String {
        let mut text = Exposition::scraped(dialect);
        let alone = |value: f64| [(Labels::default(), value)];
        text.gauge("clients", "Clients at the moment.", alone(self.clients as f64));
        let help = "Clients that got no export or lost it by what they sent.";
        text.counter("refused_clients", help, alone(self.refused_total as f64));
        let help = "Whether volumes are files or block devices of this machine.";
        text.gauge("attached", help, alone(f64::from(u8::from(self.attached))));
        text.gauge("faults", "Faults in force.", alone(self.faults.len() as f64));
        let of = |value: fn(&ExportView) -> Option<f64>| {
            self.exports.iter().filter_map(move |export| Some((export.labels(), value(export)?)))
        };
        text.counter("requests", "Requests answered.", of(|view| Some(view.requests_total as f64)));
        text.counter("transferred_bytes", "Bytes read and written.", of(|view| Some(view.bytes_total as f64)));
        text.counter("errors", "Requests answered with an error.", of(|view| Some(view.errors_total as f64)));
        let help = "Faults in force that its requests can meet.";
        text.gauge("export_faults", help, of(|view| Some(view.faults.len() as f64)));
        text.gauge("iops", "Reads, writes and trims done in a second.", of(|view| Some(view.iops)));
        let help = "Bytes read and written in a second.";
        text.gauge("throughput_bytes_per_second", help, of(|view| Some(view.bytes_per_s)));
        text.gauge("queue", "Requests outstanding in the mean.", of(|view| Some(view.queue)));
        text.gauge("throttled_ratio", "Share of latency spent at limits.", of(|view| view.throttled));
        text.gauge("credits_ratio", "Share of burst credits left.", of(|view| view.credits));
        text.gauge("cache_hits_ratio", "Share of reads that caches answered.", of(|view| view.cache_hits));
        let help = "Share of the time that went to this limit, latency, faults or idle.";
        let shares = self.exports.iter().flat_map(|export| {
            let of = |share: &TimeShare| (export.labels().and(&[("by", share.by.name())]), share.share);
            export.held.iter().map(of)
        });
        text.gauge("held_ratio", help, shares);
        let help = "Time that went to this limit, latency, faults or idle.";
        let causes = self.exports.iter().flat_map(|export| {
            let of = |(cause, seconds): (&TimeCause, &f64)| (export.labels().and(&[("cause", cause.name())]), *seconds);
            export.totals.causes_s.iter().map(of)
        });
        text.counter("cause_seconds", help, causes);
        let states = self.exports.iter().flat_map(|export| {
            ContentsState::ALL.map(|state| {
                let is = f64::from(u8::from(export.state == state));
                (export.labels().and(&[("loadline_state", state.name())]), is)
            })
        });
        text.gauge("state", "Whether it can be read and written.", states);
        let latencies = self.exports.iter().flat_map(|export| {
            let of =
                |(operation, latency)| (export.labels().and(&[("operation", Operation::name(operation))]), latency);
            Operation::ALL.into_iter().zip(&export.totals.latencies).filter(|(_, of)| of.count() > 0).map(of)
        });
        text.histogram("request_duration_seconds", "Latency of requests, as modelled.", latencies);
        let lateness = self.exports.iter().map(|export| (export.labels(), &export.totals.lateness));
        text.histogram("lateness_seconds", "How late answers left.", lateness.filter(|(_, of)| of.count() > 0));
        text.end()
    }
}

impl ExportView {
    fn labels(&self) -> Labels {
        Labels::of(&[("export", &self.export)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_name_their_unit_and_leave_out_what_is_not_there() {
        let export = ExportView { export: "da\"ta".into(), iops: 12.5, requests_total: 3, ..ExportView::default() };
        let text = View { exports: vec![export], ..View::default() }.exposition(Dialect::OpenMetrics);
        assert!(text.contains("# TYPE loadline_requests counter\n"), "{text}");
        assert!(text.contains("loadline_requests_total{export=\"da\\\"ta\"} 3\n"), "{text}");
        assert!(text.contains("loadline_iops{export=\"da\\\"ta\"} 12.5\n"), "{text}");
        assert!(!text.contains("loadline_credits_ratio{") && text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn metrics_have_whatever_the_status_has() {
        let mut latency = Histogram::new();
        latency.record(Duration::from_ms(2));
        let held = vec![TimeShare { by: TimeCause::Limit(loadline_record::Limit::DiskIops), share: 0.75 }];
        let export = ExportView {
            export: "data".into(),
            state: ContentsState::Degraded,
            faults: vec![3, 7],
            throttled: Some(0.5),
            held,
            credits: Some(0.25),
            cache_hits: Some(0.125),
            totals: ExportTotals {
                latencies: std::array::from_fn(|_| latency.clone()),
                lateness: latency,
                causes_s: [(TimeCause::Limit(loadline_record::Limit::DiskIops), 7.5)].into(),
            },
            bytes_per_s: 4_096.0,
            ..ExportView::default()
        };
        let view = View { clients: 3, attached: true, refused_total: 2, exports: vec![export], ..View::default() };
        let text = view.exposition(Dialect::OpenMetrics);
        for line in [
            "loadline_clients 3",
            "loadline_attached 1",
            "loadline_faults 0",
            "loadline_export_faults{export=\"data\"} 2",
            "loadline_refused_clients_total 2",
            "loadline_throughput_bytes_per_second{export=\"data\"} 4096",
            "loadline_held_ratio{export=\"data\",by=\"disk-iops\"} 0.75",
            "loadline_cause_seconds_total{export=\"data\",cause=\"disk-iops\"} 7.5",
            "loadline_request_duration_seconds_bucket{export=\"data\",operation=\"read\",le=\"0.002\"} 1",
            "loadline_request_duration_seconds_bucket{export=\"data\",operation=\"read\",le=\"0.0015\"} 0",
            "loadline_lateness_seconds_count{export=\"data\"} 1",
            "loadline_state{export=\"data\",loadline_state=\"degraded\"} 1",
            "loadline_state{export=\"data\",loadline_state=\"present\"} 0",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}: {text}");
        }
    }
}

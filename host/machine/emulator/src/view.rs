//! What an emulation is doing at the moment: one line for each volume, from the last second or so.

use crate::contents::ContentsState;
use crate::driver::Driver;
use crate::export::Export;
use crate::meter::ExportFigures;
use loadline_emulation::{Fault, TimeAccount, TimeCause, TimeShare, TimeShares};
use loadline_units::{Duration, Instant};
use serde::{Deserialize, Serialize};
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
        let mut exports = Vec::with_capacity(count);
        for (number, export) in of_exports.iter().enumerate() {
            let (recent, total) = export.meter.roll();
            let account = accounts[number].since(&self.accounts[number]);
            exports.push(ExportView {
                export: export.info.name.clone(),
                credits: credits[number].map(loadline_units::Ratio::as_f64),
                requests_total: total.requests(),
                bytes_total: total.transferred().get(),
                errors_total: total.errors_total(),
                ..over(&recent, &account, span)
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
    /// The same in the text format of OpenMetrics 1.0.
    #[must_use]
    pub fn open_metrics(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        let own = [
            ("clients", "gauge", "Clients at the moment.", self.clients as f64),
            (
                "refused_clients",
                "counter",
                "Clients that got no export or lost it by what they sent.",
                self.refused_total as f64,
            ),
        ];
        let attached = f64::from(u8::from(self.attached));
        let own = own.into_iter().chain([
            ("attached", "gauge", "Whether volumes are files or block devices of this machine.", attached),
            ("faults", "gauge", "Faults in force.", self.faults.len() as f64),
        ]);
        for (name, kind, help, value) in own {
            let suffix = if kind == "counter" { "_total" } else { "" };
            let _ = writeln!(text, "# TYPE loadline_{name} {kind}\n# HELP loadline_{name} {help}");
            let _ = writeln!(text, "loadline_{name}{suffix} {value}");
        }
        let label = |export: &ExportView| export.export.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let mut family =
            |name: &str, kind: &str, unit: &str, help: &str, value: &dyn Fn(&ExportView) -> Option<f64>| {
                let _ = writeln!(text, "# TYPE loadline_{name} {kind}");
                if !unit.is_empty() {
                    let _ = writeln!(text, "# UNIT loadline_{name} {unit}");
                }
                let _ = writeln!(text, "# HELP loadline_{name} {help}");
                let suffix = if kind == "counter" { "_total" } else { "" };
                for export in &self.exports {
                    if let Some(value) = value(export) {
                        let _ = writeln!(text, "loadline_{name}{suffix}{{export=\"{}\"}} {value}", label(export));
                    }
                }
            };
        let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
        family("requests", "counter", "", "Requests answered.", &|view| Some(view.requests_total as f64));
        family("transferred_bytes", "counter", "bytes", "Bytes read and written.", &|view| {
            Some(view.bytes_total as f64)
        });
        family("errors", "counter", "", "Requests answered with an error.", &|view| Some(view.errors_total as f64));
        let help = "Faults in force that its requests can meet.";
        family("export_faults", "gauge", "", help, &|view| Some(view.faults.len() as f64));
        family("iops", "gauge", "", "Reads, writes and trims done in a second.", &|view| Some(view.iops));
        let help = "Bytes read and written in a second.";
        family("throughput_bytes_per_second", "gauge", "bytes_per_second", help, &|view| Some(view.bytes_per_s));
        family("queue", "gauge", "", "Requests outstanding in the mean.", &|view| Some(view.queue));
        family("latency_p50_seconds", "gauge", "seconds", "Median of the modelled latency.", &|view| {
            seconds(view.p50_ns)
        });
        family("latency_p99_seconds", "gauge", "seconds", "99th percentile of it.", &|view| seconds(view.p99_ns));
        family("lateness_p99_seconds", "gauge", "seconds", "How late answers left.", &|view| {
            seconds(view.lateness_p99_ns)
        });
        family("throttled_ratio", "gauge", "ratio", "Share of latency spent at limits.", &|view| view.throttled);
        family("credits_ratio", "gauge", "ratio", "Share of burst credits left.", &|view| view.credits);
        family("cache_hits_ratio", "gauge", "ratio", "Share of reads that caches answered.", &|view| view.cache_hits);
        text.push_str("# TYPE loadline_held_ratio gauge\n# UNIT loadline_held_ratio ratio\n");
        text.push_str(
            "# HELP loadline_held_ratio Share of the time that went to this limit, latency, faults or idle.\n",
        );
        for export in &self.exports {
            for held in &export.held {
                let (label, by) = (label(export), held.by.name());
                let _ = writeln!(text, "loadline_held_ratio{{export=\"{label}\",by=\"{by}\"}} {}", held.share);
            }
        }
        text.push_str("# TYPE loadline_state stateset\n# HELP loadline_state Whether it can be read and written.\n");
        for export in &self.exports {
            for state in ContentsState::ALL {
                let (label, name, is) = (label(export), state.name(), u8::from(export.state == state));
                let _ = writeln!(text, "loadline_state{{export=\"{label}\",loadline_state=\"{name}\"}} {is}");
            }
        }
        text.push_str("# EOF\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_name_their_unit_and_leave_out_what_is_not_there() {
        let export = ExportView { export: "da\"ta".into(), iops: 12.5, requests_total: 3, ..ExportView::default() };
        let text = View { exports: vec![export], ..View::default() }.open_metrics();
        assert!(text.contains("# TYPE loadline_requests counter\n"), "{text}");
        assert!(text.contains("loadline_requests_total{export=\"da\\\"ta\"} 3\n"), "{text}");
        assert!(text.contains("loadline_iops{export=\"da\\\"ta\"} 12.5\n"), "{text}");
        assert!(!text.contains("loadline_credits_ratio{") && text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn metrics_have_whatever_the_status_has() {
        let held = vec![TimeShare { by: TimeCause::Limit(loadline_record::Limit::DiskIops), share: 0.75 }];
        let export = ExportView {
            export: "data".into(),
            state: ContentsState::Degraded,
            faults: vec![3, 7],
            p50_ns: Some(1),
            p99_ns: Some(2),
            throttled: Some(0.5),
            held,
            credits: Some(0.25),
            cache_hits: Some(0.125),
            lateness_p99_ns: Some(3),
            bytes_per_s: 4_096.0,
            ..ExportView::default()
        };
        let view = View { clients: 3, attached: true, refused_total: 2, exports: vec![export], ..View::default() };
        let text = view.open_metrics();
        for line in [
            "loadline_clients 3",
            "loadline_attached 1",
            "loadline_faults 0",
            "loadline_export_faults{export=\"data\"} 2",
            "loadline_refused_clients_total 2",
            "loadline_throughput_bytes_per_second{export=\"data\"} 4096",
            "loadline_held_ratio{export=\"data\",by=\"disk-iops\"} 0.75",
            "loadline_state{export=\"data\",loadline_state=\"degraded\"} 1",
            "loadline_state{export=\"data\",loadline_state=\"present\"} 0",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}: {text}");
        }
        // Every number of the status is in a family of its own, and so is how many faults there are; what bound it follows from the
        // shares.
        let told = serde_json::to_value(&view.exports[0]).unwrap();
        let numbers = told.as_object().unwrap().values().filter(|value| value.is_number()).count();
        let alone = text.lines().filter(|line| line.contains("{export=\"data\"} ")).count();
        assert_eq!(alone, numbers + 1, "{text}");
    }
}

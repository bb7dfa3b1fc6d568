//! When the requests of a job come: depth, rate, thought.

use super::super::units::{self, Bare};
use super::super::{Purpose, base};
use super::Job;
use loadline_load::{Arrival, LoadSpec};
use loadline_units::{Duration, Iops, Ratio};

impl Job<'_> {
    pub(super) fn arrival(&mut self, spec: &LoadSpec) -> Arrival {
        let depth = u32::try_from(self.number("iodepth").unwrap_or(1)).unwrap_or(u32::MAX);
        let engine = self.get("ioengine");
        let queue_depth = match engine.map_or("psync", |s| s.value.as_str()) {
            // Through the page cache the kernel answers each of its requests before it takes the next.
            "libaio" if spec.buffered && self.purpose == Purpose::Run => {
                if depth > 1 {
                    self.note(
                        "libaio without direct=1 waits for each request, in fio as here: the depth is 1; write direct=1, or \
                         ioengine=io_uring for several at once through the page cache",
                    );
                }
                1
            }
            "libaio" | "io_uring" | "posixaio" | "windowsaio" | "solarisaio" => depth,
            "null" => {
                self.target = Some("null".to_owned());
                depth
            }
            "mmap" if self.purpose == Purpose::Reported => 1,
            "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => {
                if depth > 1 {
                    self.note("iodepth has no effect with a synchronous ioengine, in fio as here: the depth is 1");
                }
                1
            }
            _ if self.purpose == Purpose::Reported => depth,
            other => {
                let line = engine.map_or(self.section.line, |s| s.line);
                let message = format!(
                    "ioengine={other}: loadline has no such way to a device; write libaio or io_uring, or psync"
                );
                self.problem(line, message);
                depth
            }
        };
        let is_told = engine.is_some_and(|s| s.value == "libaio") && spec.buffered && depth > 1;
        if engine.is_some_and(|s| s.value != "io_uring") && !is_told {
            self.note(
                "ioengine only says whether requests wait for each other; how they get to the device is chosen for the run",
            );
        }
        let think_time = self.time("thinktime", Bare::Microseconds).unwrap_or(Duration::ZERO);
        let poisson = self.value("rate_process", "linear or poisson", |text| match text {
            "linear" => Some(false),
            "poisson" => Some(true),
            _ => None,
        });
        let (rate, offloaded) = (self.rate(spec), self.is_offloaded());
        let queue_depth = self.depth_of_thought(queue_depth, think_time);
        match (rate, poisson) {
            (Some(rate), Some(true)) => {
                if think_time > Duration::ZERO {
                    let line = self.section.settings.get("thinktime").map_or(self.section.line, |setting| setting.line);
                    let message = "thinktime: arrivals of rate_process=poisson come at their time and think of nothing: leave \
                                   one of them out";
                    self.problem(line, message.to_owned());
                }
                self.note(
                    "rate_process=poisson is an open loop here: arrivals do not wait for the depth, and latency counts from \
                     when each was due",
                );
                Arrival::Poisson { rate }
            }
            (Some(rate), _) if offloaded && think_time == Duration::ZERO => {
                self.note(
                    "io_submit_mode=offload with a rate is an open loop here: a request comes every 1/rate, whatever the answers, \
                     and latency counts from when each was due",
                );
                Arrival::Constant { rate }
            }
            (rate_max, _) => Arrival::Closed { queue_depth, rate_max, think_time },
        }
    }

    /// Whether threads of their own submit, so that no request waits for one before it.
    fn is_offloaded(&mut self) -> bool {
        if self.purpose == Purpose::Reported {
            return false;
        }
        self.value("io_submit_mode", "inline or offload", |text| match text {
            "offload" => Some(true),
            "inline" => Some(false),
            _ => None,
        }) == Some(true)
    }

    /// How many are outstanding in a job that thinks: fio waits for all of them before it does.
    fn depth_of_thought(&mut self, queue_depth: u32, think_time: Duration) -> u32 {
        if think_time == Duration::ZERO || queue_depth <= 1 {
            return queue_depth;
        }
        self.note(
            "with thinktime a job of fio waits for its requests and stalls as a whole after each, so that the depth is 1; fio \
             also sends as many as iodepth at once in the beginning, which is left out here",
        );
        1
    }

    /// Requests per second over all clones; fio's is for each of them, and for reads and writes apart.
    fn rate(&mut self, spec: &LoadSpec) -> Option<Iops> {
        let base = base(&self.section.settings);
        let directions = |text: &str| -> Option<[u64; 3]> {
            // Of a direction without a rate none is held back.
            let rate = |part: &str| if part.is_empty() { Some(0) } else { units::integer(part, base) };
            let parts: Vec<u64> = text.split(',').map(rate).collect::<Option<_>>()?;
            match parts.as_slice() {
                [one] => Some([*one; 3]),
                [read, write] => Some([*read, *write, *write]),
                [read, write, trim] => Some([*read, *write, *trim]),
                _ => None,
            }
        };
        let requests = self.value("rate_iops", "a number of requests per second, or READS,WRITES", directions);
        let bytes = self.value("rate", "a number of bytes per second, or READS,WRITES", directions);
        let is_set = |rates: &[u64; 3]| *rates != [0; 3];
        let requests = requests.filter(is_set);
        let (key, rates, unit) = match (bytes.filter(is_set), requests) {
            (None, None) => return None,
            (Some(bytes), None) => ("rate", bytes, spec.block_mean().get().max(1)),
            (None, Some(requests)) => ("rate_iops", requests, 1),
            (Some(_), Some(_)) => {
                self.refuse("rate", "and rate_iops are two rates for one job: leave one of them out");
                return None;
            }
        };
        if key == "rate_iops" && spec.blocks.len() > 1 {
            // It turns the rate into bytes of the smallest block.
            self.refuse(
                key,
                "with bssplit fio counts every request as its number of smallest blocks: write rate instead",
            );
            return None;
        }
        let all = self.rate_of_all(key, rates, spec)?;
        let (clones, unit) = (u128::from(spec.threads), u128::from(unit));
        let per_second = (u128::from(all) * clones + unit / 2) / unit;
        let is_close = (per_second * unit).abs_diff(u128::from(all) * clones) * 100 <= u128::from(all) * clones;
        let rate = u64::try_from(per_second).ok().and_then(Iops::per_second).filter(|_| is_close);
        if rate.is_none() {
            self.refuse(
                key,
                "is no whole number of requests per second, in which loadline holds rates: write a multiple of the block size, or for less \
                 than one a second a thinktime",
            );
        }
        rate
    }

    /// The rate of a clone in its directions together.
    fn rate_of_all(&mut self, key: &'static str, rates: [u64; 3], spec: &LoadSpec) -> Option<u64> {
        let [reads, writes, trims] = rates;
        let one = match (spec.trims, spec.reads) {
            (Ratio::ONE, _) => trims,
            (_, Ratio::ONE) => reads,
            (_, Ratio::ZERO) => writes,
            _ => {
                if (reads == 0) != (writes == 0) {
                    self.refuse(
                        key,
                        "fio holds one direction to it and lets the other run; loadline holds a mix as a whole: write READS,WRITES",
                    );
                    return None;
                }
                let sum = reads.checked_add(writes)?;
                // In whole percent, as fio has its mixes.
                let asked = u128::from(spec.reads.as_ppm()) * u128::from(sum);
                if asked.abs_diff(u128::from(reads) * 1_000_000) > u128::from(sum) * 5_000 {
                    let share = f64::from(spec.reads.as_ppm()) / 1e4;
                    let (of_reads, of_writes) = (spec.reads.of(sum), sum - spec.reads.of(sum));
                    self.refuse(
                        key,
                        &format!(
                            "fio holds reads and writes to it apart, so that {share} % reads do not come of it: write \
                             {key}={of_reads},{of_writes} for that mix, or rwmixread={} for what fio does",
                            (u128::from(reads) * 100 + u128::from(sum) / 2) / u128::from(sum)
                        ),
                    );
                    return None;
                }
                return (sum > 0).then_some(sum);
            }
        };
        // No rate in the direction of the job is no limit.
        (one > 0).then_some(one)
    }
}

//! How requests wait, and what shows that they do.

#![expect(missing_docs, reason = "a field's name says what it is, with its unit; its sentence stands in pure/report")]

use serde::{Deserialize, Serialize};

/// What is seen of requests that wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WaitingFact {
    /// Of so many outstanding the devices had few.
    KeptAbove { outstanding: f64, at_devices: f64, devices: Vec<String> },
    /// Latencies lie in two clusters: what is let through comes in bursts.
    InBursts { median_ns: f64, slow_share: f64, slow_ns: f64 },
    /// Its requests take longer than where fewer are outstanding.
    TakesLonger { takes: TakenTime, fewer_ns: f64 },
    /// Its latencies are mostly waits for a turn.
    WaitsForTurn,
    /// Its rate is steadier than its latencies would make it.
    SteadyRate,
    /// Only this share of the offered load was completed.
    CompletedOnly { share: f64 },
    /// Its requests wait.
    Waits,
    /// Most of its requests are quick, and a few that wait take most of the time.
    FewWait { mean_ns: f64, median_ns: f64 },
    /// Another amount of the load had more, as much as a token bucket saves up.
    MoreForAWhile { amount: String, rate_iops: f64, longest_ns: u64 },
    /// Another amount of the load had more: this is no limit.
    HadMore { amount: String, rate_iops: f64 },
    /// Fewer outstanding had more.
    FewerHadMore { amount: String, other_iops: f64, rate_iops: f64 },
    /// A throttle let this through, and other loads of the run show another limit.
    ThrottleChanged { rate_iops: f64 },
    /// Each write is durable before it is answered, and so many at once are made so.
    DurableEach { takes: TakenTime, fewer_ns: f64, rate_iops: f64, served: f64 },
    /// No more than one at a time makes.
    OneAtATime { takes: TakenTime, fewer_ns: f64, rate_iops: f64 },
    /// What so many served at once make.
    ServedAtOnce { takes: TakenTime, fewer_ns: f64, rate_iops: f64, served: f64 },
    /// The data lay in memory below the device, and nothing counts the requests.
    InMemoryBelow,
}

/// What requests take, from their issue on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TakenTime {
    /// On average.
    pub latency_ns: f64,
    /// The same from when they were due, where that is another.
    pub from_due_ns: Option<f64>,
}

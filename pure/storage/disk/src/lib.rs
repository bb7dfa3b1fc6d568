//! The disk model: the mechanisms of cloud disks, as data and as a state machine under a given clock.
//!
//! [`EnvironmentSpec`] describes the storage; [`Machine`] completes requests on it. A request passes the guest's
//! layout, the host's cache, the virtual machine's budgets, the disk's limits, and service, in this order.

mod burst_credits;
mod cache;
mod check;
mod gate;
mod latency;
mod layout;
mod limit;
mod machine;
mod queue;
mod service;
mod spec;
mod waits;

pub use burst_credits::{BurstCredits, BurstCreditsError};
pub use check::{DISKS_MAX, EnvironmentError, SPAN_MAX};
pub use latency::{NORMAL_P99, normal_quantile};
pub use layout::Location;
pub use limit::WaitTimes;
pub use machine::{Machine, OUTSTANDING_MAX, RequestId, Target};
pub use spec::{
    DeviceQueues, Directions, DiskSpec, Enforcement, EnvironmentSpec, Fullness, Holds, HostCache, HostCacheSpec,
    InitialState, IopsBudget, IopsBurst, Latency, LatencySpec, Layout, Limit, Merge, Parallelism, Place, PoolSpec,
    Spinning, ThroughputBudget, ThroughputBurst, VmSpec, VolumeSpec, Warmth,
};
pub use waits::Waits;

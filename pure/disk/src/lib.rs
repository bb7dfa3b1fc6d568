//! The disk model: mechanisms by which storage answers requests, as data and, under the given clock, as behaviour.

mod spec;

pub use spec::{
    Directions, DiskSpec, Enforcement, EnvironmentSpec, Fullness, HostCache, HostCacheSpec, InitialState, IopsBudget,
    IopsBurst, Latency, LatencySpec, Layout, Limit, Merge, Parallelism, Place, PoolSpec, Spinning, ThroughputBudget,
    ThroughputBurst, VmSpec, VolumeSpec, Warmth,
};

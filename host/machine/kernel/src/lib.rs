//! What the Linux kernel offers to programs, and what it shows of the machine.
//!
//! The engine and the emulator stand on this crate; so can any program that watches mounts, disks or the load of a machine. It
//! knows no load, no target and no command.
//!
//! | module | gives |
//! |---|---|
//! | [`facts`] | block devices, mounts, file systems, the page cache, the machine: read from `/proc` and `/sys` |
//! | [`counters`] | what the kernel counts: disks, processes, pressure, CPU time, quotas |
//! | [`clock`] | clocks of the machine and CPU time of threads |
//! | [`system_calls`] | system calls that std does not offer, as safe functions |
//! | [`raw_call`] | any system call, inlined, without a `ret` after it |
//! | [`scheduling`] | how soon a thread runs where others want its processor |
//! | [`stalls`] | times in which this process did not run |
//! | [`surroundings`] | what happens around a measurement, compared before and after |
//! | [`prefetch`] | memory brought into the processor's caches ahead of use |
//! | [`trace_instance`] | the kernel's events of chosen devices, in a buffer of our own |
//! | [`metadata`] | what the cloud around the machine answers |
//! | [`ublk`] | block devices whose requests this process answers |
//!
//! What is read from `/proc` and `/sys` comes through a [`facts::KernelView`], so that a test hands in a tree of its own.

pub mod clock;
pub mod counters;
pub mod facts;
pub mod metadata;
pub mod prefetch;
pub mod raw_call;
pub mod scheduling;
pub mod stalls;
pub mod surroundings;
pub mod system_calls;
pub mod trace_instance;
pub mod ublk;

//! The engine on real devices, files and servers: trials, refusals, faults, and what is reported against what is known.

mod bad_disks;
mod drive;
mod faults;
mod ground_truth;
mod hangs;
mod loop_devices;
mod loops;
mod nbd;
mod nbd_server;
mod safety;
mod settling;
mod test_files;
mod trials;
mod verification;

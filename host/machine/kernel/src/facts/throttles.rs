//! Rate limits that control groups put on the requests of this process to a device.
//!
//! In groups of the second version (`io.max`) every level above the process counts. In those of the first
//! (`blkio.throttle.*`) only the process's own group does: the kernel takes all groups for siblings there
//! (block/blk-throttle.c, `throtl_pd_init`).

use super::control_groups::{below, control_groups};
use super::devices::{DeviceNumber, KernelView};
use loadline_record::{KernelThrottle, ThrottledQuantity, ThrottledRequests};
use std::fs;
use std::path::Path;

/// The limits of the first version: file, and what it limits.
const FILES: [(&str, ThrottledRequests, ThrottledQuantity); 4] = [
    ("blkio.throttle.read_iops_device", ThrottledRequests::Reads, ThrottledQuantity::Requests),
    ("blkio.throttle.write_iops_device", ThrottledRequests::Writes, ThrottledQuantity::Requests),
    ("blkio.throttle.read_bps_device", ThrottledRequests::Reads, ThrottledQuantity::Bytes),
    ("blkio.throttle.write_bps_device", ThrottledRequests::Writes, ThrottledQuantity::Bytes),
];

/// The limits of the second version: key in `io.max`, and what it limits.
const KEYS: [(&str, ThrottledRequests, ThrottledQuantity); 4] = [
    ("riops", ThrottledRequests::Reads, ThrottledQuantity::Requests),
    ("wiops", ThrottledRequests::Writes, ThrottledQuantity::Requests),
    ("rbps", ThrottledRequests::Reads, ThrottledQuantity::Bytes),
    ("wbps", ThrottledRequests::Writes, ThrottledQuantity::Bytes),
];

/// Every limit of this process's groups on the whole disk `number`, the tightest first of those that count alike.
pub(super) fn throttles(view: &KernelView, number: DeviceNumber) -> Vec<KernelThrottle> {
    let mut found: Vec<KernelThrottle> =
        control_groups(view, "io").iter().flatten().flat_map(|group| of_second(view, group, number)).collect();
    let own = control_groups(view, "blkio").into_iter().filter_map(|levels| levels.into_iter().next());
    found.extend(own.flat_map(|group| of_first(view, &group, number)));
    found.sort_by_key(|limit| limit.per_s);
    found
}

/// Every limit that any control group of this machine puts on the whole disk `number`.
#[must_use]
pub fn throttles_of_every_group(view: &KernelView, number: DeviceNumber) -> Vec<KernelThrottle> {
    let root = |name: &str| view.sys.join("fs/cgroup").join(name);
    let mut found = Vec::new();
    // Of the first version under their own name, of the second at the root or beside the others.
    for group in below(root("blkio")) {
        found.extend(of_first(view, &group, number));
    }
    let unified = if root("cgroup.controllers").exists() { root("") } else { root("unified") };
    for group in below(unified) {
        found.extend(of_second(view, &group, number));
    }
    found.sort_by_key(|limit| limit.per_s);
    found
}

fn of_first(view: &KernelView, group: &Path, number: DeviceNumber) -> Vec<KernelThrottle> {
    let wanted = number.to_string();
    let limit = |(name, requests, counts): &(&str, ThrottledRequests, ThrottledQuantity)| {
        let file = group.join(name);
        let text = fs::read_to_string(&file).ok()?;
        let per_s = text.lines().find_map(|line| line.strip_prefix(&wanted)?.strip_prefix(' ')?.trim().parse().ok())?;
        let lifted_by = format!("{wanted} 0");
        Some(throttle(view, (*requests, *counts, per_s), &file, lifted_by))
    };
    FILES.iter().filter_map(limit).collect()
}

fn of_second(view: &KernelView, group: &Path, number: DeviceNumber) -> Vec<KernelThrottle> {
    let (wanted, file) = (number.to_string(), group.join("io.max"));
    let text = fs::read_to_string(&file).unwrap_or_default();
    let Some(line) = text.lines().find_map(|line| line.strip_prefix(&wanted)?.strip_prefix(' ')) else {
        return Vec::new();
    };
    let limit = |(key, requests, counts): &(&str, ThrottledRequests, ThrottledQuantity)| {
        let value = line.split_whitespace().find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))?;
        let lifted_by = format!("{wanted} {key}=max");
        Some(throttle(view, (*requests, *counts, value.parse().ok()?), &file, lifted_by))
    };
    KEYS.iter().filter_map(limit).collect()
}

fn throttle(
    view: &KernelView,
    (requests, counts, per_s): (ThrottledRequests, ThrottledQuantity, u64),
    file: &Path,
    lifted_by: String,
) -> KernelThrottle {
    let below = |root: &str| Some(file.parent()?.strip_prefix(view.sys.join(root)).ok()?.to_owned());
    let known = ["fs/cgroup/blkio", "fs/cgroup/unified", "fs/cgroup"];
    let group = known.iter().find_map(|root| below(root)).unwrap_or_default();
    let group = format!("/{}", group.display());
    KernelThrottle { requests, counts, per_s, group, file: file.display().to_string(), lifted_by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fake::{self, control_group_file as put};

    #[test]
    fn every_level_counts_in_the_second_version_and_only_the_own_group_in_the_first() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        let number = DeviceNumber { major: 7, minor: 1 };
        fs::write(view.proc.join("self/cgroup"), "7:blkio:/a/b\n0::/system.slice/db.service\n").unwrap();
        assert_eq!(throttles(&view, number), []);

        put(&view, "blkio/a/blkio.throttle.read_iops_device", "7:1 100\n");
        let own = put(&view, "blkio/a/b/blkio.throttle.read_iops_device", "7:10 5\n7:1 3000\n");
        let max = put(
            &view,
            "system.slice/io.max",
            "7:10 rbps=1 wbps=1 riops=1 wiops=1\n7:1 rbps=max wbps=9000 riops=max wiops=120\n",
        );
        fs::create_dir_all(view.sys.join("fs/cgroup/system.slice/db.service")).unwrap();
        let of = |requests, counts, per_s, group: &str, file: &Path, lifted_by: &str| KernelThrottle {
            requests,
            counts,
            per_s,
            group: group.into(),
            file: file.display().to_string(),
            lifted_by: lifted_by.into(),
        };
        let found = throttles(&view, number);
        assert_eq!(
            found,
            [
                of(ThrottledRequests::Writes, ThrottledQuantity::Requests, 120, "/system.slice", &max, "7:1 wiops=max"),
                of(ThrottledRequests::Reads, ThrottledQuantity::Requests, 3_000, "/a/b", &own, "7:1 0"),
                of(ThrottledRequests::Writes, ThrottledQuantity::Bytes, 9_000, "/system.slice", &max, "7:1 wbps=max"),
            ]
        );
    }

    #[test]
    fn limits_of_other_groups_are_found_by_a_walk() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        put(&view, "blkio/a/b/blkio.throttle.write_bps_device", "7:1 9000\n");
        put(&view, "unified/x/y/io.max", "7:1 rbps=max wbps=max riops=77 wiops=max\n");
        let found = throttles_of_every_group(&view, DeviceNumber { major: 7, minor: 1 });
        let seen: Vec<(u64, &str)> = found.iter().map(|limit| (limit.per_s, &*limit.group)).collect();
        assert_eq!(seen, [(77, "/x/y"), (9_000, "/a/b")]);
    }

    #[test]
    fn groups_of_the_second_version_may_be_mounted_beside_those_of_the_first() {
        let root = tempfile::tempdir().unwrap();
        let view = fake::view(root.path());
        fs::write(view.proc.join("self/cgroup"), "7:blkio:/\n0::/x\n").unwrap();
        put(&view, "unified/cgroup.procs", "");
        put(&view, "unified/x/io.max", "8:0 rbps=max wbps=max riops=77 wiops=max\n");
        let found = throttles(&view, DeviceNumber { major: 8, minor: 0 });
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].per_s, &*found[0].group), (77, "/x"));
    }
}

//! A look at all files of a configuration, which ends after a while: sizes and times, no contents.

use crate::durable::now_ns;
use loadline_shelter_policy::config::{DataClass, Group, ShelterConfig};
use loadline_shelter_policy::plan::FoundFiles;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const NS_PER_S: i64 = 1_000_000_000;
/// What `stat` counts blocks in.
const BLOCK: u64 = 512;

/// What lies in each group with contents, in the order of the file; `None` if the disk's folder cannot be read. After `longest` the
/// look ends: what it has seen is a part, and says so.
pub(super) fn survey(config: &ShelterConfig, longest: Duration) -> Option<Vec<FoundFiles>> {
    let disk = Path::new(&config.disk.path);
    let device = fs::metadata(disk).ok().filter(fs::Metadata::is_dir)?.dev();
    let until = Instant::now() + longest;
    let groups: Vec<&Group> = config.groups.iter().filter(|group| group.class != DataClass::Recreate).collect();
    // Without one of the paths nothing is known, unless the disk is in use and the group is empty.
    let is_there = groups.iter().flat_map(|group| &group.paths).any(|path| disk.join(path).exists());
    is_there.then(|| groups.iter().map(|group| of_group(group, disk, device, until)).collect())
}

fn of_group(group: &Group, disk: &Path, device: u64, until: Instant) -> FoundFiles {
    let (mut found, mut linked) = (FoundFiles::default(), BTreeSet::new());
    let mut ahead: Vec<PathBuf> = group.paths.iter().map(|path| disk.join(path)).collect();
    let now = now_ns();
    while let Some(path) = ahead.pop() {
        if Instant::now() >= until {
            found.is_cut_short = true;
            break;
        }
        // What goes meanwhile, or may not be looked at, is no part of the picture.
        let Ok(seen) = fs::symlink_metadata(&path) else { continue };
        if seen.dev() != device {
            continue;
        }
        if seen.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            ahead.extend(entries.map(|entry| entry.path()));
        } else if seen.is_file() {
            let changed = seen.mtime().saturating_mul(NS_PER_S).saturating_add(seen.mtime_nsec());
            let age = u64::try_from(now.saturating_sub(changed)).unwrap_or(0);
            let is_first = seen.nlink() < 2 || linked.insert(seen.ino());
            found.see(seen.len(), if is_first { seen.blocks() * BLOCK } else { 0 }, age);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_seen_and_a_look_ends_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display();
        let text = format!(
            "schema = 1\nname = \"a\"\nstate = \"/var/lib/a\"\n[disk]\npath = \"{root}\"\n\
             [destination]\nfolder = \"/persist\"\n\
             [group.data]\nclass = \"files\"\npaths = [\"data\"]\n[group.t]\nclass = \"recreate\"\npaths = [\"t\"]\n"
        );
        let config = ShelterConfig::parse(&text, "a").unwrap();
        assert_eq!(survey(&config, Duration::from_secs(1)), None, "nothing is there yet");
        fs::create_dir_all(folder.path().join("data/deep")).unwrap();
        fs::write(folder.path().join("data/deep/one"), [0; 100]).unwrap();
        fs::write(folder.path().join("data/two"), [0; 4_000]).unwrap();
        std::os::unix::fs::symlink("two", folder.path().join("data/link")).unwrap();
        fs::hard_link(folder.path().join("data/two"), folder.path().join("data/three")).unwrap();
        fs::File::create(folder.path().join("data/hole")).unwrap().set_len(1 << 30).unwrap();
        fs::write(folder.path().join("elsewhere"), [0; 9]).unwrap();
        let found = survey(&config, Duration::from_secs(10)).unwrap();
        assert_eq!((found.len(), found[0].files(), found[0].bytes()), (1, 4, 8_100 + (1 << 30)));
        assert!(found[0].room() < 100_000, "holes and further names take nothing: {}", found[0].room());
        assert!(!found[0].is_cut_short && found[0].seen_rate().is_some(), "they were written just now");
        assert!(survey(&config, Duration::ZERO).unwrap()[0].is_cut_short);
    }
}

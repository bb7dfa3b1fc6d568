//! What is read again besides saving: what is saved, and files that look unchanged.

use super::world::{GROUPS, World, save, unpaced};
use loadline_shelter_policy::upkeep::ReadShare;
use loadline_shelter_repository::Unpaced;
use std::fs;

const OF: u32 = 5;

fn shares() -> impl Iterator<Item = ReadShare> {
    (0..OF).map(|share| ReadShare { share, of: OF })
}

#[test]
fn a_write_that_changes_no_stamp_is_seen_once_every_share_was_read() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    let reread = |shelter: &mut crate::Shelter| -> Vec<String> {
        let all = shares().flat_map(|share| shelter.reread(share, &unpaced(), &Unpaced).unwrap().changed);
        all.map(|path| path.as_text().to_owned()).collect()
    };
    assert!(reread(&mut shelter).is_empty());
    // The stamp is taken for the one that was saved, as if the write had left it alone.
    fs::write(world.disk("data/file7"), vec![1; 7_000]).unwrap();
    let stamps = shelter.stamps().unwrap();
    for (path, stamp) in stamps {
        shelter.known.insert(path, stamp);
    }
    assert!(save(&mut shelter).is_none(), "by its stamp nothing changed");
    assert_eq!(reread(&mut shelter), ["data/file7"]);
    assert_eq!(save(&mut shelter).unwrap().files, 1);
    assert_eq!(fs::read(world.path("saved/current/data/file7")).unwrap(), vec![1; 7_000]);
    assert!(reread(&mut shelter).is_empty());
}

#[test]
fn every_file_of_a_repository_is_read_again_and_nothing_is_written_for_it() {
    let world = World::with_cheap_repository(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    for share in shares() {
        assert!(shelter.reread(share, &unpaced(), &Unpaced).unwrap().saved.is_none());
    }
    assert_eq!(shelter.generation(), 1);
    // What changed meanwhile is saved on the way.
    fs::write(world.disk("data/file7"), "changed").unwrap();
    let saved = shelter.reread(ReadShare { share: 0, of: OF }, &unpaced(), &Unpaced).unwrap().saved.unwrap();
    assert!(saved.generation == 2 && saved.files >= 1, "{saved:?}");
}

#[test]
fn a_rotten_file_is_found_by_the_share_that_has_it() {
    for world in [World::new(GROUPS), World::with_cheap_repository(GROUPS)] {
        let mut shelter = world.started();
        world.fill();
        save(&mut shelter).unwrap();
        let found = |shelter: &mut crate::Shelter| -> Vec<String> {
            shares().flat_map(|share| shelter.verify_share(share, &Unpaced).unwrap()).collect()
        };
        assert!(found(&mut shelter).is_empty());
        let mut folders = vec![world.path("saved")];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() { folders.push(entry) } else { files.push(entry) }
            }
        }
        // The largest file is one of the data, or a pack.
        let largest = files.into_iter().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
        let mut bytes = fs::read(&largest).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        fs::set_permissions(&largest, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        fs::write(&largest, bytes).unwrap();
        assert!(!found(&mut shelter).is_empty(), "{}", largest.display());
    }
}

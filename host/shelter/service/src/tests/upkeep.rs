//! What is read again besides saving: what is saved, and files that look unchanged.

use super::world::{GROUPS, World, flip, packs, save, unpaced};
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
    let reread = |shelter: &mut crate::Shelter| -> u64 {
        shares().filter_map(|share| shelter.reread(share, &unpaced()).unwrap()).map(|saved| saved.files).sum()
    };
    assert_eq!(reread(&mut shelter), 0);
    // The stamp is taken for the one that was saved, as if the write had left it alone.
    fs::write(world.disk("data/file7"), vec![1; 7_000]).unwrap();
    let stamps = shelter.stamps().unwrap();
    for (path, stamp) in stamps {
        shelter.known.insert(path, stamp);
    }
    assert!(save(&mut shelter).is_none(), "by its stamp nothing changed");
    assert!(reread(&mut shelter) >= 1);
    assert_eq!(world.saved("data/file7").unwrap(), vec![1; 7_000]);
    assert_eq!(reread(&mut shelter), 0);
}

#[test]
fn a_rotten_pack_is_found_by_the_share_that_has_it() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    let found = |shelter: &mut crate::Shelter| -> Vec<String> {
        shares().flat_map(|share| shelter.verify_share(share, &Unpaced).unwrap()).collect()
    };
    assert!(found(&mut shelter).is_empty());
    flip(&packs(&world)[0]);
    assert!(!found(&mut shelter).is_empty());
}

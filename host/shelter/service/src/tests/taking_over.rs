//! An old plain copy that is taken over: with its disk, without it, and with what an unprivileged user put into it.

use super::world::{FolderProbe, GROUPS, World, save, tree, unpaced};
use crate::error::ShelterError;
use crate::shelter::Shelter;
use crate::tree_files::TreeRoot;
use loadline_shelter_policy::config::MARKER_NAME;
use loadline_shelter_policy::manifest::{MANIFEST_SCHEMA, Manifest, ManifestHead};
use loadline_shelter_policy::marker::Marker;
use loadline_shelter_policy::start::StartRefusal;
use loadline_shelter_policy::tree::EntryKind;
use std::fs;
use std::os::unix::fs::symlink;

/// A disk that was saved into a plain copy as generation 3: its marker and the copy are what an earlier version left.
fn world_with_copy() -> World {
    let world = World::without_repository(GROUPS, "");
    let mut shelter = world.started();
    world.fill();
    drop(shelter.release());
    drop(shelter);
    fs::remove_dir_all(world.path("saved")).unwrap();
    let text = fs::read_to_string(world.disk(MARKER_NAME)).unwrap();
    let marker = Marker { generation: 3, begun: 3, repository: String::new(), ..Marker::parse(&text).unwrap() };
    for path in [world.disk(MARKER_NAME), world.path("state/marker")] {
        fs::write(path, marker.to_text()).unwrap();
    }
    let copy = world.path("copy");
    let root = TreeRoot::open(&world.path("disk")).unwrap();
    let walked = root.walk(&["data".to_owned(), "wal".to_owned()]);
    let mut entries = std::collections::BTreeMap::new();
    for (path, seen) in walked.entries {
        let mut entry = seen.entry;
        entry.attributes = root.attributes(&entry).unwrap();
        let place = TreeRoot::open(&world.path("disk")).unwrap().place(&path);
        let current = copy.join("current").join(place.strip_prefix(root.real()).unwrap());
        match &mut entry.kind {
            EntryKind::Folder => fs::create_dir_all(&current).unwrap(),
            EntryKind::File { size, hash } => {
                let bytes = fs::read(&place).unwrap();
                (*size, *hash) = (bytes.len() as u64, blake3::hash(&bytes).to_hex().to_string());
                fs::write(&current, bytes).unwrap();
            }
            EntryKind::Link { .. } => symlink(fs::read_link(&place).unwrap(), &current).unwrap(),
            EntryKind::Pipe => {}
        }
        entries.insert(path, entry);
    }
    let head = ManifestHead { schema: MANIFEST_SCHEMA.into(), source: "test".into(), generation: 3, begun_ns: 5 };
    let text = Manifest { head, entries }.to_text();
    fs::create_dir(copy.join("manifests")).unwrap();
    fs::write(copy.join(format!("manifests/3-{}.jsonl", marker.claim)), &text).unwrap();
    let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
    let head = serde_json::json!({
        "schema": "loadline.shelter-copy/1", "source": "test", "claim": marker.claim, "generation": 3, "manifest": hash,
        "manifests": {"3": format!("3-{}", marker.claim)}, "pinned": [], "bytes": 0
    });
    fs::write(copy.join("shelter.json"), head.to_string()).unwrap();
    world
}

fn taken(world: &World) -> Vec<String> {
    let adopted = world.shelter().take_over(&world.path("copy")).unwrap();
    let saved = adopted.saved.unwrap();
    assert_eq!(saved.generation, 3);
    saved.inexact.keys().map(|path| path.as_text().to_owned()).collect()
}

#[test]
fn a_disk_that_is_there_goes_on_after_its_copy() {
    let world = world_with_copy();
    // It goes on without its destination, and is saved nowhere else.
    assert!(world.started().save(&unpaced()).is_err() && !world.path("saved").exists());
    let before = tree(&world.path("copy"));
    assert!(taken(&world).is_empty());
    assert_eq!(tree(&world.path("copy")), before);
    fs::write(world.disk("data/file3"), "since then").unwrap();
    let mut shelter = world.started();
    assert_eq!(save(&mut shelter).unwrap().generation, 4);
    assert_eq!(world.saved("data/file3").unwrap(), b"since then");
    assert!(shelter.verify().unwrap().is_whole());
    drop(shelter);
    let again = world.shelter().take_over(&world.path("copy"));
    assert!(matches!(again, Err(ShelterError::InUse { .. })), "{again:?}");
}

#[test]
fn a_disk_that_was_lost_is_restored_out_of_its_copy() {
    let world = world_with_copy();
    let (data, wal) = (tree(&world.disk("data")), tree(&world.disk("wal")));
    world.lose_disk();
    world.insert_disk();
    assert!(taken(&world).is_empty());
    world.started();
    assert_eq!((tree(&world.disk("data")), tree(&world.disk("wal"))), (data, wal));
}

#[test]
fn links_and_pipes_in_a_copy_are_not_followed_and_what_is_not_as_it_was_saved_is_named() {
    let world = world_with_copy();
    let secret = world.path("elsewhere");
    fs::create_dir(&secret).unwrap();
    let inside = |name: &str| world.path("copy/current/data").join(name);
    // The same contents behind a link, for a file and for a folder: what is there is right, and not what was saved there.
    fs::copy(inside("file7"), secret.join("file7")).unwrap();
    fs::remove_file(inside("file7")).unwrap();
    symlink(secret.join("file7"), inside("file7")).unwrap();
    fs::rename(inside("deep/er"), secret.join("er")).unwrap();
    symlink(secret.join("er"), inside("deep/er")).unwrap();
    fs::write(inside("file8"), vec![7; 8_000]).unwrap();
    fs::remove_file(inside("file9")).unwrap();
    let pipe = inside("file9");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert_eq!(taken(&world), ["data/deep/er/x", "data/file7", "data/file8", "data/file9"]);
    assert_eq!(world.saved("data/file10").unwrap(), vec![10; 10_000]);
    assert!(world.saved("data/file7").is_none() && world.saved("data/deep/er/x").is_none());
}

#[test]
fn a_copy_that_is_older_than_the_disk_or_of_another_shelter_is_refused() {
    let world = world_with_copy();
    let twin = world.path("state/marker");
    let marker = Marker::parse(&fs::read_to_string(&twin).unwrap()).unwrap();
    fs::write(&twin, Marker { generation: 4, begun: 4, ..marker }.to_text()).unwrap();
    let older = world.shelter().take_over(&world.path("copy"));
    let refusal = StartRefusal::DestinationOlder { disk: 4, destination: 3 };
    assert!(matches!(&older, Err(ShelterError::Refused(found)) if *found == refusal), "{older:?}");
    let mut config = world.config.clone();
    config.name = "other".to_owned();
    let mut other = Shelter::new(config, Box::new(FolderProbe::at(world.root())));
    let refused = other.take_over(&world.path("copy"));
    assert!(matches!(&refused, Err(ShelterError::OtherShelter { name, .. }) if name == "test"), "{refused:?}");
    assert!(!world.path("saved").exists());
}

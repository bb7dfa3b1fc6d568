//! Groups that are promised to be of one moment: if the promise is not kept, the group has its previous generation.

use super::world::{World, save, unpaced};
use crate::databases::LogPositions;
use crate::error::ShelterError;
use crate::saving::{EarlierSave, Picture};
use crate::tree_files::TreeRoot;
use loadline_shelter_policy::config::Moment;
use loadline_units::Duration as Span;
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

const GROUPS: &str = "[group.db]\nclass = \"files\"\npaths = [\"db\"]\n\
                      [group.other]\nclass = \"files\"\npaths = [\"other\"]\n";

fn shell(script: &str) -> Vec<String> {
    ["/bin/sh", "-c", script].map(str::to_owned).to_vec()
}

/// Every file of both groups has this text.
fn write(world: &World, text: &str) {
    for group in ["db", "other"] {
        fs::create_dir_all(world.disk(group)).unwrap();
        for file in 0..3 {
            fs::write(world.disk(&format!("{group}/{file}")), text).unwrap();
        }
    }
}

/// The texts of both groups after a loss.
fn restored(world: &World) -> [String; 2] {
    world.lose_disk();
    world.insert_disk();
    world.started();
    ["db", "other"].map(|group| {
        let mut texts: Vec<String> =
            (0..3).map(|file| fs::read_to_string(world.disk(&format!("{group}/{file}"))).unwrap()).collect();
        texts.dedup();
        texts.join(" and ")
    })
}

#[test]
fn a_group_whose_program_fails_has_its_previous_generation_and_the_others_are_saved() {
    let mut world = World::new(GROUPS);
    let ok = world.path("ok");
    fs::write(&ok, "").unwrap();
    world.config.groups[0].before = Some(shell(&format!("echo the reason >&2; test -e {}", ok.display())));
    let mut shelter = world.started();
    write(&world, "first");
    assert!(save(&mut shelter).unwrap().failed.is_empty());
    write(&world, "second");
    fs::remove_file(&ok).unwrap();
    let report = save(&mut shelter).unwrap();
    let reason = &report.failed["db"];
    assert!(reason.contains("\"before\" failed") && reason.ends_with("the reason"), "{reason}");
    assert_eq!(report.generation, 2);
    assert!(shelter.verify().unwrap().is_whole());
    // Nothing of the other group is left to save: the failure is all there is to say.
    let error = shelter.save(&unpaced()).unwrap_err();
    assert!(matches!(&error, ShelterError::NotOneMoment { group, .. } if group == "db"), "{error}");
    drop(shelter);
    assert_eq!(restored(&world), ["first", "second"]);
    write(&world, "third");
    fs::write(&ok, "").unwrap();
    let mut shelter = world.started();
    assert!(save(&mut shelter).unwrap().failed.is_empty());
    drop(shelter);
    assert_eq!(restored(&world), ["third", "third"]);
}

#[test]
fn a_file_that_changes_while_its_group_is_saved_fails_the_group_before_anything_is_committed() {
    let mut world = World::new(GROUPS);
    world.config.groups[0].before = Some(shell("true"));
    let mut shelter = world.started();
    write(&world, "first");
    save(&mut shelter).unwrap();
    write(&world, "second");
    let root = TreeRoot::open(&world.path("disk")).unwrap();
    for change in ["rewritten", "new", "gone"] {
        let (known, positions) = (shelter.known().clone(), LogPositions::new());
        let earlier = EarlierSave { known: &known, positions: &positions };
        let picture = Picture::take(&root, &world.config, &BTreeMap::new(), &earlier, None).unwrap();
        match change {
            "rewritten" => fs::write(world.disk("db/1"), "longer than it was").unwrap(),
            "new" => fs::write(world.disk("db/new"), "x").unwrap(),
            _ => fs::remove_file(world.disk("db/new")).unwrap(),
        }
        let (claim, known) = (shelter.claim(), &mut known.clone());
        let saved = shelter.copy_mut().unwrap().save(&picture, &claim, known, &unpaced());
        let error = saved.unwrap_err();
        let ShelterError::NotOneMoment { group, reason } = &error else { panic!("{error}") };
        assert!(group == "db" && reason.contains("changed while it was saved"), "{change}: {reason}");
        assert_eq!(shelter.generation(), 1, "{change}");
    }
    // Left alone, it is saved.
    fs::write(world.disk("db/1"), "second").unwrap();
    assert!(save(&mut shelter).unwrap().failed.is_empty());
    drop(shelter);
    assert_eq!(restored(&world), ["second", "second"]);
}

#[test]
fn a_program_that_does_not_end_is_ended_and_what_it_did_is_undone() {
    let mut world = World::new(GROUPS);
    let (begun, undone) = (world.path("begun"), world.path("undone"));
    // What it started must end with it.
    world.config.groups[0].before = Some(shell(&format!("touch {}; sleep 600 & sleep 600", begun.display())));
    world.config.groups[0].after = Some(shell(&format!("touch {}", undone.display())));
    world.config.groups[0].timeout = Span::from_ms(200);
    let mut shelter = world.started();
    write(&world, "first");
    let since = Instant::now();
    let report = save(&mut shelter).unwrap();
    assert!(since.elapsed() < Duration::from_secs(60));
    assert!(report.failed["db"].contains("did not end within 0.2 s"), "{:?}", report.failed);
    assert!(begun.exists() && undone.exists());
}

#[test]
fn a_copy_whose_end_fails_does_not_count() {
    let mut world = World::new(GROUPS);
    world.config.groups[0].moment = Moment::Session(shell("read a; echo ready; read b; exit 1"));
    world.config.groups[1].after = Some(shell("exit 3"));
    let mut shelter = world.started();
    write(&world, "first");
    let error = shelter.save(&unpaced()).unwrap_err();
    assert!(matches!(&error, ShelterError::NotOneMoment { .. }), "{error}");
    assert_eq!(shelter.generation(), 0);
    shelter.config_mut().groups[0].moment = Moment::Session(shell("read a; echo ready; read b; echo done"));
    let report = save(&mut shelter).unwrap();
    assert!(report.failed["other"].contains("\"after\" failed"), "{:?}", report.failed);
    assert_eq!(report.files, 3);
}

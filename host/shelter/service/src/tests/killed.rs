//! The service killed at any moment: nothing acknowledged is lost, nothing torn is restored.

use super::world::{FolderProbe, GROUPS, World, tree};
use crate::service::{ServiceSettings, serve};
use crate::shelter::Shelter;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Names the world's folder to the process that runs the service.
const ROOT: &str = "LOADLINE_SHELTER_TEST_ROOT";
/// Losses in the gate, and with LOADLINE_TEST_LONG.
const KILLS: u64 = 12;
const KILLS_LONG: u64 = 1_000;

/// No test of its own: the other one starts this program again with this name, to be killed.
#[test]
fn service_to_be_killed() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else { return };
    let config = World::config_at(&root, GROUPS, "");
    let mut shelter = Shelter::new(config, Box::new(FolderProbe::at(&root)));
    let ending = serve(&mut shelter, &ServiceSettings::default(), &|| false, &mut |_| {});
    panic!("it ends only when it is killed: {ending:?}");
}

fn start(world: &World) -> Child {
    let test = "tests::killed::service_to_be_killed";
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(ROOT, world.root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_service_killed_at_any_moment_loses_nothing_that_was_acknowledged() {
    let is_long = std::env::var_os("LOADLINE_TEST_LONG").is_some_and(|value| value == "1");
    let world = World::new(GROUPS);
    let mut seed: u64 = 88_172_645_463_325_252;
    let mut draw = |end: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % end
    };
    fs::create_dir_all(world.disk("data")).unwrap();
    let mut shelter = world.shelter();
    shelter.adopt().unwrap();
    drop(shelter);
    let (mut acknowledged, mut restores, mut patience) = (0, 0, 1);
    for round in 1..=(if is_long { KILLS_LONG } else { KILLS }) {
        // A busy machine saves later.
        if acknowledged == 0 && round > 3 {
            patience += 1;
        }
        let mut child = start(&world);
        // Each file holds one number all over: a mix of two versions shows. All files of a round have its number.
        std::thread::sleep(Duration::from_millis(draw(80)));
        for file in 0..20 {
            let path = world.disk(&format!("data/f{file}"));
            // While the service restores, the application is not there yet.
            if path.parent().unwrap().exists() && draw(3) > 0 {
                let next = world.disk(&format!("data/.f{file}"));
                let size = 1 + draw(200_000) as usize;
                let written = fs::write(&next, round.to_string().repeat(size / 8 + 1) + "\n");
                let _ = written.and_then(|()| fs::rename(&next, &path));
            }
        }
        std::thread::sleep(Duration::from_millis(draw(if round % 3 == 0 { 900 } else { 250 }) * patience));
        child.kill().unwrap();
        child.wait().unwrap();
        // Whatever was killed: one whole generation can be read, and no older one than before.
        let check = world.shelter().verify().unwrap();
        assert!(check.generation >= acknowledged, "generation {} of {acknowledged}", check.generation);
        assert!(check.is_whole(), "round {round}: {check:?}");
        acknowledged = check.generation;
        if round % 2 == 0 {
            world.lose_disk();
            world.insert_disk();
            restores += 1;
        }
    }
    world.lose_disk();
    world.insert_disk();
    let mut shelter = world.shelter();
    shelter.restore().unwrap();
    assert!(restores > 0 && acknowledged > 0, "{restores} {acknowledged}");
    for (path, _) in tree(&world.disk("data")) {
        let text = fs::read_to_string(world.disk("data").join(&path)).unwrap();
        let whole = text.trim_end();
        let number: String = whole.chars().take(whole.len().min(4)).collect();
        let is_one =
            (1..=4).any(|length| number.get(..length).is_some_and(|unit| unit.repeat(whole.len() / length) == whole));
        assert!(is_one, "{}: torn", path.display());
    }
}

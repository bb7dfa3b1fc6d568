//! What is refused unless the user says yes.

use crate::Desk;

#[test]
fn memory_is_refused_with_the_disks_of_the_machine() {
    let desk = Desk::new();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: no /dev/shm");
        return;
    };
    let target = memory.path().to_str().unwrap();
    let (_, told) = desk.ends(2, &["quick", target, "--duration", "1 ms", "--size", "4 MiB"]);
    assert!(told.contains("that is memory") && told.contains("--yes"), "{told}");
    assert!(told.contains("disks of this machine") || told.contains("no disk of this machine"), "{told}");
    assert_eq!(std::fs::read_dir(memory.path()).unwrap().count(), 0);
}

//! Stores that may be read but not written: another user's, and those on a read-only file system.

use crate::end_to_end::SMALL;
use crate::{Bench, entries, or_skip, text};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Output;

/// A user without rights of its own: nobody.
const OTHER: u32 = 65_534;
/// Makes a folder read-only for what follows it, and for nobody else.
const READ_ONLY: &str = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";

/// A store with two runs in a folder of this mode, which other users can get to.
fn kept(mode: u32) -> Bench {
    let bench = Bench::new();
    std::fs::set_permissions(bench.folder.path(), Permissions::from_mode(0o755)).unwrap();
    let folder = bench.path("kept");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
    let (plan, store) = (bench.file("small.toml", SMALL), store(&bench));
    for name in ["one", "two"] {
        bench.done(&["run", &plan, "--on", "null", "--trials", "1", "--name", name, "--store", &store]);
    }
    std::fs::set_permissions(&store, Permissions::from_mode(0o644)).unwrap();
    bench
}

fn store(bench: &Bench) -> String {
    bench.path("kept/s.db").display().to_string()
}

/// What another user gets; `None` where nobody can be had.
fn as_other(bench: &Bench, arguments: &[&str]) -> Option<Output> {
    if std::fs::metadata(bench.folder.path()).unwrap().uid() != 0 {
        return None;
    }
    let mut command = bench.command(&[arguments, &["--store", &store(bench)]].concat());
    command.uid(OTHER).gid(OTHER).output().ok()
}

/// What anyone gets where the folder of the store is read-only; `None` where no mount can be made.
fn on_read_only(bench: &Bench, arguments: &[&str]) -> Option<Output> {
    let folder = bench.path("kept").display().to_string();
    let by = |words: &[&str]| {
        let store = store(bench);
        let arguments = [words, &["--store", &store]].concat();
        bench.command_by(&["unshare", "-m", "sh", "-c", READ_ONLY, &folder], &arguments).output().ok()
    };
    by(&["plans"]).filter(|can| can.status.success())?;
    by(arguments)
}

/// Standard output of what must end well.
fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Every verb that only reads gives what it gives the owner, and leaves nothing behind.
fn reads(bench: &Bench, read: impl Fn(&[&str]) -> Option<Output>) -> Option<()> {
    let before = std::fs::read(store(bench)).unwrap();
    for words in [
        &["list"][..],
        &["show", "one"],
        &["show", "last", "--series"],
        &["compare", "one", "two"],
        &["export", "two", "--as", "json"],
    ] {
        let found = done(&read(words)?);
        assert_eq!(found, bench.done(&[words, &["--store", &store(bench)]].concat()), "{words:?}");
        assert_eq!(entries(&bench.path("kept")), ["s.db"], "{words:?}");
    }
    assert!(std::fs::read(store(bench)).unwrap() == before, "the store was changed");
    Some(())
}

/// A command that writes is refused in one sentence.
fn refused(output: &Output, why: &str) {
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains(why) && told.contains("cannot be written; name another with --store"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn a_store_on_a_read_only_file_system_is_read_and_not_written() {
    let bench = kept(0o755);
    let plan = bench.path("small.toml").display().to_string();
    or_skip!(reads(&bench, |words| on_read_only(&bench, words)), "it takes root and mount namespaces");
    for words in [&["rm", "one"][..], &["run", &plan, "--on", "null", "--trials", "1", "--quiet"]] {
        refused(&on_read_only(&bench, words).unwrap(), "is on a read-only file system");
    }
    assert_eq!(entries(&bench.path("kept")), ["s.db"]);
}

#[test]
fn another_users_store_is_read_and_nothing_is_left_in_its_owners_way() {
    for mode in [0o755, 0o777] {
        let bench = kept(mode);
        or_skip!(reads(&bench, |words| as_other(&bench, words)), "it takes root");
        let plan = bench.path("small.toml").display().to_string();
        for words in [&["rm", "one"][..], &["run", &plan, "--on", "null", "--trials", "1", "--quiet"]] {
            refused(&as_other(&bench, words).unwrap(), "belongs to another user");
        }
        assert_eq!(entries(&bench.path("kept")), ["s.db"]);
        bench.done(&["run", &plan, "--on", "null", "--trials", "1", "--store", &store(&bench)]);
    }
}

#[test]
fn a_store_that_its_owner_did_not_close_is_read_with_what_lies_beside_it() {
    let bench = kept(0o755);
    // What a killed process leaves: the files as they are while the store is open.
    let log = store(&bench) + "-wal";
    let held = loadline_store::Store::open(bench.path("kept/s.db").as_ref()).unwrap();
    held.remove(&held.resolve("one").unwrap()).unwrap();
    let listed = done(&or_skip!(as_other(&bench, &["list", "--format", "csv"]), "it takes root"));
    assert!(!listed.contains(",one,") && listed.contains(",two,"), "{listed}");
    std::fs::copy(&log, bench.path("left-wal")).unwrap();
    drop(held);
    assert_eq!(entries(&bench.path("kept")), ["s.db"]);
    std::fs::rename(bench.path("left-wal"), &log).unwrap();
    let output = as_other(&bench, &["list"]).unwrap();
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("s.db-wal"), "{told}");
    assert!(told.contains("copy both files") && told.contains("`loadline list` does"), "{told}");
}

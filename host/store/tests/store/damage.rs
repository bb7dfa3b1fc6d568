//! Damaged bytes and a full file system: found and named, and nothing else is lost.

use crate::made;
use loadline_store::{Filter, PartError, Store, StoreError};
use rusqlite::{Connection, params};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

fn with_runs(path: &Path, ids: &[&str], seconds: u32) {
    let store = Store::open(path).unwrap();
    for id in ids {
        store.begin_run(&made::header(id, "sweep", 0), &[made::cell(0, 2)]).unwrap();
        for number in 0..2 {
            store.finish_trial(id, &made::cell(0, 2).id, &made::trial(number, 0, seconds)).unwrap();
        }
    }
}

/// The bytes of a column's value, whatever its type, and how to put others in their place.
struct Value<'a> {
    connection: &'a Connection,
    table: &'static str,
    column: &'static str,
    row: i64,
}

impl Value<'_> {
    fn bytes(&self) -> Option<Vec<u8>> {
        let Self { table, column, row, .. } = self;
        let sql = format!("SELECT CAST({column} AS BLOB) FROM {table} WHERE rowid = ?");
        self.connection.query_row(&sql, [row], |row| row.get(0)).unwrap()
    }
    fn set(&self, bytes: &[u8], is_text: bool) {
        let Self { table, column, row, .. } = self;
        let value = if is_text { "CAST(? AS TEXT)" } else { "?" };
        let sql = format!("UPDATE {table} SET {column} = {value} WHERE rowid = ?");
        self.connection.execute(&sql, params![bytes, row]).unwrap();
    }
}

#[test]
fn a_flipped_bit_in_a_record_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    with_runs(&path, &["a", "b"], 20);
    let whole = Store::open(&path).unwrap().load("a").unwrap();
    let parts = [
        ("headers", "document", true),
        ("cells", "document", true),
        ("trials", "document", true),
        ("trials", "series", false),
        ("operations", "latency", false),
        ("operations", "operation", true),
    ];
    let connection = Connection::open(&path).unwrap();
    let mut looked_at = 0;
    for (table, column, is_text) in parts {
        let value = Value { connection: &connection, table, column, row: 1 };
        let bytes = value.bytes().unwrap();
        for bit in (0..bytes.len() * 8).step_by((bytes.len() * 8 / 40).max(1)) {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            // The schema itself refuses other words here.
            if column == "operation" {
                continue;
            }
            value.set(&damaged, is_text);
            let store = Store::open(&path).unwrap();
            match store.load("a") {
                Err(error @ StoreError::Unreadable { .. }) => {
                    assert!(error.to_string().contains("of run a in the store"), "{error}");
                }
                // In the mark of the checksum itself.
                Ok(record) => assert!(record == whole, "{table}.{column}, bit {bit}"),
                Err(other) => panic!("{table}.{column}, bit {bit}: {other}"),
            }
            assert!(store.load("b").is_ok());
            looked_at += 1;
        }
        value.set(&bytes, is_text);
    }
    assert!(looked_at > 150, "{looked_at}");
    // Figures in plain columns, and a record that went missing.
    connection.execute("UPDATE operations SET count = count + 1024 WHERE rowid = 1", []).unwrap();
    let error = Store::open(&path).unwrap().load("a").unwrap_err();
    assert!(matches!(error, StoreError::Unreadable { source: PartError::Damaged, .. }), "{error}");
    connection.execute("UPDATE operations SET count = count - 1024 WHERE rowid = 1", []).unwrap();
    assert!(Store::open(&path).unwrap().load("a").unwrap() == whole);
    connection.execute("DELETE FROM operations WHERE rowid = 1", []).unwrap();
    assert!(Store::open(&path).unwrap().load("a").is_err());
    // It can be removed all the same.
    Store::open(&path).unwrap().remove("a").unwrap();
}

/// A small file system in memory, unmounted when dropped.
struct Small(tempfile::TempDir);

impl Small {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2M", "none"]).arg(folder.path()).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }
    /// Leaves no byte free.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.0.path().join("filler")).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_store_on_a_full_file_system_is_read_and_makes_room() {
    let Some(small) = Small::new() else { return println!("skipped: this user may not mount") };
    let path = small.0.path().join("store.db");
    with_runs(&path, &["a", "b"], 5_000);
    small.fill();
    let store = Store::open_to_read(&path).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 2);
    assert_eq!(store.load("a").unwrap().header.id, "a");
    drop(store);
    let store = Store::open(&path).unwrap();
    let error = store.begin_run(&made::header("c", "sweep", 0), &[made::cell(0, 2)]).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    store.remove("a").unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 1);
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load("b").unwrap().cells[0].trials.len(), 2);
    store.begin_run(&made::header("c", "sweep", 0), &[made::cell(0, 2)]).unwrap();
}

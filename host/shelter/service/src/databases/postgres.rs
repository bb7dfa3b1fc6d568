//! A PostgreSQL server that knows of the copy of its files: one `psql` stays open from its start to its end.

use crate::session::lines_of;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// What psql writes behind each answer.
const MARK: &str = "loadline-shelter-mark";
/// The oldest version whose functions are called here: PostgreSQL 15.
const VERSION_MIN: u32 = 150_000;
/// How long psql may take to end.
const END: Duration = Duration::from_secs(2);

/// Files below the data folder that the server makes anew, and what stands in for them.
const LEFT_OUT: &[&str] = &[
    "postmaster.pid",
    "postmaster.opts",
    "backup_label",
    "backup_label.old",
    "tablespace_map",
    "tablespace_map.old",
    "backup_manifest",
    "current_logfiles",
];
/// Folders whose contents the server makes anew.
const EMPTIED: &[&str] =
    &["pg_dynshmem", "pg_notify", "pg_replslot", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"];
/// Where the write-ahead log is.
pub(super) const LOG: &str = "pg_wal";

/// Whether a path below the data folder is not saved.
pub(super) fn is_left_out(inner: &str) -> bool {
    let name = inner.rsplit('/').next().unwrap_or(inner);
    let is_in = |folder: &str| inner.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    LEFT_OUT.contains(&inner)
        || EMPTIED.iter().any(|folder| is_in(folder))
        || inner.starts_with("pg_wal/archive_status/")
        || name == "pg_internal.init"
        || inner.split('/').any(|part| part.starts_with("pgsql_tmp"))
        || name.starts_with(".s.PGSQL.")
}

/// A place in the write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogPosition(u64);

impl LogPosition {
    fn parse(text: &str) -> Option<Self> {
        let (high, low) = text.trim().split_once('/')?;
        let (high, low) = (u64::from_str_radix(high, 16).ok()?, u64::from_str_radix(low, 16).ok()?);
        Some(Self(high << 32 | low))
    }
}

/// The end of a backup.
#[derive(Debug)]
pub(super) struct BackupEnd {
    /// The contents of `backup_label`.
    pub(super) label: String,
    /// Whether there are tablespaces outside.
    pub(super) has_tablespaces: bool,
    /// Names of the first and the last segment of the log that a restored copy needs.
    pub(super) segments: (String, String),
    /// While the server is not beyond this place, nothing was written since.
    pub(super) quiet_until: LogPosition,
}

impl BackupEnd {
    fn parse(answer: &str, segment_bytes: u64) -> Option<Self> {
        let mut parts = answer.splitn(4, '|');
        let (position, last) = (LogPosition::parse(parts.next()?)?, parts.next()?.to_owned());
        let (has_tablespaces, label) = (parts.next()? == "t", parts.next()?.to_owned());
        let first = label.split_once("(file ")?.1.split_once(')')?.0.to_owned();
        // The end of a backup goes on to the next segment, behind whose header the next record will be.
        let quiet_until = LogPosition((position.0 - 1) / segment_bytes * segment_bytes + segment_bytes + 40);
        Some(Self { label, has_tablespaces, segments: (first, last), quiet_until })
    }

    /// Whether these names are all segments that a restored copy needs.
    pub(super) fn has_log(&self, names: &[String], segment_bytes: u64) -> bool {
        let number = |name: &str| -> Option<u64> {
            let (high, low) = (name.get(8..16)?, name.get(16..24)?);
            let (high, low) = (u64::from_str_radix(high, 16).ok()?, u64::from_str_radix(low, 16).ok()?);
            Some(high * ((1 << 32) / segment_bytes) + low)
        };
        let (first, last) = &self.segments;
        let wanted = number(last).zip(number(first)).map(|(last, first)| last + 1 - first);
        wanted == Some(names.len() as u64) && names.contains(first) && names.contains(last)
    }

    /// Whether a file of the log is one of them.
    pub(super) fn needs(&self, name: &str) -> bool {
        let (first, last) = &self.segments;
        name.len() == 24 && name >= first.as_str() && name <= last.as_str()
    }
}

/// A connection to the server. When it ends, whatever was begun ends with it.
pub(super) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Receiver<String>,
    timeout: Duration,
    segment_bytes: u64,
}

impl Server {
    /// Connects. `user` is the owner of the data folder, by whom the server may recognise us.
    pub(super) fn connect(connection: &str, user: Option<(u32, u32)>, timeout: Duration) -> Result<Self, String> {
        let mut command = Command::new("psql");
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", connection]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir("/");
        if let Some((uid, gid)) = user {
            command.uid(uid).gid(gid).env_remove("HOME");
        }
        let mut child = command.spawn().map_err(|error| format!("psql does not start: {error}"))?;
        let (lines, errors) = (lines_of(child.stdout.take()), lines_of(child.stderr.take()));
        let input = child.stdin.take();
        let mut server = Self { child, input, lines, errors, timeout, segment_bytes: 0 };
        let version = server.ask("show server_version_num;")?;
        if version.parse::<u32>().unwrap_or(0) < VERSION_MIN {
            return Err(format!("PostgreSQL {version} is too old: 15 is the oldest that is understood"));
        }
        let bytes = server.ask("select setting from pg_settings where name = 'wal_segment_size';")?;
        server.segment_bytes = bytes.parse().map_err(|_| format!("it has segments of {bytes:?} bytes"))?;
        Ok(server)
    }

    pub(super) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Whether the server works on this data folder: by the number that `pg_control` begins with.
    pub(super) fn works_on(&mut self, control: [u8; 8]) -> Result<(), String> {
        let served = self.ask("select system_identifier from pg_control_system();")?;
        let found = u64::from_le_bytes(control).to_string();
        if served == found {
            return Ok(());
        }
        Err(format!("the server works on another data folder: its identifier is {served}, that of the group {found}"))
    }

    /// Where the log ends now.
    pub(super) fn position(&mut self) -> Result<LogPosition, String> {
        let answer = self.ask("select pg_current_wal_insert_lsn();")?;
        LogPosition::parse(&answer).ok_or_else(|| format!("{answer:?} is no place in the log"))
    }

    /// Begins a backup. The log is kept until the connection ends.
    pub(super) fn begin_backup(&mut self) -> Result<(), String> {
        let slot = "select pg_create_physical_replication_slot('loadline_shelter_' || pg_backend_pid(), true, true);";
        self.ask(slot)?;
        self.ask("select pg_backup_start('loadline shelter', true);").map(drop)
    }

    /// Ends the backup.
    pub(super) fn end_backup(&mut self) -> Result<BackupEnd, String> {
        let answer = self.ask(
            "select lsn, pg_walfile_name(lsn), coalesce(spcmapfile, '') <> '', labelfile from pg_backup_stop(false);",
        )?;
        BackupEnd::parse(&answer, self.segment_bytes).ok_or_else(|| format!("its backup ended with {answer:?}"))
    }

    /// The answer to a statement.
    fn ask(&mut self, statement: &str) -> Result<String, String> {
        let sent =
            self.input.as_mut().map(|input| writeln!(input, "{statement}\n\\echo {MARK}").and_then(|()| input.flush()));
        let end = Instant::now() + self.timeout;
        let mut answer = Vec::new();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line == MARK => return Ok(answer.join("\n")),
                Ok(line) => answer.push(line),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("PostgreSQL did not answer within {:.1} s", self.timeout.as_secs_f64()));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let said: Vec<String> = self.errors.iter().filter(|line| !line.trim().is_empty()).collect();
                    let said = said.first().map_or("psql ended", String::as_str);
                    return Err(format!("psql: {}", if sent.is_some() { said } else { "it is not connected" }));
                }
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.input = None;
        let end = Instant::now() + END;
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a server has the data folder open.
pub(super) fn is_served(data: &Path) -> bool {
    data.join("postmaster.pid").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_makes_anew_is_left_out_and_nothing_else() {
        for inner in
            ["postmaster.pid", "pg_replslot/a/state", "base/5/pg_internal.init", "base/pgsql_tmp/x", "backup_label"]
        {
            assert!(is_left_out(inner), "{inner}");
        }
        for inner in ["pg_replslot", "base/5/backup_label", "pg_wal/000000010000000000000001", "global/pg_control"] {
            assert!(!is_left_out(inner), "{inner}");
        }
    }

    #[test]
    fn a_backup_says_which_segments_it_needs() {
        let label = "START WAL LOCATION: 0/FE000028 (file 0000000100000000000000FE)\nLABEL: x\n";
        let end = BackupEnd::parse(&format!("1/138|000000010000000100000000|f|{label}"), 16 << 20).unwrap();
        assert_eq!((end.label.as_str(), end.has_tablespaces), (label, false));
        assert_eq!(end.quiet_until, LogPosition::parse("1/1000028").unwrap());
        let names =
            ["0000000100000000000000FE", "0000000100000000000000FF", "000000010000000100000000"].map(str::to_owned);
        assert!(end.has_log(&names, 16 << 20) && !end.has_log(&names[..2], 16 << 20));
        assert!(names.iter().all(|name| end.needs(name)) && !end.needs("000000010000000100000001"));
        assert!(BackupEnd::parse("nonsense", 16 << 20).is_none());
    }
}

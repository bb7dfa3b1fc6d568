//! Keys that clients and server share in advance (TLS-PSK), as GnuTLS's `psktool` writes them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The file in a folder of keys, as QEMU names it.
const IN_FOLDER: &str = "keys.psk";
/// Bytes of a file of keys at most.
pub const KEYS_FILE_MAX: u64 = 1 << 20;
/// Bytes of a user's name at most, which every OpenSSL takes.
pub const USER_MAX: usize = 128;
/// Bytes of a key at most, which every OpenSSL takes.
pub const KEY_MAX: usize = 256;

/// The users who may come in, each with a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    path: PathBuf,
    readable_by_others: bool,
    users: BTreeMap<Vec<u8>, Key>,
}

#[derive(Clone, PartialEq, Eq)]
struct Key {
    line: usize,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys are for nobody's eyes.
        f.debug_struct("Keys").field("path", &self.path).field("users", &self.users.len()).finish_non_exhaustive()
    }
}

/// Why keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The system's answer.
    #[error("cannot read the keys in {path}: {error}")]
    System {
        /// The file.
        path: String,
        /// The answer.
        error: io::Error,
    },
    /// It is longer than [`KEYS_FILE_MAX`].
    #[error("{0} is longer than 1 MiB; a file of keys has a line for each user")]
    TooLong(String),
    /// A line is none of the form.
    #[error("{path}, line {line}: {problem}")]
    Line {
        /// The file.
        path: String,
        /// Its line, the first being 1.
        line: usize,
        /// What is wrong.
        problem: LineProblem,
    },
    /// It has no lines.
    #[error("{0} has no keys; `psktool -u USER -p FILE` makes one")]
    Empty(String),
}

/// What is wrong with a line of a file of keys.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    /// No colon.
    #[error("no colon; write USER:KEY, the key in hexadecimal, as psktool does")]
    NoColon,
    /// Nothing before the colon.
    #[error("no user before the colon; write USER:KEY, the key in hexadecimal")]
    NoUser,
    /// `#` and something else than hexadecimal digits.
    #[error("what follows the # is not hexadecimal: a user that begins so is written in hexadecimal")]
    UserNotHexadecimal,
    /// The user is longer than [`USER_MAX`].
    #[error("the user's name is longer than {USER_MAX} bytes")]
    UserTooLong,
    /// TLS libraries take the name to end there.
    #[error("the user's name has a zero byte")]
    UserWithZero,
    /// The user has a line already.
    #[error("this user has a key in line {0} already; leave one of them")]
    Twice(usize),
    /// Nothing after the colon.
    #[error("no key after the colon; `psktool -u USER -p FILE` makes one")]
    NoKey,
    /// The key is no even number of hexadecimal digits.
    #[error("the key is not hexadecimal: two digits for each byte, 0 to 9 and a to f")]
    KeyNotHexadecimal,
    /// The key is longer than [`KEY_MAX`].
    #[error("the key is longer than {KEY_MAX} bytes")]
    KeyTooLong,
}

impl Keys {
    /// Reads a file of keys, or the `keys.psk` of a folder.
    ///
    /// # Errors
    /// Files that cannot be read, are too long, have a line that is none of the form, or have no keys.
    pub fn read(path: &Path) -> Result<Self, KeysError> {
        let path = if path.is_dir() { path.join(IN_FOLDER) } else { path.to_owned() };
        let named = || path.display().to_string();
        let failed = |error| KeysError::System { path: named(), error };
        let file = File::open(&path).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.permissions().mode();
        let mut bytes = Vec::new();
        file.take(KEYS_FILE_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > KEYS_FILE_MAX {
            return Err(KeysError::TooLong(named()));
        }
        Ok(Self { readable_by_others: mode & 0o077 != 0, ..Self::parse(&bytes, &path)? })
    }

    /// Reads the lines of a file of keys: `USER:KEY`, the key in hexadecimal. A user that begins with `#` is in hexadecimal too.
    /// Lines without a character are passed over. `path` is the file's, for errors and to tell it again.
    ///
    /// # Errors
    /// A line that is none of the form, or no keys.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, KeysError> {
        let mut users = BTreeMap::new();
        for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            let text = text.trim_ascii_end();
            if text.is_empty() {
                continue;
            }
            let failed = |problem| KeysError::Line { path: path.display().to_string(), line, problem };
            let (user, bytes) = user_and_key(text).map_err(failed)?;
            if let Some(Key { line: before, .. }) = users.get(&user) {
                return Err(failed(LineProblem::Twice(*before)));
            }
            users.insert(user, Key { line, bytes });
        }
        if users.is_empty() {
            return Err(KeysError::Empty(path.display().to_string()));
        }
        Ok(Self { path: path.to_owned(), readable_by_others: false, users })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether others than the file's owner may read or change it, by its mode.
    #[must_use]
    pub fn readable_by_others(&self) -> bool {
        self.readable_by_others
    }

    /// The users, in the order of their lines.
    #[must_use]
    pub fn users(&self) -> Vec<&[u8]> {
        let mut users: Vec<_> = self.users.iter().collect();
        users.sort_unstable_by_key(|(_, key)| key.line);
        users.into_iter().map(|(user, _)| user.as_slice()).collect()
    }

    /// The key of a user, if it is known. It has at least one byte.
    #[must_use]
    pub fn key_of(&self, user: &[u8]) -> Option<&[u8]> {
        self.users.get(user).map(|key| key.bytes.as_slice())
    }
}

fn user_and_key(line: &[u8]) -> Result<(Vec<u8>, Vec<u8>), LineProblem> {
    let colon = line.iter().position(|byte| *byte == b':').ok_or(LineProblem::NoColon)?;
    let (user, key) = (&line[..colon], &line[colon + 1..]);
    let user = match user {
        [b'#', digits @ ..] => hexadecimal(digits).ok_or(LineProblem::UserNotHexadecimal)?,
        user => user.to_vec(),
    };
    if user.is_empty() {
        return Err(LineProblem::NoUser);
    }
    if user.len() > USER_MAX {
        return Err(LineProblem::UserTooLong);
    }
    if user.contains(&0) {
        return Err(LineProblem::UserWithZero);
    }
    let key = hexadecimal(key).ok_or(LineProblem::KeyNotHexadecimal)?;
    match key.len() {
        0 => Err(LineProblem::NoKey),
        1..=KEY_MAX => Ok((user, key)),
        _ => Err(LineProblem::KeyTooLong),
    }
}

/// Bytes out of pairs of digits.
fn hexadecimal(digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    rest.is_empty().then(|| bytes.collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(bytes: &[u8]) -> Result<Keys, KeysError> {
        Keys::parse(bytes, Path::new("keys.psk"))
    }

    fn problem(bytes: &[u8]) -> (usize, LineProblem) {
        match parse(bytes).unwrap_err() {
            KeysError::Line { line, problem, .. } => (line, problem),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn users_keep_the_order_of_their_lines_and_have_their_keys() {
        let keys = parse(b"zoe:00ffA0\r\n\nal ice:0102\n#6a3a23:7f").unwrap();
        assert_eq!(keys.users(), [&b"zoe"[..], b"al ice", b"j:#"]);
        assert_eq!(keys.key_of(b"zoe"), Some(&[0, 0xff, 0xa0][..]));
        assert_eq!(keys.key_of(b"j:#"), Some(&[0x7f][..]));
        assert_eq!((keys.key_of(b"zo"), keys.key_of(b"zoe2"), keys.key_of(b"")), (None, None, None));
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told_with_its_number_and_without_its_key() {
        let long = |user: usize, key: usize| format!("{}:{}", "u".repeat(user), "ab".repeat(key)).into_bytes();
        for (bytes, expected) in [
            (&b"alice"[..], (1, LineProblem::NoColon)),
            (b"a:01\n\n\xff\xfe", (3, LineProblem::NoColon)),
            (b":0102", (1, LineProblem::NoUser)),
            (b"#:0102", (1, LineProblem::NoUser)),
            (b"# a comment: no", (1, LineProblem::UserNotHexadecimal)),
            (b"#616:01", (1, LineProblem::UserNotHexadecimal)),
            (b"a\0b:01", (1, LineProblem::UserWithZero)),
            (b"#6100:01", (1, LineProblem::UserWithZero)),
            (b"a:", (1, LineProblem::NoKey)),
            (b"a:123", (1, LineProblem::KeyNotHexadecimal)),
            (b"a:0x12", (1, LineProblem::KeyNotHexadecimal)),
            (b"a: 12", (1, LineProblem::KeyNotHexadecimal)),
            (b"a:12:34", (1, LineProblem::KeyNotHexadecimal)),
            (b"a:12\nb:34\na:56", (3, LineProblem::Twice(1))),
            (b"a:12\n#61:12", (2, LineProblem::Twice(1))),
            (&long(USER_MAX + 1, 1), (1, LineProblem::UserTooLong)),
            (&long(1, KEY_MAX + 1), (1, LineProblem::KeyTooLong)),
        ] {
            assert_eq!(problem(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
        assert!(parse(&long(USER_MAX, KEY_MAX)).is_ok());
        assert!(matches!(parse(b"\n \r\n"), Err(KeysError::Empty(_))));
        let told = parse(b"alice:5ec4e7zz").unwrap_err().to_string();
        assert!(told.contains("keys.psk, line 1") && !told.contains("5ec4e7"), "{told}");
        assert!(!format!("{:?}", parse(b"alice:5ec4e7").unwrap()).contains("94"));
    }

    #[test]
    fn a_file_is_read_by_its_name_or_in_its_folder_and_its_mode_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(IN_FOLDER);
        assert!(matches!(Keys::read(folder.path()), Err(KeysError::System { .. })));
        std::fs::write(&path, "alice:0102\n").unwrap();
        for (mode, open) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true), (0o622, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            for given in [folder.path(), &path] {
                let keys = Keys::read(given).unwrap();
                assert_eq!((keys.path(), keys.readable_by_others()), (path.as_path(), open), "{mode:o}");
            }
        }
        std::fs::write(&path, vec![b'\n'; KEYS_FILE_MAX as usize + 1]).unwrap();
        assert!(matches!(Keys::read(&path), Err(KeysError::TooLong(_))));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(users in prop::collection::btree_map(
            prop::collection::vec(1u8.., 1..=USER_MAX), prop::collection::vec(any::<u8>(), 1..=KEY_MAX), 1..5)) {
            use std::fmt::Write;
            let hexadecimal = |bytes: &[u8]| bytes.iter().fold(String::new(), |mut text, byte| {
                write!(text, "{byte:02x}").unwrap();
                text
            });
            let lines = users.iter().map(|(user, key)| format!("#{}:{}\n", hexadecimal(user), hexadecimal(key)));
            let keys = parse(lines.collect::<String>().as_bytes()).unwrap();
            prop_assert_eq!(keys.users().len(), users.len());
            for (user, key) in &users {
                prop_assert_eq!(keys.key_of(user), Some(key.as_slice()));
            }
        }
    }
}

//! The plainest client of an emulated disk.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A mirror of two disks, and a log that is slow.
pub(crate) const PAIR: &str = r#"
schema = 1
name = "pair"
[volume.data]
layout = { mirror = 2 }
[[volume.data.disks]]
size = "1 GiB"
count = 2
[volume.data.disks.limit]
iops = "5000 IOPS"
[volume.log]
[[volume.log.disks]]
size = "64 MiB"
[volume.log.disks.limit]
iops = "100 IOPS"
"#;

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const TRIM: u16 = 4;

/// On the first volume, the oldest way.
pub(crate) fn connected(socket: &Path) -> UnixStream {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(120))).unwrap();
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    let hello = [&3_u32.to_be_bytes()[..], b"IHAVEOPT", &1_u32.to_be_bytes(), &0_u32.to_be_bytes()].concat();
    stream.write_all(&hello).unwrap();
    stream.read_exact(&mut [0; 10]).unwrap();
    stream
}

/// The head of a request: its kind, where, and how long.
pub(crate) fn head(kind: u16, offset: u64, length: u32) -> Vec<u8> {
    let fields = [&[0; 8][..], &offset.to_be_bytes(), &length.to_be_bytes()].concat();
    [&0x2560_9513_u32.to_be_bytes()[..], &[0, 0], &kind.to_be_bytes(), &fields].concat()
}

/// Asks one request after the other; gives their errors.
pub(crate) fn ask(socket: &Path, requests: &[(u16, u64, u32)]) -> Vec<u32> {
    let mut stream = connected(socket);
    let mut errors = Vec::new();
    for &(kind, offset, length) in requests {
        stream.write_all(&head(kind, offset, length)).unwrap();
        if kind == WRITE {
            stream.write_all(&vec![1; length as usize]).unwrap();
        }
        let mut reply = [0; 16];
        stream.read_exact(&mut reply).unwrap();
        let error = u32::from_be_bytes(reply[4..8].try_into().unwrap());
        if kind == READ && error == 0 {
            stream.read_exact(&mut vec![0; length as usize]).unwrap();
        }
        errors.push(error);
    }
    errors
}

/// Requests of 512 B at the beginning; gives their errors.
pub(crate) fn requests(socket: &Path, kinds: &[u16]) -> Vec<u32> {
    ask(socket, &kinds.iter().map(|kind| (*kind, 0, 512)).collect::<Vec<_>>())
}

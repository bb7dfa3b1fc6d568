//! An NBD server for tests, of a few MiB of memory, which fails as it is told to.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Transmission flags.
pub(crate) const READ_ONLY: u16 = 1 << 1;
pub(crate) const FLUSH: u16 = 1 << 2;
pub(crate) const FUA: u16 = 1 << 3;
pub(crate) const TRIM: u16 = 1 << 5;
pub(crate) const MULTI: u16 = 1 << 8;
/// The number of the command that writes.
pub(crate) const WRITE: usize = 1;

/// What it is like, for as long as it lives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behaviour {
    pub(crate) size: usize,
    pub(crate) flags: u16,
    /// The least and the longest request, if it tells them.
    pub(crate) blocks: Option<(u32, u32)>,
    /// Replies leave in pieces of a few bytes.
    pub(crate) chopped: bool,
    /// Clients that it takes in its life.
    pub(crate) clients: u32,
    /// More of them wait, where they are refused otherwise.
    pub(crate) queues: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        let flags = FLUSH | FUA | TRIM | MULTI;
        Self { size: 16 << 20, flags, blocks: None, chopped: false, clients: u32::MAX, queues: false }
    }
}

/// What it did, and how it is to fail.
#[derive(Debug)]
pub(crate) struct State {
    behaviour: Behaviour,
    memory: Mutex<Vec<u8>>,
    /// Requests by the number of their command.
    counts: [AtomicU64; 8],
    durable_writes: AtomicU64,
    shrunk: AtomicBool,
    /// Clients so far.
    pub(crate) clients: AtomicU32,
    /// The error that it answers reads and writes with; 0 for none.
    pub(crate) fails: AtomicU32,
    /// It answers nothing.
    pub(crate) mute: AtomicBool,
    /// Requests after which it closes the connection, in the middle of a reply.
    pub(crate) leaves_after: AtomicU64,
    /// In place of closing it, it sends what is no reply.
    pub(crate) nonsense: AtomicBool,
}

/// Serves until it is dropped.
pub(crate) struct Server {
    state: Arc<State>,
    folder: tempfile::TempDir,
}

impl std::ops::Deref for Server {
    type Target = State;
    fn deref(&self) -> &State {
        &self.state
    }
}

impl Server {
    pub(crate) fn new(behaviour: Behaviour) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("x.sock")).unwrap();
        let state = Arc::new(State {
            behaviour,
            memory: Mutex::new(vec![0; behaviour.size]),
            counts: [const { AtomicU64::new(0) }; 8],
            durable_writes: AtomicU64::new(0),
            shrunk: AtomicBool::new(false),
            clients: AtomicU32::new(0),
            fails: AtomicU32::new(0),
            mute: AtomicBool::new(false),
            leaves_after: AtomicU64::new(u64::MAX),
            nonsense: AtomicBool::new(false),
        });
        let served = Arc::clone(&state);
        std::thread::spawn(move || {
            for _ in 0..behaviour.clients {
                let Ok((stream, _)) = listener.accept() else { return };
                served.clients.fetch_add(1, Ordering::Relaxed);
                let state = Arc::clone(&served);
                std::thread::spawn(move || state.serve(stream));
            }
            if behaviour.queues {
                loop {
                    std::thread::park();
                }
            }
        });
        Self { state, folder }
    }
    pub(crate) fn uri(&self) -> String {
        format!("nbd+unix:///data?socket={}", self.folder.path().join("x.sock").display())
    }
    /// Waits for what must come soon.
    pub(crate) fn wait_for(&self, so: impl Fn(&State) -> bool) {
        let begun = Instant::now();
        while !so(&self.state) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", self.counts());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A request, with what it writes.
struct Asked {
    command: u16,
    cookie: [u8; 8],
    offset: usize,
    length: usize,
    data: Vec<u8>,
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[..4].try_into().unwrap())
}

impl State {
    pub(crate) fn memory(&self) -> MutexGuard<'_, Vec<u8>> {
        self.memory.lock().unwrap()
    }
    pub(crate) fn counts(&self) -> [u64; 8] {
        self.counts.each_ref().map(|count| count.load(Ordering::Relaxed))
    }
    pub(crate) fn durable_writes(&self) -> u64 {
        self.durable_writes.load(Ordering::Relaxed)
    }
    /// Whoever connects from now on finds half of it.
    pub(crate) fn shrink(&self) {
        self.shrunk.store(true, Ordering::Relaxed);
    }

    fn serve(self: Arc<Self>, mut stream: UnixStream) {
        if !matches!(self.negotiate(&mut stream), Ok(true)) {
            return;
        }
        let (asked, answers) = channel();
        let (writer, state) = (stream.try_clone().unwrap(), Arc::clone(&self));
        let answering = std::thread::spawn(move || state.answer(writer, &answers));
        while let Ok(request) = self.hear(&mut stream) {
            if request.command == 2 || asked.send(request).is_err() {
                break;
            }
        }
        drop(asked);
        let _ = answering.join();
    }

    /// Whether an export was chosen.
    fn negotiate(&self, stream: &mut UnixStream) -> io::Result<bool> {
        stream.write_all(b"NBDMAGICIHAVEOPT\0\x03")?;
        let mut flags = [0; 4];
        stream.read_exact(&mut flags)?;
        assert_eq!(flags, [0, 0, 0, 3]);
        loop {
            let mut header = [0; 16];
            stream.read_exact(&mut header)?;
            assert_eq!(&header[..8], b"IHAVEOPT");
            let option = word(&header[8..]);
            let mut data = vec![0; word(&header[12..]) as usize];
            stream.read_exact(&mut data)?;
            let mut say = |kind: u32, data: &[u8]| {
                let mut bytes = 0x0003_e889_0455_65a9_u64.to_be_bytes().to_vec();
                for word in [option, kind, data.len() as u32] {
                    bytes.extend(word.to_be_bytes());
                }
                stream.write_all(&[&bytes, data].concat())
            };
            match option {
                7 if data.get(4..8) != Some(b"data") || word(&data) != 4 => say((1 << 31) + 6, &[])?,
                7 => {
                    let size = self.behaviour.size as u64 >> u32::from(self.shrunk.load(Ordering::Relaxed));
                    let flags = (self.behaviour.flags | 1).to_be_bytes();
                    say(3, &[[0, 0].as_slice(), &size.to_be_bytes(), &flags].concat())?;
                    if let Some((least, most)) = self.behaviour.blocks {
                        let sizes = [least, least, most].map(u32::to_be_bytes).concat();
                        say(3, &[[0, 3].as_slice(), &sizes].concat())?;
                    }
                    say(1, &[])?;
                    return Ok(true);
                }
                3 => {
                    say(2, b"\0\0\0\x04data")?;
                    say(1, &[])?;
                }
                _ => return Ok(false),
            }
        }
    }

    fn hear(&self, stream: &mut UnixStream) -> io::Result<Asked> {
        let mut header = [0; 28];
        stream.read_exact(&mut header)?;
        assert_eq!(word(&header), 0x2560_9513);
        let (flags, command) = (header[5], u16::from_be_bytes([header[6], header[7]]));
        let offset = usize::try_from(u64::from_be_bytes(header[16..24].try_into().unwrap())).unwrap();
        let length = word(&header[24..]) as usize;
        let (least, most) = self.behaviour.blocks.unwrap_or((1, 32 << 20));
        assert!(offset + length <= self.behaviour.size && length <= most as usize, "{command} {offset} {length}");
        assert!(offset.is_multiple_of(least as usize) && length.is_multiple_of(least as usize), "{offset} {length}");
        let mut data = vec![0; if command == 1 { length } else { 0 }];
        stream.read_exact(&mut data)?;
        self.counts[usize::from(command)].fetch_add(1, Ordering::Relaxed);
        if flags & 1 != 0 {
            self.durable_writes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Asked { command, cookie: header[8..16].try_into().unwrap(), offset, length, data })
    }

    /// Answers what has come together in the other order.
    fn answer(&self, mut stream: UnixStream, asked: &Receiver<Asked>) {
        while let Ok(first) = asked.recv() {
            let mut together: Vec<Asked> = std::iter::once(first).chain(asked.try_iter().take(5)).collect();
            together.reverse();
            for request in together {
                if self.mute.load(Ordering::Relaxed) {
                    continue;
                }
                let less = |left: u64| if left == u64::MAX { Some(left) } else { left.checked_sub(1) };
                let leaves = self.leaves_after.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err();
                let reply = self.carry_out(&request);
                if leaves {
                    let last = if self.nonsense.load(Ordering::Relaxed) { vec![7; 64] } else { reply[..10].to_vec() };
                    let _ = stream.write_all(&last);
                    let _ = stream.shutdown(std::net::Shutdown::Both);
                    return;
                }
                let (first, each) = if self.behaviour.chopped {
                    (request.offset / 512 % 40, 997 + request.offset / 512 % 5000)
                } else {
                    (reply.len(), usize::MAX)
                };
                let (first, rest) = reply.split_at(first.min(reply.len()));
                for piece in [first].into_iter().chain(rest.chunks(each.min(rest.len().max(1)))) {
                    if stream.write_all(piece).is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// The reply, with what was read.
    fn carry_out(&self, request: &Asked) -> Vec<u8> {
        let range = request.offset..request.offset + request.length;
        let error = if request.command <= 1 { self.fails.load(Ordering::Relaxed) } else { 0 };
        let mut reply = [0x6744_6698_u32.to_be_bytes(), error.to_be_bytes()].concat();
        reply.extend(request.cookie);
        let mut memory = self.memory();
        match request.command {
            _ if error != 0 => {}
            0 => reply.extend(&memory[range]),
            1 => memory[range].copy_from_slice(&request.data),
            4 => memory[range].fill(0),
            _ => {}
        }
        reply
    }
}

//! A client with requests outstanding on one connection: as cheap as possible, so that the server's cost shows.

use anyhow::{Result, bail, ensure};
use std::io::{IoSlice, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The repeated request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) writes: bool,
    pub(crate) length: u32,
    pub(crate) depth: u32,
}

/// The range of requests, in bytes from the beginning.
pub(crate) const SPAN: u64 = 1 << 30;

/// Requests answered in a second, at random places.
pub(crate) fn rate(socket: &Path, load: Load, time: Duration) -> Result<f64> {
    let blocks = SPAN / u64::from(load.length);
    let mut state = 88_172_645_463_325_252_u64;
    let any = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % blocks
    };
    let begun = Instant::now();
    drive(socket, load, any, |_| begun.elapsed() >= time)
}

/// Writes everything that requests may touch, once, from the beginning on.
pub(crate) fn fill(socket: &Path) -> Result<()> {
    let load = Load { writes: true, length: 256 << 10, depth: 8 };
    let blocks = SPAN / u64::from(load.length);
    let mut next = 0..;
    drive(socket, load, || next.next().unwrap_or(0) % blocks, |answered| answered >= blocks)?;
    Ok(())
}

/// Requests one block after the other, as `block` numbers them, until `enough` returns true after so many answers.
/// Returns the answers per second.
fn drive(socket: &Path, load: Load, mut block: impl FnMut() -> u64, enough: impl Fn(u64) -> bool) -> Result<f64> {
    let mut stream = UnixStream::connect(socket)?;
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting)?;
    ensure!(&greeting[..8] == b"NBDMAGIC", "{} is no NBD server", socket.display());
    // No zeroes, and the first export the oldest way.
    stream.write_all(&[&3_u32.to_be_bytes()[..], b"IHAVEOPT", &1_u32.to_be_bytes(), &0_u32.to_be_bytes()].concat())?;
    stream.read_exact(&mut [0; 10])?;
    let (reply, body) = if load.writes { (16, load.length as usize) } else { (16 + load.length as usize, 0) };
    let mut header = [0; 28];
    header[..4].copy_from_slice(&0x2560_9513_u32.to_be_bytes());
    header[6..8].copy_from_slice(&u16::from(load.writes).to_be_bytes());
    header[24..28].copy_from_slice(&load.length.to_be_bytes());
    // The same for every write, and copied by the kernel alone.
    let payload = vec![7; body];
    let mut headers = Vec::new();
    let mut ask = |stream: &mut UnixStream, count: usize| -> std::io::Result<()> {
        headers.clear();
        for _ in 0..count {
            let offset = block() * u64::from(load.length);
            header[16..24].copy_from_slice(&offset.to_be_bytes());
            headers.push(header);
        }
        if payload.is_empty() {
            return stream.write_all(headers.as_flattened());
        }
        let request = |header| [IoSlice::new(header), IoSlice::new(&payload)];
        let mut slices: Vec<IoSlice<'_>> = headers.iter().flat_map(|header| request(header)).collect();
        let mut left = &mut slices[..];
        while !left.is_empty() {
            let count = stream.write_vectored(left)?;
            IoSlice::advance_slices(&mut left, count);
        }
        Ok(())
    };
    let mut buffer = vec![0; (reply * load.depth as usize).max(256 << 10)];
    let (mut answered, mut pending) = (0_u64, 0_usize);
    let begun = Instant::now();
    ask(&mut stream, load.depth as usize)?;
    let mut outstanding = u64::from(load.depth);
    let mut over = None;
    // Receives every answer before the connection ends: nbdkit 1.32 fails an assertion if it cannot send one.
    while outstanding > 0 {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            bail!("{} closed the connection", socket.display());
        }
        pending += count;
        let whole = pending / reply;
        if whole > 0 {
            pending -= whole * reply;
            outstanding -= whole as u64;
            if over.is_none() {
                answered += whole as u64;
                if enough(answered) {
                    over = Some(begun.elapsed());
                } else {
                    ask(&mut stream, whole)?;
                    outstanding += whole as u64;
                }
            }
        }
    }
    let goodbye = [&0x2560_9513_u32.to_be_bytes()[..], &[0, 0, 0, 2], &[0; 20]].concat();
    stream.write_all(&goodbye)?;
    let seconds = over.unwrap_or_else(|| begun.elapsed()).as_secs_f64();
    Ok(answered as f64 / seconds)
}

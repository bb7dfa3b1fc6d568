//! Saves a folder several times and restores it, with what each step costs: `steps SOURCE REPOSITORY TARGET [CHANGED]`.
//!
//! The steps are those of a shelter: a first save, one without changes, one in which `CHANGED` files are new, found by walking, one
//! in which they are named by their paths, and a restore. The figures stand in `docs/inside/benchmarks.md`.

use loadline_shelter_repository::{
    Changes, LocalStorage, Repository, RestoreRequest, SaveRequest, Saved, ScryptCost, Timestamp, Unpaced,
};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::new(since.as_secs().cast_signed(), since.subsec_nanos())
}

/// CPU seconds of this process: user and system, in ticks of a hundredth.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Does a step and prints its cost.
fn step<T>(name: &str, work: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<T, Box<dyn Error>> {
    let (cpu, begun) = (cpu_seconds(), Instant::now());
    let done = work()?;
    print!("{name:<28} {:>7.2} CPU s {:>7.2} s", cpu_seconds() - cpu, begun.elapsed().as_secs_f64());
    Ok(done)
}

fn report(saved: &Saved) {
    let Saved { entries_seen, files_read, bytes_read, bytes_stored, objects, .. } = saved;
    println!(
        "  {entries_seen} entries seen, {files_read} files read ({}), {} stored in {objects} files",
        bytes_read.human(),
        bytes_stored.human()
    );
}

/// Writes something else into some of the files, spread evenly, and returns their paths.
fn alter(files: &[PathBuf], count: usize, round: u8) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let every = (files.len() / count.max(1)).max(1);
    let chosen: Vec<PathBuf> = files.iter().skip(usize::from(round)).step_by(every).take(count).cloned().collect();
    for path in &chosen {
        let mut contents = std::fs::read(path)?;
        for byte in &mut contents {
            *byte = byte.wrapping_mul(5).wrapping_add(round);
        }
        std::fs::write(path, contents)?;
    }
    Ok(chosen)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files(&entry.path(), found)?;
        } else {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [source, place, target, rest @ ..] = words.as_slice() else {
        return Err("steps SOURCE REPOSITORY TARGET [CHANGED]".into());
    };
    let changed: usize = rest.first().map_or(Ok(100), |text| text.parse())?;
    let source = std::path::absolute(source)?;
    let storage = Arc::new(LocalStorage::new(place));
    let mut repository = Repository::create(storage, b"example", ScryptCost::DEFAULT, now())?;
    let mut all = Vec::new();
    files(&source, &mut all)?;
    all.sort();
    // Stamps of files are known for good only after a tick of the file system's clock.
    let settle = || std::thread::sleep(std::time::Duration::from_millis(100));
    let everything = || SaveRequest::new(vec![source.clone()], now());

    report(&step("first save", || Ok(repository.save(&everything(), &Unpaced)?))?);
    report(&step("nothing changed, walked", || Ok(repository.save(&everything(), &Unpaced)?))?);
    let none = SaveRequest { changes: Changes::Paths(Vec::new()), ..everything() };
    report(&step("nothing changed, by paths", || Ok(repository.save(&none, &Unpaced)?))?);
    alter(&all, changed, 1)?;
    settle();
    report(&step("some changed, walked", || Ok(repository.save(&everything(), &Unpaced)?))?);
    let paths = alter(&all, changed, 2)?;
    settle();
    let named = SaveRequest { changes: Changes::Paths(paths), ..everything() };
    let last = step("some changed, by paths", || Ok(repository.save(&named, &Unpaced)?))?;
    report(&last);
    let request = RestoreRequest::new(last.snapshot, &source, std::path::absolute(target)?);
    let restored = step("restore", || Ok(repository.restore(&request, &Unpaced)?))?;
    println!(
        "  {} files, {} written, {} failed",
        restored.files,
        restored.bytes_written.human(),
        restored.failed.len()
    );
    Ok(())
}

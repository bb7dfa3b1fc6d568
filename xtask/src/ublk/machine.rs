//! A small virtual machine: a kernel, its modules, and programs with their libraries in memory.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An unpacked Debian package of a kernel.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) image: PathBuf,
    modules: PathBuf,
}

impl Kernel {
    /// Of `boot/vmlinuz-*` and `lib/modules/*` below a folder.
    pub(super) fn find(folder: &Path) -> Result<Self, String> {
        let first = |below: &str, begin: &str| {
            let entries = fs::read_dir(folder.join(below)).into_iter().flatten().flatten();
            let found = entries.map(|entry| entry.path()).find(|path| {
                path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(begin.as_bytes()))
            });
            found.ok_or_else(|| format!("{} has no {below}/{begin}*", folder.display()))
        };
        Ok(Self { image: first("boot", "vmlinuz-")?, modules: first("lib/modules", "")? })
    }

    /// The bytes of a module of `kernel/drivers/block`.
    fn module(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.modules.join("kernel/drivers/block").join(format!("{name}.ko"));
        let packed = path.with_extension("ko.xz");
        let failed = |error: &dyn std::fmt::Display| format!("cannot read the module {}: {error}", path.display());
        if !packed.exists() {
            return fs::read(&path).map_err(|error| failed(&error));
        }
        let unpacked = Command::new("xz").args(["--decompress", "--stdout"]).arg(&packed).output();
        let unpacked = unpacked.map_err(|error| failed(&error))?;
        if unpacked.status.success() { Ok(unpacked.stdout) } else { Err(failed(&"xz could not unpack it")) }
    }
}

/// Files of a machine's memory, in the format that the kernel takes (cpio, "newc").
#[derive(Debug, Default)]
pub(super) struct Files {
    bytes: Vec<u8>,
    count: u32,
}

impl Files {
    pub(super) fn add(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.count += 1;
        let name = path.len() as u32 + 1;
        let fields = [self.count, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, 0, 0, name, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

/// All that the machine has: programs (path here, path there) with the libraries that they need, modules, and what runs first.
pub(super) fn memory(kernel: &Kernel, programs: &[(PathBuf, &str)], init: &str) -> Result<Vec<u8>, String> {
    let mut files = Files::default();
    for folder in ["bin", "programs", "lib", "lib64", "modules", "proc", "sys", "dev", "tmp", "mnt"] {
        files.add(folder, FOLDER, &[]);
    }
    let read = |path: &Path| fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    let mut libraries = BTreeSet::new();
    for (path, place) in programs {
        files.add(place, PROGRAM, &read(path)?);
        libraries.extend(libraries_of(path).map_err(|error| format!("cannot run ldd: {error}"))?);
    }
    for library in libraries {
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        // The loader is known by its place, all others by their names.
        let folder = if name.starts_with("ld-linux") { "lib64" } else { "lib" };
        files.add(&format!("{folder}/{name}"), PROGRAM, &read(&library)?);
    }
    for module in ["loop", "ublk_drv"] {
        files.add(&format!("modules/{module}.ko"), 0o100_644, &kernel.module(module)?);
    }
    files.add("init", PROGRAM, init.as_bytes());
    Ok(files.end())
}

/// Libraries that a program is linked with; none of one that is linked statically.
fn libraries_of(program: &Path) -> io::Result<Vec<PathBuf>> {
    let told = Command::new("ldd").arg(program).output()?;
    let told = String::from_utf8_lossy(&told.stdout);
    Ok(told.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lie_in_the_format_of_the_kernel() {
        let mut files = Files::default();
        files.add("a", 0o100_644, b"xyz");
        let bytes = files.end();
        assert!(bytes.starts_with(b"07070100000001000081A400000000000000000000000100000000000000030000"));
        assert_eq!(bytes[110..116], *b"a\0xyz\0");
        assert!(bytes.ends_with(b"TRAILER!!!\0\0\0\0") && bytes.len() % 4 == 0);
    }
}

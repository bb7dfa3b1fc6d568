//! An emulation that serves until its caller wants an end; where its sockets are by default.

use super::{AttachEvent, AttachedVolumes, EmulationEvent, EmulationRun};
use loadline_emulator::{Refused, View};
use loadline_units::Bytes;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two looks at whether the caller wants an end.
const LOOK: Duration = Duration::from_millis(50);
/// Between two looks at the emulation.
const OBSERVE: Duration = Duration::from_secs(1);
/// Follows the name of an NBD socket to make that of its control socket.
const CONTROL: &str = ".control";

/// Follows an emulation while it serves.
pub trait EmulationObserver {
    /// Clients that got no export since the last look, and `more` of which only the number is known.
    fn refuses(&mut self, refused: &[Refused], more: u64) {
        let _ = (refused, more);
    }
    /// Something happened to a block device.
    fn attaches(&mut self, event: &AttachEvent) {
        let _ = event;
    }
    /// Something happened that the caller should know.
    fn says(&mut self, event: &EmulationEvent) {
        let _ = event;
    }
    /// The emulation as it is now. Called about once a second.
    fn sees(&mut self, view: &View) {
        let _ = view;
    }
    /// Whether it is to end.
    fn wants_an_end(&self) -> bool;
}

impl EmulationRun {
    /// Serves until the observer wants an end. `devices` are the volumes that are attached to this machine.
    pub fn serve(&mut self, mut devices: Option<&mut AttachedVolumes>, observer: &mut dyn EmulationObserver) {
        let mut looked_at = Instant::now();
        while !observer.wants_an_end() {
            std::thread::sleep(LOOK);
            let (refused, more) = self.emulation().take_refused();
            observer.refuses(&refused, more);
            if let Some(devices) = &mut devices {
                devices.follow(self.emulation_mut(), &mut |event| observer.attaches(&event));
            }
            if looked_at.elapsed() >= OBSERVE {
                looked_at = Instant::now();
                let (view, events) = self.observe();
                for event in &events {
                    observer.says(event);
                }
                observer.sees(&view);
            }
        }
    }
}

/// The socket of an emulation that is given none: where programs of a user keep theirs, or the folder for temporary files.
#[must_use]
pub fn default_socket(environment: &str) -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    folder.join(format!("loadline-{}.sock", environment.chars().map(plain).collect::<String>()))
}

/// Where the control socket of an emulation on this NBD socket is unless another place was named.
#[must_use]
pub fn control_beside(socket: &Path) -> PathBuf {
    let mut path = socket.as_os_str().to_owned();
    path.push(CONTROL);
    path.into()
}

/// The most memory that contents take by default: half of what is free. `None` where the machine does not show that.
#[must_use]
pub fn default_memory() -> Option<Bytes> {
    loadline_kernel::facts::memory_available().map(|free| Bytes::new(free.get() / 2))
}

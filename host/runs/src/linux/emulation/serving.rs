//! An emulation that serves until its caller wants an end; where its sockets are by default.

use super::{AttachedVolumes, EmulationRun};
use crate::{Event, Observer};
use loadline_units::Bytes;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two looks at whether the caller wants an end.
const LOOK: Duration = Duration::from_millis(50);
/// Between two looks at the emulation.
const OBSERVE: Duration = Duration::from_secs(1);
/// Follows the name of an NBD socket to make that of its control socket.
const CONTROL: &str = ".control";

impl EmulationRun {
    /// Serves until the observer wants an end. `devices` are the volumes that are attached to this machine.
    pub fn serve(&mut self, mut devices: Option<&mut AttachedVolumes>, observer: &mut dyn Observer) {
        let mut looked_at = Instant::now();
        while !observer.wants_an_end() {
            std::thread::sleep(LOOK);
            let (refused, more) = self.emulation().take_refused();
            observer.event(&Event::ClientsRefused { refused: &refused, more });
            if let Some(devices) = &mut devices {
                devices.follow(self.emulation_mut(), &mut |event| observer.event(&Event::Attached(&event)));
            }
            if looked_at.elapsed() >= OBSERVE {
                looked_at = Instant::now();
                let (view, events) = self.observe();
                for event in &events {
                    observer.event(&Event::InEmulation(event));
                }
                observer.event(&Event::Emulated(&view));
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

//! The systemd unit of a configuration, and drop-ins of the services that wait for it.

use crate::config::ShelterConfig;
use loadline_document::unit::{escaped, quoted};

/// How long systemd may hear nothing of the service before it is ended and started anew.
pub const WATCHDOG_S: u64 = 30;
/// How long the last save may take when the machine stops, if no notice says less.
const STOP_S: u64 = 600;

/// A file of systemd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitFile {
    /// Its path below `/etc/systemd/system`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// Name of the unit.
#[must_use]
pub fn unit_name(config: &ShelterConfig) -> String {
    format!("loadline-shelter-{}.service", config.name)
}

/// The unit and the drop-ins. `command` is the path of loadline, `file` that of the configuration.
#[must_use]
pub fn unit_files(config: &ShelterConfig, command: &str, file: &str) -> Vec<UnitFile> {
    let unit = unit_name(config);
    let guards = config.guards.join(" ");
    let before = if guards.is_empty() { String::new() } else { format!("Before={guards}\n") };
    let required = if guards.is_empty() { String::new() } else { format!("RequiredBy={guards}\n") };
    let folder = match &config.destination {
        Some(crate::config::Destination::FolderRepository(path)) => format!("RequiresMountsFor={}\n", quoted(path)),
        _ => String::new(),
    };
    let network = if config.notices.is_some() || folder.is_empty() { " network-online.target" } else { "" };
    let wants = if network.is_empty() { "" } else { "Wants=network-online.target\n" };
    let text = format!(
        "[Unit]\n\
         Description=Data of the ephemeral disk at {path} ({name})\n\
         After=local-fs.target{network} cloud-init.service walinuxagent.service\n\
         {wants}{before}{folder}RequiresMountsFor={state}\n\
         \n\
         [Service]\n\
         Type=notify\n\
         NotifyAccess=main\n\
         ExecStart={command} shelter {file} run\n\
         WatchdogSec={WATCHDOG_S}\n\
         TimeoutStartSec=infinity\n\
         TimeoutStopSec={STOP_S}\n\
         Restart=on-failure\n\
         RestartSec=10\n\
         IOSchedulingClass=idle\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n\
         {required}",
        path = escaped(&config.disk.path),
        name = config.name,
        state = quoted(&config.state),
        command = quoted(command),
        file = quoted(file),
    );
    let mut files = vec![UnitFile { path: unit.clone(), text }];
    for guard in &config.guards {
        files.push(UnitFile {
            path: format!("{guard}.d/10-loadline-shelter.conf"),
            text: format!(
                "# Starts only after the data is on the disk, and stops before the last save.\n\
                 [Unit]\nRequires={unit}\nAfter={unit}\n"
            ),
        });
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_start_behind_the_unit_and_need_it() {
        let config =
            ShelterConfig::parse(include_str!("../../../../docs/formats/shelter.example.toml"), "example").unwrap();
        let files = unit_files(&config, "/usr/bin/loadline", "/etc/loadline/50 % fast.toml");
        assert_eq!(files.len(), 2);
        let unit = &files[0].text;
        for line in [
            "Before=search.service",
            "RequiredBy=search.service",
            "Type=notify",
            "TimeoutStartSec=infinity",
            "WatchdogSec=30",
            "RequiresMountsFor=/persist/shelter/fast",
            "ExecStart=/usr/bin/loadline shelter \"/etc/loadline/50 %% fast.toml\" run",
        ] {
            assert!(unit.lines().any(|found| found == line), "{line}\n{unit}");
        }
        assert_eq!(files[1].path, "search.service.d/10-loadline-shelter.conf");
        assert!(files[1].text.contains("Requires=loadline-shelter-fast.service\nAfter=loadline-shelter-fast.service"));
    }
}

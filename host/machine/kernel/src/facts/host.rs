//! The machine that runs the tool.

use super::cpu_quotas;
use super::devices::{KernelView, read_trimmed};
use super::memory_left;
use loadline_record::HostFacts;
use loadline_units::Bytes;
use std::fs;
use std::path::Path;

/// Everything known of this machine.
#[must_use]
pub fn host() -> HostFacts {
    let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let firmware = |name: &str| {
        read_trimmed(&Path::new("/sys/class/dmi/id").join(name)).filter(|t| !t.is_empty()).unwrap_or_default()
    };
    HostFacts {
        hostname: read_trimmed(Path::new("/proc/sys/kernel/hostname")),
        kernel: read_trimmed(Path::new("/proc/sys/kernel/osrelease")),
        os: fs::read_to_string("/etc/os-release").ok().as_deref().and_then(distribution),
        cpu_model: field(&cpu_info, "model name").map(str::to_owned),
        cpus: crate::scheduling::processors(),
        memory_bytes: memory("MemTotal").map(Bytes::get),
        virtualization: virtualization(
            &firmware("sys_vendor"),
            &firmware("product_name"),
            field(&cpu_info, "flags").is_some_and(|flags| flags.split(' ').any(|f| f == "hypervisor")),
        ),
        clock_source: clock_source(),
        boot_id: read_trimmed(Path::new("/proc/sys/kernel/random/boot_id")),
        cpu_quotas: cpu_quotas(&KernelView::live()),
    }
}

/// The kernel's clock source.
#[must_use]
pub fn clock_source() -> Option<String> {
    read_trimmed(Path::new("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
}

/// Memory that this process could have without swapping: of the machine, and within the limits of its control groups. `None` where
/// the kernel does not tell.
#[must_use]
pub fn memory_available() -> Option<Bytes> {
    let machine = memory("MemAvailable")?;
    Some(memory_left(&KernelView::live()).map_or(machine, |left| left.min(machine)))
}

/// What programs have written and the kernel holds in memory, on its way to all devices together; `None` where it does not tell.
#[must_use]
pub fn memory_unwritten() -> Option<Bytes> {
    Some(memory("Dirty")? + memory("Writeback")?)
}

fn memory(key: &str) -> Option<Bytes> {
    memory_in(&fs::read_to_string("/proc/meminfo").ok()?, key)
}

/// A line of meminfo; its "kB" are KiB.
fn memory_in(text: &str, key: &str) -> Option<Bytes> {
    field(text, key)?.strip_suffix(" kB")?.parse().ok().map(Bytes::kib)
}

/// The value of the first line "key : value".
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().filter_map(|line| line.split_once(':')).find(|(k, _)| k.trim() == key).map(|(_, value)| value.trim())
}

/// The distribution's name in os-release(5).
fn distribution(text: &str) -> Option<String> {
    let value = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(|v| v.trim_matches('"').to_owned())
    };
    value("PRETTY_NAME").or_else(|| value("NAME"))
}

/// What the firmware calls the hypervisor or cloud; `None` on bare metal, as far as can be told.
fn virtualization(vendor: &str, product: &str, under_hypervisor: bool) -> Option<String> {
    /// Vendors of machines that exist only in a hypervisor or a cloud, in part of their name. Arm CPUs have no
    /// "hypervisor" flag, and clouds rent bare metal under their own name as well.
    const VIRTUAL_VENDORS: [&str; 10] = [
        "Amazon EC2",
        "Google",
        "QEMU",
        "VMware",
        "Xen",
        "innotek",
        "OpenStack",
        "DigitalOcean",
        "Hetzner",
        "Alibaba Cloud",
    ];
    let name = format!("{vendor} {product}").trim().to_owned();
    if under_hypervisor && name.is_empty() {
        Some("a hypervisor that does not give its name".to_owned())
    } else if under_hypervisor || VIRTUAL_VENDORS.iter().any(|v| vendor.starts_with(v)) {
        Some(name)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_kib() {
        let text = "MemTotal:       49368168 kB\nMemAvailable:   45000000 kB\nHugePages_Total:       0\n";
        assert_eq!(memory_in(text, "MemTotal"), Some(Bytes::kib(49_368_168)));
        assert_eq!(memory_in(text, "HugePages_Total"), None);
        assert_eq!(memory_in(text, "SwapTotal"), None);
    }

    #[test]
    fn distribution_is_the_pretty_name() {
        assert_eq!(
            distribution("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n").unwrap(),
            "Debian GNU/Linux 12"
        );
        assert_eq!(distribution("NAME=Void\n").unwrap(), "Void");
        assert_eq!(distribution(""), None);
    }

    #[test]
    fn bare_metal_has_no_virtualization() {
        assert_eq!(virtualization("Dell Inc.", "PowerEdge R650", false), None);
        assert_eq!(virtualization("QEMU", "Standard PC", true).unwrap(), "QEMU Standard PC");
        assert_eq!(virtualization("Amazon EC2", "m6g.large", false).unwrap(), "Amazon EC2 m6g.large");
        assert!(virtualization("", "", true).is_some());
    }

    #[test]
    fn this_machine_has_a_kernel_and_cpus() {
        let host = host();
        assert!(host.kernel.is_some_and(|k| !k.is_empty()));
        assert!(host.cpus.is_some_and(|n| n > 0));
    }
}

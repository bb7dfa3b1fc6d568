//! The layout in a Linux guest: one file system over the disks.

use super::Provisioning;
use std::fmt::Write as _;

/// The file that a script for a shell leaves beside itself.
pub(super) const FILE: &str = "on-the-machine.sh";

/// The paths of a volume's disks on the machine.
pub(super) enum Disks {
    /// Known beforehand.
    At(Vec<String>),
    /// Words in which the shell that runs the script replaces variables.
    Filled(&'static str),
    /// In the variable `DISKS`, once these commands ran on the machine.
    Found(String),
}

/// Commands for a shell on the machine, run as root.
///
/// mdadm and mkfs.xfs refuse disks that have something on them.
pub(super) fn commands(wanted: &Provisioning<'_>, disks: &Disks) -> String {
    let count = wanted.count();
    let mut text = "set -eu\n".to_owned();
    let listed = match disks {
        Disks::At(paths) => paths.join(" "),
        Disks::Filled(words) => (*words).to_owned(),
        Disks::Found(search) => {
            text.push_str(search);
            "$DISKS".to_owned()
        }
    };
    let target = if count > 1 {
        let chunk = wanted.volume.interleave_bytes.unwrap_or(256 << 10) >> 10;
        text.push_str("apt-get update && apt-get install -y mdadm xfsprogs\n");
        let _ = writeln!(
            text,
            "mdadm --create /dev/md/data --level=0 --raid-devices={count} --chunk={chunk}K {listed} </dev/null"
        );
        text.push_str("mdadm --detail --scan >>/etc/mdadm/mdadm.conf\nupdate-initramfs -u\n");
        "/dev/md/data"
    } else {
        text.push_str("apt-get update && apt-get install -y xfsprogs\n");
        listed.as_str()
    };
    let _ = write!(
        text,
        "mkfs.xfs {target}\nmkdir -p /data\n\
         echo \"UUID=$(blkid -s UUID -o value {target}) /data xfs noatime,nofail 0 2\" >>/etc/fstab\nmount /data\n\
         echo 'Now measure what was bought: loadline quick /data'\n"
    );
    text
}

/// Writes the commands into a file beside a script for a shell.
pub(super) fn file(wanted: &Provisioning<'_>, disks: &Disks) -> String {
    let lines = commands(wanted, disks);
    let (mark, lines) = if matches!(disks, Disks::Filled(_)) {
        // What the machine is to expand, and not this script.
        ("EOF", lines.replace("$(", "\\$("))
    } else {
        ("'EOF'", lines)
    };
    format!("\n# For the machine: one file system over its disks.\ncat >{FILE} <<{mark}\n{lines}EOF\n")
}

/// The commands as comments of a file that is no shell's, and how to get them out.
pub(super) fn comments(wanted: &Provisioning<'_>, disks: &Disks, comment: &str, file: &str) -> String {
    let mut text = format!(
        "\n{comment} For the machine, as root: one file system over its disks. This writes the lines below to a file:\n\
         {comment}   sed -n 's|^{comment}>||p' {file} >{FILE}\n"
    );
    for line in commands(wanted, disks).lines() {
        let _ = writeln!(text, "{comment}>{line}");
    }
    text
}

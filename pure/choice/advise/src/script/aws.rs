//! The commands of `aws`, for EC2 and EBS.

use super::Provisioning;
use super::guest::{self, Disks};
use std::fmt::Write as _;

/// Families whose volumes hang on Xen's block devices; on later ones they are NVMe devices.
const ON_XEN: &[&str] = &[
    "t1", "t2", "m1", "m2", "m3", "m4", "c1", "c3", "c4", "r3", "r4", "i2", "i3", "d2", "h1", "x1", "x1e", "p2", "p3",
    "g2", "g3", "g3s", "f1",
];
/// Of these EBS optimization is an option to choose; later ones have it without a word.
const OPTIMIZED_ON_REQUEST: &[&str] = &["m1", "m2", "m3", "c1", "c3", "r3", "i2", "g2"];

/// So many devices have names.
const DEVICES_MAX: u8 = 21 + 2 * 26;

fn family<'a>(wanted: &'a Provisioning<'_>) -> &'a str {
    wanted.machine().split('.').next().unwrap_or_default()
}

/// Whether EBS optimization must be asked for.
pub(super) fn asks_for_optimization(wanted: &Provisioning<'_>) -> bool {
    OPTIMIZED_ON_REQUEST.contains(&family(wanted))
}

/// Whether its volumes are NVMe devices on the machine.
pub(super) fn is_on_nvme(wanted: &Provisioning<'_>) -> bool {
    !ON_XEN.contains(&family(wanted)) || wanted.machine().split('.').next_back() == Some("metal")
}

/// "arm64" for Graviton processors, which a "g" behind the generation marks, and "amd64".
pub(super) fn architecture(wanted: &Provisioning<'_>) -> &'static str {
    let name = family(wanted);
    let features = name.rfind(|c: char| c.is_ascii_digit()).map_or("", |last| &name[last + 1..]);
    if name == "a1" || features.contains('g') { "arm64" } else { "amd64" }
}

/// The public parameter that names Ubuntu's image of the day.
pub(super) fn image_parameter(wanted: &Provisioning<'_>) -> String {
    format!("/aws/service/canonical/ubuntu/server/24.04/stable/current/{}/hvm/ebs-gp3/ami-id", architecture(wanted))
}

/// The devices' names as they are attached: /dev/sd[f-z], and then /dev/xvd[b-c][a-z].
pub(super) fn device_names(wanted: &Provisioning<'_>) -> Vec<String> {
    let of = |index: u8| match b'f' + index {
        letter @ ..=b'z' => format!("/dev/sd{}", char::from(letter)),
        beyond => {
            let rest = beyond - b'z' - 1;
            format!("/dev/xvd{}{}", char::from(b'b' + rest / 26), char::from(b'a' + rest % 26))
        }
    };
    (0..u8::try_from(wanted.count()).unwrap_or(DEVICES_MAX).min(DEVICES_MAX)).map(of).collect()
}

/// The commands.
pub(super) fn commands(wanted: &Provisioning<'_>) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "set -eu\nexport AWS_DEFAULT_REGION={}\nKEY=${{KEY:?set it to the name of a key pair of yours}}\n\
         IMAGE=resolve:ssm:{}\n",
        wanted.row.region,
        image_parameter(wanted)
    );
    let root = wanted.os.as_ref().map_or_else(String::new, |os| {
        format!(
            " \\\n  --block-device-mappings 'DeviceName=/dev/sda1,Ebs={{VolumeType={},VolumeSize={}}}'",
            os.kind, os.size_gib
        )
    });
    let optimized = if asks_for_optimization(wanted) { " --ebs-optimized" } else { "" };
    let _ = writeln!(
        text,
        "INSTANCE=$(aws ec2 run-instances --image-id \"$IMAGE\" --instance-type {} --key-name \"$KEY\"{optimized}{root} \\\n  --query 'Instances[0].InstanceId' --output text)",
        wanted.machine()
    );
    text.push_str("aws ec2 wait instance-running --instance-ids \"$INSTANCE\"\n");
    text.push_str("AZ=$(aws ec2 describe-instances --instance-ids \"$INSTANCE\" --query 'Reservations[0].Instances[0].Placement.AvailabilityZone' --output text)\n");
    let _ = writeln!(text, "DEVICES='{}'\nDISKS=\nfor DEVICE in $DEVICES; do", device_names(wanted).join(" "));
    let figures = wanted.disk.provisioned(" ", "--iops ", "--throughput ", "");
    let _ = writeln!(
        text,
        "  VOLUME=$(aws ec2 create-volume --availability-zone \"$AZ\" --volume-type {} --size {}{figures} --query VolumeId --output text)",
        wanted.disk.kind, wanted.disk.size_gib
    );
    text.push_str("  aws ec2 wait volume-available --volume-ids \"$VOLUME\"\n");
    text.push_str("  aws ec2 attach-volume --instance-id \"$INSTANCE\" --volume-id \"$VOLUME\" --device \"$DEVICE\"\n");
    text.push_str(if is_on_nvme(wanted) {
        // The volume's id without its dash.
        "  DISKS=\"$DISKS /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol${VOLUME#vol-}\"\ndone\n"
    } else {
        // The machine writes "xvd" for "sd".
        "  DISKS=\"$DISKS /dev/xvd${DEVICE##*[sv]d}\"\ndone\n"
    });
    text.push_str(&guest::file(wanted, &Disks::Filled("$DISKS")));
    let _ = writeln!(
        text,
        "echo \"Next, to run it on the machine: ssh ubuntu@ADDRESS sudo sh -s <{} (its ADDRESS: aws ec2 describe-instances --instance-ids $INSTANCE)\"",
        guest::FILE
    );
    text
}

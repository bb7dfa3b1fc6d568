//! Terraform's configuration, for each provider.

use super::guest::{self, Disks};
use super::{Provisioning, aws, azure, gcloud};
use std::fmt::Write as _;

/// The file that people keep it in.
const FILE: &str = "main.tf";

/// The configuration of a choice, with what to do on the machine as comments.
pub(super) fn configuration(wanted: &Provisioning<'_>) -> String {
    let (mut text, disks) = match wanted.row.provider.as_str() {
        "azure" => (of_azure(wanted), azure::disks(wanted)),
        "aws" => (of_aws(wanted), Disks::Filled("$DISKS")),
        _ => (of_google(wanted), Disks::At(gcloud::devices(wanted))),
    };
    text.push_str(&guest::comments(wanted, &disks, "#", FILE));
    if wanted.row.provider == "aws" {
        let _ = writeln!(
            text,
            "# Then run it on the machine with the disks' paths: DISKS=\"$(terraform output -raw disks)\", ssh ubuntu@ADDRESS sudo DISKS=\"'$DISKS'\" sh -s <{}",
            guest::FILE
        );
    }
    text
}

fn variable(name: &str) -> String {
    format!("variable \"{name}\" {{\n  type = string\n}}\n\n")
}

/// Lines of keys with their values, in columns as `terraform fmt` writes them.
fn lines(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    pairs.iter().fold(String::new(), |mut text, (key, value)| {
        let _ = writeln!(text, "  {key:width$} = {value}");
        text
    })
}

/// Those of the keys that have a value.
fn known(keys: [(&str, Option<u64>); 2]) -> impl Iterator<Item = (&str, String)> {
    keys.into_iter().filter_map(|(key, value)| Some((key, value?.to_string())))
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn of_azure(wanted: &Provisioning<'_>) -> String {
    let (count, region) = (wanted.count(), &wanted.row.region);
    let mut text = "\nprovider \"azurerm\" {\n  features {}\n}\n\n".to_owned();
    for name in ["resource_group_name", "network_interface_id", "ssh_public_key"] {
        text.push_str(&variable(name));
    }
    let mut machine = String::new();
    if azure::is_on_nvme(wanted) {
        machine.push_str("  disk_controller_type  = \"NVMe\"\n");
    }
    let ultra =
        if azure::is_ultra(wanted) { "  additional_capabilities {\n    ultra_ssd_enabled = true\n  }\n" } else { "" };
    let size =
        wanted.os.as_ref().map_or_else(String::new, |os| format!("    disk_size_gb         = {}\n", os.size_gib));
    let _ = write!(
        text,
        "resource \"azurerm_linux_virtual_machine\" \"advised\" {{\n  \
           name                  = \"advised\"\n  \
           resource_group_name   = var.resource_group_name\n  \
           location              = \"{region}\"\n  \
           zone                  = \"1\"\n  \
           size                  = \"{}\"\n  \
           admin_username        = \"advised\"\n\
         {machine}  \
           network_interface_ids = [var.network_interface_id]\n  \
           admin_ssh_key {{\n    username   = \"advised\"\n    public_key = var.ssh_public_key\n  }}\n  \
           os_disk {{\n    caching              = \"ReadOnly\"\n    storage_account_type = \"{}\"\n{size}  }}\n  \
           source_image_reference {{\n    publisher = \"{}\"\n    offer     = \"{}\"\n    sku       = \"{}\"\n    version   = \"latest\"\n  }}\n\
         {ultra}}}\n\n",
        azure::size(wanted),
        azure::os_kind(wanted),
        azure::PUBLISHER,
        azure::OFFER,
        azure::image(wanted),
    );
    let mut disk = vec![
        ("count", count.to_string()),
        ("name", quoted("advised-data-${count.index}")),
        ("resource_group_name", "var.resource_group_name".to_owned()),
        ("location", quoted(region)),
        ("zone", quoted("1")),
        ("create_option", quoted("Empty")),
        ("storage_account_type", quoted(&wanted.disk.kind)),
        ("disk_size_gb", wanted.disk.size_gib.to_string()),
    ];
    disk.extend(known([("disk_iops_read_write", wanted.disk.iops), ("disk_mbps_read_write", wanted.disk.throughput)]));
    let _ = write!(text, "resource \"azurerm_managed_disk\" \"data\" {{\n{}}}\n\n", lines(&disk));
    let _ = write!(
        text,
        "resource \"azurerm_virtual_machine_data_disk_attachment\" \"data\" {{\n  \
           count              = {count}\n  \
           managed_disk_id    = azurerm_managed_disk.data[count.index].id\n  \
           virtual_machine_id = azurerm_linux_virtual_machine.advised.id\n  \
           lun                = count.index\n  \
           caching            = \"{}\"\n}}\n",
        azure::caching(wanted)
    );
    text
}

fn of_aws(wanted: &Provisioning<'_>) -> String {
    let count = wanted.count();
    let mut text = format!("\nprovider \"aws\" {{\n  region = \"{}\"\n}}\n\n", wanted.row.region);
    text.push_str(&variable("key_name"));
    let root = wanted.os.as_ref().map_or_else(String::new, |os| {
        format!("  root_block_device {{\n    volume_type = \"{}\"\n    volume_size = {}\n  }}\n", os.kind, os.size_gib)
    });
    let optimized = if aws::asks_for_optimization(wanted) { "  ebs_optimized = true\n" } else { "" };
    let _ = write!(
        text,
        "data \"aws_ssm_parameter\" \"image\" {{\n  name = \"{}\"\n}}\n\n\
         resource \"aws_instance\" \"advised\" {{\n  \
           ami           = data.aws_ssm_parameter.image.value\n  \
           instance_type = \"{}\"\n  \
           key_name      = var.key_name\n{optimized}{root}}}\n\n",
        aws::image_parameter(wanted),
        wanted.machine(),
    );
    let paths: Vec<String> = aws::device_names(wanted).iter().map(|name| format!("\"{name}\"")).collect();
    let mut disk = vec![
        ("count", count.to_string()),
        ("availability_zone", "aws_instance.advised.availability_zone".to_owned()),
        ("type", quoted(&wanted.disk.kind)),
        ("size", wanted.disk.size_gib.to_string()),
    ];
    disk.extend(known([("iops", wanted.disk.iops), ("throughput", wanted.disk.throughput)]));
    let _ = write!(
        text,
        "resource \"aws_ebs_volume\" \"data\" {{\n{}}}\n\n\
         resource \"aws_volume_attachment\" \"data\" {{\n  \
           count       = {count}\n  \
           device_name = [{}][count.index]\n  \
           volume_id   = aws_ebs_volume.data[count.index].id\n  \
           instance_id = aws_instance.advised.id\n}}\n\n",
        lines(&disk),
        paths.join(", "),
    );
    let path = if aws::is_on_nvme(wanted) {
        // The volume's id without its dash.
        "[for volume in aws_ebs_volume.data : \"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_${replace(volume.id, \"-\", \"\")}\"]"
    } else {
        "[for disk in aws_volume_attachment.data : replace(disk.device_name, \"/dev/sd\", \"/dev/xvd\")]"
    };
    let _ = write!(text, "output \"disks\" {{\n  value = join(\" \", {path})\n}}\n");
    text
}

fn of_google(wanted: &Provisioning<'_>) -> String {
    let (count, zone) = (wanted.count(), gcloud::zone(wanted));
    let mut text = "\n".to_owned();
    text.push_str(&variable("project"));
    let _ = write!(text, "provider \"google\" {{\n  project = var.project\n  zone    = \"{zone}\"\n}}\n\n");
    let boot = wanted
        .os
        .as_ref()
        .map_or_else(String::new, |os| format!("      type  = \"{}\"\n      size  = {}\n", os.kind, os.size_gib));
    let _ = write!(
        text,
        "resource \"google_compute_instance\" \"advised\" {{\n  \
           name         = \"advised\"\n  \
           machine_type = \"{}\"\n  \
           boot_disk {{\n    initialize_params {{\n      image = \"debian-cloud/{}\"\n{boot}    }}\n  }}\n  \
           network_interface {{\n    network = \"default\"\n  }}\n  \
           lifecycle {{\n    ignore_changes = [attached_disk]\n  }}\n}}\n\n",
        wanted.machine(),
        gcloud::image_family(wanted),
    );
    let mut disk = vec![
        ("count", count.to_string()),
        ("name", quoted("advised-data-${count.index}")),
        ("type", quoted(&wanted.disk.kind)),
        ("size", wanted.disk.size_gib.to_string()),
    ];
    disk.extend(known([("provisioned_iops", wanted.disk.iops), ("provisioned_throughput", wanted.disk.throughput)]));
    let _ = write!(
        text,
        "resource \"google_compute_disk\" \"data\" {{\n{}}}\n\n\
         resource \"google_compute_attached_disk\" \"data\" {{\n  \
           count       = {count}\n  \
           disk        = google_compute_disk.data[count.index].id\n  \
           instance    = google_compute_instance.advised.id\n  \
           device_name = \"data-${{count.index}}\"\n}}\n",
        lines(&disk),
    );
    text
}

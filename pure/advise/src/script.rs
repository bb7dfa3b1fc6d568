//! Commands that provision a choice and lay its volume out, for people to read and to run. Nothing here runs them.

use crate::advice::{Candidate, DiskChoice, NeedFigures, VolumeChoice};
use loadline_catalog::{Catalog, SizeRule};
use loadline_units::Bytes;
use std::fmt::Write as _;

/// The tool that is to provision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// `az`
    AzureCli,
    /// `aws`
    AwsCli,
    /// `gcloud`
    Gcloud,
    /// Terraform, for any of the providers.
    Terraform,
    /// Azure's own language.
    Bicep,
    /// Azure's module for PowerShell, with Storage Spaces in the guest.
    PowerShell,
}

impl Script {
    /// Its name, as typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AzureCli => "azure-cli",
            Self::AwsCli => "aws-cli",
            Self::Gcloud => "gcloud",
            Self::Terraform => "terraform",
            Self::Bicep => "bicep",
            Self::PowerShell => "powershell",
        }
    }
    /// The provider that it is for; `None` for several.
    const fn provider(self) -> Option<&'static str> {
        match self {
            Self::AzureCli | Self::Bicep | Self::PowerShell => Some("azure"),
            Self::AwsCli => Some("aws"),
            Self::Gcloud => Some("gcp"),
            Self::Terraform => None,
        }
    }
}

/// Why there is no script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The tool is another provider's.
    #[error("{tool} provisions nothing of {provider}: use one of {}, or terraform", .own.join(", "))]
    OtherProvider {
        /// The tool.
        tool: &'static str,
        /// The choice's provider.
        provider: String,
        /// Tools of that provider.
        own: Vec<&'static str>,
    },
    /// The tool's name for the disks is not in the catalog.
    #[error("the catalog does not say what {sku} is called by the provider's tools (sold_as)")]
    NoName {
        /// The disks.
        sku: String,
    },
}

/// A disk as the tools make it.
struct ToolDisk {
    /// The provider's name of the type.
    kind: String,
    size_gib: u64,
    iops: Option<u64>,
    /// In the provider's unit, rounded up.
    throughput: Option<u64>,
}

/// The commands for a choice.
///
/// # Errors
/// [`ScriptError`].
pub fn script(row: &Candidate, need: &NeedFigures, tool: Script, catalog: &Catalog) -> Result<String, ScriptError> {
    let provider = row.provider.as_str();
    if tool.provider().is_some_and(|own| own != provider) {
        let all = [Script::AzureCli, Script::AwsCli, Script::Gcloud, Script::Bicep, Script::PowerShell];
        let own = all.into_iter().filter(|tool| tool.provider() == Some(provider)).map(Script::name).collect();
        return Err(ScriptError::OtherProvider { tool: tool.name(), provider: provider.to_owned(), own });
    }
    let volume = &row.volumes[0];
    let disk = tool_disk(&volume.disks[0], provider, catalog)?;
    let os = row.os_disk.as_ref().map(|disk| tool_disk(disk, provider, catalog)).transpose()?;
    let mut text = String::new();
    let comment = if tool == Script::Bicep { "//" } else { "#" };
    let _ =
        writeln!(text, "{comment} {} for {}: {} a month in {}.", row.words(), need.name, row.price_words(), row.region);
    let _ = writeln!(text, "{comment} Read it before you run it: names, image, network and keys are yours to choose.");
    match tool {
        Script::AzureCli => azure_cli(&mut text, row, volume, &disk, os.as_ref()),
        Script::AwsCli => aws_cli(&mut text, row, volume, &disk, os.as_ref()),
        Script::Gcloud => gcloud(&mut text, row, volume, &disk, os.as_ref()),
        Script::Terraform => terraform(&mut text, row, volume, &disk, os.as_ref()),
        Script::Bicep => bicep(&mut text, row, volume, &disk, os.as_ref()),
        Script::PowerShell => powershell(&mut text, row, volume, &disk, os.as_ref()),
    }
    Ok(text)
}

/// Providers name a disk's type by its family or by itself.
fn tool_disk(choice: &DiskChoice, provider: &str, catalog: &Catalog) -> Result<ToolDisk, ScriptError> {
    let no_name = || ScriptError::NoName { sku: choice.sku.clone() };
    let entry = catalog.disk_entry(&choice.sku).map_err(|_| no_name())?;
    let own = choice.sku.split_once('/').map_or(choice.sku.as_str(), |(_, name)| name);
    let kind = match &catalog.disk_family(entry).sold_as {
        Some(kind) => kind.clone(),
        None if provider == "azure" => return Err(no_name()),
        None => own.to_owned(),
    };
    let size = match entry.size {
        SizeRule::Fixed(size) => size.get(),
        SizeRule::Chosen { .. } | SizeRule::Unknown => choice.size_bytes.unwrap_or(0),
    };
    // Azure provisions in millions of bytes per second, the others in MiB.
    let unit = if provider == "azure" { 1_000_000 } else { 1 << 20 };
    Ok(ToolDisk {
        kind,
        size_gib: size.div_ceil(Bytes::gib(1).get()),
        iops: choice.iops,
        throughput: choice.throughput_bytes_per_s.map(|rate| rate.div_ceil(unit)),
    })
}

/// The machine's name without the provider.
fn machine(row: &Candidate) -> &str {
    row.machine.split_once('/').map_or(row.machine.as_str(), |(_, name)| name)
}

/// What the catalog appends to a size whose disks hang on NVMe.
const ON_NVME: &str = "-nvme";

/// Azure writes sizes with underscores; letters count alike, large or small.
fn azure_size(row: &Candidate) -> String {
    let name = machine(row);
    format!("Standard_{}", name.strip_suffix(ON_NVME).unwrap_or(name).replace('-', "_"))
}

/// An option where the size's disks are to hang on NVMe; nothing otherwise.
fn on_nvme(row: &Candidate, option: &str) -> String {
    if machine(row).ends_with(ON_NVME) { option.to_owned() } else { String::new() }
}

/// The devices of the disks on Azure's machines.
fn azure_device(row: &Candidate) -> &'static str {
    if machine(row).ends_with(ON_NVME) { "/dev/disk/azure/data/by-lun/$N" } else { "/dev/disk/azure/scsi1/lun$N" }
}

fn azure_caching(volume: &VolumeChoice) -> &'static str {
    match volume.host_cache.as_str() {
        "read-only" => "ReadOnly",
        "read-write" => "ReadWrite",
        _ => "None",
    }
}

fn azure_cli(text: &mut String, row: &Candidate, volume: &VolumeChoice, disk: &ToolDisk, os: Option<&ToolDisk>) {
    let _ = writeln!(text, "set -eu\nGROUP=advised\nVM=advised\nLOCATION={}\nZONE=1\n", row.region);
    let _ = writeln!(text, "az group create --name \"$GROUP\" --location \"$LOCATION\"");
    let os_options =
        os.map_or_else(String::new, |os| format!(" --storage-sku os={} --os-disk-size-gb {}", os.kind, os.size_gib));
    let _ = writeln!(
        text,
        "az vm create --resource-group \"$GROUP\" --name \"$VM\" --location \"$LOCATION\" --zone \"$ZONE\" --size {} --image Ubuntu2404{os_options}{} \\\n  --generate-ssh-keys",
        azure_size(row),
        on_nvme(row, " --disk-controller-type NVMe")
    );
    let options = provisioned(disk, "--disk-iops-read-write", "--disk-mbps-read-write");
    let _ = writeln!(text, "for LUN in $(seq 0 {}); do", volume.columns.max(1) - 1);
    let _ = writeln!(
        text,
        "  az disk create --resource-group \"$GROUP\" --name \"$VM-data-$LUN\" --location \"$LOCATION\" --zone \"$ZONE\" --sku {} --size-gb {}{options}",
        disk.kind, disk.size_gib
    );
    let _ = writeln!(
        text,
        "  az vm disk attach --resource-group \"$GROUP\" --vm-name \"$VM\" --name \"$VM-data-$LUN\" --lun \"$LUN\" --caching {}",
        azure_caching(volume)
    );
    text.push_str("done\n");
    in_guest(text, volume, azure_device(row));
}

/// Options of provisioned figures, with a space before each.
fn provisioned(disk: &ToolDisk, iops: &str, throughput: &str) -> String {
    let of = |option: &str, value: Option<u64>| value.map_or_else(String::new, |value| format!(" {option} {value}"));
    format!("{}{}", of(iops, disk.iops), of(throughput, disk.throughput))
}

fn aws_cli(text: &mut String, row: &Candidate, volume: &VolumeChoice, disk: &ToolDisk, os: Option<&ToolDisk>) {
    let _ = writeln!(
        text,
        "set -eu\nexport AWS_DEFAULT_REGION={}\nIMAGE=ami-...   # an image of yours\nKEY=...         # the name of a key pair\n",
        row.region
    );
    let root = os.map_or_else(String::new, |os| {
        format!(
            " \\\n  --block-device-mappings 'DeviceName=/dev/xvda,Ebs={{VolumeType={},VolumeSize={}}}'",
            os.kind, os.size_gib
        )
    });
    let _ = writeln!(
        text,
        "INSTANCE=$(aws ec2 run-instances --image-id \"$IMAGE\" --instance-type {} --key-name \"$KEY\" --ebs-optimized{root} \\\n  --query 'Instances[0].InstanceId' --output text)",
        machine(row)
    );
    text.push_str("aws ec2 wait instance-running --instance-ids \"$INSTANCE\"\n");
    text.push_str("AZ=$(aws ec2 describe-instances --instance-ids \"$INSTANCE\" --query 'Reservations[0].Instances[0].Placement.AvailabilityZone' --output text)\n");
    let letters: Vec<String> = (0..volume.columns.max(1)).map(device_letter).collect();
    let _ = writeln!(text, "for LETTER in {}; do", letters.join(" "));
    let options = provisioned(disk, "--iops", "--throughput");
    let _ = writeln!(
        text,
        "  VOLUME=$(aws ec2 create-volume --availability-zone \"$AZ\" --volume-type {} --size {}{options} --query VolumeId --output text)",
        disk.kind, disk.size_gib
    );
    text.push_str("  aws ec2 wait volume-available --volume-ids \"$VOLUME\"\n");
    text.push_str("  aws ec2 attach-volume --instance-id \"$INSTANCE\" --volume-id \"$VOLUME\" --device \"/dev/sd$LETTER\"\ndone\n");
    text.push_str("# On the machine each volume is /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_ and its id without the dash.\n");
    in_guest(text, volume, "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol$N");
}

/// "f" to "z", then "aa" and on, as devices are named.
fn device_letter(index: u32) -> String {
    let letter = |index: u32| char::from(b'a' + (index % 26) as u8);
    let index = index + 5;
    if index < 26 { letter(index).to_string() } else { format!("{}{}", letter(index / 26 - 1), letter(index)) }
}

fn gcloud(text: &mut String, row: &Candidate, volume: &VolumeChoice, disk: &ToolDisk, os: Option<&ToolDisk>) {
    let _ = writeln!(text, "set -eu\nZONE={}-a\nVM=advised\n", row.region);
    let boot =
        os.map_or_else(String::new, |os| format!(" --boot-disk-type={} --boot-disk-size={}GB", os.kind, os.size_gib));
    let _ = writeln!(
        text,
        "gcloud compute instances create \"$VM\" --zone=\"$ZONE\" --machine-type={} --image-family=debian-12 --image-project=debian-cloud{boot}",
        machine(row)
    );
    let of = |option: &str, value: Option<u64>| value.map_or_else(String::new, |value| format!(" {option}={value}"));
    let options = format!("{}{}", of("--provisioned-iops", disk.iops), of("--provisioned-throughput", disk.throughput));
    let _ = writeln!(text, "for N in $(seq 0 {}); do", volume.columns.max(1) - 1);
    let _ = writeln!(
        text,
        "  gcloud compute disks create \"$VM-data-$N\" --zone=\"$ZONE\" --type={} --size={}GB{options}",
        disk.kind, disk.size_gib
    );
    text.push_str("  gcloud compute instances attach-disk \"$VM\" --zone=\"$ZONE\" --disk=\"$VM-data-$N\" --device-name=\"data-$N\"\ndone\n");
    in_guest(text, volume, "/dev/disk/by-id/google-data-$N");
}

/// The layout in a Linux guest: one file system over the disks.
fn in_guest(text: &mut String, volume: &VolumeChoice, device: &str) {
    let count = volume.columns.max(1);
    text.push_str("\n# On the machine, as root. It makes a new file system: all that is on the disks is lost.\n");
    let target = if count > 1 {
        let chunk = volume.interleave_bytes.unwrap_or(256 << 10) >> 10;
        let _ = writeln!(text, "#   DISKS=$(for N in $(seq 0 {}); do echo {device}; done)", count - 1);
        let _ =
            writeln!(text, "#   mdadm --create /dev/md/data --level=0 --raid-devices={count} --chunk={chunk}K $DISKS");
        text.push_str("#   mdadm --detail --scan >> /etc/mdadm/mdadm.conf && update-initramfs -u\n");
        "/dev/md/data".to_owned()
    } else {
        device.replace("$N", "0")
    };
    let _ = writeln!(text, "#   mkfs.xfs {target}");
    let _ = writeln!(text, "#   mkdir -p /data && mount -o noatime {target} /data");
    let _ = writeln!(
        text,
        "#   echo \"UUID=$(blkid -s UUID -o value {target}) /data xfs noatime,nofail 0 2\" >> /etc/fstab"
    );
    text.push_str("# Then measure what was bought: loadline quick /data\n");
}

fn terraform(text: &mut String, row: &Candidate, volume: &VolumeChoice, disk: &ToolDisk, os: Option<&ToolDisk>) {
    let count = volume.columns.max(1);
    let of = |key: &str, value: Option<u64>| value.map_or_else(String::new, |value| format!("  {key} = {value}\n"));
    match row.provider.as_str() {
        "azure" => {
            let figures =
                format!("{}{}", of("disk_iops_read_write", disk.iops), of("disk_mbps_read_write", disk.throughput));
            let _ = write!(
                text,
                "variable \"resource_group_name\" {{\n  type = string\n}}\nvariable \"network_interface_id\" {{\n  type = string\n}}\nvariable \"ssh_public_key\" {{\n  type = string\n}}\n\n\
                 resource \"azurerm_linux_virtual_machine\" \"advised\" {{\n  name                  = \"advised\"\n  resource_group_name   = var.resource_group_name\n  location              = \"{}\"\n  zone                  = \"1\"\n  size                  = \"{}\"\n  admin_username        = \"advised\"\n{}  network_interface_ids = [var.network_interface_id]\n  admin_ssh_key {{\n    username   = \"advised\"\n    public_key = var.ssh_public_key\n  }}\n  os_disk {{\n    caching              = \"ReadOnly\"\n    storage_account_type = \"{}\"\n  }}\n  source_image_reference {{\n    publisher = \"Canonical\"\n    offer     = \"ubuntu-24_04-lts\"\n    sku       = \"server\"\n    version   = \"latest\"\n  }}\n}}\n\n\
                 resource \"azurerm_managed_disk\" \"data\" {{\n  count                = {count}\n  name                 = \"advised-data-${{count.index}}\"\n  resource_group_name  = var.resource_group_name\n  location             = \"{}\"\n  zone                 = \"1\"\n  create_option        = \"Empty\"\n  storage_account_type = \"{}\"\n  disk_size_gb         = {}\n{figures}}}\n\n\
                 resource \"azurerm_virtual_machine_data_disk_attachment\" \"data\" {{\n  count              = {count}\n  managed_disk_id    = azurerm_managed_disk.data[count.index].id\n  virtual_machine_id = azurerm_linux_virtual_machine.advised.id\n  lun                = count.index\n  caching            = \"{}\"\n}}\n",
                row.region,
                azure_size(row),
                on_nvme(row, "  disk_controller_type  = \"NVMe\"\n"),
                os.map_or("StandardSSD_LRS", |os| os.kind.as_str()),
                row.region,
                disk.kind,
                disk.size_gib,
                azure_caching(volume)
            );
        }
        "aws" => {
            let figures = format!("{}{}", of("iops", disk.iops), of("throughput", disk.throughput));
            let root = os.map_or_else(String::new, |os| {
                format!(
                    "  root_block_device {{\n    volume_type = \"{}\"\n    volume_size = {}\n  }}\n",
                    os.kind, os.size_gib
                )
            });
            let letters: Vec<String> = (0..count).map(|index| format!("\"/dev/sd{}\"", device_letter(index))).collect();
            let _ = write!(
                text,
                "provider \"aws\" {{\n  region = \"{}\"\n}}\n\nvariable \"ami\" {{\n  type = string\n}}\n\nresource \"aws_instance\" \"advised\" {{\n  ami           = var.ami\n  instance_type = \"{}\"\n  ebs_optimized = true\n{root}}}\n\n\
                 resource \"aws_ebs_volume\" \"data\" {{\n  count             = {count}\n  availability_zone = aws_instance.advised.availability_zone\n  type              = \"{}\"\n  size              = {}\n{figures}}}\n\n\
                 resource \"aws_volume_attachment\" \"data\" {{\n  count       = {count}\n  device_name = [{}][count.index]\n  volume_id   = aws_ebs_volume.data[count.index].id\n  instance_id = aws_instance.advised.id\n}}\n",
                row.region,
                machine(row),
                disk.kind,
                disk.size_gib,
                letters.join(", ")
            );
        }
        _ => {
            let figures =
                format!("{}{}", of("provisioned_iops", disk.iops), of("provisioned_throughput", disk.throughput));
            let boot = os.map_or_else(String::new, |os| {
                format!("      type  = \"{}\"\n      size  = {}\n", os.kind, os.size_gib)
            });
            let _ = write!(
                text,
                "resource \"google_compute_instance\" \"advised\" {{\n  name         = \"advised\"\n  machine_type = \"{}\"\n  zone         = \"{}-a\"\n  boot_disk {{\n    initialize_params {{\n      image = \"debian-cloud/debian-12\"\n{boot}    }}\n  }}\n  network_interface {{\n    network = \"default\"\n  }}\n  lifecycle {{\n    ignore_changes = [attached_disk]\n  }}\n}}\n\n\
                 resource \"google_compute_disk\" \"data\" {{\n  count = {count}\n  name  = \"advised-data-${{count.index}}\"\n  zone  = \"{}-a\"\n  type  = \"{}\"\n  size  = {}\n{figures}}}\n\n\
                 resource \"google_compute_attached_disk\" \"data\" {{\n  count       = {count}\n  disk        = google_compute_disk.data[count.index].id\n  instance    = google_compute_instance.advised.id\n  device_name = \"data-${{count.index}}\"\n}}\n",
                machine(row),
                row.region,
                row.region,
                disk.kind,
                disk.size_gib
            );
        }
    }
    in_guest(
        text,
        volume,
        match row.provider.as_str() {
            "azure" => azure_device(row),
            "aws" => "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol$N",
            _ => "/dev/disk/by-id/google-data-$N",
        },
    );
}

fn bicep(text: &mut String, row: &Candidate, volume: &VolumeChoice, disk: &ToolDisk, os: Option<&ToolDisk>) {
    let of = |key: &str, value: Option<u64>| value.map_or_else(String::new, |value| format!("    {key}: {value}\n"));
    let figures = format!("{}{}", of("diskIOPSReadWrite", disk.iops), of("diskMBpsReadWrite", disk.throughput));
    let _ = write!(
        text,
        "param location string = '{}'\nparam adminName string = 'advised'\nparam networkInterfaceId string\n@secure()\nparam sshPublicKey string\n\n\
         resource data 'Microsoft.Compute/disks@2023-10-02' = [for i in range(0, {}): {{\n  name: 'advised-data-${{i}}'\n  location: location\n  zones: [ '1' ]\n  sku: {{ name: '{}' }}\n  properties: {{\n    creationData: {{ createOption: 'Empty' }}\n    diskSizeGB: {}\n{figures}  }}\n}}]\n\n\
         resource machine 'Microsoft.Compute/virtualMachines@2024-03-01' = {{\n  name: 'advised'\n  location: location\n  zones: [ '1' ]\n  properties: {{\n    hardwareProfile: {{ vmSize: '{}' }}\n    storageProfile: {{\n{}      imageReference: {{ publisher: 'Canonical', offer: 'ubuntu-24_04-lts', sku: 'server', version: 'latest' }}\n      osDisk: {{ createOption: 'FromImage', managedDisk: {{ storageAccountType: '{}' }} }}\n      dataDisks: [for i in range(0, {}): {{\n        lun: i\n        createOption: 'Attach'\n        caching: '{}'\n        managedDisk: {{ id: data[i].id }}\n      }}]\n    }}\n    osProfile: {{\n      computerName: 'advised'\n      adminUsername: adminName\n      linuxConfiguration: {{\n        disablePasswordAuthentication: true\n        ssh: {{ publicKeys: [ {{ path: '/home/${{adminName}}/.ssh/authorized_keys', keyData: sshPublicKey }} ] }}\n      }}\n    }}\n    networkProfile: {{ networkInterfaces: [ {{ id: networkInterfaceId }} ] }}\n  }}\n}}\n",
        row.region,
        volume.columns.max(1),
        disk.kind,
        disk.size_gib,
        azure_size(row),
        on_nvme(row, "      diskControllerType: 'NVMe'\n"),
        os.map_or("StandardSSD_LRS", |os| os.kind.as_str()),
        volume.columns.max(1),
        azure_caching(volume)
    );
    let mut guest = String::new();
    in_guest(&mut guest, volume, azure_device(row));
    for line in guest.lines() {
        let _ = writeln!(
            text,
            "{}",
            if line.is_empty() { String::new() } else { format!("//{}", line.trim_start_matches('#')) }
        );
    }
}

fn powershell(text: &mut String, row: &Candidate, volume: &VolumeChoice, disk: &ToolDisk, os: Option<&ToolDisk>) {
    let count = volume.columns.max(1);
    let figures = provisioned(disk, "-DiskIOPSReadWrite", "-DiskMBpsReadWrite");
    let _ = write!(
        text,
        "$ErrorActionPreference = 'Stop'\n$Group = 'advised'\n$Name = 'advised'\n$Location = '{}'\n\n\
         New-AzResourceGroup -Name $Group -Location $Location\n\
         New-AzVM -ResourceGroupName $Group -Name $Name -Location $Location -Zone 1 -Size '{}' -Image 'Win2022AzureEditionCore'{} -Credential (Get-Credential)\n",
        row.region,
        azure_size(row),
        on_nvme(row, " -DiskControllerType NVMe")
    );
    if let Some(os) = os {
        let _ = writeln!(text, "# The system's disk is to be {} with at least {} GiB.", os.kind, os.size_gib);
    }
    let _ = write!(
        text,
        "$Machine = Get-AzVM -ResourceGroupName $Group -Name $Name\n\
         foreach ($Lun in 0..{}) {{\n  $Config = New-AzDiskConfig -Location $Location -Zone 1 -SkuName '{}' -DiskSizeGB {} -CreateOption Empty{figures}\n  $Disk = New-AzDisk -ResourceGroupName $Group -DiskName \"$Name-data-$Lun\" -Disk $Config\n  $Machine = Add-AzVMDataDisk -VM $Machine -Name \"$Name-data-$Lun\" -CreateOption Attach -ManagedDiskId $Disk.Id -Lun $Lun -Caching '{}'\n}}\n\
         Update-AzVM -ResourceGroupName $Group -VM $Machine\n\n\
         # On the machine, as administrator. It makes a new volume: all that is on the disks is lost.\n",
        count - 1,
        disk.kind,
        disk.size_gib,
        azure_caching(volume)
    );
    if count > 1 {
        let interleave = volume.interleave_bytes.unwrap_or(256 << 10);
        let _ = write!(
            text,
            "#   $Disks = Get-PhysicalDisk -CanPool $true\n\
             #   New-StoragePool -FriendlyName data -StorageSubsystemFriendlyName 'Windows Storage*' -PhysicalDisks $Disks\n\
             #   New-VirtualDisk -StoragePoolFriendlyName data -FriendlyName data -ResiliencySettingName Simple -NumberOfColumns {count} -Interleave {interleave} -UseMaximumSize\n\
             #   Get-VirtualDisk -FriendlyName data | Get-Disk | Initialize-Disk -PassThru | New-Partition -AssignDriveLetter -UseMaximumSize | Format-Volume -FileSystem NTFS -AllocationUnitSize 65536\n"
        );
    } else {
        text.push_str(
            "#   Get-Disk | Where-Object PartitionStyle -eq 'RAW' | Initialize-Disk -PassThru | New-Partition -AssignDriveLetter -UseMaximumSize | Format-Volume -FileSystem NTFS -AllocationUnitSize 65536\n",
        );
    }
}

//! Azure's module for PowerShell, with Storage Spaces in Windows Server.

use super::{Provisioning, azure};
use std::fmt::Write as _;

/// Images of Windows Server are so large.
const WINDOWS_GIB: u64 = 127;

/// The commands.
pub(super) fn commands(wanted: &Provisioning<'_>) -> String {
    let count = wanted.count();
    let mut options = String::new();
    if azure::is_on_nvme(wanted) {
        options.push_str(" -DiskControllerType NVMe");
    }
    if azure::is_ultra(wanted) {
        options.push_str(" -EnableUltraSSD");
    }
    let mut text = format!(
        "# The price is without a licence for Windows.\n\n\
         $ErrorActionPreference = 'Stop'\n$Group = 'advised'\n$Name = 'advised'\n$Location = '{}'\n\n\
         New-AzResourceGroup -Name $Group -Location $Location\n\
         New-AzVM -ResourceGroupName $Group -Name $Name -Location $Location -Zone 1 -Size '{}' -Image 'Win2022AzureEditionCore'{options} -Credential (Get-Credential)\n",
        wanted.row.region,
        azure::size(wanted),
    );
    if let Some(os) = &wanted.os {
        let _ = writeln!(
            text,
            "# The system's disk is as large as the image, {WINDOWS_GIB} GiB. The price is for {} of {} GiB: ask for it with --os-disk {WINDOWS_GIB}GiB.",
            os.kind, os.size_gib
        );
    }
    let figures = wanted.disk.provisioned(" ", "-DiskIOPSReadWrite ", "-DiskMBpsReadWrite ", "");
    let _ = write!(
        text,
        "$Machine = Get-AzVM -ResourceGroupName $Group -Name $Name\n\
         foreach ($Lun in 0..{}) {{\n  \
           $Config = New-AzDiskConfig -Location $Location -Zone 1 -SkuName '{}' -DiskSizeGB {} -CreateOption Empty{figures}\n  \
           $Disk = New-AzDisk -ResourceGroupName $Group -DiskName \"$Name-data-$Lun\" -Disk $Config\n  \
           $Machine = Add-AzVMDataDisk -VM $Machine -Name \"$Name-data-$Lun\" -CreateOption Attach -ManagedDiskId $Disk.Id -Lun $Lun -Caching '{}'\n}}\n\
         Update-AzVM -ResourceGroupName $Group -VM $Machine\n\n",
        count - 1,
        wanted.disk.kind,
        wanted.disk.size_gib,
        azure::caching(wanted)
    );
    // New disks alone are RAW and may be pooled.
    let volume = if count > 1 {
        let interleave = wanted.volume.interleave_bytes.unwrap_or(256 << 10);
        format!(
            "$Disks = Get-PhysicalDisk -CanPool $true\n\
             New-StoragePool -FriendlyName data -StorageSubSystemFriendlyName 'Windows Storage*' -PhysicalDisks $Disks\n\
             New-VirtualDisk -StoragePoolFriendlyName data -FriendlyName data -ResiliencySettingName Simple -NumberOfColumns {count} -Interleave {interleave} -UseMaximumSize\n\
             $Fresh = Get-VirtualDisk -FriendlyName data | Get-Disk\n"
        )
    } else {
        "$Fresh = Get-Disk | Where-Object PartitionStyle -eq 'RAW'\n".to_owned()
    };
    let _ = write!(
        text,
        "# For the machine: one volume over its new disks.\n\
         @'\n{volume}$Fresh | Initialize-Disk -PassThru | New-Partition -AssignDriveLetter -UseMaximumSize | Format-Volume -FileSystem NTFS -AllocationUnitSize 65536 -Confirm:$false\n'@ | Set-Content on-the-machine.ps1\n\
         Invoke-AzVMRunCommand -ResourceGroupName $Group -VMName $Name -CommandId RunPowerShellScript -ScriptPath on-the-machine.ps1 -WhatIf\n\
         # Take -WhatIf away to run it there.\n"
    );
    text
}

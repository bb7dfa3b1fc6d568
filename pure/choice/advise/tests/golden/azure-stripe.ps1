# azure/d8s-v5 with 2 x azure/premium-p30 striped for set-up: 1.00 USD a month in eastus.
# Read it before you run it: names, image, network and keys are yours to choose.
# The price is without a licence for Windows.

$ErrorActionPreference = 'Stop'
$Group = 'advised'
$Name = 'advised'
$Location = 'eastus'

New-AzResourceGroup -Name $Group -Location $Location
New-AzVM -ResourceGroupName $Group -Name $Name -Location $Location -Zone 1 -Size 'Standard_d8s_v5' -Image 'Win2022AzureEditionCore' -Credential (Get-Credential)
# The system's disk is as large as the image, 127 GiB. The price is for StandardSSD_LRS of 32 GiB: ask for it with --os-disk 127GiB.
$Machine = Get-AzVM -ResourceGroupName $Group -Name $Name
foreach ($Lun in 0..1) {
  $Config = New-AzDiskConfig -Location $Location -Zone 1 -SkuName 'Premium_LRS' -DiskSizeGB 1024 -CreateOption Empty
  $Disk = New-AzDisk -ResourceGroupName $Group -DiskName "$Name-data-$Lun" -Disk $Config
  $Machine = Add-AzVMDataDisk -VM $Machine -Name "$Name-data-$Lun" -CreateOption Attach -ManagedDiskId $Disk.Id -Lun $Lun -Caching 'None'
}
Update-AzVM -ResourceGroupName $Group -VM $Machine

# For the machine: one volume over its new disks.
@'
$Disks = Get-PhysicalDisk -CanPool $true
New-StoragePool -FriendlyName data -StorageSubSystemFriendlyName 'Windows Storage*' -PhysicalDisks $Disks
New-VirtualDisk -StoragePoolFriendlyName data -FriendlyName data -ResiliencySettingName Simple -NumberOfColumns 2 -Interleave 262144 -UseMaximumSize
$Fresh = Get-VirtualDisk -FriendlyName data | Get-Disk
$Fresh | Initialize-Disk -PassThru | New-Partition -AssignDriveLetter -UseMaximumSize | Format-Volume -FileSystem NTFS -AllocationUnitSize 65536 -Confirm:$false
'@ | Set-Content on-the-machine.ps1
Invoke-AzVMRunCommand -ResourceGroupName $Group -VMName $Name -CommandId RunPowerShellScript -ScriptPath on-the-machine.ps1 -WhatIf
# Take -WhatIf away to run it there.

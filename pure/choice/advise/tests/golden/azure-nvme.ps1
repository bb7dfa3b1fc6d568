# azure/e4bs-v5-nvme with azure/premium-v2 100 GiB, 9,677 IOPS for set-up: about 1.00 USD a month in eastus.
# Read it before you run it: names, image, network and keys are yours to choose.
# The price is without a licence for Windows.

$ErrorActionPreference = 'Stop'
$Group = 'advised'
$Name = 'advised'
$Location = 'eastus'

New-AzResourceGroup -Name $Group -Location $Location
New-AzVM -ResourceGroupName $Group -Name $Name -Location $Location -Zone 1 -Size 'Standard_e4bs_v5' -Image 'Win2022AzureEditionCore' -DiskControllerType NVMe -Credential (Get-Credential)
# The system's disk is as large as the image, 127 GiB. The price is for StandardSSD_LRS of 32 GiB: ask for it with --os-disk 127GiB.
$Machine = Get-AzVM -ResourceGroupName $Group -Name $Name
foreach ($Lun in 0..0) {
  $Config = New-AzDiskConfig -Location $Location -Zone 1 -SkuName 'PremiumV2_LRS' -DiskSizeGB 100 -CreateOption Empty -DiskIOPSReadWrite 9677
  $Disk = New-AzDisk -ResourceGroupName $Group -DiskName "$Name-data-$Lun" -Disk $Config
  $Machine = Add-AzVMDataDisk -VM $Machine -Name "$Name-data-$Lun" -CreateOption Attach -ManagedDiskId $Disk.Id -Lun $Lun -Caching 'None'
}
Update-AzVM -ResourceGroupName $Group -VM $Machine

# For the machine: one volume over its new disks.
@'
$Fresh = Get-Disk | Where-Object PartitionStyle -eq 'RAW'
$Fresh | Initialize-Disk -PassThru | New-Partition -AssignDriveLetter -UseMaximumSize | Format-Volume -FileSystem NTFS -AllocationUnitSize 65536 -Confirm:$false
'@ | Set-Content on-the-machine.ps1
Invoke-AzVMRunCommand -ResourceGroupName $Group -VMName $Name -CommandId RunPowerShellScript -ScriptPath on-the-machine.ps1 -WhatIf
# Take -WhatIf away to run it there.

// azure/d4ps-v5 (ARM) with azure/ultra 100 GiB, 4,301 IOPS, 35.04 MB/s for set-up: 1.00 USD a month in eastus.
// Read it before you run it: names, image, network and keys are yours to choose.

param location string = 'eastus'
param adminName string = 'advised'
param networkInterfaceId string
@secure()
param sshPublicKey string

resource data 'Microsoft.Compute/disks@2023-10-02' = [for i in range(0, 1): {
  name: 'advised-data-${i}'
  location: location
  zones: [ '1' ]
  sku: { name: 'UltraSSD_LRS' }
  properties: {
    creationData: { createOption: 'Empty' }
    diskSizeGB: 100
    diskIOPSReadWrite: 4301
    diskMBpsReadWrite: 36
  }
}]

resource machine 'Microsoft.Compute/virtualMachines@2024-03-01' = {
  name: 'advised'
  location: location
  zones: [ '1' ]
  properties: {
    additionalCapabilities: { ultraSSDEnabled: true }
    hardwareProfile: { vmSize: 'Standard_d4ps_v5' }
    storageProfile: {
      imageReference: { publisher: 'Canonical', offer: 'ubuntu-24_04-lts', sku: 'server-arm64', version: 'latest' }
      osDisk: { createOption: 'FromImage', diskSizeGB: 32, managedDisk: { storageAccountType: 'StandardSSD_LRS' } }
      dataDisks: [for i in range(0, 1): {
        lun: i
        createOption: 'Attach'
        caching: 'None'
        managedDisk: { id: data[i].id }
      }]
    }
    osProfile: {
      computerName: 'advised'
      adminUsername: adminName
      linuxConfiguration: {
        disablePasswordAuthentication: true
        ssh: { publicKeys: [ { path: '/home/${adminName}/.ssh/authorized_keys', keyData: sshPublicKey } ] }
      }
    }
    networkProfile: { networkInterfaces: [ { id: networkInterfaceId } ] }
  }
}

// For the machine, as root: one file system over its disks. This writes the lines below to a file:
//   sed -n 's|^//>||p' main.bicep >on-the-machine.sh
//>set -eu
//>DISKS=
//>for LUN in $(seq 0 0); do
//>  DISK=$(ls /dev/disk/azure/data/by-lun/$LUN /dev/disk/azure/scsi1/lun$LUN 2>/dev/null | head -n 1)
//>  DISKS="$DISKS ${DISK:?there is no data disk with this number}"
//>done
//>apt-get update && apt-get install -y xfsprogs
//>mkfs.xfs $DISKS
//>mkdir -p /data
//>echo "UUID=$(blkid -s UUID -o value $DISKS) /data xfs noatime,nofail 0 2" >>/etc/fstab
//>mount /data
//>echo 'Now measure what was bought: loadline quick /data'

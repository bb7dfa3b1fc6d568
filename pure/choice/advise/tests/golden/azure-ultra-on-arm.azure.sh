#!/bin/sh
# azure/d4ps-v5 (ARM) with azure/ultra 100 GiB, 4,301 IOPS, 35.04 MB/s for set-up: 1.00 USD a month in eastus.
# Read it before you run it: names, image, network and keys are yours to choose.
set -eu
GROUP=advised
VM=advised
LOCATION=eastus
ZONE=1

az group create --name "$GROUP" --location "$LOCATION"
az vm create --resource-group "$GROUP" --name "$VM" --location "$LOCATION" --zone "$ZONE" --size Standard_d4ps_v5 \
  --image Canonical:ubuntu-24_04-lts:server-arm64:latest --storage-sku os=StandardSSD_LRS --os-disk-size-gb 32 --ultra-ssd-enabled true --generate-ssh-keys
for LUN in $(seq 0 0); do
  az disk create --resource-group "$GROUP" --name "$VM-data-$LUN" --location "$LOCATION" --zone "$ZONE" --sku UltraSSD_LRS --size-gb 100 --disk-iops-read-write 4301 --disk-mbps-read-write 36
  az vm disk attach --resource-group "$GROUP" --vm-name "$VM" --name "$VM-data-$LUN" --lun "$LUN" --caching None
done

# For the machine: one file system over its disks.
cat >on-the-machine.sh <<'EOF'
set -eu
DISKS=
for LUN in $(seq 0 0); do
  DISK=$(ls /dev/disk/azure/data/by-lun/$LUN /dev/disk/azure/scsi1/lun$LUN 2>/dev/null | head -n 1)
  DISKS="$DISKS ${DISK:?there is no data disk with this number}"
done
apt-get update && apt-get install -y xfsprogs
mkfs.xfs $DISKS
mkdir -p /data
echo "UUID=$(blkid -s UUID -o value $DISKS) /data xfs noatime,nofail 0 2" >>/etc/fstab
mount /data
echo 'Now measure what was bought: loadline quick /data'
EOF
echo "Next, to run it on the machine: az vm run-command invoke --resource-group $GROUP --name $VM --command-id RunShellScript --scripts @on-the-machine.sh"

#!/bin/sh
# azure/d8s-v5 with 2 x azure/premium-p30 striped for set-up: 1.00 USD a month in eastus.
# Read it before you run it: names, image, network and keys are yours to choose.
set -eu
GROUP=advised
VM=advised
LOCATION=eastus
ZONE=1

az group create --name "$GROUP" --location "$LOCATION"
az vm create --resource-group "$GROUP" --name "$VM" --location "$LOCATION" --zone "$ZONE" --size Standard_d8s_v5 \
  --image Canonical:ubuntu-24_04-lts:server:latest --storage-sku os=StandardSSD_LRS --os-disk-size-gb 32 --generate-ssh-keys
for LUN in $(seq 0 1); do
  az disk create --resource-group "$GROUP" --name "$VM-data-$LUN" --location "$LOCATION" --zone "$ZONE" --sku Premium_LRS --size-gb 1024
  az vm disk attach --resource-group "$GROUP" --vm-name "$VM" --name "$VM-data-$LUN" --lun "$LUN" --caching None
done

# For the machine: one file system over its disks.
cat >on-the-machine.sh <<'EOF'
set -eu
DISKS=
for LUN in $(seq 0 1); do
  DISK=$(ls /dev/disk/azure/data/by-lun/$LUN /dev/disk/azure/scsi1/lun$LUN 2>/dev/null | head -n 1)
  DISKS="$DISKS ${DISK:?there is no data disk with this number}"
done
apt-get update && apt-get install -y mdadm xfsprogs
mdadm --create /dev/md/data --level=0 --raid-devices=2 --chunk=256K $DISKS </dev/null
mdadm --detail --scan >>/etc/mdadm/mdadm.conf
update-initramfs -u
mkfs.xfs /dev/md/data
mkdir -p /data
echo "UUID=$(blkid -s UUID -o value /dev/md/data) /data xfs noatime,nofail 0 2" >>/etc/fstab
mount /data
echo 'Now measure what was bought: loadline quick /data'
EOF
echo "Next, to run it on the machine: az vm run-command invoke --resource-group $GROUP --name $VM --command-id RunShellScript --scripts @on-the-machine.sh"

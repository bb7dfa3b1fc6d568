#!/bin/sh
# gcp/c3-highcpu-8 with gcp/hyperdisk-balanced 100 GiB, 9,000 IOPS for set-up: about 1.00 USD a month in us-central1.
# Read it before you run it: names, image, network and keys are yours to choose.
set -eu
ZONE=us-central1-a
VM=advised

gcloud compute instances create "$VM" --zone="$ZONE" --machine-type=c3-highcpu-8 \
  --image-family=debian-12 --image-project=debian-cloud --boot-disk-type=hyperdisk-balanced --boot-disk-size=32GB
for N in $(seq 0 0); do
  gcloud compute disks create "$VM-data-$N" --zone="$ZONE" --type=hyperdisk-balanced --size=100GB --provisioned-iops=9000
  gcloud compute instances attach-disk "$VM" --zone="$ZONE" --disk="$VM-data-$N" --device-name="data-$N"
done

# For the machine: one file system over its disks.
cat >on-the-machine.sh <<'EOF'
set -eu
apt-get update && apt-get install -y xfsprogs
mkfs.xfs /dev/disk/by-id/google-data-0
mkdir -p /data
echo "UUID=$(blkid -s UUID -o value /dev/disk/by-id/google-data-0) /data xfs noatime,nofail 0 2" >>/etc/fstab
mount /data
echo 'Now measure what was bought: loadline quick /data'
EOF
echo "Next, to run it on the machine: gcloud compute ssh $VM --zone=$ZONE --command='sudo sh -s' <on-the-machine.sh"

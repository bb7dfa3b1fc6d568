#!/bin/sh
# gcp/n2-standard-16 with 2 x gcp/pd-ssd 200 GiB striped for set-up: 1.00 USD a month in us-central1.
# Read it before you run it: names, image, network and keys are yours to choose.
set -eu
ZONE=us-central1-a
VM=advised

gcloud compute instances create "$VM" --zone="$ZONE" --machine-type=n2-standard-16 \
  --image-family=debian-12 --image-project=debian-cloud --boot-disk-type=pd-balanced --boot-disk-size=32GB
for N in $(seq 0 1); do
  gcloud compute disks create "$VM-data-$N" --zone="$ZONE" --type=pd-ssd --size=200GB
  gcloud compute instances attach-disk "$VM" --zone="$ZONE" --disk="$VM-data-$N" --device-name="data-$N"
done

# For the machine: one file system over its disks.
cat >on-the-machine.sh <<'EOF'
set -eu
apt-get update && apt-get install -y mdadm xfsprogs
mdadm --create /dev/md/data --level=0 --raid-devices=2 --chunk=256K /dev/disk/by-id/google-data-0 /dev/disk/by-id/google-data-1 </dev/null
mdadm --detail --scan >>/etc/mdadm/mdadm.conf
update-initramfs -u
mkfs.xfs /dev/md/data
mkdir -p /data
echo "UUID=$(blkid -s UUID -o value /dev/md/data) /data xfs noatime,nofail 0 2" >>/etc/fstab
mount /data
echo 'Now measure what was bought: loadline quick /data'
EOF
echo "Next, to run it on the machine: gcloud compute ssh $VM --zone=$ZONE --command='sudo sh -s' <on-the-machine.sh"

#!/bin/sh
# aws/m6g.xlarge (ARM) with 2 x aws/gp3 100 GiB striped for set-up: 1.00 USD a month in us-east-1.
# Read it before you run it: names, image, network and keys are yours to choose.
set -eu
export AWS_DEFAULT_REGION=us-east-1
KEY=${KEY:?set it to the name of a key pair of yours}
IMAGE=resolve:ssm:/aws/service/canonical/ubuntu/server/24.04/stable/current/arm64/hvm/ebs-gp3/ami-id

INSTANCE=$(aws ec2 run-instances --image-id "$IMAGE" --instance-type m6g.xlarge --key-name "$KEY" \
  --block-device-mappings 'DeviceName=/dev/sda1,Ebs={VolumeType=gp3,VolumeSize=32}' \
  --query 'Instances[0].InstanceId' --output text)
aws ec2 wait instance-running --instance-ids "$INSTANCE"
AZ=$(aws ec2 describe-instances --instance-ids "$INSTANCE" --query 'Reservations[0].Instances[0].Placement.AvailabilityZone' --output text)
DEVICES='/dev/sdf /dev/sdg'
DISKS=
for DEVICE in $DEVICES; do
  VOLUME=$(aws ec2 create-volume --availability-zone "$AZ" --volume-type gp3 --size 100 --query VolumeId --output text)
  aws ec2 wait volume-available --volume-ids "$VOLUME"
  aws ec2 attach-volume --instance-id "$INSTANCE" --volume-id "$VOLUME" --device "$DEVICE"
  DISKS="$DISKS /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol${VOLUME#vol-}"
done

# For the machine: one file system over its disks.
cat >on-the-machine.sh <<EOF
set -eu
apt-get update && apt-get install -y mdadm xfsprogs
mdadm --create /dev/md/data --level=0 --raid-devices=2 --chunk=256K $DISKS </dev/null
mdadm --detail --scan >>/etc/mdadm/mdadm.conf
update-initramfs -u
mkfs.xfs /dev/md/data
mkdir -p /data
echo "UUID=\$(blkid -s UUID -o value /dev/md/data) /data xfs noatime,nofail 0 2" >>/etc/fstab
mount /data
echo 'Now measure what was bought: loadline quick /data'
EOF
echo "Next, to run it on the machine: ssh ubuntu@ADDRESS sudo sh -s <on-the-machine.sh (its ADDRESS: aws ec2 describe-instances --instance-ids $INSTANCE)"

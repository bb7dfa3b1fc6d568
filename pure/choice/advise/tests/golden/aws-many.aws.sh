#!/bin/sh
# aws/m5.24xlarge with 24 x aws/gp3 800 GiB striped for set-up: 1.00 USD a month in us-east-1.
# Read it before you run it: names, image, network and keys are yours to choose.
set -eu
export AWS_DEFAULT_REGION=us-east-1
KEY=${KEY:?set it to the name of a key pair of yours}
IMAGE=resolve:ssm:/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id

INSTANCE=$(aws ec2 run-instances --image-id "$IMAGE" --instance-type m5.24xlarge --key-name "$KEY" \
  --block-device-mappings 'DeviceName=/dev/sda1,Ebs={VolumeType=gp3,VolumeSize=32}' \
  --query 'Instances[0].InstanceId' --output text)
aws ec2 wait instance-running --instance-ids "$INSTANCE"
AZ=$(aws ec2 describe-instances --instance-ids "$INSTANCE" --query 'Reservations[0].Instances[0].Placement.AvailabilityZone' --output text)
DEVICES='/dev/sdf /dev/sdg /dev/sdh /dev/sdi /dev/sdj /dev/sdk /dev/sdl /dev/sdm /dev/sdn /dev/sdo /dev/sdp /dev/sdq /dev/sdr /dev/sds /dev/sdt /dev/sdu /dev/sdv /dev/sdw /dev/sdx /dev/sdy /dev/sdz /dev/xvdba /dev/xvdbb /dev/xvdbc'
DISKS=
for DEVICE in $DEVICES; do
  VOLUME=$(aws ec2 create-volume --availability-zone "$AZ" --volume-type gp3 --size 800 --query VolumeId --output text)
  aws ec2 wait volume-available --volume-ids "$VOLUME"
  aws ec2 attach-volume --instance-id "$INSTANCE" --volume-id "$VOLUME" --device "$DEVICE"
  DISKS="$DISKS /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol${VOLUME#vol-}"
done

# For the machine: one file system over its disks.
cat >on-the-machine.sh <<EOF
set -eu
apt-get update && apt-get install -y mdadm xfsprogs
mdadm --create /dev/md/data --level=0 --raid-devices=24 --chunk=256K $DISKS </dev/null
mdadm --detail --scan >>/etc/mdadm/mdadm.conf
update-initramfs -u
mkfs.xfs /dev/md/data
mkdir -p /data
echo "UUID=\$(blkid -s UUID -o value /dev/md/data) /data xfs noatime,nofail 0 2" >>/etc/fstab
mount /data
echo 'Now measure what was bought: loadline quick /data'
EOF
echo "Next, to run it on the machine: ssh ubuntu@ADDRESS sudo sh -s <on-the-machine.sh (its ADDRESS: aws ec2 describe-instances --instance-ids $INSTANCE)"

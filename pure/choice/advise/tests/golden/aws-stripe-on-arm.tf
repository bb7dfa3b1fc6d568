# aws/m6g.xlarge (ARM) with 2 x aws/gp3 100 GiB striped for set-up: 1.00 USD a month in us-east-1.
# Read it before you run it: names, image, network and keys are yours to choose.

provider "aws" {
  region = "us-east-1"
}

variable "key_name" {
  type = string
}

data "aws_ssm_parameter" "image" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/current/arm64/hvm/ebs-gp3/ami-id"
}

resource "aws_instance" "advised" {
  ami           = data.aws_ssm_parameter.image.value
  instance_type = "m6g.xlarge"
  key_name      = var.key_name
  root_block_device {
    volume_type = "gp3"
    volume_size = 32
  }
}

resource "aws_ebs_volume" "data" {
  count             = 2
  availability_zone = aws_instance.advised.availability_zone
  type              = "gp3"
  size              = 100
}

resource "aws_volume_attachment" "data" {
  count       = 2
  device_name = ["/dev/sdf", "/dev/sdg"][count.index]
  volume_id   = aws_ebs_volume.data[count.index].id
  instance_id = aws_instance.advised.id
}

output "disks" {
  value = join(" ", [for volume in aws_ebs_volume.data : "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_${replace(volume.id, "-", "")}"])
}

# For the machine, as root: one file system over its disks. This writes the lines below to a file:
#   sed -n 's|^#>||p' main.tf >on-the-machine.sh
#>set -eu
#>apt-get update && apt-get install -y mdadm xfsprogs
#>mdadm --create /dev/md/data --level=0 --raid-devices=2 --chunk=256K $DISKS </dev/null
#>mdadm --detail --scan >>/etc/mdadm/mdadm.conf
#>update-initramfs -u
#>mkfs.xfs /dev/md/data
#>mkdir -p /data
#>echo "UUID=$(blkid -s UUID -o value /dev/md/data) /data xfs noatime,nofail 0 2" >>/etc/fstab
#>mount /data
#>echo 'Now measure what was bought: loadline quick /data'
# Then run it on the machine with the disks' paths: DISKS="$(terraform output -raw disks)", ssh ubuntu@ADDRESS sudo DISKS="'$DISKS'" sh -s <on-the-machine.sh

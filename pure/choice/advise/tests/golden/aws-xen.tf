# aws/m4.xlarge with aws/io2 100 GiB, 4,000 IOPS for set-up: 1.00 USD a month in us-east-1.
# Read it before you run it: names, image, network and keys are yours to choose.

provider "aws" {
  region = "us-east-1"
}

variable "key_name" {
  type = string
}

data "aws_ssm_parameter" "image" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_instance" "advised" {
  ami           = data.aws_ssm_parameter.image.value
  instance_type = "m4.xlarge"
  key_name      = var.key_name
  root_block_device {
    volume_type = "gp3"
    volume_size = 32
  }
}

resource "aws_ebs_volume" "data" {
  count             = 1
  availability_zone = aws_instance.advised.availability_zone
  type              = "io2"
  size              = 100
  iops              = 4000
}

resource "aws_volume_attachment" "data" {
  count       = 1
  device_name = ["/dev/sdf"][count.index]
  volume_id   = aws_ebs_volume.data[count.index].id
  instance_id = aws_instance.advised.id
}

output "disks" {
  value = join(" ", [for disk in aws_volume_attachment.data : replace(disk.device_name, "/dev/sd", "/dev/xvd")])
}

# For the machine, as root: one file system over its disks. This writes the lines below to a file:
#   sed -n 's|^#>||p' main.tf >on-the-machine.sh
#>set -eu
#>apt-get update && apt-get install -y xfsprogs
#>mkfs.xfs $DISKS
#>mkdir -p /data
#>echo "UUID=$(blkid -s UUID -o value $DISKS) /data xfs noatime,nofail 0 2" >>/etc/fstab
#>mount /data
#>echo 'Now measure what was bought: loadline quick /data'
# Then run it on the machine with the disks' paths: DISKS="$(terraform output -raw disks)", ssh ubuntu@ADDRESS sudo DISKS="'$DISKS'" sh -s <on-the-machine.sh

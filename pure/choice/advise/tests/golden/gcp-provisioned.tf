# gcp/c3-highcpu-8 with gcp/hyperdisk-balanced 100 GiB, 9,000 IOPS for set-up: about 1.00 USD a month in us-central1.
# Read it before you run it: names, image, network and keys are yours to choose.

variable "project" {
  type = string
}

provider "google" {
  project = var.project
  zone    = "us-central1-a"
}

resource "google_compute_instance" "advised" {
  name         = "advised"
  machine_type = "c3-highcpu-8"
  boot_disk {
    initialize_params {
      image = "debian-cloud/debian-12"
      type  = "hyperdisk-balanced"
      size  = 32
    }
  }
  network_interface {
    network = "default"
  }
  lifecycle {
    ignore_changes = [attached_disk]
  }
}

resource "google_compute_disk" "data" {
  count            = 1
  name             = "advised-data-${count.index}"
  type             = "hyperdisk-balanced"
  size             = 100
  provisioned_iops = 9000
}

resource "google_compute_attached_disk" "data" {
  count       = 1
  disk        = google_compute_disk.data[count.index].id
  instance    = google_compute_instance.advised.id
  device_name = "data-${count.index}"
}

# For the machine, as root: one file system over its disks. This writes the lines below to a file:
#   sed -n 's|^#>||p' main.tf >on-the-machine.sh
#>set -eu
#>apt-get update && apt-get install -y xfsprogs
#>mkfs.xfs /dev/disk/by-id/google-data-0
#>mkdir -p /data
#>echo "UUID=$(blkid -s UUID -o value /dev/disk/by-id/google-data-0) /data xfs noatime,nofail 0 2" >>/etc/fstab
#>mount /data
#>echo 'Now measure what was bought: loadline quick /data'

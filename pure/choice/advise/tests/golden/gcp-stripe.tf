# gcp/n2-standard-16 with 2 x gcp/pd-ssd 200 GiB striped for set-up: 1.00 USD a month in us-central1.
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
  machine_type = "n2-standard-16"
  boot_disk {
    initialize_params {
      image = "debian-cloud/debian-12"
      type  = "pd-balanced"
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
  count = 2
  name  = "advised-data-${count.index}"
  type  = "pd-ssd"
  size  = 200
}

resource "google_compute_attached_disk" "data" {
  count       = 2
  disk        = google_compute_disk.data[count.index].id
  instance    = google_compute_instance.advised.id
  device_name = "data-${count.index}"
}

# For the machine, as root: one file system over its disks. This writes the lines below to a file:
#   sed -n 's|^#>||p' main.tf >on-the-machine.sh
#>set -eu
#>apt-get update && apt-get install -y mdadm xfsprogs
#>mdadm --create /dev/md/data --level=0 --raid-devices=2 --chunk=256K /dev/disk/by-id/google-data-0 /dev/disk/by-id/google-data-1 </dev/null
#>mdadm --detail --scan >>/etc/mdadm/mdadm.conf
#>update-initramfs -u
#>mkfs.xfs /dev/md/data
#>mkdir -p /data
#>echo "UUID=$(blkid -s UUID -o value /dev/md/data) /data xfs noatime,nofail 0 2" >>/etc/fstab
#>mount /data
#>echo 'Now measure what was bought: loadline quick /data'

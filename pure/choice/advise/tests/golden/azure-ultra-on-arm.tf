# azure/d4ps-v5 (ARM) with azure/ultra 100 GiB, 4,301 IOPS, 35.04 MB/s for set-up: 1.00 USD a month in eastus.
# Read it before you run it: names, image, network and keys are yours to choose.

provider "azurerm" {
  features {}
}

variable "resource_group_name" {
  type = string
}

variable "network_interface_id" {
  type = string
}

variable "ssh_public_key" {
  type = string
}

resource "azurerm_linux_virtual_machine" "advised" {
  name                  = "advised"
  resource_group_name   = var.resource_group_name
  location              = "eastus"
  zone                  = "1"
  size                  = "Standard_d4ps_v5"
  admin_username        = "advised"
  network_interface_ids = [var.network_interface_id]
  admin_ssh_key {
    username   = "advised"
    public_key = var.ssh_public_key
  }
  os_disk {
    caching              = "ReadOnly"
    storage_account_type = "StandardSSD_LRS"
    disk_size_gb         = 32
  }
  source_image_reference {
    publisher = "Canonical"
    offer     = "ubuntu-24_04-lts"
    sku       = "server-arm64"
    version   = "latest"
  }
  additional_capabilities {
    ultra_ssd_enabled = true
  }
}

resource "azurerm_managed_disk" "data" {
  count                = 1
  name                 = "advised-data-${count.index}"
  resource_group_name  = var.resource_group_name
  location             = "eastus"
  zone                 = "1"
  create_option        = "Empty"
  storage_account_type = "UltraSSD_LRS"
  disk_size_gb         = 100
  disk_iops_read_write = 4301
  disk_mbps_read_write = 36
}

resource "azurerm_virtual_machine_data_disk_attachment" "data" {
  count              = 1
  managed_disk_id    = azurerm_managed_disk.data[count.index].id
  virtual_machine_id = azurerm_linux_virtual_machine.advised.id
  lun                = count.index
  caching            = "None"
}

# For the machine, as root: one file system over its disks. This writes the lines below to a file:
#   sed -n 's|^#>||p' main.tf >on-the-machine.sh
#>set -eu
#>DISKS=
#>for LUN in $(seq 0 0); do
#>  DISK=$(ls /dev/disk/azure/data/by-lun/$LUN /dev/disk/azure/scsi1/lun$LUN 2>/dev/null | head -n 1)
#>  DISKS="$DISKS ${DISK:?there is no data disk with this number}"
#>done
#>apt-get update && apt-get install -y xfsprogs
#>mkfs.xfs $DISKS
#>mkdir -p /data
#>echo "UUID=$(blkid -s UUID -o value $DISKS) /data xfs noatime,nofail 0 2" >>/etc/fstab
#>mount /data
#>echo 'Now measure what was bought: loadline quick /data'

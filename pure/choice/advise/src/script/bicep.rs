//! A template in Bicep.

use super::{Provisioning, azure, guest};
use std::fmt::Write as _;

/// The file that people keep it in.
const FILE: &str = "main.bicep";

/// The template of a choice, with what to do on the machine as comments.
pub(super) fn template(wanted: &Provisioning<'_>) -> String {
    let count = wanted.count();
    let figures = wanted.disk.provisioned("    ", "diskIOPSReadWrite: ", "diskMBpsReadWrite: ", "\n");
    let mut text = format!(
        "\nparam location string = '{}'\nparam adminName string = 'advised'\nparam networkInterfaceId string\n@secure()\nparam sshPublicKey string\n\n\
         resource data 'Microsoft.Compute/disks@2023-10-02' = [for i in range(0, {count}): {{\n  \
           name: 'advised-data-${{i}}'\n  \
           location: location\n  \
           zones: [ '1' ]\n  \
           sku: {{ name: '{}' }}\n  \
           properties: {{\n    creationData: {{ createOption: 'Empty' }}\n    diskSizeGB: {}\n{figures}  }}\n}}]\n\n",
        wanted.row.region, wanted.disk.kind, wanted.disk.size_gib,
    );
    let on_nvme = if azure::is_on_nvme(wanted) { "      diskControllerType: 'NVMe'\n" } else { "" };
    let ultra = if azure::is_ultra(wanted) { "    additionalCapabilities: { ultraSSDEnabled: true }\n" } else { "" };
    let size = wanted.os.as_ref().map_or_else(String::new, |os| format!(" diskSizeGB: {},", os.size_gib));
    let _ = write!(
        text,
        "resource machine 'Microsoft.Compute/virtualMachines@2024-03-01' = {{\n  \
           name: 'advised'\n  \
           location: location\n  \
           zones: [ '1' ]\n  \
           properties: {{\n\
         {ultra}    hardwareProfile: {{ vmSize: '{}' }}\n    \
             storageProfile: {{\n\
         {on_nvme}      imageReference: {{ publisher: '{}', offer: '{}', sku: '{}', version: 'latest' }}\n      \
               osDisk: {{ createOption: 'FromImage',{size} managedDisk: {{ storageAccountType: '{}' }} }}\n      \
               dataDisks: [for i in range(0, {count}): {{\n        \
                 lun: i\n        \
                 createOption: 'Attach'\n        \
                 caching: '{}'\n        \
                 managedDisk: {{ id: data[i].id }}\n      \
               }}]\n    \
             }}\n    \
             osProfile: {{\n      \
               computerName: 'advised'\n      \
               adminUsername: adminName\n      \
               linuxConfiguration: {{\n        \
                 disablePasswordAuthentication: true\n        \
                 ssh: {{ publicKeys: [ {{ path: '/home/${{adminName}}/.ssh/authorized_keys', keyData: sshPublicKey }} ] }}\n      \
               }}\n    \
             }}\n    \
             networkProfile: {{ networkInterfaces: [ {{ id: networkInterfaceId }} ] }}\n  \
           }}\n}}\n",
        azure::size(wanted),
        azure::PUBLISHER,
        azure::OFFER,
        azure::image(wanted),
        azure::os_kind(wanted),
        azure::caching(wanted)
    );
    text.push_str(&guest::comments(wanted, &azure::disks(wanted), "//", FILE));
    text
}

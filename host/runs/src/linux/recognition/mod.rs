//! What machine this is: its cloud, asked for itself, and its devices make an environment.

mod metadata;

pub use metadata::MetadataError;

use crate::Error;
use crate::error::{CloudSilence, RecognitionError};
use loadline_catalog::Catalog;
use loadline_kernel::facts::{self, AttachedDisk, Firmware, Spread, SpreadVolume};
use loadline_kernel::metadata::{LINK_LOCAL, MetadataRequest};
use loadline_recognition::{Attached, CloudAnswers, Layout, Place, Provider, Recognised, recognised};

/// The cloud that a machine is in, as far as it says.
#[derive(Debug)]
pub struct Cloud {
    /// Its name.
    pub name: &'static str,
    /// The kind of machine, or why it does not say.
    pub machine: Result<String, CloudSilence>,
}

/// The environment of this machine, as text. `volumes` is what `aws ec2 describe-volumes` printed, where that is known.
///
/// # Errors
/// [`RecognitionError`].
pub fn recognise(volumes: Option<&str>, catalog: &Catalog) -> Result<Recognised, Error> {
    let Answered { told, devices, places } = asked(volumes).ok_or(RecognitionError::NoCloud)??;
    Ok(recognised(&told, &devices, &places, catalog))
}

/// What a machine's cloud says of it, and what is attached to it.
pub(crate) struct Answered {
    pub(crate) told: CloudAnswers,
    pub(crate) devices: Vec<Attached>,
    pub(crate) places: Vec<Place>,
}

/// The same of this machine; `None` where its firmware is of no cloud, and then nobody is asked. `volumes` is what
/// `aws ec2 describe-volumes` printed.
pub(crate) fn asked(volumes: Option<&str>) -> Option<Result<Answered, RecognitionError>> {
    let provider = provider(&facts::firmware())?;
    let told = told(provider, LINK_LOCAL, volumes)
        .map_err(|source| RecognitionError::NotAsked { cloud: provider.name(), source });
    Some(told.map(|told| {
        let (disks, spread) = facts::attached();
        let (devices, places) = (disks.into_iter().map(device).collect(), spread.into_iter().map(place).collect());
        Answered { told, devices, places }
    }))
}

/// The cloud that this machine is in; `None` where its firmware is of none that is known, and then nobody is asked.
#[must_use]
pub fn cloud() -> Option<Cloud> {
    let provider = provider(&facts::firmware())?;
    let machine = told(provider, LINK_LOCAL, None).map(|told| told.machine);
    Some(Cloud { name: provider.name(), machine })
}

fn provider(firmware: &Firmware) -> Option<Provider> {
    Provider::of_firmware(&firmware.system_vendor, &firmware.product, &firmware.asset_tag, &firmware.bios_version)
}

/// Asks the cloud's metadata service at `address` what this machine is.
fn told(provider: Provider, address: &str, volumes: Option<&str>) -> Result<CloudAnswers, CloudSilence> {
    let ask =
        |method, path, headers: &[_]| metadata::ask(address, &MetadataRequest { method, path, headers, body: "" });
    Ok(match provider {
        Provider::Azure => {
            let path = "/metadata/instance?api-version=2021-02-01&format=json";
            loadline_recognition::azure(&ask("GET", path, &[("Metadata", "true")])?)?
        }
        Provider::Aws => {
            // IMDSv2: a token first, which proves that this is no forwarded request.
            let token = ask("PUT", "/latest/api/token", &[("X-aws-ec2-metadata-token-ttl-seconds", "60")])?;
            let path = "/latest/dynamic/instance-identity/document";
            loadline_recognition::aws(&ask("GET", path, &[("X-aws-ec2-metadata-token", token.trim())])?, volumes)?
        }
        Provider::Gcp => {
            let path = "/computeMetadata/v1/instance/?recursive=true";
            loadline_recognition::gcp(&ask(
                "GET",
                path,
                &[("Metadata-Flavor", "Google"), ("Host", "metadata.google.internal")],
            )?)?
        }
    })
}

fn device(disk: AttachedDisk) -> Attached {
    let AttachedDisk { facts, links, namespace, mounted_at, used } = disk;
    Attached { facts, links, namespace, mounted_at: mounted_at.map(|path| path.to_string_lossy().into_owned()), used }
}

fn place(volume: SpreadVolume) -> Place {
    Place {
        path: volume.mounted_at.to_string_lossy().into_owned(),
        devices: volume.disks,
        layout: volume.spread.map(|spread| match spread {
            Spread::Striped(interleave) => Layout::Striped(interleave),
            Spread::Mirrored => Layout::Mirrored,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::metadata::served::{plain, service};
    use super::*;

    const AZURE: &str = include_str!("../../../../../pure/choice/recognition/tests/answers/azure.json");
    const AWS: &str = include_str!("../../../../../pure/choice/recognition/tests/answers/aws-identity.json");
    const GCP: &str = include_str!("../../../../../pure/choice/recognition/tests/answers/gcp.json");

    #[test]
    fn each_service_is_asked_in_its_own_way() {
        let azure = service(vec![(
            "GET /metadata/instance?api-version=2021-02-01&format=json HTTP/1.1",
            "Metadata: true",
            plain(AZURE),
        )]);
        assert_eq!(told(Provider::Azure, &azure, None).unwrap().machine, "Standard_D8ds_v4");
        let aws = service(vec![
            ("PUT /latest/api/token HTTP/1.1", "X-aws-ec2-metadata-token-ttl-seconds: 60", plain("AQAEtoken==")),
            ("GET /latest/dynamic/instance-identity/document ", "X-aws-ec2-metadata-token: AQAEtoken==", plain(AWS)),
        ]);
        assert_eq!(told(Provider::Aws, &aws, None).unwrap().machine, "m5.large");
        let gcp = service(vec![(
            "GET /computeMetadata/v1/instance/?recursive=true HTTP/1.1",
            "Metadata-Flavor: Google",
            plain(GCP),
        )]);
        assert_eq!(told(Provider::Gcp, &gcp, None).unwrap().disks.len(), 4);
    }

    #[test]
    fn a_service_that_refuses_is_told_of() {
        let error = told(Provider::Aws, &service(Vec::new()), None).unwrap_err();
        assert!(error.to_string().contains("refuses /latest/api/token: HTTP/1.1 401"), "{error}");
    }

    #[test]
    fn this_machines_devices_are_seen() {
        let (disks, volumes) = facts::attached();
        // Whatever they are, they have names, and a volume on several disks has several.
        assert!(disks.iter().all(|disk| !disk.facts.name.is_empty()));
        assert!(volumes.iter().all(|volume| volume.disks.len() > 1), "{volumes:?}");
    }
}

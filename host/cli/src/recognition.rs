//! `environments recognise`, and `auto` in place of an environment: what this machine is, by its cloud and its devices.

use crate::failure::Usage;
use crate::metadata::{self, Question};
use crate::output;
use anyhow::Context as _;
use loadline_catalog::{Catalog, Environment};
use loadline_kernel::facts::{self, AttachedDisk, Firmware, Spread, SpreadVolume};
use loadline_recognition::{Attached, CloudAnswers, Layout, Place, Provider, Recognised, recognised};
use loadline_runs::{InputKind, read_text};
use std::net::SocketAddr;
use std::path::Path;

/// What is typed for the environment of this machine.
pub(crate) const AUTO: &str = "auto";

/// Prints this machine's environment; `volumes` is a file of what `aws ec2 describe-volumes` printed.
///
/// # Errors
/// [`Usage`] where the machine is in none of the clouds known, or is not told what it is.
pub(crate) fn print(volumes: Option<&Path>, catalog: &Catalog) -> anyhow::Result<()> {
    let volumes = volumes.map(|path| {
        read_text(path, InputKind::Volumes)
            .with_context(|| Usage(format!("cannot read the volumes in {}", path.display())))
    });
    let found = of_this_machine(volumes.transpose()?.as_deref(), catalog)?;
    for note in &found.notes {
        output::tell(note);
    }
    if !found.undescribed.is_empty() {
        output::tell(&described(&found.undescribed));
    }
    output::print(&found.text)
}

/// The environment of this machine, read.
///
/// # Errors
/// As [`print()`].
pub(crate) fn environment(catalog: &Catalog) -> anyhow::Result<Environment> {
    let found = of_this_machine(None, catalog)?;
    for note in &found.notes {
        output::tell(note);
    }
    Environment::parse(&found.text, AUTO, catalog).with_context(|| {
        Usage("what was recognised of this machine cannot be modelled: write its environment".to_owned())
    })
}

/// How EBS volumes are described; an AWS machine is not told their types.
fn described(volumes: &[String]) -> String {
    format!(
        "what describes them: aws ec2 describe-volumes --volume-ids {} > volumes.json && loadline environments recognise \
         --volumes volumes.json",
        volumes.join(" ")
    )
}

fn of_this_machine(volumes: Option<&str>, catalog: &Catalog) -> anyhow::Result<Recognised> {
    let Some(provider) = provider(&facts::firmware()) else {
        return Err(Usage(
            "this machine is none of Azure, AWS and Google Cloud, as far as its firmware tells: name an environment (`loadline \
             environments` lists those that come along), write one (docs/formats/environment.md), or make one of a measured run: \
             loadline fit RUN -o FILE. What is measured without --env has its limits inferred"
                .to_owned(),
        )
        .into());
    };
    let told = told(provider, metadata::LINK_LOCAL, volumes).with_context(|| {
        Usage(format!("the firmware says {}, but what machine it is cannot be asked", provider.name()))
    })?;
    let (disks, spread) = facts::attached();
    let devices: Vec<Attached> = disks.into_iter().map(device).collect();
    let places: Vec<Place> = spread.into_iter().map(place).collect();
    Ok(recognised(&told, &devices, &places, catalog))
}

/// What `doctor` says in a line; asks nobody unless the firmware is that of a cloud.
pub(crate) fn in_a_line() -> Result<String, String> {
    let Some(provider) = provider(&facts::firmware()) else {
        return Ok("none of Azure, AWS and Google Cloud, by its firmware".to_owned());
    };
    let name = provider.name();
    match told(provider, metadata::LINK_LOCAL, None) {
        Ok(told) => {
            Ok(format!("{name} {}: `loadline environments recognise` makes an environment of it", told.machine))
        }
        Err(error) => Err(format!("{name}, by its firmware; {error:#}")),
    }
}

fn provider(firmware: &Firmware) -> Option<Provider> {
    Provider::of_firmware(&firmware.system_vendor, &firmware.product, &firmware.asset_tag, &firmware.bios_version)
}

/// Asks the cloud's metadata service at `address` what this machine is.
fn told(provider: Provider, address: SocketAddr, volumes: Option<&str>) -> anyhow::Result<CloudAnswers> {
    const HOST: &str = "169.254.169.254";
    let get = |path, host, header| metadata::ask(address, &Question { method: "GET", path, host, header });
    Ok(match provider {
        Provider::Azure => {
            let path = "/metadata/instance?api-version=2021-02-01&format=json";
            loadline_recognition::azure(&get(path, HOST, ("Metadata", "true"))?)?
        }
        Provider::Aws => {
            // IMDSv2: a token first, which proves that this is no forwarded request.
            let token = Question {
                method: "PUT",
                path: "/latest/api/token",
                host: HOST,
                header: ("X-aws-ec2-metadata-token-ttl-seconds", "60"),
            };
            let token = metadata::ask(address, &token)?;
            let path = "/latest/dynamic/instance-identity/document";
            let header = ("X-aws-ec2-metadata-token", token.trim());
            loadline_recognition::aws(&get(path, HOST, header)?, volumes)?
        }
        Provider::Gcp => {
            let path = "/computeMetadata/v1/instance/?recursive=true";
            loadline_recognition::gcp(&get(path, "metadata.google.internal", ("Metadata-Flavor", "Google"))?)?
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
    use super::*;
    use crate::metadata::served::{plain, service};

    const AZURE: &str = include_str!("../../../pure/recognition/tests/answers/azure.json");
    const AWS: &str = include_str!("../../../pure/recognition/tests/answers/aws-identity.json");
    const GCP: &str = include_str!("../../../pure/recognition/tests/answers/gcp.json");

    #[test]
    fn each_service_is_asked_in_its_own_way() {
        let azure = service(vec![(
            "GET /metadata/instance?api-version=2021-02-01&format=json HTTP/1.1",
            "Metadata: true",
            plain(AZURE),
        )]);
        assert_eq!(told(Provider::Azure, azure, None).unwrap().machine, "Standard_D8ds_v4");
        let aws = service(vec![
            ("PUT /latest/api/token HTTP/1.1", "X-aws-ec2-metadata-token-ttl-seconds: 60", plain("AQAEtoken==")),
            ("GET /latest/dynamic/instance-identity/document ", "X-aws-ec2-metadata-token: AQAEtoken==", plain(AWS)),
        ]);
        assert_eq!(told(Provider::Aws, aws, None).unwrap().machine, "m5.large");
        let gcp = service(vec![(
            "GET /computeMetadata/v1/instance/?recursive=true HTTP/1.1",
            "Metadata-Flavor: Google",
            plain(GCP),
        )]);
        assert_eq!(told(Provider::Gcp, gcp, None).unwrap().disks.len(), 4);
    }

    #[test]
    fn a_service_that_refuses_is_told_of() {
        let error = told(Provider::Aws, service(Vec::new()), None).unwrap_err();
        assert!(format!("{error:#}").contains("refuses /latest/api/token: HTTP/1.1 401"), "{error:#}");
    }

    #[test]
    fn this_machines_devices_are_seen() {
        let (disks, volumes) = facts::attached();
        // Whatever they are, they have names, and a volume on several disks has several.
        assert!(disks.iter().all(|disk| !disk.facts.name.is_empty()));
        assert!(volumes.iter().all(|volume| volume.disks.len() > 1), "{volumes:?}");
    }
}

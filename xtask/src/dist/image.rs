//! An OCI image layout, made without a container daemon: one layer with the files of the installation.
//!
//! Source: the Open Container Initiative's image specification, 1.1.

use super::archive::{Stamp, gzip, remove, sha256, tar};
use super::layout::{Layout, set_mode};
use super::{Release, must, size, write};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// What a container starts.
pub(super) const COMMAND: &str = "/usr/bin/loadline";
/// Where a container works: what is mounted there is measured, and reports are left there.
pub(super) const WORK: &str = "data";

/// Makes `loadline-VERSION-PROCESSOR-oci.tar` in `folder`.
pub(super) fn oci(release: &Release, layout: &Layout, folder: &Path, stamp: Stamp) -> Result<PathBuf, String> {
    for name in [WORK, "tmp"] {
        let path = layout.root.join(name);
        super::make_folder(&path)?;
        set_mode(&path, 0o755)?;
    }
    let image = folder.join("image");
    let blobs = image.join("blobs/sha256");
    super::make_folder(&blobs)?;
    let plain = folder.join("layer.tar");
    tar(&layout.root, &["usr", WORK, "tmp"], &[], &plain, stamp)?;
    let unpacked = sha256(&plain)?;
    let packed = gzip(&plain)?;
    remove(&plain)?;
    let layer = stored(&packed, LAYER, &blobs)?;
    let config = stored_text(&config(release, &unpacked, stamp), CONFIG, &blobs)?;
    let manifest = json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer] });
    let mut manifest = stored_text(&manifest, MANIFEST, &blobs)?;
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": release.version });
    let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
    write(&image.join("index.json"), index.to_string())?;
    write(&image.join("oci-layout"), json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
    let path = folder.join(format!("loadline-{}-{}-oci.tar", release.version, release.processor()));
    tar(&image, &["oci-layout", "index.json", "blobs"], &[], &path, stamp)?;
    std::fs::remove_dir_all(&image).map_err(|error| format!("cannot remove {}: {error}", image.display()))?;
    Ok(path)
}

/// What a container is started with.
fn config(release: &Release, layer: &str, stamp: Stamp) -> Value {
    let created =
        Command::new("date").args(["--utc", "--date", &format!("@{}", stamp.0), "+%Y-%m-%dT%H:%M:%SZ"]).output();
    let created = created.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    json!({
        "created": created,
        "architecture": release.architecture(),
        "os": "linux",
        "config": {
            "Entrypoint": [COMMAND],
            "Cmd": ["--help"],
            "WorkingDir": format!("/{WORK}"),
            "Env": ["PATH=/usr/bin", "HOME=/tmp"],
            "Labels": {
                "org.opencontainers.image.title": "loadline",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
    })
}

/// Moves a file to the blobs; what refers to it.
fn stored(path: &Path, media: &str, blobs: &Path) -> Result<Value, String> {
    let (digest, size) = (sha256(path)?, size(path)?);
    must(Command::new("mv").arg(path).arg(blobs.join(&digest)))?;
    Ok(json!({ "mediaType": media, "digest": format!("sha256:{digest}"), "size": size }))
}

/// Writes a document to the blobs; what refers to it.
fn stored_text(document: &Value, media: &str, blobs: &Path) -> Result<Value, String> {
    let path = blobs.join("new");
    write(&path, document.to_string())?;
    stored(&path, media, blobs)
}

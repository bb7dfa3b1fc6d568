//! Packages of a stand-in for the command: their form, without the minutes of a release build.

use super::*;

/// Answers as the command does where packages are made.
const STAND_IN: &str = "\
#!/bin/sh
case $1 in
  man) mkdir -p \"$2\" && echo '.TH loadline 1' > \"$2/loadline.1\" ;;
  completions) echo \"complete -W help loadline\" ;;
esac
";

fn release() -> Release {
    Release { version: "1.2.3".to_owned(), target: format!("{}-unknown-linux-musl", std::env::consts::ARCH) }
}

/// All packages of the stand-in, in a folder of their own.
fn packed() -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let command = folder.path().join("stand-in");
    write(&command, STAND_IN).unwrap();
    layout::set_mode(&command, 0o755).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let made = pack(root, &release(), &command, &folder.path().join("dist")).unwrap();
    (folder, made)
}

fn listed(command: &mut Command) -> Vec<String> {
    said(command).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn packages_hold_the_command_its_pages_completions_and_licences() {
    let (_folder, made) = packed();
    let name = release().name();
    let inside = listed(Command::new("tar").arg("--list").arg("--file").arg(&made[0]));
    for file in [
        "bin/loadline",
        "share/man/man1/loadline.1.gz",
        "share/bash-completion/completions/loadline",
        "share/zsh/vendor-completions/_loadline",
        "share/fish/vendor_completions.d/loadline.fish",
        "share/doc/loadline/LICENSE-MIT",
    ] {
        assert!(inside.contains(&format!("{name}/{file}")), "{file} is not in {inside:#?}");
    }
}

#[test]
fn packages_are_the_same_bytes_each_time() {
    let ((_first, one), (_second, two)) = (packed(), packed());
    for (one, two) in one.iter().zip(&two) {
        assert_eq!(read(one).unwrap(), read(two).unwrap(), "{}", one.display());
    }
}

#[test]
fn a_debian_package_is_read_by_dpkg() {
    let (_folder, made) = packed();
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        println!("skipped: dpkg-deb is not installed");
        return;
    }
    let field = |name: &str| said(Command::new("dpkg-deb").arg("--field").arg(&made[1]).arg(name)).unwrap();
    assert_eq!(field("Version").trim(), "1.2.3");
    assert!(field("Installed-Size").trim().parse::<u64>().unwrap() > 0);
    let inside = said(Command::new("dpkg-deb").arg("--contents").arg(&made[1])).unwrap();
    let command = inside.lines().find(|line| line.ends_with("./usr/bin/loadline")).unwrap();
    assert!(command.starts_with("-rwxr-xr-x 0/0"), "{command}");
}

#[test]
fn an_image_is_whole_by_its_own_digests() {
    let (folder, made) = packed();
    let image = folder.path().join("image");
    make_folder(&image).unwrap();
    must(Command::new("tar").arg("--extract").arg("--file").arg(&made[2]).arg("--directory").arg(&image)).unwrap();
    let blobs = std::fs::read_dir(image.join("blobs/sha256")).unwrap().flatten();
    let blobs: Vec<PathBuf> = blobs.map(|entry| entry.path()).collect();
    assert_eq!(blobs.len(), 3, "a layer, a configuration and a manifest");
    for blob in blobs {
        assert_eq!(archive::sha256(&blob).unwrap(), blob.file_name().unwrap().to_string_lossy());
    }
    let index: serde_json::Value = serde_json::from_slice(&read(&image.join("index.json")).unwrap()).unwrap();
    assert_eq!(index["manifests"][0]["mediaType"], image::MANIFEST);
}

#[test]
fn checksums_are_those_of_the_files() {
    let (folder, made) = packed();
    let dist = folder.path().join("dist");
    assert!(must(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&dist)).is_ok());
    write(&made[0], b"something else").unwrap();
    let checked =
        Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&dist).output().unwrap();
    assert!(!checked.status.success());
}

#[test]
fn a_command_that_grew_too_large_fails() {
    assert_eq!(judged(COMMAND_MAX).failed, 0);
    assert!(judged(COMMAND_MAX + 1).notes[0].contains("COMMAND_MAX"));
}

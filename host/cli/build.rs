//! Builds the module of the page that computes, where the feature `explore` asks for it: the session of `host/browser` for WebAssembly,
//! packed. Without the feature there is nothing to do.

#[cfg(feature = "explore")]
mod module {
    use std::io::Write as _;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    const TARGET: &str = "wasm32-unknown-unknown";
    const PROFILE: &str = "module";

    /// The value of a variable that cargo sets for build scripts.
    fn of_cargo(name: &str) -> PathBuf {
        std::env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}")).into()
    }

    /// Builds, packs, and leaves `module.wasm.gz` where the command includes it from.
    pub(super) fn build() {
        let root = of_cargo("CARGO_MANIFEST_DIR").join("../..");
        let out = of_cargo("OUT_DIR");
        for path in ["pure", "host/browser", "Cargo.lock"] {
            println!("cargo:rerun-if-changed={}", root.join(path).display());
        }
        // One for all platforms that the command is built for.
        let folder =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("page");
        let mut cargo = Command::new(of_cargo("CARGO"));
        cargo.args(["build", "--package", "loadline-browser", "--target", TARGET, "--profile", PROFILE]);
        // A folder of its own: cargo holds the other one while this runs. What is meant for the command is not for the module.
        cargo.arg("--target-dir").arg(&folder).current_dir(&root);
        for name in ["CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER", "CLIPPY_ARGS"]
        {
            cargo.env_remove(name);
        }
        let built = cargo.status().is_ok_and(|status| status.success());
        assert!(
            built,
            "the module of `loadline explore` does not build: see above, and try `rustup target add {TARGET}`"
        );
        let module = folder.join(TARGET).join(PROFILE).join("loadline_browser.wasm");
        pack(&module, &out.join("module.wasm.gz"));
    }

    fn pack(from: &Path, to: &Path) {
        let bytes = std::fs::read(from).unwrap_or_else(|error| panic!("cannot read {}: {error}", from.display()));
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(&bytes).expect("writing to memory");
        let packed = packer.finish().expect("writing to memory");
        std::fs::write(to, packed).unwrap_or_else(|error| panic!("cannot write {}: {error}", to.display()));
    }
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "explore")]
    module::build();
}

//! What the build takes in: licences, sources and banned crates, by `cargo deny` or by reading the same `deny.toml` here.

use crate::licence;
use crate::step::{Outcome, cargo};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The step of the gate.
pub(crate) fn step(root: &Path) -> Outcome {
    if cargo(root).args(["deny", "--version"]).output().is_ok_and(|output| output.status.success()) {
        let status = cargo(root).args(["deny", "check", "licenses", "bans", "sources"]).status();
        return if status.is_ok_and(|status| status.success()) {
            Outcome::pass()
        } else {
            Outcome::fail("cargo deny objects: see above, and deny.toml")
        };
    }
    println!("cargo-deny is not installed: checking deny.toml's lists against cargo metadata");
    match own_check(root) {
        Ok((count, findings)) if findings.is_empty() => {
            println!("{count} crates, all within deny.toml");
            Outcome::pass()
        }
        Ok((_, findings)) => {
            for finding in &findings {
                println!("{finding}");
            }
            Outcome::fail(format!("{} crates are not within deny.toml", findings.len()))
        }
        Err(error) => Outcome::fail(format!("{error:#}")),
    }
}

/// The lists of `deny.toml` that the own check keeps.
#[derive(Debug, Default)]
struct Policy {
    licences: Vec<String>,
    registries: Vec<String>,
    banned: Vec<Banned>,
    targets: Vec<String>,
}

/// A crate that only its `wrappers` may use.
#[derive(Debug, PartialEq, Eq)]
struct Banned {
    name: String,
    wrappers: Vec<String>,
}

fn own_check(root: &Path) -> Result<(usize, BTreeSet<String>)> {
    let text = std::fs::read_to_string(root.join("deny.toml")).context("cannot read deny.toml")?;
    let policy = Policy::read(&text)?;
    let mut findings = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for target in &policy.targets {
        let mut command = cargo(root);
        command.args(["metadata", "--format-version", "1", "--all-features", "--filter-platform", target]);
        let metadata = json_of(&mut command)?;
        findings.extend(policy.banned_uses(&metadata));
        for package in metadata["packages"].as_array().context("cargo metadata lists no packages")? {
            seen.insert(package["id"].to_string());
            findings.extend(policy.objections(package));
        }
    }
    Ok((seen.len(), findings))
}

fn json_of(command: &mut Command) -> Result<Value> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("{command:?} did not print JSON"))
}

impl Policy {
    fn read(text: &str) -> Result<Self> {
        let table: toml::Table = text.parse().context("deny.toml is not TOML")?;
        let entries = |section: &str, key: &str| {
            let entries = table.get(section).and_then(|section| section.get(key)).and_then(toml::Value::as_array);
            entries.with_context(|| format!("deny.toml has no list `{key}` in [{section}]"))
        };
        let name = |entry: &toml::Value| {
            let text = entry.as_str().or_else(|| entry.get("name").and_then(toml::Value::as_str));
            text.map(str::to_owned).with_context(|| format!("deny.toml: {entry} has no name"))
        };
        let list = |section, key| -> Result<Vec<String>> { entries(section, key)?.iter().map(name).collect() };
        let banned = |entry: &toml::Value| -> Result<Banned> {
            let wrappers = entry.get("wrappers").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
            Ok(Banned { name: name(entry)?, wrappers: wrappers.iter().map(name).collect::<Result<_>>()? })
        };
        Ok(Self {
            licences: list("licenses", "allow")?,
            registries: list("sources", "allow-registry")?,
            banned: entries("bans", "deny")?.iter().map(banned).collect::<Result<_>>()?,
            targets: list("graph", "targets")?,
        })
    }

    /// What there is to say against one package of `cargo metadata`.
    fn objections(&self, package: &Value) -> Vec<String> {
        let name = package["name"].as_str().unwrap_or("?");
        let version = package["version"].as_str().unwrap_or("?");
        let mut objections = Vec::new();
        match package["license"].as_str() {
            None => objections.push("names no licence".to_owned()),
            Some(expression) => match licence::is_met(expression, &self.licences) {
                Ok(true) => {}
                Ok(false) => objections.push(format!("is under {expression}")),
                Err(error) => objections.push(format!("has an unreadable licence: {error}")),
            },
        }
        if let Some(source) = package["source"].as_str() {
            let registry = source.strip_prefix("registry+").or_else(|| source.strip_prefix("sparse+"));
            if !registry.is_some_and(|registry| self.registries.iter().any(|allowed| allowed == registry)) {
                objections.push(format!("comes from {source}"));
            }
        }
        if self.banned.iter().any(|banned| banned.name == name && banned.wrappers.is_empty()) {
            objections.push("is banned".to_owned());
        }
        objections.into_iter().map(|objection| format!("{name} {version} {objection}")).collect()
    }

    /// Crates that use one which only others may use, by the graph of `cargo metadata`.
    fn banned_uses(&self, metadata: &Value) -> Vec<String> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let packages = list(&metadata["packages"]);
        let name_of = |id: &Value| packages.iter().find(|package| package["id"] == *id)?["name"].as_str();
        let mut objections = Vec::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let Some(user) = name_of(&node["id"]) else { continue };
            for used in list(&node["deps"]).iter().filter_map(|used| name_of(&used["pkg"])) {
                let allowed =
                    |banned: &Banned| banned.wrappers.is_empty() || banned.wrappers.iter().any(|name| name == user);
                if self.banned.iter().any(|banned| banned.name == used && !allowed(banned)) {
                    objections.push(format!("{user} uses {used}, which is for others (deny.toml)"));
                }
            }
        }
        objections
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn policy() -> Policy {
        Policy {
            licences: vec!["MIT".into()],
            registries: vec!["https://github.com/rust-lang/crates.io-index".into()],
            banned: vec![
                Banned { name: "bad".into(), wrappers: Vec::new() },
                Banned { name: "special".into(), wrappers: vec!["one".into()] },
            ],
            targets: Vec::new(),
        }
    }

    #[test]
    fn a_crate_of_the_default_registry_under_an_accepted_licence_is_let_in() {
        let source = "registry+https://github.com/rust-lang/crates.io-index";
        let package = json!({"name": "a", "version": "1.0.0", "license": "MIT OR GPL-3.0-only", "source": source});
        assert_eq!(policy().objections(&package), Vec::<String>::new());
        let own = json!({"name": "a", "version": "1.0.0", "license": "MIT", "source": null});
        assert_eq!(policy().objections(&own), Vec::<String>::new());
    }

    #[test]
    fn a_foreign_source_a_missing_licence_and_a_banned_name_are_each_named() {
        let package =
            json!({"name": "bad", "version": "1.0.0", "license": null, "source": "git+https://example.org/x"});
        let objections = policy().objections(&package);
        assert_eq!(objections.len(), 3, "{objections:?}");
    }

    #[test]
    fn a_crate_for_one_is_let_in_by_that_one_alone() {
        let packages: Vec<Value> = ["one", "two", "special"].map(|name| json!({"id": name, "name": name})).into();
        let nodes: Vec<Value> = ["one", "two"].map(|name| json!({"id": name, "deps": [{"pkg": "special"}]})).into();
        let metadata = json!({"packages": packages, "resolve": {"nodes": nodes}});
        let objections = policy().banned_uses(&metadata);
        assert!(objections.len() == 1 && objections[0].starts_with("two uses special"), "{objections:?}");
        let package = json!({"name": "special", "version": "1.0.0", "license": "MIT", "source": null});
        assert_eq!(policy().objections(&package), Vec::<String>::new());
    }

    #[test]
    fn the_projects_own_lists_can_be_read() {
        let policy = Policy::read(include_str!("../../deny.toml")).unwrap();
        assert!(policy.banned.iter().any(|banned| banned.name == "openssl" && banned.wrappers.is_empty()));
        assert!(policy.licences.contains(&"MIT".to_owned()));
        assert!(!policy.targets.is_empty());
    }
}

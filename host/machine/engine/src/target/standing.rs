//! Targets so that they mean the same wherever one stands.

use crate::nbd::with_absolute_socket;
use loadline_nbd::uri::is_nbd_uri;
use std::path::{self, Component, Path};

/// `target` so that it means the same wherever one stands: with its path, or that of the socket in an NBD URI, from the root on. What
/// has none, and what cannot be found out, stays as it is.
#[must_use]
pub fn absolute(target: &str) -> String {
    let is_null = target == "null" || target.starts_with("null:");
    let found = if is_null {
        None
    } else if is_nbd_uri(target) {
        with_absolute_socket(target)
    } else {
        whole(Path::new(target))
    };
    found.unwrap_or_else(|| target.to_owned())
}

/// A relative path from the root on. Symbolic links are kept where nothing leads up out of them.
fn whole(path: &Path) -> Option<String> {
    if path.is_absolute() {
        return None;
    }
    let leads_up = path.components().any(|part| part == Component::ParentDir);
    let whole = if leads_up { path.canonicalize() } else { path::absolute(path) };
    whole.ok()?.into_os_string().into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_targets_are_given_from_the_root_on() {
        let here = std::env::current_dir().unwrap();
        let at = |name: &str| here.join(name).display().to_string();
        assert_eq!(absolute("."), here.display().to_string());
        assert_eq!((absolute("./a b"), absolute("a/b")), (at("a b"), at("a/b")));
        assert_eq!(absolute("src/.."), here.canonicalize().unwrap().display().to_string());
        for same in ["/dev/../x", "null", "null:1 GiB", "no/such/../x", "nbd://host/a", "nbd+unix:///a?socket=/x"] {
            assert_eq!(absolute(same), same);
        }
        let socket = absolute("nbd+unix:///d%61ta?socket=a%20b");
        let (uri, path) = socket.split_once("?socket=").unwrap();
        assert_eq!(uri, "nbd+unix:///d%61ta");
        assert!(path.starts_with('/') && path.ends_with("/a%20b"), "{path}");
    }
}

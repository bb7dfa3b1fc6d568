//! Which filter of a need leaves nothing to choose from.

use crate::machines::{is_named, machines_sold};
use crate::need::Wanted;
use loadline_catalog::{Catalog, Draw};

/// A filter over what is sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedFilter {
    /// Parts of machines' names.
    Machine,
    /// Parts of disks' names.
    Disk,
    /// What the processors are.
    Architecture,
    /// How many processors there are at least.
    Vcpus,
    /// How much memory there is at least.
    Memory,
}

/// The first filter that, after those before it, matches nothing of these providers; `None` if each leaves something.
#[must_use]
pub fn unmatched_filter(wanted: &Wanted, catalog: &Catalog) -> Option<NeedFilter> {
    let providers = if wanted.providers.is_empty() { catalog.providers() } else { wanted.providers.clone() };
    let is_sold =
        |provider: &String| catalog.network_disks_sold(provider).iter().any(|disk| is_named(&disk.name, &wanted.disks));
    if !providers.iter().any(is_sold) {
        return Some(NeedFilter::Disk);
    }
    let mut so_far = Wanted { cpu_credits: wanted.cpu_credits, ..Wanted::default() };
    let mut leaves_none = |narrow: &dyn Fn(&mut Wanted)| {
        narrow(&mut so_far);
        let is_empty = |provider: &String| machines_sold(catalog, provider, &so_far, &Draw::MIDDLE).is_empty();
        providers.iter().all(is_empty)
    };
    if leaves_none(&|so_far| so_far.machines.clone_from(&wanted.machines)) {
        return Some(NeedFilter::Machine);
    }
    if leaves_none(&|so_far| so_far.architecture = wanted.architecture) {
        return Some(NeedFilter::Architecture);
    }
    if leaves_none(&|so_far| so_far.vcpus = wanted.vcpus) {
        return Some(NeedFilter::Vcpus);
    }
    leaves_none(&|so_far| so_far.memory = wanted.memory).then_some(NeedFilter::Memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Bytes;

    #[test]
    fn the_filter_that_leaves_nothing_is_named() {
        let catalog = Catalog::builtin();
        let found = |narrow: &dyn Fn(&mut Wanted)| {
            let mut wanted = Wanted { providers: vec!["azure".to_owned()], ..Wanted::default() };
            narrow(&mut wanted);
            unmatched_filter(&wanted, &catalog)
        };
        assert_eq!(found(&|_| ()), None);
        assert_eq!(found(&|wanted| wanted.machines = vec!["no such".to_owned()]), Some(NeedFilter::Machine));
        assert_eq!(found(&|wanted| wanted.disks = vec!["no such".to_owned()]), Some(NeedFilter::Disk));
        assert_eq!(found(&|wanted| wanted.vcpus = Some(100_000)), Some(NeedFilter::Vcpus));
        assert_eq!(found(&|wanted| wanted.memory = Some(Bytes::gib(10_000_000))), Some(NeedFilter::Memory));
    }
}

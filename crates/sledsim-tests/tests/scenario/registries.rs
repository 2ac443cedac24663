//! A policy, a workload or a trace format is one file and one line: this test adds one of each to a copy of the
//! workspace and builds it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sledsim_testing::tiers;

/// The file of each kind, the start of its list, and the added line.
const ADDED: [(&str, &str, &str, &str); 6] = [
    ("schedulers/lifo.rs", include_str!("registries/lifo.rs"), "pub enum SchedulerSpec", "Lifo => lifo,"),
    (
        "hierarchy/cache/replacement/newest.rs",
        include_str!("registries/newest.rs"),
        "pub enum ReplacementSpec",
        "Newest => newest,",
    ),
    ("traces/colons.rs", include_str!("registries/colons.rs"), "formats! {", "Colons => colons,"),
    (
        "workloads/countdown.rs",
        include_str!("registries/countdown.rs"),
        "pub enum WorkloadSpec",
        "Countdown => countdown,",
    ),
    ("workloads/arrival/pairs.rs", include_str!("registries/pairs.rs"), "pub enum ArrivalSpec", "Pairs => pairs,"),
    ("workloads/location/last.rs", include_str!("registries/last.rs"), "pub enum LocationSpec", "Last => last,"),
];

/// Copied files: those of the core, the catalogue, and those that Cargo needs.
const COPIED: [&str; 4] = ["Cargo.toml", "Cargo.lock", "crates", "python/sledsim/catalog"];

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).expect("a folder can be made");
        for entry in fs::read_dir(from).expect("a readable folder") {
            let name = entry.expect("a readable folder").file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    } else {
        fs::copy(from, to).expect("a file can be copied");
    }
}

/// Adds `line` at the end of the list that starts with `beginning` in the module of `file`.
fn list(file: &Path, beginning: &str, line: &str) {
    let module = file.with_file_name("mod.rs");
    let text = fs::read_to_string(&module).expect("a readable file");
    let (before, after) = text.split_once(beginning).expect("the list is there");
    let (entries, rest) = after.split_once("}\n").expect("the list ends");
    let listed = format!("{before}{beginning}{}\n{line}\n}}\n{rest}", entries.trim_end());
    fs::write(module, listed).expect("a file can be written");
}

#[test]
fn each_takes_one_file_and_one_line() {
    if !tiers::all() {
        println!("skipped: it builds the core anew, which takes a minute");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = env::current_exe().expect("this program has a path");
    let target: PathBuf = program.ancestors().nth(3).expect("it lies in target/debug/deps").into();
    // Always the same folder, so that builds are incremental and do not accumulate.
    let workspace = target.join("registries");
    if workspace.exists() {
        fs::remove_dir_all(&workspace).expect("the last copy can go");
    }
    fs::create_dir_all(workspace.join("python/sledsim")).expect("a folder can be made");
    for part in COPIED {
        copy(&root.join(part), &workspace.join(part));
    }
    for (place, content, beginning, line) in ADDED {
        let file = workspace.join("crates/sledsim/src").join(place);
        fs::write(&file, content).expect("a file can be written");
        list(&file, beginning, line);
    }
    let uses = workspace.join("crates/sledsim-tests/tests/uses.rs");
    fs::write(uses, include_str!("registries/uses.rs")).expect("a file can be written");
    // The profile of the unit tests, so that dependencies are shared; the core itself need not be fast.
    let built = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--locked", "--profile", "dev", "--package", "sledsim-tests", "--test", "uses"])
        .current_dir(&workspace)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .expect("Cargo runs");
    let said = String::from_utf8_lossy(&built.stdout) + String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success() && said.contains("5 passed"), "{said}");
}

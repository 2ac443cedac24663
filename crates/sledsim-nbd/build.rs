//! Embeds the catalogue in the C library and the block device server, and gives the shared library its soname.

use std::path::{Path, PathBuf};
use std::{env, fmt::Write as _, fs, io};

/// The catalogue of the Python package.
const CATALOG: &str = "../../python/sledsim/catalog";

fn main() -> io::Result<()> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join(CATALOG);
    let mut list = String::from("&[\n");
    for kind in ["devices", "workloads"] {
        println!("cargo:rerun-if-changed={}", folder.join(kind).display());
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder.join(kind))?.map(|file| Ok(file?.path())).collect::<io::Result<_>>()?;
        files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
        files.sort();
        for file in files {
            println!("cargo:rerun-if-changed={}", file.display());
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let path = file.display().to_string();
            writeln!(list, "BuiltIn {{ path: {:?}, text: include_str!({path:?}) }},", format!("{kind}/{name}"))
                .map_err(io::Error::other)?;
        }
    }
    list.push(']');
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("catalog.rs"), list)?;
    // Programs find the library by its soname, whatever its file is called.
    let is_library = env::var("CARGO_PKG_NAME").is_ok_and(|name| name == "sledsim-c");
    if is_library && env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libsledsim.so");
    }
    Ok(())
}

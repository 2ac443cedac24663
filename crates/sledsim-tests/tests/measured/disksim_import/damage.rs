//! Damaged files: for any truncation or changed byte, an import neither panics nor hangs, and returns the whole drive
//! or an error with its location.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rayon::prelude::*;
use sledsim::scenario::DeviceSpec;
use sledsim_disksim::{import, ImportOptions};
use sledsim_testing::reference;
use sledsim_testing::tiers::{cases, size};

use super::files::Files;

const DRIVES: [&str; 6] = ["atlas10k", "barracuda", "cheetah4LP", "cheetah9LP", "hp_c2247a", "st41601n"];

/// The parameter files of a drive, without its trace.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).expect("a folder").filter_map(Result::ok).map(|file| file.path());
    let mut files: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|ending| ending != "trace")).collect();
    files.sort();
    files
}

/// Imports the drive with a changed file. Asserts that the result is the whole drive or an error with its location.
fn whole_or_refused(folder: &Path, main: &str, damaged: &Path, content: &[u8], whole: &DeviceSpec) -> bool {
    std::fs::write(folder.join(damaged.file_name().expect("a file")), content).expect("writable");
    match import(&folder.join(main), &ImportOptions::default()) {
        Ok(import) => {
            assert_eq!(import.device, *whole, "{} cut to {} bytes", damaged.display(), content.len());
            true
        }
        Err(error) => {
            for fault in error.iter() {
                let file = fault.location.file.as_deref().expect("a file");
                let has_location =
                    !fault.message.is_empty() || fault.location.field.is_some() || !fault.location.path.is_empty();
                assert!(Path::new(file).starts_with(folder) && has_location, "{fault}");
                assert!(fault.location.line.is_none_or(|line| line > 0), "{fault}");
            }
            false
        }
    }
}

/// Returns the parameters of the drive in the file `main` of a folder.
fn whole(folder: &Path, main: &str) -> DeviceSpec {
    import(&folder.join(main), &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}")).device
}

/// Truncates a file at every `step`th byte and imports `main` each time. Returns how often the import gave the whole
/// drive.
fn cut(folder: &Path, main: &str, file: &Path, step: usize) -> usize {
    let whole = whole(folder, main);
    let content = std::fs::read(file).expect("readable");
    let cuts: Vec<usize> = (0..content.len()).step_by(step).collect();
    // 8 parallel series of truncations, each in a separate folder.
    let runs = cuts.par_chunks(cuts.len().div_ceil(8)).map(|cuts| {
        let copy = tempfile::tempdir().expect("a folder");
        for other in files_of(folder) {
            // Copies the content only, because the originals may be read-only.
            std::fs::write(
                copy.path().join(other.file_name().expect("a file")),
                std::fs::read(&other).expect("readable"),
            )
            .expect("writable");
        }
        cuts.iter().filter(|cut| whole_or_refused(copy.path(), main, file, &content[..**cut], &whole)).count()
    });
    runs.sum()
}

#[test]
fn truncated_drive_files_give_the_whole_drive_or_an_error() {
    for drive in DRIVES {
        let Some(folder) = reference(&format!("drives/{drive}")) else { return };
        let main = format!("{drive}.diskspecs");
        let step = size(97, 1);
        for file in files_of(&folder).iter().filter(|file| file.extension().is_none_or(|ending| ending != "parv")) {
            let accepted = cut(&folder, &main, file, step);
            // Only comments after the last brace, and the last line end, may be missing.
            assert!(accepted <= 119_usize.div_ceil(step), "{}: {accepted} cuts give the whole drive", file.display());
        }
    }
}

#[test]
fn truncated_systems_give_the_whole_drive_or_an_error() {
    for drive in DRIVES {
        let Some(folder) = reference(&format!("drives/{drive}")) else { return };
        // Nothing after the topology affects the drive. Not every byte, because each truncation takes a whole import.
        let step = size(37, 13);
        let file = folder.join(format!("{drive}.parv"));
        let accepted = cut(&folder, &format!("{drive}.parv"), &file, step);
        let content = std::fs::read_to_string(&file).expect("readable");
        let behind = content.len() - content.find("topology").expect("there");
        assert!(accepted <= behind.div_ceil(step), "{}: {accepted} cuts give the whole drive", file.display());
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn mutated_files_never_panic(
        which in 0usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
    ) {
        let files = Files::of_a_drive();
        let name = ["drive.parv", "drive.diskspecs", "drive.model", "drive.seek"][which];
        let mut content = std::fs::read(files.path(name)).expect("readable");
        for (index, byte, change) in changes {
            let at = index.index(content.len().max(1));
            let marks = b"{}[]=,#\n -.019";
            let byte = if byte < 128 { marks[byte as usize % marks.len()] } else { byte };
            match change {
                0 => content.insert(at, byte),
                1 if !content.is_empty() => { content.remove(at); }
                2 => content.truncate(at),
                _ if !content.is_empty() => content[at] = byte,
                _ => {}
            }
        }
        files.write(name, content);
        for result in [files.import("drive.parv"), files.scenario("drive.parv")] {
            if let Err(error) = result {
                let is_inside = |file: &String| Path::new(file).starts_with(files.folder());
                prop_assert!(error.iter().all(|fault| fault.location.file.as_ref().is_some_and(is_inside)), "{}", error);
            }
        }
    }
}

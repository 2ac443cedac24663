//! Invalid files: errors with file, line, wrong value and expected value.

use super::files::Files;

/// Imports a drive after one change; the error must name the file and line and hold all the words.
fn refused(file: &str, from: &str, to: &str, place: &str, words: &[&str]) {
    let files = Files::of_a_drive();
    files.replace(file, from, to);
    let error = files.import("drive.parv").expect_err(&format!("{from:?} to {to:?}")).to_string();
    let (file, line) = place.split_once(':').map_or((place, None), |(file, line)| (file, Some(line)));
    let line = line.map_or_else(String::new, |line| format!("line {line}: "));
    let expected = format!("{}: {line}", files.path(file).display());
    assert!(error.starts_with(&expected), "{error}\nexpected it at {expected}");
    for word in words {
        assert!(error.contains(word), "{error}\nexpected {word:?}");
    }
}

/// Checks one change per line: location of the error, `from => to`, and words that the error must contain.
fn refused_each(changes: &str) {
    for change in changes.lines().map(str::trim).filter(|change| !change.is_empty()) {
        let mut parts = change.split(" | ");
        let (place, change) = (parts.next().expect("a place"), parts.next().expect("a change"));
        let (from, to) = change.split_once(" => ").expect("from => to");
        refused(place.split(':').next().expect("a file"), from, to, place, &parts.collect::<Vec<_>>());
    }
}

#[test]
fn unknown_blocks_and_parameters_are_rejected() {
    refused_each(
        r#"
        drive.parv:42 | ctlr => ctrl | CTLR0.type of block = "disksim_ctrl" is not known: did you mean "disksim_ctlr"
        drive.model:6 | dm_mech_g1 => dm_mech_g7 | type of block = "dm_mech_g7" is not known
        drive.model:16 | dm_layout_g1 { => dm_layout_g4 { | dm_layout_g4 | fourth layout model
        drive.model:12 | switch => swich | unknown key dm_mech_g1.Head swich time: did you mean "Head switch time"
        "#,
    );
    refused(
        "drive.model",
        "    Head switch time = 0.75,\n",
        "",
        "drive.model:6",
        &["dm_mech_g1.Head switch time is missing: expected a number from 0 to 1000"],
    );
    refused(
        "drive.model",
        "Seek type",
        "Head switch time = 1.0,\nSeek type",
        "drive.model:13",
        &["dm_mech_g1.Head switch time is given for the second time", "line 8"],
    );
    refused(
        "drive.diskspecs",
        "Model = source drive.model",
        "Model = 5",
        "drive.diskspecs:2",
        &["disksim_disk TINY.Model = 5 is of the wrong type: expected a block of dm_disk"],
    );
}

#[test]
fn out_of_range_or_mistyped_values_are_rejected() {
    refused_each(
        r#"
        drive.model:18 | scheme used = 9 => scheme used = 11 | from 0 to 10
        drive.model:13 | (in rpms) = 7200 => (in rpms) = 0 | Rotation speed | from 1
        drive.model:13 | (in rpms) = 7200 => (in rpms) = fast | = "fast" | a whole number
        drive.model:13 | (in rpms) = 7200 => (in rpms) = 7200.5 | a whole number
        drive.model:8 | Seek type = extracted => Seek type = guessed | hplplus10 | extracted
        drive.model:3 | Number of data surfaces = 2 => Number of data surfaces = 99999999999999999999 | too large
        drive.model:12 | Head switch time = 0.75 => Head switch time = 1e999 | too large
        drive.diskspecs:48 | Fast write level = 1 => Fast write level = 3 | from 0 to 2
        drive.diskspecs:31 | Never disconnect = 0 => Never disconnect = 2 | 0 or 1
        drive.model:30 | slips = [ 40, 7 ] => slips = [ 40, 7.5 ] | slips.1 = 7.5 is out of range
        drive.model:30 | slips = [ 40, 7 ] => slips = [ 40, 6000 ] | 6000 | from 0 to 5999
        drive.model:31 | defects = [ 3, 9 ] => defects = [ 3, 9, 5 ] | 3 numbers | pairs
        "#,
    );
}

#[test]
fn overlapping_or_outlying_zones_are_rejected() {
    refused_each(
        r#"
        drive.model:34 | First cylinder number = 50 => First cylinder number = 49 | overlaps | at least 50
        drive.model:35 | Last cylinder number = 99 => Last cylinder number = 101 | from 50 to 99
        drive.model:35 | Last cylinder number = 99 => Last cylinder number = 49 | from 50 to 99
        drive.model:21 | Number of spares = 2 => Number of spares = 6000 | spares
        "#,
    );
}

#[test]
fn last_zone_may_end_one_cylinder_late() {
    let files = Files::of_a_drive();
    files.replace("drive.model", "Last cylinder number = 99", "Last cylinder number = 100");
    let import = files.import("drive.parv").expect("DiskSim takes it");
    let cylinders = import.entries.iter().find(|entry| entry.key == "cylinders").expect("there");
    assert_eq!((cylinders.value.as_u64(), cylinders.note.is_some()), (Some(101), true));
}

#[test]
fn invalid_seek_tables_are_rejected() {
    let table = |content: &str, place: &str, words: &[&str]| {
        refused("drive.seek", "Seek distances measured: 3\n1, 1.25\n10, 3.0\n99,\t8.5\n", content, place, words);
    };
    table("Seek distances measured: 2\n10, 1.0\n10, 2.0\n", "drive.seek:3", &["10", "rising"]);
    table("Seek distances measured: 3\n10, 1.0\n5, 2.0\n20, 3.0\n", "drive.seek:3", &["5", "rising"]);
    table("Seek distances measured: 4\n1, 1.0\n2, 2.0\n", "drive.seek:3", &["2 seek times", "expected 4"]);
    table("Seek distances measured: some\n1, 1.0\n", "drive.seek:1", &["number of lines"]);
    table("Seek distances measured: 1\n1 1.0\n", "drive.seek:2", &["a comma"]);
    table("Seek distances measured: 1\n1, -1.0\n", "drive.seek:2", &["from 0 to 10000"]);
    table("", "drive.seek:1", &["no seek time"]);
    table("Seek distances measured: 2\n1, 1.25\n2, 1.5", "drive.seek:3", &["the last line is cut off"]);
}

#[test]
fn missing_or_recursive_files_are_rejected() {
    refused_each(
        r#"
        drive.parv:49 | source drive.diskspecs => source gone.diskspecs | gone.diskspecs
        drive.diskspecs:2 | source drive.model => source gone.model | gone.model
        drive.model:10 | = drive.seek => = gone.seek | gone.seek
        drive.model:1 | # a small drive => source drive.diskspecs | includes itself
        drive.parv:49 | source drive.diskspecs => source | no file
        "#,
    );
    let files = Files::of_a_drive();
    let error = files.import("gone.parv").expect_err("not there").to_string();
    assert!(error.starts_with(&format!("{}: ", files.path("gone.parv").display())), "{error}");
    let error = files.import(".").expect_err("a folder").to_string();
    assert!(error.contains("is not a regular file"), "{error}");
}

#[test]
fn other_files_are_rejected() {
    let refused = |content: &[u8], words: &[&str]| {
        let files = Files::of("x.parv", "");
        files.write("x.parv", content);
        let error = files.import("x.parv").expect_err("no parameter file").to_string();
        assert!(error.starts_with(&files.path("x.parv").display().to_string()), "{error}");
        words.iter().for_each(|word| assert!(error.contains(word), "{error}\nexpected {word:?}"));
    };
    refused(b"", &["no device"]);
    refused(b"\n\n# nothing\n", &["no device"]);
    refused(&[0x1f, 0x8b, 0, 0, 7, 7], &["byte 0x00"]);
    refused(b"{", &["line 1: ", "unexpected '{'"]);
    refused(b"disksim_disk", &["the end of the file", "name of a block"]);
    refused("disksim_disk X { a = ".repeat(100).as_bytes(), &["deep"]);
    refused(("disksim_disk X { a = ".to_owned() + &"[".repeat(100_000)).as_bytes(), &["deep"]);
    refused(b"disksim_disk X { a b c", &["the end of the file", "'='"]);
    refused(b"disksim_disk X { a = 1 b = 2 }", &["one value"]);
    refused(b"disksim_disk X { a = [ d1 .. e5 ] }", &["no range of names"]);
    refused(b"disksim_disk X { a = [ d1 .. d999999999 ] }", &["no range of names"]);
    refused(b"instantiate [ x ] as Y", &["instantiate = \"Y\" is not known (known: none)"]);
    refused(b"topology disksim_disk d [", &["the end of the file"]);
    refused(b"Seek distances measured: 1\n1, 1.0\n", &["line 1: ", "a table of seek times"]);
    // An include bomb: each file includes the next twice.
    let files = Files::of("x.parv", "source 0\nsource 0\n");
    (0..12).for_each(|i| files.write(&i.to_string(), format!("source {}\nsource {}\n", i + 1, i + 1)));
    files.write("12", "# the end\n");
    let error = files.import("x.parv").expect_err("too many").to_string();
    assert!(error.contains("more than 1000 files"), "{error}");
}

#[test]
fn incomplete_systems_are_rejected() {
    refused_each(
        r#"
        drive.parv:55 | topology disksim_iodriver driver0 => topology disksim_iodriver driver1 | driver1 | instantiate
        drive.parv:58 | disksim_disk disk0 [] => disksim_bus disk0 [] | made of a block of disksim_disk
        "#,
    );
    let files = Files::of_a_drive();
    files.replace("drive.parv", "disksim_disk disk0 []", "disksim_disk disk0 [], disksim_disk disk1 []");
    let import = files.import("drive.parv").expect("two alike");
    assert!(
        import.notes.iter().any(|note| note.changes_results && note.reason.contains("2 devices")),
        "{:#?}",
        import.listing()
    );
    let content = std::fs::read_to_string(files.path("drive.parv")).expect("readable");
    files.write("drive.parv", &content[..content.find("topology").expect("there")]);
    let error = files.import("drive.parv").expect_err("no topology").to_string();
    assert!(error.contains("topology is missing: expected one, as the files have a block of"), "{error}");
    let error = files.scenario("drive.diskspecs").expect_err("no workload").to_string();
    assert!(error.contains("no workload"), "{error}");
}

//! The program `sledsim-nbd`: serves the system of a scenario as a network block device, without Python.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use sledsim::scenario::{text_of, BuiltIn, Catalog, Draft, Keep, Notation, Resolved};
use sledsim_nbd::files::are_same;
use sledsim_nbd::log::Summary;
use sledsim_nbd::os;
use sledsim_nbd::server::{serve, Options, Ready, ServeError};
use sledsim_nbd::sockets::{Address, AddressError};

/// Files of the catalogue, by their paths in it.
static CATALOG: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

const USAGE: &str =
    "usage: sledsim-nbd SCENARIO [--set PATH=VALUE]... [--socket PATH | --tcp [ADDRESS:]PORT [--remote]]
                   [--image FILE [--drop]] [--dilation N] [--log TRACE.csv] [--once]

Serves the system of a scenario as a network block device until SIGTERM or Ctrl-C.

  --set PATH=VALUE      replace a value of the scenario's system; clients are the workload
  --socket PATH         listen on a Unix socket (default: sledsim.sock)
  --tcp [ADDRESS:]PORT  listen on TCP (default address: 127.0.0.1)
  --remote              allow an address that other machines can reach: they can read and write the device
  --image FILE          keep the data in this sparse file instead of memory; a new or empty file, or one of a device of
                        the same size that no other server uses
  --drop                remove that file at the end
  --dilation N          slow down the device's clock N times, 1 to 1000
  --log TRACE.csv       write a trace of all requests, with the times of reading, due time and reply; replaces the file
  --once                end when the last client has disconnected";

struct Arguments {
    scenario: PathBuf,
    settings: Vec<String>,
    options: Options,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match parse(words).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn parse(words: Vec<String>) -> Result<Arguments, String> {
    let mut words = words.into_iter();
    let (mut tcp, mut remote) = (None, false);
    let address = Address::Unix("sledsim.sock".into());
    let options = Options { address, dilation: 1.0, image: None, drop: false, log: None, once: false };
    let mut arguments = Arguments { scenario: PathBuf::new(), settings: Vec::new(), options };
    while let Some(word) = words.next() {
        let mut value = || {
            let given = words.next().filter(|given| !given.is_empty());
            given.ok_or_else(|| format!("{word} needs a value (sledsim-nbd --help)"))
        };
        match word.as_str() {
            "--set" => arguments.settings.push(value()?),
            "--socket" => arguments.options.address = Address::Unix(value()?.into()),
            "--tcp" => tcp = Some(value()?),
            "--remote" => remote = true,
            "--image" => arguments.options.image = Some(value()?.into()),
            "--drop" => arguments.options.drop = true,
            "--dilation" => {
                let given = value()?;
                let dilation = given.parse().ok().filter(|dilation| (1.0..=1000.0).contains(dilation));
                arguments.options.dilation =
                    dilation.ok_or_else(|| format!("--dilation {given:?} is not a number from 1 to 1000"))?;
            }
            "--log" => arguments.options.log = Some(value()?.into()),
            "--once" => arguments.options.once = true,
            option if option.starts_with('-') => return Err(format!("unknown option: {option} (sledsim-nbd --help)")),
            _ if arguments.scenario.as_os_str().is_empty() => arguments.scenario = word.into(),
            _ => return Err(format!("one scenario, not {word:?} too (sledsim-nbd --help)")),
        }
    }
    if arguments.scenario.as_os_str().is_empty() {
        return Err(format!("a scenario is missing\n{USAGE}"));
    }
    if let Some(given) = tcp {
        arguments.options.address = Address::tcp(&given, remote).map_err(|why| match why {
            AddressError::Unreadable => {
                format!(
                    "--tcp {given:?} is not PORT or ADDRESS:PORT, such as 127.0.0.1:10809; host names are not resolved"
                )
            }
            AddressError::Remote => {
                format!("--tcp {given:?} accepts connections from other machines: allow them with --remote")
            }
        })?;
    } else if remote {
        return Err("--remote needs --tcp ADDRESS:PORT".to_owned());
    }
    Ok(arguments)
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let address = &arguments.options.address;
    let with_option = |error: String| format!("--{}: {error}", address.option());
    // Checked before the session, which takes longer to create.
    address.require_free().map_err(with_option)?;
    let resolved = resolved(&arguments.scenario, &arguments.settings)?;
    require_apart(arguments, resolved.scenario().system.drives().iter().map(|drive| Path::new(drive.device.name())))?;
    let session = resolved.session(&Keep::default()).map_err(|error| error.to_string())?;
    os::install_signal_handlers();
    let ready = |ready: Ready| {
        let at = &ready.address;
        let began_ns = ready.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let (size, early_ns) = (ready.size, ready.early.as_nanos());
        println!("{at} has {size} bytes; answers leave {early_ns} ns early; its clock began at {began_ns} ns");
    };
    let served = serve(session, &arguments.options, &ready, &os::is_termination_requested);
    let (_, summary) = served.map_err(|error| match error {
        ServeError::Socket(error) => with_option(error),
        ServeError::Log(error) => format!("--log: {error}"),
        ServeError::Store(error) => format!("--image: {error}"),
        ServeError::Run(error) => error.to_string(),
    })?;
    println!("{}", text_of_summary(&summary));
    summary.log_fault.map_or(Ok(()), |error| Err(format!("--log: {error}")))
}

/// Returns the counts of requests and the accuracy of the times in words.
fn text_of_summary(summary: &Summary) -> String {
    let accuracy = summary.accuracy.map_or_else(
        || "no reads or writes, so no response times".to_owned(),
        |found| {
            let trust = "do not trust the times: raise --dilation, or stop other programs";
            format!(
                "{:.1} % within 2 % of their time, errors {:.1} us in the median, {:.1} us p99: {}",
                100.0 * found.on_time,
                found.median_error_us,
                found.p99_error_us,
                if found.is_trusted() { "trust it" } else { trust },
            )
        },
    );
    format!("{} reads, {} writes, {} flushes; {accuracy}", summary.reads, summary.writes, summary.flushes)
}

/// Checks that the image and the log are neither the socket nor the scenario nor the file of one of its `devices`.
fn require_apart<'a>(arguments: &'a Arguments, devices: impl Iterator<Item = &'a Path>) -> Result<(), String> {
    let Options { address, image, log, .. } = &arguments.options;
    let socket = match address {
        Address::Unix(path) => Some(path.as_path()),
        Address::Tcp(_) => None,
    };
    let others = socket.into_iter().map(|path| ("--socket", path));
    let mut others: Vec<_> = others.chain([("the scenario", arguments.scenario.as_path())]).collect();
    others.extend(devices.filter(|path| path.is_absolute()).map(|path| ("a device of the scenario", path)));
    for (option, path) in [("--image", image), ("--log", log)] {
        let Some(path) = path else { continue };
        if let Some((other, _)) = others.iter().find(|(_, other)| are_same(path, other)) {
            return Err(format!("{option}: {} is {other}, too: name another file", path.display()));
        }
        others.push((option, path));
    }
    Ok(())
}

fn resolved(path: &Path, settings: &[String]) -> Result<Resolved, String> {
    if let Some(setting) = settings.iter().find(|setting| is_replaced_by_clients(setting)) {
        return Err(format!("--set {setting}: clients are the workload: leave it out"));
    }
    let name = path.display().to_string();
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let notation = Notation::named(&ending).map_err(|fault| fault.in_file(name.as_str()).to_string())?;
    let text = text_of(path).map_err(|error| format!("{name} can't be read: {error}"))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let settings = [settings, &["workload={kind=\"session\"}".to_owned()]].concat();
    let draft = Draft::read(&text, notation, &name, folder).map_err(|fault| fault.to_string())?;
    let catalog = Catalog::default().with_built_in(CATALOG);
    draft.set(&settings).resolve(&catalog, folder).map_err(|faults| faults.to_string())
}

/// Returns true for a setting of the workload or the run, which clients replace.
fn is_replaced_by_clients(setting: &str) -> bool {
    let path = setting.split('=').next().unwrap_or_default();
    ["run", "workload"].contains(&path.split('.').next().unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        parse(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn addresses_that_other_machines_reach_need_remote() {
        let says = read("s.toml --tcp 0.0.0.0:1").err();
        assert_eq!(
            says.as_deref(),
            Some("--tcp \"0.0.0.0:1\" accepts connections from other machines: allow them with --remote")
        );
        let found = read("s.toml --remote --tcp 0.0.0.0:1").expect("it is allowed");
        assert_eq!(found.options.address.to_string(), "nbd://0.0.0.0:1");
        let local = read("s.toml --tcp 10809").expect("a port");
        assert_eq!(local.options.address.to_string(), "nbd://127.0.0.1:10809");
        let says = read("s.toml --tcp nowhere").err().expect("not an address");
        assert!(says.contains("is not PORT or ADDRESS:PORT"), "{says}");
        assert_eq!(read("s.toml").expect("a scenario").options.address, Address::Unix("sledsim.sock".into()));
    }

    #[test]
    fn wrong_arguments_are_errors() {
        for (line, says) in [
            ("", "a scenario is missing"),
            ("a b", "one scenario, not \"b\" too"),
            ("a --dilation 0.5", "is not a number from 1 to 1000"),
            ("a --image", "--image needs a value"),
            ("a --tcp localhost:1", "host names are not resolved"),
            ("a --remote", "--remote needs --tcp"),
            ("a --sockets b", "unknown option: --sockets"),
        ] {
            let found = read(line).err().unwrap_or_default();
            assert!(found.contains(says), "{line}: {found}");
        }
    }

    #[test]
    fn files_of_other_arguments_are_not_written() {
        let folder = std::env::temp_dir().join(format!("sledsim-nbd-apart-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let place = folder.display();
        let (text, device) = ("[system]\ndevice = \"my.toml\"\n", "mechanism = \"mems\"\nbase = \"g2\"\n");
        std::fs::write(folder.join("s.toml"), text).expect("a file");
        std::fs::write(folder.join("my.toml"), device).expect("a file");
        for (options, says) in [
            ("--log PLACE/s.toml", "--log: PLACE/s.toml is the scenario, too: name another file"),
            ("--image PLACE/./s.toml", "--image: PLACE/./s.toml is the scenario, too: name another file"),
            ("--log PLACE/my.toml", "--log: PLACE/my.toml is a device of the scenario, too: name another file"),
            ("--image PLACE/a --log PLACE/./a", "--log: PLACE/./a is --image, too: name another file"),
            ("--image PLACE/a --socket PLACE/a", "--image: PLACE/a is --socket, too: name another file"),
        ] {
            let here = |words: &str| words.replace("PLACE", &place.to_string());
            let found = read(&here(&format!("PLACE/s.toml {options}"))).and_then(|arguments| run(&arguments));
            assert_eq!(found, Err(here(says)));
        }
        assert_eq!(std::fs::read_to_string(folder.join("s.toml")).expect("still there"), text);
        assert_eq!(std::fs::read_to_string(folder.join("my.toml")).expect("still there"), device);
        assert!(!folder.join("a").exists());
        std::fs::remove_dir_all(&folder).expect("it was there");
    }

    #[test]
    fn settings_of_the_workload_are_errors() {
        for setting in ["run.requests=5", "workload.kind=\"poisson\"", " workload = {}", "run={}"] {
            let says = resolved(Path::new("nothing.toml"), &[setting.to_owned()]).err().unwrap_or_default();
            assert!(says.starts_with(&format!("--set {setting}: clients are the workload")), "{says}");
        }
        for setting in ["seed=5", "device.settle_constants=0", "system.run=1", "runs=1"] {
            assert!(!is_replaced_by_clients(setting), "{setting}");
        }
    }

    #[test]
    fn a_summary_without_reads_and_writes_has_no_accuracy() {
        let summary = Summary { reads: 0, writes: 0, flushes: 2, accuracy: None, log_fault: None };
        let says = "0 reads, 0 writes, 2 flushes; no reads or writes, so no response times";
        assert_eq!(text_of_summary(&summary), says);
    }

    #[test]
    fn a_file_in_the_place_of_the_socket_is_an_error_before_the_image_is_created() {
        let folder = std::env::temp_dir().join(format!("sledsim-nbd-main-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (scenario, image) = (folder.join("s.toml"), folder.join("disk.img"));
        std::fs::write(&scenario, "[system]\ndevice = \"g2\"\n").expect("a file");
        let place = scenario.display();
        let found = read(&format!("{place} --socket {place} --image {}", image.display()))
            .and_then(|arguments| run(&arguments));
        let expected = format!("--socket: {place} is a file, not a socket: remove it, or name another path");
        assert_eq!(found, Err(expected));
        assert!(!image.exists());
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}

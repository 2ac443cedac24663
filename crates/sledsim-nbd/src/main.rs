//! `sledsim-nbd SCENARIO`: serves the system of a scenario as a network block device, without Python.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use sledsim::scenario::{text_of, BuiltIn, Catalog, Draft, Keep, Notation, Resolved};
use sledsim_nbd::files::are_same;
use sledsim_nbd::log::Verdict;
use sledsim_nbd::os;
use sledsim_nbd::server::{serve, Options, ServeError, Served};
use sledsim_nbd::sockets::{Address, NoAddress};

/// The catalogue's files, by their paths in it.
static CATALOG: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

const USAGE: &str =
    "usage: sledsim-nbd SCENARIO [--set PATH=VALUE]... [--socket PATH | --tcp [ADDRESS:]PORT [--remote]]
                   [--image FILE [--drop]] [--dilation N] [--log TRACE.csv] [--once]

Serves the system of a scenario as a network block device until SIGTERM or Ctrl-C.

  --set PATH=VALUE      replace a value of the scenario, but of its run and its workload, which clients are
  --socket PATH         a Unix socket; sledsim.sock if neither is given
  --tcp [ADDRESS:]PORT  TCP; this machine's own 127.0.0.1 if no address is given
  --remote              let --tcp take an address that other machines reach: whoever does reads and writes the device
  --image FILE          keep data in this file, with holes where nothing was written; in memory otherwise. It is made if
                        it is not there or empty; else it has to be as long as the device, and no other server's
  --drop                remove that file at the end
  --dilation N          let the device's time run N times slower than the machine's, 1 to 1000
  --log TRACE.csv       write down each request, with when it was asked, due and answered; what was in the file is gone
  --once                end when the last client has gone";

struct Asked {
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
    match asked(words).and_then(|asked| run(&asked)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(says) => {
            eprintln!("error: {says}");
            ExitCode::from(2)
        }
    }
}

fn asked(words: Vec<String>) -> Result<Asked, String> {
    let mut words = words.into_iter();
    let (mut tcp, mut remote) = (None, false);
    let address = Address::Unix("sledsim.sock".into());
    let options = Options { address, dilation: 1.0, image: None, drop: false, log: None, once: false };
    let mut asked = Asked { scenario: PathBuf::new(), settings: Vec::new(), options };
    while let Some(word) = words.next() {
        let mut value = || {
            let given = words.next().filter(|given| !given.is_empty());
            given.ok_or_else(|| format!("{word} needs a value (sledsim-nbd --help)"))
        };
        match word.as_str() {
            "--set" => asked.settings.push(value()?),
            "--socket" => asked.options.address = Address::Unix(value()?.into()),
            "--tcp" => tcp = Some(value()?),
            "--remote" => remote = true,
            "--image" => asked.options.image = Some(value()?.into()),
            "--drop" => asked.options.drop = true,
            "--dilation" => {
                let given = value()?;
                let dilation = given.parse().ok().filter(|dilation| (1.0..=1000.0).contains(dilation));
                asked.options.dilation =
                    dilation.ok_or_else(|| format!("--dilation {given:?} is no number from 1 to 1000"))?;
            }
            "--log" => asked.options.log = Some(value()?.into()),
            "--once" => asked.options.once = true,
            option if option.starts_with('-') => return Err(format!("no such option: {option} (sledsim-nbd --help)")),
            _ if asked.scenario.as_os_str().is_empty() => asked.scenario = word.into(),
            _ => return Err(format!("one scenario, not {word:?} too (sledsim-nbd --help)")),
        }
    }
    if asked.scenario.as_os_str().is_empty() {
        return Err(format!("a scenario is missing\n{USAGE}"));
    }
    if let Some(given) = tcp {
        asked.options.address = Address::tcp(&given, remote).map_err(|why| match why {
            NoAddress::Unreadable => {
                format!("--tcp {given:?} is no PORT or ADDRESS:PORT, as 127.0.0.1:10809; names are not looked up")
            }
            NoAddress::Remote => format!("--tcp {given:?} is reached from other machines: --remote lets them"),
        })?;
    } else if remote {
        return Err("--remote is for a TCP address: --tcp ADDRESS:PORT".to_owned());
    }
    Ok(asked)
}

fn run(asked: &Asked) -> Result<(), String> {
    let address = &asked.options.address;
    let placed = |says: String| format!("--{}: {says}", address.option());
    // Before a session is opened for nothing.
    address.is_free().map_err(placed)?;
    let resolved = resolved(&asked.scenario, &asked.settings)?;
    require_apart(asked, resolved.scenario().system.drives().iter().map(|drive| Path::new(drive.device.name())))?;
    let session = resolved.session(&Keep::default()).map_err(|error| error.to_string())?;
    os::end_by_signals();
    let ready = |served: Served| {
        let at = &served.address;
        let began_ns = served.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let (size, early_ns) = (served.size, served.early.as_nanos());
        println!("{at} has {size} bytes; answers leave {early_ns} ns early; its clock began at {began_ns} ns");
    };
    let served = serve(session, &asked.options, &ready, &os::is_ended);
    let (_, verdict) = served.map_err(|error| match error {
        ServeError::Socket(says) => placed(says),
        ServeError::Log(says) => format!("--log: {says}"),
        ServeError::Store(says) => format!("--image: {says}"),
        ServeError::Run(error) => error.to_string(),
    })?;
    println!("{}", told(&verdict));
    verdict.log_fault.map_or(Ok(()), |says| Err(format!("--log: {says}")))
}

/// What was asked, and how it was delivered.
fn told(verdict: &Verdict) -> String {
    let delivered = verdict.delivered.map_or_else(
        || "nothing was read or written, so nothing is known of the times".to_owned(),
        |found| {
            let trust = "do not trust the times: raise --dilation, or idle the machine";
            format!(
                "{:.1} % within 2 % of their time, errors {:.1} us in the median, {:.1} us p99: {}",
                100.0 * found.on_time,
                found.median_error_us,
                found.p99_error_us,
                if found.is_trusted() { "trust it" } else { trust },
            )
        },
    );
    format!("{} reads, {} writes, {} flushes; {delivered}", verdict.reads, verdict.writes, verdict.flushes)
}

/// Refuses to write a file that something else is: the socket, the scenario, or the file of one of its `devices`.
fn require_apart<'a>(asked: &'a Asked, devices: impl Iterator<Item = &'a Path>) -> Result<(), String> {
    let Options { address, image, log, .. } = &asked.options;
    let socket = match address {
        Address::Unix(path) => Some(path.as_path()),
        Address::Tcp(_) => None,
    };
    let others = socket.into_iter().map(|path| ("--socket", path));
    let mut others: Vec<_> = others.chain([("the scenario", asked.scenario.as_path())]).collect();
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
    if let Some(setting) = settings.iter().find(|setting| is_of_clients(setting)) {
        return Err(format!(
            "--set {setting}: clients are the workload, and ask for as long as they like: leave it out"
        ));
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

/// Whether a setting is of what clients are asked for in a scenario's place: its workload, and its run.
fn is_of_clients(setting: &str) -> bool {
    let path = setting.split('=').next().unwrap_or_default();
    ["run", "workload"].contains(&path.split('.').next().unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Asked, String> {
        asked(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn an_address_that_other_machines_reach_has_to_be_asked_for() {
        let says = read("s.toml --tcp 0.0.0.0:1").err();
        assert_eq!(says.as_deref(), Some("--tcp \"0.0.0.0:1\" is reached from other machines: --remote lets them"));
        let found = read("s.toml --remote --tcp 0.0.0.0:1").expect("it is asked for");
        assert_eq!(found.options.address.to_string(), "nbd://0.0.0.0:1");
        let own = read("s.toml --tcp 10809").expect("this machine's own");
        assert_eq!(own.options.address.to_string(), "nbd://127.0.0.1:10809");
        let says = read("s.toml --tcp nowhere").err().expect("no address");
        assert!(says.contains("is no PORT or ADDRESS:PORT"), "{says}");
        assert_eq!(read("s.toml").expect("a scenario").options.address, Address::Unix("sledsim.sock".into()));
    }

    #[test]
    fn words_that_cannot_be_are_refused() {
        for (line, says) in [
            ("", "a scenario is missing"),
            ("a b", "one scenario, not \"b\" too"),
            ("a --dilation 0.5", "is no number from 1 to 1000"),
            ("a --image", "--image needs a value"),
            ("a --tcp localhost:1", "names are not looked up"),
            ("a --remote", "--remote is for a TCP address"),
            ("a --sockets b", "no such option: --sockets"),
        ] {
            let found = read(line).err().unwrap_or_default();
            assert!(found.contains(says), "{line}: {found}");
        }
    }

    #[test]
    fn a_file_that_is_something_else_is_not_written() {
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
            let found = read(&here(&format!("PLACE/s.toml {options}"))).and_then(|asked| run(&asked));
            assert_eq!(found, Err(here(says)));
        }
        assert_eq!(std::fs::read_to_string(folder.join("s.toml")).expect("still there"), text);
        assert_eq!(std::fs::read_to_string(folder.join("my.toml")).expect("still there"), device);
        assert!(!folder.join("a").exists());
        std::fs::remove_dir_all(&folder).expect("it was there");
    }

    #[test]
    fn settings_of_what_clients_are_asked_for_are_refused() {
        for setting in ["run.requests=5", "workload.kind=\"poisson\"", " workload = {}", "run={}"] {
            let says = resolved(Path::new("nothing.toml"), &[setting.to_owned()]).err().unwrap_or_default();
            assert!(says.starts_with(&format!("--set {setting}: clients are the workload")), "{says}");
        }
        for setting in ["seed=5", "device.settle_constants=0", "system.run=1", "runs=1"] {
            assert!(!is_of_clients(setting), "{setting}");
        }
    }

    #[test]
    fn of_no_requests_no_time_is_told() {
        let verdict = Verdict { reads: 0, writes: 0, flushes: 2, delivered: None, log_fault: None };
        let says = "0 reads, 0 writes, 2 flushes; nothing was read or written, so nothing is known of the times";
        assert_eq!(told(&verdict), says);
    }

    #[test]
    fn a_file_in_the_place_of_the_socket_is_named_before_a_store_is_made() {
        let folder = std::env::temp_dir().join(format!("sledsim-nbd-main-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (scenario, image) = (folder.join("s.toml"), folder.join("disk.img"));
        std::fs::write(&scenario, "[system]\ndevice = \"g2\"\n").expect("a file");
        let place = scenario.display();
        let says = read(&format!("{place} --socket {place} --image {}", image.display())).and_then(|asked| run(&asked));
        let tells = format!("--socket: {place} is a file and no socket: move it away, or name another place");
        assert_eq!(says, Err(tells));
        assert!(!image.exists());
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}

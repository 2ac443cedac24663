//! `sledsim-nbd SCENARIO`: serves the system of a scenario as a network block device, without Python.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use sledsim::scenario::{Catalog, Draft, Keep, Notation, Session};
use sledsim_nbd::os;
use sledsim_nbd::server::{serve, size_of, Options, ServeError, Served};
use sledsim_nbd::sockets::{Address, NoAddress};
use sledsim_nbd::store::Store;

/// The catalogue's files, by their paths in it.
static CATALOG: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

const USAGE: &str =
    "usage: sledsim-nbd SCENARIO [--set PATH=VALUE]... [--socket PATH | --tcp [ADDRESS:]PORT [--remote]]
                   [--image FILE [--drop]] [--dilation N] [--log TRACE.csv] [--once]

Serves the system of a scenario as a network block device until SIGTERM or Ctrl-C.

  --set PATH=VALUE      replace a value of the scenario
  --socket PATH         a Unix socket; sledsim.sock if neither is given
  --tcp [ADDRESS:]PORT  TCP; this machine's own 127.0.0.1 if no address is given
  --remote              let --tcp take an address that other machines reach: whoever does reads and writes the device
  --image FILE          keep data in this file, with holes where nothing was written; in memory otherwise
  --drop                remove that file at the end
  --dilation N          let the device's time run N times slower than the machine's, 1 to 1000
  --log TRACE.csv       write down each request, with when it was asked, due and answered
  --once                end when the last client has gone";

struct Asked {
    scenario: PathBuf,
    settings: Vec<String>,
    store: Option<PathBuf>,
    drop: bool,
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
    let options = Options { address: Address::Unix("sledsim.sock".into()), dilation: 1.0, log: None, once: false };
    let mut asked = Asked { scenario: PathBuf::new(), settings: Vec::new(), store: None, drop: false, options };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value (sledsim-nbd --help)"));
        match word.as_str() {
            "--set" => asked.settings.push(value()?),
            "--socket" => asked.options.address = Address::Unix(value()?.into()),
            "--tcp" => tcp = Some(value()?),
            "--remote" => remote = true,
            "--image" => asked.store = Some(value()?.into()),
            "--drop" => asked.drop = true,
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
            NoAddress::Unreadable => format!("--tcp {given:?} is no PORT or ADDRESS:PORT, as 127.0.0.1:10809"),
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
    // Before a store is made for nothing.
    address.is_free().map_err(placed)?;
    let session = open(&asked.scenario, &asked.settings)?;
    let store = match &asked.store {
        None => Store::memory(),
        Some(path) => {
            let opened = Store::file(path, size_of(&session));
            opened.map_err(|error| format!("--image {}: {error}", path.display()))?
        }
    };
    os::end_by_signals();
    let ready = |served: Served| {
        let at = &served.address;
        let began_ns = served.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let (size, early_ns) = (served.size, served.early.as_nanos());
        println!("{at} has {size} bytes; answers leave {early_ns} ns early; its clock began at {began_ns} ns");
    };
    let served = serve(session, store, &asked.options, &ready, &os::is_ended);
    if let (true, Some(path)) = (asked.drop, &asked.store) {
        std::fs::remove_file(path).map_err(|error| format!("--drop {}: {error}", path.display()))?;
    }
    let (_, verdict) = served.map_err(|error| match error {
        ServeError::Socket(says) => placed(says),
        ServeError::Log(says) => format!("--log: {says}"),
        ServeError::Store(says) => format!("--image: {says}"),
        ServeError::Run(error) => error.to_string(),
    })?;
    println!(
        "{} reads, {} writes, {} flushes; {:.1} % within 2 % of their time, errors {:.1} us in the median, {:.1} us p99: {}",
        verdict.reads,
        verdict.writes,
        verdict.flushes,
        100.0 * verdict.on_time,
        verdict.median_error_us,
        verdict.p99_error_us,
        if verdict.is_trusted() { "trust it" } else { "do not trust the times: raise --dilation, or idle the machine" },
    );
    verdict.log_fault.map_or(Ok(()), |says| Err(format!("--log: {says}")))
}

fn open(path: &Path, settings: &[String]) -> Result<Session, String> {
    let name = path.display().to_string();
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let notation = Notation::named(&ending).map_err(|fault| fault.in_file(name.as_str()).to_string())?;
    let text = std::fs::read_to_string(path).map_err(|error| format!("{name} can't be read: {error}"))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let settings = [settings, &["workload={kind=\"session\"}".to_owned()]].concat();
    let draft = Draft::read(&text, notation, &name, folder).map_err(|fault| fault.to_string())?;
    let catalog = Catalog::default().with_built_in(CATALOG);
    let resolved = draft.set(&settings).resolve(&catalog, folder).map_err(|faults| faults.to_string())?;
    Session::new(&resolved.scenario, &Keep::default()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Result<Asked, String> {
        asked(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn an_address_that_other_machines_reach_has_to_be_asked_for() {
        let says = told("s.toml --tcp 0.0.0.0:1").err();
        assert_eq!(says.as_deref(), Some("--tcp \"0.0.0.0:1\" is reached from other machines: --remote lets them"));
        let found = told("s.toml --remote --tcp 0.0.0.0:1").expect("it is asked for");
        assert_eq!(found.options.address.to_string(), "nbd://0.0.0.0:1");
        let own = told("s.toml --tcp 10809").expect("this machine's own");
        assert_eq!(own.options.address.to_string(), "nbd://127.0.0.1:10809");
        let says = told("s.toml --tcp nowhere").err().expect("no address");
        assert!(says.contains("is no PORT or ADDRESS:PORT"), "{says}");
        assert_eq!(told("s.toml").expect("a scenario").options.address, Address::Unix("sledsim.sock".into()));
    }

    #[test]
    fn words_that_cannot_be_are_refused() {
        for (line, says) in [
            ("", "a scenario is missing"),
            ("a b", "one scenario, not \"b\" too"),
            ("a --dilation 0.5", "is no number from 1 to 1000"),
            ("a --image", "--image needs a value"),
            ("a --remote", "--remote is for a TCP address"),
            ("a --sockets b", "no such option: --sockets"),
        ] {
            let found = told(line).err().unwrap_or_default();
            assert!(found.contains(says), "{line}: {found}");
        }
    }

    #[test]
    fn a_file_in_the_place_of_the_socket_is_named_before_a_store_is_made() {
        let folder = std::env::temp_dir().join(format!("sledsim-nbd-main-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (scenario, image) = (folder.join("s.toml"), folder.join("disk.img"));
        std::fs::write(&scenario, "[system]\ndevice = \"g2\"\n").expect("a file");
        let place = scenario.display();
        let says = told(&format!("{place} --socket {place} --image {}", image.display())).and_then(|asked| run(&asked));
        let tells = format!("--socket: {place} is a file and no socket: move it away, or name another place");
        assert_eq!(says, Err(tells));
        assert!(!image.exists());
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}

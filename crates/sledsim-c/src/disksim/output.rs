//! The output file: the parameters that are not imported, then statistics under DiskSim's headings, each with the JSON result.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use sledsim::fault::{Fault, Kind};
use sledsim::scenario::Report;

use crate::codes::Error;

/// The output of statistics.
pub struct Output {
    name: String,
    /// `None` for standard output.
    file: Option<File>,
}

impl Output {
    /// Creates an output file with its header. The name `stdout` is standard output.
    pub fn open(path: &Path, parameters: &str, listing: &[String]) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file =
            if name == "stdout" { None } else { Some(File::create(path).map_err(|error| write_fault(&name, &error))?) };
        let mut output = Self { name, file };
        let mut text = format!("Output file name:     {}\nParameter file name:  {parameters}\n", output.name);
        let _ = writeln!(text, "Simulated by Sledsim {}, by DiskSim's interface.\n", env!("CARGO_PKG_VERSION"));
        listing.iter().for_each(|line| {
            let _ = writeln!(text, "{line}");
        });
        output.append(&text)?;
        Ok(output)
    }

    /// Writes the statistics of a run that lasted `total_ms`.
    pub fn write(&mut self, total_ms: f64, report: &Report) -> Result<(), Error> {
        let mut text = String::from("\nSIMULATION STATISTICS\n---------------------\n\n");
        let _ = writeln!(text, "Total time of run:       {total_ms:.6}\n");
        let warmup_ms = total_ms - report.run.measured_s * 1e3;
        let _ = writeln!(text, "Warm-up time:            {:.6}\n", warmup_ms.max(0.0));
        text.push_str("\nOVERALL I/O SYSTEM STATISTICS\n-----------------------------\n\n");
        const SUBJECT: &str = "Overall I/O System";
        let _ = writeln!(text, "{SUBJECT} Total Requests handled:\t{}", report.requests.completed);
        let _ = writeln!(text, "{SUBJECT} Requests per second:   \t{:.6}", report.throughput.requests_per_s);
        if let Some(response) = &report.response {
            let _ = writeln!(text, "{SUBJECT} Response time average: \t{:.6}", response.mean_ms);
            let _ = writeln!(text, "{SUBJECT} Response time std.dev.:\t{:.6}", response.std_ms);
            let _ = writeln!(text, "{SUBJECT} Response time maximum:\t{:.6}", response.max_ms);
        }
        let result = serde_json::to_string(report).unwrap_or_default();
        let _ = writeln!(text, "\nRESULT OF SLEDSIM (JSON)\n------------------------\n\n{result}");
        self.append(&text)
    }

    fn append(&mut self, text: &str) -> Result<(), Error> {
        let written = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => {
                let mut out = io::stdout().lock();
                out.write_all(text.as_bytes()).and_then(|()| out.flush())
            }
        };
        written.map_err(|error| write_fault(&self.name, &error))
    }
}

fn write_fault(name: &str, error: &io::Error) -> Error {
    Fault::new(Kind::Unreadable).says(format!("can't write the output file: {error}")).in_file(name).into()
}

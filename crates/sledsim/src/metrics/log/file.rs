//! Files with logs of requests, which are written while the run continues.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::mpsc::{sync_channel, Receiver};
use std::thread::{self, JoinHandle};

use super::parquet::ParquetWriter;
use super::text::TextWriter;
use super::{columns, Entry, LogColumn, LogFacts, LogSender, LogValues};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Parquet.
    Parquet,
    /// Comma-separated values with a header.
    Csv,
    /// An array of objects.
    Json,
}

/// A file that a thread of its own writes.
#[derive(Debug)]
pub struct LogFile {
    thread: JoinHandle<io::Result<()>>,
}

impl LogFile {
    /// Creates a file. Returns also the sender for the run that is logged. `metadata` are keys and values for a Parquet file; the other
    /// formats have none. Logs have energies if `has_energy`.
    ///
    /// # Errors
    /// The file or the thread cannot be created.
    pub fn create(
        path: &Path,
        format: LogFormat,
        metadata: Vec<(String, String)>,
        has_energy: bool,
    ) -> io::Result<(Self, LogSender)> {
        let file = BufWriter::with_capacity(1 << 16, File::create(path)?);
        let (sender, receiver) = sync_channel(1);
        let columns = columns(has_energy);
        let write = move || match format {
            LogFormat::Parquet => write(&mut ParquetWriter::new(file, metadata)?, &columns, &receiver),
            LogFormat::Csv => write(&mut TextWriter::csv(file), &columns, &receiver),
            LogFormat::Json => write(&mut TextWriter::json(file), &columns, &receiver),
        };
        let thread = thread::Builder::new().name("sledsim-log".to_owned()).spawn(write)?;
        Ok((Self { thread }, LogSender { group: Vec::new(), channel: sender }))
    }

    /// Returns true if the file cannot be written. [`LogFile::finish`] returns the reason.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        // Before the end of the run the thread ends only for this reason.
        self.thread.is_finished()
    }

    /// Completes the file, after all clones of its sender have been dropped.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> io::Result<()> {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Writes a table.
pub(super) trait TableWriter {
    /// Writes rows as values by column.
    fn write_group(&mut self, columns: &[LogColumn], values: impl Iterator<Item = LogValues>) -> io::Result<()>;

    /// Completes the file.
    fn finish(&mut self, columns: &[LogColumn]) -> io::Result<()>;
}

fn write(
    writer: &mut impl TableWriter,
    columns: &[LogColumn],
    receiver: &Receiver<(LogFacts, Vec<Entry>)>,
) -> io::Result<()> {
    for (facts, entries) in receiver {
        if !entries.is_empty() {
            writer.write_group(columns, columns.iter().map(|column| column.values(facts, &entries)))?;
        }
    }
    writer.finish(columns)
}

//! Writes tables as text.

use std::io::{self, BufWriter, Write};

use super::file::TableWriter;
use super::{LogColumn, LogValues};

/// Writes CSV, or JSON as an array of objects.
pub(super) struct TextWriter<W: Write> {
    file: BufWriter<W>,
    is_json: bool,
    rows: u64,
}

impl<W: Write> TextWriter<W> {
    /// Returns a writer of CSV with a header.
    pub fn csv(file: BufWriter<W>) -> Self {
        Self { file, is_json: false, rows: 0 }
    }

    /// Returns a writer of JSON.
    pub fn json(file: BufWriter<W>) -> Self {
        Self { file, is_json: true, rows: 0 }
    }

    fn write_header(&mut self, columns: &[LogColumn]) -> io::Result<()> {
        if self.is_json {
            return self.file.write_all(b"[");
        }
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        writeln!(self.file, "{}", names.join(","))
    }
}

impl<W: Write> TableWriter for TextWriter<W> {
    fn write_group(&mut self, columns: &[LogColumn], values: impl Iterator<Item = LogValues>) -> io::Result<()> {
        if self.rows == 0 {
            self.write_header(columns)?;
        }
        let values: Vec<LogValues> = values.collect();
        let count = values.first().map_or(0, |column| match column {
            LogValues::Bool(values) => values.len(),
            LogValues::U32(values) => values.len(),
            LogValues::U64(values) => values.len(),
            LogValues::F64(values) => values.len(),
        });
        for row in 0..count {
            if self.is_json {
                self.file.write_all(if self.rows == 0 { b"\n\t{" } else { b",\n\t{" })?;
            }
            for (place, (column, values)) in columns.iter().zip(&values).enumerate() {
                if place > 0 {
                    self.file.write_all(b",")?;
                }
                if self.is_json {
                    write!(self.file, "\"{}\":", column.name)?;
                }
                match values {
                    LogValues::Bool(values) => self.file.write_all(if values[row] { b"true" } else { b"false" })?,
                    LogValues::U32(values) => write_integer(&mut self.file, values[row].into())?,
                    LogValues::U64(values) => write_integer(&mut self.file, values[row])?,
                    // The shortest text that is read as the same number.
                    LogValues::F64(values) => write!(self.file, "{:?}", values[row])?,
                }
            }
            self.file.write_all(if self.is_json { b"}" } else { b"\n" })?;
            self.rows += 1;
        }
        Ok(())
    }

    fn finish(&mut self, columns: &[LogColumn]) -> io::Result<()> {
        if self.rows == 0 {
            self.write_header(columns)?;
        }
        if self.is_json {
            self.file.write_all(b"\n]\n")?;
        }
        self.file.flush()
    }
}

/// Writes a decimal number. It is several times faster than `write!`, which matters for tens of numbers a request.
fn write_integer(file: &mut impl Write, mut number: u64) -> io::Result<()> {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
        if number == 0 {
            return file.write_all(&digits[start..]);
        }
    }
}

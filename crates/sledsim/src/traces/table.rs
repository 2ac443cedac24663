//! Traces in memory: tables of named columns.
//!
//! A table is read by the rules of a CSV trace with the names of its columns as header ([`super::csv`]), so it gives exactly the
//! records of that file. A number with a fraction is read as its shortest decimal form, which is the text that a CSV file has.

use std::borrow::Cow;
use std::sync::Arc;

use super::csv::{Columns, Row};
use super::error::{Failure, Parsed};
use super::format::Built;
use super::source::Input;
use super::text::{time_ns, unsigned, unsigned32, LineParser, TimeUnit};
use super::{ColumnMap, RecordParser, Step, TraceError, TraceOptions};
use crate::convert::{to_usize, trunc_to_u64};
use crate::fault::{Fault, Kind};

/// The prefix of names of traces in memory, which take the place of file names.
const MEMORY: &str = "memory:";

/// Returns true if a path of a scenario is the name of a trace in memory.
#[must_use]
pub fn is_in_memory(path: &str) -> bool {
    path.starts_with(MEMORY)
}

/// A column of a table.
#[derive(Clone, Debug)]
pub enum Column {
    /// Whole numbers from 0.
    Unsigned(Vec<u64>),
    /// Whole numbers.
    Signed(Vec<i64>),
    /// Floating-point numbers.
    Float(Vec<f64>),
    /// Texts: each row's is `words[codes[row]]`.
    Text {
        /// The different texts.
        words: Vec<String>,
        /// For each row the index of its text.
        codes: Vec<u32>,
    },
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Unsigned(numbers) => numbers.len(),
            Self::Signed(numbers) => numbers.len(),
            Self::Float(numbers) => numbers.len(),
            Self::Text { codes, .. } => codes.len(),
        }
    }

    /// The number in a row if it is whole, from 0 and below 2^64.
    #[inline]
    fn whole(&self, row: usize) -> Option<u64> {
        const TOO_LARGE: f64 = 18_446_744_073_709_551_616.0;
        match self {
            Self::Unsigned(numbers) => Some(numbers[row]),
            Self::Signed(numbers) => u64::try_from(numbers[row]).ok(),
            Self::Float(numbers) => {
                let number = numbers[row];
                let is_whole = (0.0..TOO_LARGE).contains(&number) && number.fract() == 0.0;
                is_whole.then(|| trunc_to_u64(number))
            }
            Self::Text { .. } => None,
        }
    }

    /// Returns the text of a row, as in a CSV file.
    fn text(&self, row: usize) -> Cow<'_, [u8]> {
        match self {
            Self::Unsigned(numbers) => Cow::Owned(numbers[row].to_string().into()),
            Self::Signed(numbers) => Cow::Owned(numbers[row].to_string().into()),
            Self::Float(numbers) => Cow::Owned(numbers[row].to_string().into()),
            Self::Text { words, codes } => {
                let word = words.get(codes[row] as usize).map_or("", String::as_str);
                Cow::Borrowed(word.trim().as_bytes())
            }
        }
    }
}

/// A trace in memory.
#[derive(Debug)]
pub struct Table {
    name: String,
    columns: Vec<(String, Column)>,
    rows: usize,
}

impl PartialEq for Table {
    /// Tables are known by their names.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Table {
    /// A table of columns of the same length. `name` is its name in messages.
    ///
    /// # Errors
    /// Columns of different length.
    pub fn new(name: String, columns: Vec<(String, Column)>) -> Result<Self, Fault> {
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        let other = columns.iter().find(|(_, column)| column.len() != rows);
        if let (Some((first, _)), Some((other, column))) = (columns.first(), other) {
            let says = format!("columns of different length: {first} has {rows} rows, and {other} {}", column.len());
            return Err(Fault::new(Kind::Misfit).in_file(name).says(says));
        }
        Ok(Self { name, columns, rows })
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns, each with its name.
    #[must_use]
    pub fn columns(&self) -> &[(String, Column)] {
        &self.columns
    }

    /// Number of records.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Names of the columns that a trace with columns of these `names` is read from. `file` is its name in messages.
    ///
    /// # Errors
    /// A column that every trace needs is missing, or there are two of one meaning.
    pub fn used(file: &str, names: &[String], map: &ColumnMap) -> Result<Vec<String>, TraceError> {
        let used = Columns::used(file, names.to_vec(), map).map_err(|error| *error)?;
        Ok(used.into_iter().map(|column| names[column].clone()).collect())
    }

    fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// A parser of the records of a table.
pub(super) fn build(table: &Arc<Table>, options: &TraceOptions) -> Built {
    let columns = Columns::of_table(&table.name, table.names(), options)?;
    Ok(Box::new(TableParser { table: Arc::clone(table), columns }))
}

struct TableParser {
    table: Arc<Table>,
    columns: Columns,
}

/// A row of a table.
struct TableRow<'a> {
    table: &'a Table,
    row: usize,
}

impl TableRow<'_> {
    fn whole(&self, column: usize) -> Option<u64> {
        self.table.columns[column].1.whole(self.row)
    }
}

impl Row for TableRow<'_> {
    fn text(&self, column: usize) -> Cow<'_, [u8]> {
        self.table.columns[column].1.text(self.row)
    }

    #[inline]
    fn unsigned(&self, field: &'static str, column: usize) -> Parsed<u64> {
        self.whole(column).map_or_else(|| unsigned(field, &self.text(column)), Ok)
    }

    #[inline]
    fn unsigned32(&self, field: &'static str, column: usize) -> Parsed<u32> {
        let whole = self.whole(column).and_then(|value| u32::try_from(value).ok());
        whole.map_or_else(|| unsigned32(field, &self.text(column)), Ok)
    }

    #[inline]
    fn time_ns(&self, field: &'static str, column: usize, unit: TimeUnit) -> Parsed<u64> {
        let whole = self.whole(column).and_then(|value| unit.whole_ns(value));
        whole.map_or_else(|| time_ns(field, &self.text(column), unit), Ok)
    }
}

impl RecordParser for TableParser {
    #[inline]
    fn next(&mut self, input: &mut Input) -> Result<Option<Step>, Failure> {
        let row = to_usize(input.line_number());
        if row >= self.table.rows {
            return Ok(None);
        }
        input.count_record();
        let row = TableRow { table: &self.table, row };
        self.columns.request(&row).map(|record| Some(Step::Request(record))).map_err(Failure::Bad)
    }

    fn sector_bytes(&self) -> u32 {
        self.columns.sector_bytes
    }

    fn has_times(&self) -> bool {
        self.columns.time.is_some()
    }

    fn units(&self) -> Option<String> {
        self.columns.units()
    }

    fn has_responses(&self) -> bool {
        self.columns.response.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ColumnRef, LengthUnit, OpCodes, TraceReader, TraceRecord};
    use super::*;

    fn table(columns: &[(&str, Column)]) -> Arc<Table> {
        let columns = columns.iter().map(|(name, column)| ((*name).to_owned(), column.clone())).collect();
        Arc::new(Table::new("memory:test".into(), columns).unwrap())
    }

    /// The text of a CSV file with the columns of a table.
    fn as_csv(table: &Table) -> Vec<u8> {
        let line = |cells: Vec<Cow<'_, [u8]>>| [cells.join(&b',').as_slice(), b"\n"].concat();
        let header = line(table.columns.iter().map(|(name, _)| Cow::Borrowed(name.as_bytes())).collect());
        let rows = (0..table.rows).map(|row| line(table.columns.iter().map(|(_, column)| column.text(row)).collect()));
        std::iter::once(header).chain(rows).collect::<Vec<_>>().concat()
    }

    fn ops(rows: usize) -> Column {
        let words = ["R", "w", "WF", "flush", "ZR", "reset"].map(str::to_owned).to_vec();
        Column::Text { words, codes: (0..rows as u32).map(|row| row % 6).collect() }
    }

    fn records(reader: TraceReader) -> Result<Vec<TraceRecord>, TraceError> {
        reader.collect()
    }

    #[test]
    fn a_table_gives_the_records_of_its_csv_file() {
        let rows = 1000;
        let numbers = |step: u64| (0..rows).map(move |row| row * step);
        let times: [(&str, Column); 4] = [
            ("t_ns", Column::Unsigned(numbers(1_234_567).collect())),
            ("Time (ms)", Column::Float(numbers(1).map(|row| row as f64 * 0.123_456_789_5).collect())),
            ("timestamp_s", Column::Float(numbers(1).map(|row| row as f64 / 7.0 + 1e9).collect())),
            ("arrival_us", Column::Signed((0..rows as i64).collect())),
        ];
        for time in times {
            let table = table(&[
                time,
                ("lbn", Column::Float(numbers(8).map(|block| block as f64).collect())),
                ("bytes", Column::Signed((1..=rows as i64).collect())),
                ("op", ops(rows as usize)),
                ("dev", Column::Unsigned(numbers(1).map(|row| row % 3).collect())),
                ("response_us", Column::Float(numbers(1).map(|row| row as f64 * 0.1).collect())),
            ]);
            let options = TraceOptions { resets: true, ..TraceOptions::default() };
            let from_file = TraceReader::from_reader("t.csv", Box::new(std::io::Cursor::new(as_csv(&table))), &options);
            // A flush has no bytes, whatever the table has in its row.
            let from_file = records(from_file.unwrap()).unwrap();
            let from_table = records(TraceReader::of_table(&table, &options).unwrap()).unwrap();
            assert_eq!(from_table, from_file, "{}", table.columns[0].0);
            assert_eq!(from_table.len(), rows as usize);
        }
    }

    #[test]
    fn a_map_names_columns_and_units() {
        let table = table(&[
            ("a, quoted", Column::Unsigned(vec![1, 2])),
            ("where", Column::Unsigned(vec![3, 4])),
            ("size", Column::Unsigned(vec![2, 2])),
            ("rw", Column::Signed(vec![0, 1])),
        ]);
        let unit = TraceOptions::default();
        let error = TraceReader::of_table(&table, &unit).err().unwrap().to_string();
        assert!(error.contains("`time`"), "{error}");
        let named = |name: &str| Some(ColumnRef::Name(name.to_owned()));
        let columns = ColumnMap { time: named("a, quoted"), offset: named("where"), ..ColumnMap::default() };
        let options = TraceOptions { columns: Some(columns.clone()), ..unit.clone() };
        let error = TraceReader::of_table(&table, &options).err().unwrap().to_string();
        assert!(error.contains("columns.time_unit") && error.contains("columns.offset_unit"), "{error}");
        let columns = ColumnMap {
            time_unit: Some(TimeUnit::Us),
            offset_unit: Some(LengthUnit::Sectors),
            op_codes: Some(OpCodes::new(["0"], ["1"])),
            ..columns
        };
        let options = TraceOptions { columns: Some(columns), sector_bytes: Some(4096), ..unit };
        let found = records(TraceReader::of_table(&table, &options).unwrap()).unwrap();
        assert_eq!((found[1].time.ns(), found[1].offset_bytes, found[1].bytes), (1000, 4 * 4096, 2));
    }

    #[test]
    fn a_bad_record_is_named_by_its_index() {
        let of_times = |times: Vec<f64>| {
            let rows = times.len();
            table(&[
                ("t_s", Column::Float(times)),
                ("lbn", Column::Unsigned(vec![0; rows])),
                ("blocks", Column::Unsigned(vec![1; rows])),
                ("op", Column::Text { words: vec!["R".into()], codes: vec![0; rows] }),
            ])
        };
        let read = |table: &Arc<Table>, skip_bad| {
            let options = TraceOptions { skip_bad, ..TraceOptions::default() };
            records(TraceReader::of_table(table, &options).unwrap())
        };
        let late = of_times(vec![0.0, 1.0, f64::NAN, 2.0]);
        let error = read(&late, 0).unwrap_err().to_string();
        assert!(error.contains("record 2 (from 0)") && error.contains("NaN") && error.contains("skip_bad"), "{error}");
        assert_eq!(read(&late, 1).unwrap().len(), 3);
        let error = read(&of_times(vec![3.0, 4.0, 1.0]), 0).unwrap_err().to_string();
        assert!(error.contains("record 2 (from 0)"), "{error}");
        assert!(read(&of_times(vec![]), 0).unwrap_err().to_string().contains("no records"));
    }

    #[test]
    fn columns_have_one_length() {
        let columns = vec![("a".into(), Column::Signed(vec![1])), ("b".into(), Column::Signed(vec![]))];
        let error = Table::new("memory:test".into(), columns).unwrap_err().to_string();
        assert!(error.contains("a has 1 rows, and b 0"), "{error}");
    }
}

//! Guesses which columns of a table hold what, to suggest a column map in an error message. Nothing is read by a guess.

use super::csv::{cells, is_header, names_of, separator, words_of_name, ColumnIndices, Columns, Unresolved};
use super::format::Head;
use super::options::{ColumnMap, ColumnRef, LengthUnit, OpCodes, TraceOptions};
use super::text::{LineParser, TimeUnit};
use super::{Step, DEFAULT_SECTOR_BYTES};

/// Keys of a column map, and values that the user may give them.
pub(super) type Suggestion = Vec<(&'static str, String)>;

/// Parts of names of columns.
const TIME_HINTS: [&str; 6] = ["time", "date", "stamp", "when", "clock", "arriv"];
const OFFSET_HINTS: [&str; 10] = ["offset", "lba", "lbn", "sector", "block", "blk", "addr", "start", "where", "pos"];
const LENGTH_HINTS: [&str; 8] = ["len", "size", "count", "byte", "much", "num", "blocks", "sectors"];
/// Operation codes of SCSI reads and writes: 6, 10, 12 and 16 bytes.
const SCSI_READS: [&str; 8] = ["08", "28", "a8", "88", "0x08", "0x28", "0xa8", "0x88"];
const SCSI_WRITES: [&str; 8] = ["0a", "2a", "aa", "8a", "0x0a", "0x2a", "0xaa", "0x8a"];
/// The longest text of an operation.
const LONGEST_OP: usize = 12;
/// The mean time between arrivals is taken to be at most this, in seconds.
const LONGEST_MEAN_GAP_S: f64 = 1.0;
/// Offsets and lengths that are all multiples of this are bytes rather than sectors.
const SECTOR: f64 = DEFAULT_SECTOR_BYTES as f64;

/// A column of the first lines of a table.
struct Column<'a> {
    index: usize,
    /// Its name in lower case without separators; empty without a header.
    name: String,
    cells: Vec<&'a str>,
    /// The cells as numbers, if all of them are.
    numbers: Option<Vec<f64>>,
}

impl Column<'_> {
    fn is_hinted(&self, hints: &[&str]) -> bool {
        hints.iter().any(|hint| self.name.contains(hint))
    }

    fn last_number(&self) -> f64 {
        self.numbers.as_ref().and_then(|numbers| numbers.iter().copied().reduce(f64::max)).unwrap_or(0.0)
    }

    /// Returns true if its numbers are as arrival times: never decreasing, and not all equal.
    fn increases(&self) -> bool {
        self.numbers.as_ref().is_some_and(|numbers| {
            numbers.windows(2).all(|pair| pair[0] <= pair[1]) && numbers.first() < numbers.last()
        })
    }
}

/// Returns the settings that a column map lacks to read a table with these first lines; `None` if there is no good guess.
/// The settings were tried: with them every one of the lines is a request, in order of time.
pub(super) fn suggest(map: &ColumnMap, head: &Head, options: &TraceOptions) -> Option<Suggestion> {
    let (&first, rest) = head.lines.split_first()?;
    let separator = separator(first);
    let names = names_of(first);
    let has_header = map.has_named_column() || is_header(first, separator);
    let rows: Vec<Vec<&str>> = if has_header { rest } else { head.lines.as_slice() }
        .iter()
        .map(|line| cells(line, separator).map(|cell| std::str::from_utf8(cell).unwrap_or_default()).collect())
        .collect();
    if rows.is_empty() || rows.iter().any(|row: &Vec<&str>| row.len() != names.len()) {
        return None;
    }
    let columns: Vec<Column> = (0..names.len()).map(|index| column(&names, has_header, &rows, index)).collect();
    let mut found = ColumnIndices::of(map, &names, has_header).ok()?;
    let mut map = map.clone();
    let mut suggestion = Suggestion::new();
    let add = |key: &'static str, index: usize, suggestion: &mut Suggestion| {
        let by_name = has_header && names.iter().filter(|name| name.eq_ignore_ascii_case(&names[index])).count() == 1;
        let value = if by_name { names[index].clone() } else { index.to_string() };
        suggestion.push((key, value.clone()));
        Some(if by_name { ColumnRef::Name(value) } else { ColumnRef::Index(index) })
    };

    if found.time.is_none() && !options.ignore_times {
        let free = |column: &&Column| !found.has(column.index) && column.increases();
        let hinted = columns.iter().find(|column| free(column) && column.is_hinted(&TIME_HINTS));
        let time = hinted.or_else(|| columns.iter().find(free))?.index;
        map.time = add("columns.time", time, &mut suggestion);
        found.time = Some(time);
    }
    if found.op.is_none() {
        let free = |column: &&Column| !found.has(column.index) && op_codes(column).is_some();
        // A column of 0 and 1 may be anything else too.
        let words = columns.iter().find(|column| free(column) && column.numbers.is_none());
        let op = words.or_else(|| columns.iter().find(free))?.index;
        map.op = add("columns.op", op, &mut suggestion);
        found.op = Some(op);
    }
    let is_free_number = |found: &ColumnIndices, column: &Column| !found.has(column.index) && column.numbers.is_some();
    if found.length.is_none() {
        let free = |column: &&Column| is_free_number(&found, column);
        let hinted = |column: &&Column| {
            column.is_hinted(&LENGTH_HINTS) && (found.offset.is_some() || !column.is_hinted(&OFFSET_HINTS))
        };
        let by_name = columns.iter().find(|column| free(column) && hinted(column));
        // Without a name it is the second number: lengths follow offsets in every known format.
        let by_place = || columns.iter().filter(free).nth(usize::from(found.offset.is_none()));
        let length = by_name.or_else(by_place)?.index;
        map.length = add("columns.bytes", length, &mut suggestion);
        found.length = Some(length);
    }
    if found.offset.is_none() {
        let free = |column: &&Column| is_free_number(&found, column);
        let hinted = columns.iter().find(|column| free(column) && column.is_hinted(&OFFSET_HINTS));
        let largest = || columns.iter().filter(free).max_by(|one, two| one.last_number().total_cmp(&two.last_number()));
        let offset = hinted.or_else(largest)?.index;
        map.offset = add("columns.offset", offset, &mut suggestion);
        found.offset = Some(offset);
    }
    if map.op_codes.is_none() {
        if let Some((reads, writes)) = op_codes(&columns[found.op?])? {
            map.op_codes = Some(OpCodes::new(reads.split(','), writes.split(',')));
            suggestion.extend([("columns.read", reads), ("columns.write", writes)]);
        }
    }
    let sector_bytes = options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES);
    let resolve = |map: &ColumnMap| Columns::resolve(map, first, sector_bytes, options.ignore_times);
    if let Err(Unresolved::UnknownUnits(unknown)) = resolve(&map) {
        for unit in unknown {
            if unit.key == "time_unit" {
                let (name, unit) = time_unit(&columns[found.time?]);
                map.time_unit = Some(unit);
                suggestion.push(("columns.time_unit", name.to_owned()));
            } else {
                let is_offset = unit.key == "offset_unit";
                let column = if is_offset { found.offset? } else { found.length? };
                let unit = length_unit(&columns[column])?;
                *(if is_offset { &mut map.offset_unit } else { &mut map.length_unit }) = Some(unit);
                let key = if is_offset { "columns.offset_unit" } else { "columns.length_unit" };
                suggestion.push((key, unit.to_string()));
            }
        }
    }
    let (mut columns, _) = resolve(&map).ok()?;
    let mut last = None;
    let is_request = |line: &&[u8]| match columns.line(line) {
        Ok(Step::Request(record)) => last.replace(record.time).is_none_or(|last| last <= record.time),
        _ => false,
    };
    let is_good = if has_header { rest } else { head.lines.as_slice() }.iter().all(is_request);
    (is_good && !suggestion.is_empty()).then_some(suggestion)
}

fn column<'a>(names: &[String], has_header: bool, rows: &[Vec<&'a str>], index: usize) -> Column<'a> {
    let cells: Vec<&str> = rows.iter().map(|row| row[index]).collect();
    let numbers = cells.iter().map(|cell| cell.parse().ok().filter(|number: &f64| *number >= 0.0)).collect();
    let name = if has_header { words_of_name(&names[index]).concat() } else { String::new() };
    Column { index, name, cells, numbers }
}

/// The codes of reads and of writes in a column of operations, or that it needs none; `None` if it has no operations.
#[allow(clippy::option_option, reason = "no operations, operations in words, and codes are three cases")]
fn op_codes(column: &Column) -> Option<Option<(String, String)>> {
    let mut codes: Vec<String> = column.cells.iter().map(|cell| cell.to_lowercase()).collect();
    codes.sort_unstable();
    codes.dedup();
    let all = |known: &[&str]| codes.iter().all(|code| known.contains(&code.as_str()));
    if all(&["r", "w", "read", "write", "wf", "f", "flush", "zr", "reset"]) {
        return Some(None);
    }
    let of = |known: &[&str], otherwise: &str| {
        let found: Vec<&str> = codes.iter().map(String::as_str).filter(|code| known.contains(code)).collect();
        if found.is_empty() {
            otherwise.to_owned()
        } else {
            found.join(",")
        }
    };
    let plain = |read: &str, write: &str| Some(Some((read.to_owned(), write.to_owned())));
    let says_read = column.is_hinted(&["read"]);
    if all(&["0", "1", "0.0", "1.0"]) {
        return if says_read { plain("1", "0") } else { plain("0", "1") };
    }
    if all(&["true", "false"]) {
        return if says_read { plain("true", "false") } else { plain("false", "true") };
    }
    if all(&[SCSI_READS, SCSI_WRITES].concat()) {
        return Some(Some((of(&SCSI_READS, "28"), of(&SCSI_WRITES, "2a"))));
    }
    // Words such as RA, WS, FWS of blktrace, or rd and wr.
    let is_word = |code: &String| code.len() <= LONGEST_OP && code.bytes().all(|byte| byte.is_ascii_alphabetic());
    let begins = |code: &String, letter: char| code.trim_start_matches('f').starts_with(letter);
    if codes.iter().all(|code| is_word(code) && (begins(code, 'r') || begins(code, 'w'))) {
        let words = |letter: char, otherwise: &str| {
            let found: Vec<String> = codes.iter().filter(|code| begins(code, letter)).cloned().collect();
            if found.is_empty() {
                otherwise.to_owned()
            } else {
                found.join(",").to_uppercase()
            }
        };
        return Some(Some((words('r', "R"), words('w', "W"))));
    }
    None
}

/// The unit of arrival times in which the time is a date of this century, or else their mean distance is up to a second.
fn time_unit(column: &Column) -> (&'static str, TimeUnit) {
    let units =
        [("s", TimeUnit::S, 1.0), ("ms", TimeUnit::Ms, 1e-3), ("us", TimeUnit::Us, 1e-6), ("ns", TimeUnit::Ns, 1e-9)];
    let numbers = column.numbers.as_deref().unwrap_or_default();
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return ("s", TimeUnit::S) };
    // Seconds since 1970 and ticks of 100 ns since 1601, of the years 2001 to 2064.
    if (1.26e17..1.47e17).contains(first) {
        return ("filetime", TimeUnit::Filetime);
    }
    if let Some((name, unit, _)) = units.iter().find(|(_, _, seconds)| (1e9..3e9).contains(&(first * seconds))) {
        return (name, *unit);
    }
    let gap = (last - first) / (numbers.len().max(2) - 1) as f64;
    // Whole numbers are rarely seconds.
    let has_decimals = column.cells.iter().any(|cell| cell.contains('.') && !cell.ends_with(".0"));
    let units = &units[usize::from(!has_decimals)..];
    let fits = units.iter().find(|(_, _, seconds)| gap * seconds <= LONGEST_MEAN_GAP_S);
    let (name, unit, _) = fits.unwrap_or(&units[units.len() - 1]);
    (name, *unit)
}

/// The unit of offsets or lengths; `None` where the name has another one.
fn length_unit(column: &Column) -> Option<LengthUnit> {
    const OTHER_UNITS: [&str; 8] = ["kb", "kib", "mb", "mib", "gb", "gib", "page", "extent"];
    if column.is_hinted(&OTHER_UNITS) {
        return None;
    }
    let numbers = column.numbers.as_ref()?;
    let is_bytes = numbers.iter().all(|number| number % SECTOR == 0.0) && numbers.iter().any(|number| *number > 0.0);
    Some(if is_bytes { LengthUnit::Bytes } else { LengthUnit::Sectors })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings suggested for a table, as `key=value` between blanks.
    fn suggested(text: &str) -> Option<String> {
        let head = Head::with_lines(text.as_bytes(), usize::MAX);
        let found = suggest(&ColumnMap::default(), &head, &TraceOptions::default())?;
        let words = found.iter().map(|(key, value)| format!("{}={value}", key.trim_start_matches("columns.")));
        Some(words.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn columns_are_found_by_name_and_content() {
        for (text, expected) in [
            (
                "when,what,where,much\n1,r,8,8\n2,w,16,8\n",
                "time=when op=what bytes=much offset=where time_unit=ms offset_unit=sectors length_unit=sectors",
            ),
            ("time_s,offset,size,op\n0.0,4096,4096,0\n0.1,8192,512,1\n", "read=0 write=1"),
            ("time_s,offset,size,is_read\n0.0,4096,4096,0\n0.1,8192,512,1\n", "op=is_read read=1 write=0"),
            ("time_s,offset,size,op\n0.0,4096,4096,28\n0.1,8192,512,2A\n", "read=28 write=2a"),
            ("time_s,offset,size,op\n0.0,4096,4096,RA\n0.1,8192,512,FWS\n", "read=RA write=FWS"),
            (
                "0.1 100 8 R\n0.2 300 8 W\n",
                "time=0 op=3 bytes=2 offset=1 time_unit=s offset_unit=sectors length_unit=sectors",
            ),
            (
                "ts,start,len,rw\n128166372003061629,4096,4096,R\n128166372013061629,8192,512,W\n",
                "bytes=len offset=start time_unit=filetime offset_unit=bytes",
            ),
        ] {
            assert_eq!(suggested(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn tables_without_a_guess_have_no_suggestion() {
        for text in [
            "key,value\n1,2\n3,4\n",
            "time_s,offset,size_kib,op\n0.1,100,8,R\n0.2,300,8,W\n",
            "time_s,offset,size,op\n0.1,100,8,get\n0.2,300,8,put\n",
            "time_s,offset,size,op\n",
        ] {
            assert_eq!(suggested(text), None, "{text}");
        }
    }
}

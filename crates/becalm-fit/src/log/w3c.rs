//! How does a log say its columns in a line of its own? `#Fields: date time .. time-taken`, as IIS and `CloudFront` write them.
//!
//! By <https://www.w3.org/TR/WD-logfile.html>. `CloudFront`'s moment is when the answer was there
//! (<https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html>). Of IIS, Microsoft says that the
//! activity occurred then, and not which end of it (<https://learn.microsoft.com/en-us/windows/win32/http/w3c-logging>); its line is written
//! when the last byte was sent, and so it is taken for the end. Both are whole seconds: such a log shows rates, to which that makes no
//! difference, and no capacity. IIS writes whole milliseconds, others seconds with a decimal point.

use super::names::Names;
use super::number::status;
use super::parts::{Line, Parts, Why};
use super::stamp::Stamp;
use super::unit::{Unit, has_point};

/// Which column says what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    columns: Vec<Column>,
    /// Whether whole numbers are milliseconds.
    is_iis: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Date,
    Time,
    Taken,
    Status,
    Client,
    Method,
    Target,
    Other,
}

impl Header {
    /// The columns that the lines of this text begin with, if it has what is needed.
    pub fn of(text: &[u8]) -> Option<Self> {
        let mut lines = text.split(|byte| *byte == b'\n');
        let line = lines.find_map(|line| line.strip_prefix(b"#Fields:"))?;
        let names = line.split(u8::is_ascii_whitespace);
        let names: Vec<_> = names.filter(|it| !it.is_empty()).collect();
        let columns: Vec<_> = names.iter().map(|name| column(name)).collect();
        let needed = [Column::Date, Column::Time, Column::Taken, Column::Status];
        let is_iis =
            names.contains(&&b"sc-win32-status"[..]) || names.contains(&&b"s-sitename"[..]);
        let has = |column: &Column| columns.contains(column);
        needed.iter().all(has).then_some(Self { columns, is_iis })
    }

    /// What this line is.
    pub fn line(&self, line: &[u8], names: &mut Names) -> Result<Line, Why> {
        let between = if line.contains(&b'\t') { b'\t' } else { b' ' };
        let mut values = line.split(|byte| *byte == between);
        let (mut date, mut time) = (&b""[..], &b""[..]);
        let mut parts = Parts::default();
        for column in &self.columns {
            let value = values.next().ok_or(Why::Shape)?;
            match column {
                Column::Date => date = value,
                Column::Time => time = value,
                Column::Taken => parts.duration = Some(self.taken(value)?),
                Column::Status => parts.status = Some(status(value).ok_or(Why::Status)?),
                Column::Client => parts.client = value,
                Column::Method => parts.method = value,
                Column::Target => parts.target = value,
                Column::Other => {}
            }
        }
        if values.next().is_some() {
            return Err(Why::Shape);
        }
        let moment = [date, b" ", time].concat();
        parts.end = Some(Stamp::read(&moment).ok_or(Why::Moment)?);
        parts.line(names)
    }

    fn taken(&self, value: &[u8]) -> Result<u64, Why> {
        let unit = match (has_point(value), self.is_iis) {
            (true, _) => Unit::Seconds,
            (false, true) => Unit::Millis,
            (false, false) => return Err(Why::Unit),
        };
        unit.micros(value).ok_or(Why::Duration)
    }
}

fn column(name: &[u8]) -> Column {
    match name {
        b"date" => Column::Date,
        b"time" => Column::Time,
        b"time-taken" => Column::Taken,
        b"sc-status" => Column::Status,
        b"c-ip" => Column::Client,
        b"cs-method" => Column::Method,
        b"cs-uri-stem" => Column::Target,
        _ => Column::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &str, line: &str) -> Result<u64, Why> {
        let header = Header::of(header.as_bytes()).expect("a header");
        match header.line(line.as_bytes(), &mut Names::default())? {
            Line::Request(seen) => {
                assert_eq!(seen.request.end(), 1_795_431_751_000_000);
                Ok(seen.request.duration)
            }
            Line::Other => Ok(0),
        }
    }

    #[test]
    fn columns_are_as_the_header_says_and_the_unit_as_the_program_writes_it() {
        let iis = "#Software: Microsoft Internet Information Services 10.0\n#Fields: date time cs-method sc-status sc-win32-status time-taken\n";
        let others = "#Version: 1.0\n#Fields: time date time-taken sc-status\n";
        for (header, line, taken) in [
            (iis, "2026-11-23 11:02:31 GET 200 0 17", Ok(17_000)),
            (others, "11:02:31\t2026-11-23\t0.017\t200", Ok(17_000)),
            (others, "11:02:31\t2026-11-23\t17\t200", Err(Why::Unit)),
            (others, "11:02:31\t2026-11-23\t0.017", Err(Why::Shape)),
            (
                others,
                "11:02:31\t2026-11-23\t0.017\t200\tx",
                Err(Why::Shape),
            ),
            (others, "then\t2026-11-23\t0.017\t200", Err(Why::Moment)),
        ] {
            assert_eq!(read(header, line), taken, "{line}");
        }
        assert_eq!(Header::of(b"#Fields: date time sc-status\n"), None);
        assert_eq!(Header::of(b"date time\n"), None);
    }
}

//! Why is a log not read, and what helps?

use std::fmt;
use std::io;

use super::advice;
use super::parts::Why;
use super::template::Unusable;

/// The name of a format that somebody wrote down.
pub const AS_SAID: &str = "as --log-format says";
/// The name of lines whose fields somebody named.
pub const AS_NAMED: &str = "as --json-fields says";

/// The name of what comes from no file: a command cannot read it again.
pub const STANDARD_INPUT: &str = "standard input";
/// The name of tables with a header.
pub const TABLE: &str = "CSV";

/// Why a log is not read. `Display` names the file, and the line where there is one, and says what to do; it repeats nothing that the
/// file says.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// It cannot be read.
    Io {
        /// The name of the file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// Its lines are packed in something else.
    Packed {
        /// The name of the file.
        file: String,
        /// Into what.
        kind: &'static str,
        /// The command that unpacks it.
        command: &'static str,
    },
    /// There is nothing in it.
    Empty {
        /// The name of the file.
        file: String,
    },
    /// It has a known format, which does not say how long a request took.
    WithoutTimes {
        /// The name of the file.
        file: String,
    },
    /// Its format is not known.
    Unknown {
        /// The name of the file.
        file: String,
        /// If they have names: what these may mean.
        names: Option<String>,
    },
    /// It has a known format, with a number for a duration that says no unit.
    WithoutUnits {
        /// The name of the file.
        file: String,
    },
    /// It is of a program that says too little.
    TooLittle {
        /// The name of the file.
        file: String,
        /// The program.
        server: &'static str,
        /// What is missing.
        why: &'static str,
    },
    /// It does not have the fields that somebody named.
    Lacking {
        /// The name of the file.
        file: String,
        /// The first line that lacks one, and which.
        lacking: String,
    },
    /// The fields that somebody named are not enough, or none.
    Fields {
        /// Why.
        sentence: String,
    },
    /// Most of its lines are not of its format.
    Unreadable {
        /// The name of the file.
        file: String,
        /// The format.
        format: &'static str,
        /// Lines that were read.
        read: u64,
        /// Lines that could not be read.
        unread: u64,
        /// Numbers of the first of them, and why.
        first: Vec<(u64, Why)>,
    },
    /// Its requests are in another file of the log, too.
    Copy {
        /// The name of the file.
        file: String,
    },
    /// The format that was given says too little.
    Format {
        /// Why.
        sentence: &'static str,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, error } => write!(f, "cannot read {file}: {error}"),
            Self::Packed {
                file,
                kind,
                command,
            } if file == STANDARD_INPUT => write!(
                f,
                "{file} is {kind}; unpack it before becalm: .. | {command} | becalm fit -"
            ),
            Self::Packed {
                file,
                kind,
                command,
            } => write!(
                f,
                "{file} is {kind}; give it on standard input: {command} {file} | becalm fit -"
            ),
            Self::Empty { file } => {
                write!(f, "{file} has no requests in it; name the file of a log")
            }
            Self::WithoutTimes { file } => {
                write!(
                    f,
                    "{file} does not say how long a request took, as the combined format of nginx, Apache and gunicorn never \
                     does. Write the line of your server into its configuration (nginx's into the http section, used by \
                     access_log /var/log/nginx/becalm.log becalm;, ingress-nginx's into its ConfigMap):"
                )?;
                f.write_str("\n")?;
                for server in ["nginx", "ingress-nginx", "Apache", "gunicorn"] {
                    write!(f, "\n    {server}: {}", advice::of(server))?;
                }
                f.write_str("\n\nAn hour of it is enough.")
            }
            Self::WithoutUnits { file } => write!(
                f,
                "{file}: its durations are whole numbers, which may be microseconds (%D of Apache, of Tomcat from version 10 on and of \
                 gunicorn), milliseconds (%D of Tomcat before) or seconds (%T), and becalm does not guess. If Apache wrote it with \
                 %D: --format apache. Otherwise say how its lines are written, such as --log-format '%h %l %u %t \"%r\" %s %b \
                 %{{ms}}T' for milliseconds at the end. What serves better, as it has finer moments:\n\n    Apache: {}",
                advice::of("Apache")
            ),
            Self::TooLittle { file, server, why } => write!(
                f,
                "{file} {why}, as {server} writes them. What makes {server} say it:\n\n    {}",
                advice::of(server)
            ),
            Self::Lacking { file, lacking } => write!(
                f,
                "{file}: {lacking}; --json-fields names what each line has, with dots into what is inside of objects"
            ),
            Self::Fields { sentence } => write!(f, "--json-fields: {sentence}"),
            Self::Unknown {
                file,
                names: Some(names),
            } => write!(f, "{file} has names and values in its lines; {names}"),
            Self::Unknown { file, .. } => write!(
                f,
                "{file} is of no format that is known (nginx, Envoy, Traefik, JSON, HAProxy's httplog, AWS's load balancers, \
                 CSV with the header start,duration,status); say how its lines are written with --log-format, as nginx's \
                 log_format, Apache's LogFormat, Envoy's or gunicorn's has it"
            ),
            Self::Unreadable {
                file,
                format,
                read,
                unread,
                first,
            } => {
                write!(
                    f,
                    "{file}: {unread} of {} lines are not of its format ({format})",
                    read + unread
                )?;
                if let Some((line, why)) = first.first() {
                    write!(f, "; line {line}: {why}")?;
                }
                f.write_str(remedy(format))
            }
            Self::Copy { file } => write!(
                f,
                "{file}: its requests are in another of these files, too; name each log once"
            ),
            Self::Format { sentence } => write!(f, "--log-format: {sentence}"),
        }
    }
}

/// What helps where most lines are not of this format.
fn remedy(format: &str) -> &'static str {
    match format {
        AS_NAMED => "; --json-fields has to name what each line of a request has",
        AS_SAID => "; its text has to be what wrote these lines, letter by letter",
        TABLE => {
            "; a column in another unit than seconds says it in the header: start_ms, duration_us"
        }
        _ => {
            "; say how its lines are written with --log-format, or name another format with --format"
        }
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => error.source(), // its own words are said
            _ => None,
        }
    }
}

impl From<Unusable> for Refusal {
    fn from(unusable: Unusable) -> Self {
        Self::Format {
            sentence: match unusable {
                Unusable::SideBySide => {
                    "two fields stand side by side, and nobody knows where the first ends; write something between them"
                }
                Unusable::NoDuration => {
                    "it says no duration; add $request_time (nginx), %D (Apache), %DURATION% (Envoy) or %(L)s (gunicorn)"
                }
                Unusable::NoMoment => {
                    "it says no moment; add $msec (nginx), %{usec}t (Apache), %START_TIME% (Envoy) or %(created)f (gunicorn)"
                }
                Unusable::Directive => {
                    "it begins as nginx's log_format does and goes on otherwise; give one whole directive, or the text between \
                     its quotes"
                }
                Unusable::NoStatus => {
                    "it says no status; add $status (nginx), %>s (Apache), %RESPONSE_CODE% (Envoy) or %(s)s (gunicorn)"
                }
            },
        }
    }
}

//! Which names say what a request is? By somebody's word, `start=ts,duration=took:ms,status=code`, or by a program's own.

use std::borrow::Cow;

use super::members::Members;
use super::names::Names;
use super::number::{status, whole_number};
use super::parts::{Line, NO_ANSWER, Parts, Why, without_port};
use super::role::{ROLES, Role};
use super::stamp::Stamp;
use super::unit::{Unit, with_units};
use super::upstreams::of_upstreams;
use super::whole;

/// Names of members, and what each says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    named: Vec<Named>,
    /// A line has these, or is of another program: a path, and what its value begins with.
    marks: &'static [(&'static str, &'static str)],
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    role: Role,
    path: Cow<'static, str>,
    unit: Option<Unit>,
}

impl Fields {
    /// What somebody said: `start=ts,duration=took:ms,status=code`.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with it.
    pub fn said(text: &str) -> Result<Self, String> {
        let mut named: Vec<Named> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let one = one(part)?;
            if named.iter().any(|it| it.role == one.role) {
                return Err(format!("it names {} twice", one.role));
            }
            named.push(one);
        }
        let has = |role| named.iter().any(|it| it.role == role);
        let is_between = has(Role::Start) && has(Role::End);
        let missing = if !has(Role::Start) && !has(Role::End) {
            "a moment: add start=NAME, or end=NAME"
        } else if !has(Role::Duration) && !is_between {
            "a duration: add duration=NAME:UNIT, with s, ms, us or ns"
        } else if !has(Role::Status) {
            "a status: add status=NAME"
        } else {
            return Ok(Self { named, marks: &[] });
        };
        Err(format!("it does not name {missing}"))
    }

    /// What a program writes of itself. A role may have several names: the first one that a line has counts.
    pub(super) fn known(
        text: &'static str,
        marks: &'static [(&'static str, &'static str)],
    ) -> Self {
        let named = text.split(',').filter_map(|part| {
            let (role, path) = part.trim().split_once('=')?;
            let role = match role {
                "left" => Role::Left,
                role => ROLES.iter().find(|(name, _)| *name == role)?.1,
            };
            let (path, unit) = match path.rsplit_once(':') {
                Some((path, "decimal")) => (path, Some(Unit::DecimalSeconds)),
                Some((path, unit)) => (path, Unit::named(unit)),
                None => (path, None),
            };
            let path = Cow::Borrowed(path);
            Some(Named { role, path, unit })
        });
        Self {
            named: named.collect(),
            marks,
        }
    }

    /// The name of what says this.
    pub(super) fn path(&self, role: Role) -> Option<&str> {
        let found = self.named.iter().find(|it| it.role == role);
        found.map(|it| &*it.path)
    }

    /// The format that reads this line with a moment at its front, where no name says one.
    pub(super) fn by_front(&self, line: &[u8]) -> Option<String> {
        let duration = self.named.iter().find(|it| it.role == Role::Duration)?;
        let unit = duration.unit.map_or("", Unit::name);
        whole::format(line, &duration.path, unit, self.path(Role::Status)?)
    }

    /// What this line is. One that has neither a duration nor a status is another remark of the program.
    pub fn line(&self, line: &[u8], names: &mut Names) -> Result<Line, Why> {
        let members = Members::of(line).ok_or(Why::Shape)?;
        let is_its = |(path, begins): &(&str, &str)| {
            members.at(path).is_some_and(|it| it.starts_with(*begins))
        };
        if !self.marks.is_empty() && !self.marks.iter().all(is_its) {
            return Err(Why::Shape);
        }
        let get = |role: Role| {
            let mut of_role = self.named.iter().filter(move |it| it.role == role);
            of_role.find_map(|it| Some((members.at(&it.path)?, it.unit)))
        };
        let text = |role| get(role).map_or(Cow::Borrowed(""), |(text, _)| text);
        let is_named = |role| self.named.iter().any(|it| it.role == role);
        let has_member = |role| {
            let mut of_role = self.named.iter().filter(|it| it.role == role);
            of_role.any(|it| members.has(&it.path))
        };
        let told = get(Role::Status);
        if told.is_none() && get(Role::Duration).is_none() && is_named(Role::Duration) {
            return Ok(Line::Other);
        }
        let needed = |role| match get(role) {
            Some(found) => Ok(Some(found)),
            None if is_named(role) => Err(Why::Lacks(role)),
            None => Ok(None),
        };
        let moment = |role| match get(role) {
            Some((text, unit)) => moment(&text, unit).map(Some),
            None => Ok(None),
        };
        // With a duration, one of both moments is enough.
        let has_one = get(Role::Start).is_some() || get(Role::End).is_some();
        if !has_one || !is_named(Role::Duration) {
            needed(Role::Start)?;
            needed(Role::End)?;
        }
        let duration = match needed(Role::Duration)? {
            Some((text, unit)) => Some(span(&text, unit)?),
            None => None,
        };
        let (tried_before, upstream_duration) = match get(Role::UpstreamTime) {
            Some((text, unit)) => of_upstreams(text.as_bytes(), |it| {
                span(std::str::from_utf8(it).unwrap_or_default(), unit)
            })?,
            None => (0, None),
        };
        let left = text(Role::Left).starts_with("client_disconnected");
        let (status, client_left) = match &told {
            Some((text, _)) if matches!(&**text, "abandoned" | "aborted") => (None, true),
            Some((text, _)) => (Some(status(code(text)).ok_or(Why::Status)?), left),
            None if left => (None, true),
            // pino: what was never answered has a status of null.
            None if has_member(Role::Status) => (Some(NO_ANSWER), false),
            None => return Err(Why::Lacks(Role::Status)),
        };
        let (client, method, target) = (text(Role::Client), text(Role::Method), text(Role::Target));
        let (id, upstream) = (text(Role::Id), text(Role::Upstream));
        let retries = whole_number(text(Role::Retries).as_bytes());
        let parts = Parts {
            start: moment(Role::Start)?,
            end: moment(Role::End)?,
            duration,
            upstream_duration,
            tried_before,
            status,
            client_left,
            client: without_port(client.as_bytes()),
            method: method.as_bytes(),
            target: target.as_bytes(),
            id: id.as_bytes(),
            upstream: upstream.as_bytes(),
            retries: retries.and_then(|it| u32::try_from(it).ok()).unwrap_or(0),
            ..Parts::default()
        };
        parts.line(names)
    }
}

/// `duration=took:ms`
fn one(part: &str) -> Result<Named, String> {
    let all = || {
        let names: Vec<_> = ROLES.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    };
    let (name, path) = part
        .split_once('=')
        .ok_or_else(|| format!("{part} is no NAME=MEMBER; the names are {}", all()))?;
    let (name, path) = (name.trim(), path.trim());
    let found = ROLES.iter().find(|(role, _)| *role == name);
    let (_, role) =
        found.ok_or_else(|| format!("nothing is called {name}; the names are {}", all()))?;
    let (path, unit) = match path.rsplit_once(':') {
        Some((path, unit)) if role.is_time() || *role == Role::Upstream => {
            match Unit::named(unit) {
                Some(unit) => (path, Some(unit)),
                None if role.is_time() => {
                    return Err(format!(
                        "{unit} is no unit of {name}; write s, ms, us or ns"
                    ));
                }
                None => (part.split_once('=').map_or(path, |it| it.1.trim()), None),
            }
        }
        _ => (path, None),
    };
    if path.is_empty() {
        return Err(format!("{name} has no member"));
    }
    // A server's name has no unit: who says one means its time.
    let role = match (role, unit) {
        (Role::Upstream, Some(_)) => Role::UpstreamTime,
        (role, _) => *role,
    };
    let path = Cow::Owned(path.to_owned());
    Ok(Named { role, path, unit })
}

fn moment(text: &str, unit: Option<Unit>) -> Result<Stamp, Why> {
    let bytes = text.as_bytes();
    let stamp = match unit {
        Some(unit) => unit.micros(bytes).and_then(Stamp::of_micros),
        // A small number may be since the program began, in any unit.
        None if is_number(bytes) => Stamp::by_size(bytes),
        None => Stamp::read(bytes),
    };
    stamp.ok_or(Why::Moment)
}

/// A status without its phrase: `200 OK`.
fn code(text: &str) -> &[u8] {
    let code = text.split_once(' ').map_or(text, |(code, _)| code);
    code.as_bytes()
}

fn is_number(text: &[u8]) -> bool {
    text.iter().all(|it| it.is_ascii_digit() || *it == b'.')
}

/// Microseconds. A number without a unit is none.
fn span(text: &str, unit: Option<Unit>) -> Result<u64, Why> {
    if let Some(micros) = with_units(text) {
        return Ok(micros);
    }
    let is_number = Unit::Seconds.micros(text.as_bytes()).is_some();
    match unit {
        Some(unit) => {
            unit.micros(text.as_bytes())
                .ok_or(if is_number { Why::Unit } else { Why::Duration })
        }
        None if is_number => Err(Why::Unit),
        None => Err(Why::Duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ended;

    fn read(said: &str, line: &str) -> Result<(i64, u64), Why> {
        let fields = Fields::said(said).unwrap_or_else(|it| panic!("{said}: {it}"));
        match fields.line(line.as_bytes(), &mut Names::default())? {
            Line::Request(seen) => Ok((seen.request.start, seen.request.duration)),
            Line::Other => Ok((0, 0)),
        }
    }

    #[test]
    fn fields_are_read_by_the_names_and_units_that_somebody_says() {
        for (said, line) in [
            (
                "start=ts:s,duration=took:s,status=code",
                r#"{"ts":5.25,"took":0.017,"code":200}"#,
            ),
            (
                "end=ts:s,duration=took:ms,status=code",
                r#"{"ts":"5.267","took":"17","code":"200"}"#,
            ),
            (
                "end = at.t , duration = at.d:ns, status = res.code",
                r#"{"at":{"t":"1970-01-01T00:00:05.267Z","d":17000000},"res":{"code":200}}"#,
            ),
            (
                "start=a:ms,end=b:us,status=code",
                r#"{"a":5250,"b":5267000,"code":200}"#,
            ),
            (
                "start=a:ns,duration=took,status=code",
                r#"{"a":5250000000,"took":"17ms","code":200}"#,
            ),
            (
                "start=ts:s,duration=took:us,status=code",
                "lvl=info ts=5.25 took=17000 code=200",
            ),
            (
                "start=ts:s,duration=took,status=code",
                r#"{"ts":5.25,"took":"00:00:00.017","code":"404 Not Found"}"#,
            ),
            (
                "start=ts:s,duration=took:us,status=code",
                "ts:5.25\ttook:17000\tcode:200",
            ),
        ] {
            assert_eq!(read(said, line), Ok((5_250_000, 17_000)), "{said}: {line}");
        }
    }

    #[test]
    fn moments_that_are_numbers_have_the_unit_that_their_size_leaves() {
        for ts in [
            "1795431751.25",
            "1795431751250",
            "1795431751250000",
            "1795431751250000000",
        ] {
            let line = format!(r#"{{"ts":{ts},"took":0.017,"code":200}}"#);
            let said = "start=ts,duration=took:s,status=code";
            assert_eq!(
                read(said, &line),
                Ok((1_795_431_751_250_000, 17_000)),
                "{ts}"
            );
        }
    }

    #[test]
    fn a_status_that_says_nothing_is_that_of_a_request_without_an_answer() {
        let fields = Fields::said("start=ts:s,duration=took:s,status=res.code").expect("fields");
        for code in ["null", "0", "\"000\"", "\"-\"", "499"] {
            let line = format!(r#"{{"ts":5,"took":0.017,"res":{{"code":{code}}}}}"#);
            let read = fields.line(line.as_bytes(), &mut Names::default());
            let is_abandoned =
                matches!(read, Ok(Line::Request(seen)) if seen.request.ended == Ended::Abandoned);
            assert!(is_abandoned, "{line}: {read:?}");
        }
    }

    #[test]
    fn what_a_line_lacks_is_named_and_a_unit_is_not_guessed() {
        let said = "start=ts:s,duration=took,status=code";
        for (line, why) in [
            (r#"{"ts":5,"took":"17ms"}"#, Why::Lacks(Role::Status)),
            (r#"{"ts":5,"code":200}"#, Why::Lacks(Role::Duration)),
            (r#"{"took":"17ms","code":200}"#, Why::Lacks(Role::Start)),
            (r#"{"ts":5,"took":17,"code":200}"#, Why::Unit),
            (r#"{"ts":5,"took":"soon","code":200}"#, Why::Duration),
            (r#"{"ts":"then","took":"17ms","code":200}"#, Why::Moment),
            (r#"{"ts":5,"took":"17ms","code":"fine"}"#, Why::Status),
            (r#"{"ts":5,"took":"17ms","code":14}"#, Why::Status),
            ("hello", Why::Shape),
        ] {
            assert_eq!(read(said, line), Err(why), "{line}");
        }
        assert_eq!(read(said, r#"{"ts":5,"msg":"started"}"#), Ok((0, 0)));
        // Since when, and in which unit?
        let said = "start=ts,duration=took,status=code";
        for ts in ["5", "5.25", "250000", "\"999999999\"", "9000000000"] {
            let line = format!(r#"{{"ts":{ts},"took":"17ms","code":200}}"#);
            assert_eq!(read(said, &line), Err(Why::Moment), "{ts}");
        }
    }

    #[test]
    fn what_is_wrong_with_what_somebody_says_is_told() {
        for (said, part) in [
            ("", "it does not name a moment"),
            ("start=ts", "it does not name a duration"),
            ("start=ts,duration=d:s", "it does not name a status"),
            (
                "start=ts,duration=d:sec,status=s",
                "sec is no unit of duration",
            ),
            (
                "begin=ts,duration=d:s,status=s",
                "nothing is called begin; the names are start, end",
            ),
            (
                "start=ts,start=t,duration=d:s,status=s",
                "it names start twice",
            ),
            ("start", "start is no NAME=MEMBER"),
            ("start=,duration=d:s,status=s", "start has no member"),
        ] {
            let sentence = Fields::said(said).expect_err(said);
            assert!(sentence.contains(part), "{sentence}");
        }
    }

    #[test]
    fn an_upstream_with_a_unit_is_its_time() {
        let fields = Fields::said("end=e:s,duration=d:s,status=s,upstream=u:s").expect("fields");
        assert_eq!(fields.path(Role::UpstreamTime), Some("u"));
        let line = br#"{"e":5.267,"d":0.017,"s":200,"u":"0.001, 0.011"}"#;
        let Ok(Line::Request(seen)) = fields.line(line, &mut Names::default()) else {
            panic!("it is a request")
        };
        let told = seen.request.at_upstream;
        let told = told.map(|it| (it.duration, it.earliest));
        assert_eq!(told, Some((11_000, 1_000)));
        let fields =
            Fields::said("end=e,duration=d:s,status=s,upstream=host:port").expect("fields");
        assert_eq!(fields.path(Role::Upstream), Some("host:port"));
    }
}

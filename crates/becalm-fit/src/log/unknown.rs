//! Why is a file of no format, or not of the one that somebody said, and what helps?

use super::fields::Fields;
use super::front::Front;
use super::members::Members;
use super::names::Names;
use super::parts::Why;
use super::role::Role;
use super::{Refusal, advice, apache, shapes, written};

/// What the first of these lines lacks that does not say what somebody said.
pub fn lacking(fields: &Fields, lines: &[(u64, &[u8])]) -> String {
    let mut names = Names::default();
    let bare = |front: Front| {
        let each = lines.iter();
        let each = each.filter_map(|(number, line)| Some((*number, front.strip(line)?)));
        let bare: Vec<_> = each.collect();
        let has_names = bare.iter().any(|(_, line)| Members::of(line).is_some());
        has_names.then_some(bare)
    };
    let whole = lines;
    let Some(lines) = Front::ALL.into_iter().find_map(bare) else {
        return "line 1 is neither JSON nor name=value".into();
    };
    let read = lines
        .iter()
        .map(|(number, line)| (*number, fields.line(line, &mut names)));
    let all: Vec<_> = read.collect();
    let first = all
        .iter()
        .find_map(|(number, it)| Some((*number, it.err()?)));
    let remark = all.first().map(|it| (it.0, Why::Lacks(Role::Duration)));
    let Some((number, why)) = first.or(remark) else {
        return "it has no lines".into();
    };
    let moment = if fields.path(Role::Start).is_some() {
        Role::Start
    } else {
        Role::End
    };
    let said = |role| fields.as_said(role);
    let sentence = match why {
        Why::Lacks(role) => {
            let lacks = format!("has nothing at {}", said(role));
            let is_moment = matches!(role, Role::Start | Role::End);
            let mut lines = whole.iter().filter(|_| is_moment);
            match lines.find_map(|(_, line)| fields.by_front(line)) {
                Some(format) => format!(
                    "{lacks}; its moment stands at the front, without a name: --log-format '{format}' reads such lines"
                ),
                None => lacks,
            }
        }
        Why::Unit => format!(
            "has a number at {0}, and nothing says its unit: write {0}:s, :ms, :us or :ns",
            said(Role::Duration)
        ),
        Why::Duration if fields.path(Role::Duration).is_none() => {
            format!(
                "does not end behind its beginning, by {} and {}",
                said(Role::Start),
                said(Role::End)
            )
        }
        Why::Duration => format!("has no duration at {}", said(Role::Duration)),
        Why::Status => format!("has no status at {}", said(Role::Status)),
        Why::Moment => format!(
            "has no moment at {}: RFC 3339, the common log format, or a number since 1970 (with :s, :ms, :us or :ns)",
            said(moment)
        ),
        why => format!("cannot be read: {why}"),
    };
    format!("line {number} {sentence}")
}

/// Why these lines are of no format, and what helps.
pub fn refusal(file: String, lines: &[&[u8]]) -> Refusal {
    if let Some((server, why)) = most(lines, advice::of_lines) {
        return Refusal::TooLittle { file, server, why };
    }
    let stripped = |front: Front| {
        let each = lines.iter().filter_map(move |it| front.strip(it));
        each.collect::<Vec<_>>()
    };
    for front in Front::ALL {
        let stripped = stripped(front);
        let bare: Vec<&[u8]> = stripped.iter().map(|it| &**it).collect();
        if 2 * bare.len() <= lines.len() {
            continue;
        }
        if is_shaped(&bare, &written::WITHOUT_TIMES) {
            return Refusal::WithoutTimes { file };
        }
        if is_without_units(&bare) {
            return Refusal::WithoutUnits { file };
        }
        if let names @ Some(_) = shapes::suggestion(&bare, lines) {
            return Refusal::Unknown { file, names };
        }
    }
    Refusal::Unknown { file, names: None }
}

/// What this finds in most of the lines.
fn most<T: Copy>(lines: &[&[u8]], of: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    let found: Vec<_> = lines.iter().filter_map(|it| of(it)).collect();
    let is_most = 2 * found.len() > lines.len();
    found.first().copied().filter(|_| is_most)
}

/// Whether one of these texts is the shape of most of the lines.
fn is_shaped(lines: &[&[u8]], texts: &[&str]) -> bool {
    texts.iter().any(|text| {
        let Ok(shape) = written::shape(text) else {
            return false;
        };
        let read = lines.iter().filter(|line| shape.read(line).is_ok());
        2 * read.count() > lines.len()
    })
}

/// Whether whole numbers stand where these lines have a duration.
fn is_without_units(lines: &[&[u8]]) -> bool {
    let is_most = |count: usize| 2 * count > lines.len();
    let read = |text: &str, wanted: fn(Option<Why>) -> bool| {
        let Ok(template) = written::template(text) else {
            return false;
        };
        let template = template.decimal();
        let read = lines.iter().map(|line| template.read(line).err());
        is_most(read.filter(|why| wanted(*why)).count())
    };
    let nginx = || written::NGINX.iter().map(|(_, text)| *text);
    let mut apache = apache::KNOWN.iter().map(|(_, text)| *text);
    nginx().any(|text| read(text, |why| why == Some(Why::Unit)))
        || !nginx().any(|text| read(text, |why| why.is_none()))
            && apache.any(|text| read(text, |why| why.is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_at_the_front_of_pairs_is_pointed_to_whether_fields_are_named_or_not() {
        let line = b"2026-09-21T14:13:20.057580+00:00 heroku[router]: at=info connect=1ms service=31ms status=200 bytes=5";
        let remedy =
            "--log-format '%(asctime)s %(a)s service=%(M)sms status=%(s)s %(a)s' reads such lines";
        let fields = Fields::said("end=time,duration=service:ms,status=status").unwrap();
        let lacks = lacking(&fields, &[(1, line)]);
        assert!(
            lacks.contains("line 1 has nothing at end=time; its moment"),
            "{lacks}"
        );
        assert!(lacks.contains(remedy), "{lacks}");
        let refusal = refusal("a.log".into(), &[line]).to_string();
        assert!(refusal.contains(remedy), "{refusal}");
    }
}

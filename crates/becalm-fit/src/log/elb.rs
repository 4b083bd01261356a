//! How do AWS's load balancers write a request whose creation they do not tell?
//!
//! The classic one by <https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/access-log-collection.html>: its moment is when
//! the request came. The Application Load Balancer before 2018: its moment is when the answer was made. How long a request took is the
//! sum of three times.

use super::alb;
use super::field::Field;
use super::number::SECOND;
use super::template::Template;

const PART: Field = Field::DurationPart(SECOND);

/// Fields with one space between them; a quoted one has `true`.
const CLASSIC: [(Field, bool); 15] = [
    (Field::Start, false),
    (Field::Other, false), // the load balancer
    (Field::ClientWithPort, false),
    (Field::Upstream, false),
    (PART, false),
    (PART, false),
    (PART, false),
    (Field::Status, false),
    (Field::Other, false), // the server's status
    (Field::Other, false), // bytes received
    (Field::Other, false), // bytes sent
    (Field::RequestLine, true),
    (Field::Other, true),  // user agent
    (Field::Other, false), // cipher
    (Field::Other, false), // protocol
];

/// The classic load balancer's.
pub fn classic() -> Template {
    Template::spaced(&CLASSIC)
}

/// The Application Load Balancer's before 2018, and where its last two fields were cut off.
pub fn old() -> [Template; 2] {
    let mut fields = alb::FIELDS;
    fields[5..8].fill((PART, false));
    [18, 16].map(|length| Template::spaced(&fields[..length]))
}

#[cfg(test)]
mod tests {
    use super::super::names::Names;
    use super::*;

    #[test]
    fn a_request_takes_the_sum_of_its_times() {
        let classic_line = r#"2026-11-23T11:02:31.250000Z my-lb 10.0.0.1:2817 10.0.0.2:80 0.000100 0.016800 0.000100 200 200 0 29 "GET http://a:80/ HTTP/1.1" "curl/7.38.0" - -"#;
        let old_line = r#"http 2026-11-23T11:02:31.267000Z app/my-lb/50 10.0.0.1:2817 10.0.0.2:80 0.000 0.017 0.000 200 200 34 366 "GET http://a:80/ HTTP/1.1" "curl" - - arn:aws:a "Root=1-5""#;
        let [old, cut] = old();
        let (cut_line, _) = old_line.split_once(" arn").expect("a field");
        for (template, line) in [(classic(), classic_line), (old, old_line), (cut, cut_line)] {
            let seen = template
                .read(line.as_bytes())
                .and_then(|it| it.seen(&mut Names::default()));
            let request = seen.expect("a request").request;
            let begin = 1_795_431_751_250_000;
            assert_eq!((request.start, request.duration), (begin, 17_000), "{line}");
            assert_eq!(request.upstream, 1);
        }
        let unsent = classic_line.replace("0.000100 0.016800 0.000100", "-1 -1 -1");
        let read = classic().read(unsent.as_bytes()).expect("parts");
        assert!(
            read.seen(&mut Names::default()).is_err(),
            "it does not say how long it took"
        );
    }
}

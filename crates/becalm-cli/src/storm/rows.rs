//! How are figures written as a table for other programs? In CSV (RFC 4180).

use std::fmt::Write as _;

use becalm_sim::study::Study;

/// A line for each figure of each policy; those of one service carry its name.
pub fn figures(study: &Study) -> String {
    let mut text = String::from("policy,figure,title,unit,value,low,high\r\n");
    for contender in &study.contenders {
        let of_services = contender.services.iter().flat_map(|service| {
            let figures = service.figures.iter();
            figures.map(|it| (format!("{}: ", service.name), it))
        });
        let own = contender.figures.iter().map(|it| (String::new(), it));
        for (of, figure) in own.chain(of_services) {
            let (low, high) = figure.interval.unzip();
            let _ = write!(
                text,
                "{},{},{},{},{},{},{}\r\n",
                field(&contender.name),
                field(&format!("{of}{}", figure.id)),
                field(&format!("{of}{}", figure.title)),
                field(figure.unit),
                number(figure.value),
                number(low),
                number(high)
            );
        }
    }
    text
}

/// What is not a number is an empty field.
fn number(value: Option<f64>) -> String {
    let value = value.filter(|it| it.is_finite());
    value.map(|it| it.to_string()).unwrap_or_default()
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use becalm_sim::study::{Contender, Figure};

    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_stay_one_field() {
        let mut contender = Contender::default();
        contender.name = "budget=ratio:0.1,burst:10".into();
        contender.figures = vec![
            Figure::new("peak", "peak \"load\"", "/s", Some(2.5)).within(Some((1.0, 4.0))),
            Figure::new("recovery", "recovery", "s", None),
            Figure::new("latency", "latency", "ms", Some(f64::INFINITY)),
        ];
        let mut study = Study::default();
        study.contenders = vec![contender];
        let expected = "policy,figure,title,unit,value,low,high\r\n\
            \"budget=ratio:0.1,burst:10\",peak,\"peak \"\"load\"\"\",/s,2.5,1,4\r\n\
            \"budget=ratio:0.1,burst:10\",recovery,recovery,s,,,\r\n\
            \"budget=ratio:0.1,burst:10\",latency,latency,ms,,,\r\n";
        assert_eq!(figures(&study), expected);
    }
}

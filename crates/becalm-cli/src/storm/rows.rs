//! How are figures and charts written as tables for other programs? In CSV (RFC 4180).

use std::fmt::Write as _;

use becalm_sim::study::{Chart, ChartKind, Study};

/// A line for each figure of each policy.
pub fn figures(study: &Study) -> String {
    let mut text = String::from("policy,figure,title,unit,value,low,high\r\n");
    for contender in &study.contenders {
        for figure in &contender.figures {
            let (low, high) = figure.interval.unzip();
            let _ = write!(
                text,
                "{},{},{},{},{},{},{}\r\n",
                field(&contender.name),
                field(figure.id),
                field(figure.title),
                field(figure.unit),
                number(figure.value),
                number(low),
                number(high)
            );
        }
    }
    text
}

/// A line for each point, bar or cell.
pub fn chart(chart: &Chart) -> String {
    let mut text = String::new();
    match &chart.kind {
        ChartKind::Lines(lines) => {
            let _ = write!(text, "line,{},{}\r\n", field(&chart.x), field(&chart.y));
            for (name, points) in lines {
                for (x, y) in points {
                    let (x, y) = (number(Some(*x)), number(Some(*y)));
                    let _ = write!(text, "{},{x},{y}\r\n", field(name));
                }
            }
        }
        ChartKind::Bars(bars) => {
            let _ = write!(text, "{},{}\r\n", field(&chart.x), field(&chart.y));
            for (name, value) in bars {
                let _ = write!(text, "{},{}\r\n", field(name), number(Some(*value)));
            }
        }
        ChartKind::Map {
            columns,
            rows,
            cells,
            value,
        } => {
            let head = [&chart.x, &chart.y, value].map(|it| field(it)).join(",");
            let _ = write!(text, "{head}\r\n");
            let places = rows
                .iter()
                .flat_map(|y| columns.iter().map(move |x| (x, y)));
            for ((x, y), cell) in places.zip(cells) {
                let cell = number(Some(*cell));
                let _ = write!(text, "{},{},{cell}\r\n", number(Some(*x)), number(Some(*y)));
            }
        }
        _ => {}
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
            Figure::new("peak", "peak \"load\"", "/s", Some(2.5)).within(1.0, 4.0),
            Figure::new("recovery", "recovery", "s", None),
        ];
        let mut study = Study::default();
        study.contenders = vec![contender];
        let expected = "policy,figure,title,unit,value,low,high\r\n\
            \"budget=ratio:0.1,burst:10\",peak,\"peak \"\"load\"\"\",/s,2.5,1,4\r\n\
            \"budget=ratio:0.1,burst:10\",recovery,recovery,s,,,\r\n";
        assert_eq!(figures(&study), expected);
    }

    #[test]
    fn every_kind_of_chart_has_a_line_for_each_value() {
        let mut chart = Chart::default();
        (chart.x, chart.y) = ("s".into(), "calls".into());
        chart.kind = ChartKind::Lines(vec![("a".into(), vec![(0.0, 1.5), (1.0, f64::NAN)])]);
        assert_eq!(super::chart(&chart), "line,s,calls\r\na,0,1.5\r\na,1,\r\n");
        chart.kind = ChartKind::Bars(vec![("a".into(), 3.0)]);
        assert_eq!(super::chart(&chart), "s,calls\r\na,3\r\n");
        chart.kind = ChartKind::Map {
            columns: vec![1.0, 2.0],
            rows: vec![5.0, 6.0],
            cells: vec![0.0, 0.25, 0.5, 1.0],
            value: "share".into(),
        };
        let expected = "s,calls,share\r\n1,5,0\r\n2,5,0.25\r\n1,6,0.5\r\n2,6,1\r\n";
        assert_eq!(super::chart(&chart), expected);
    }
}

//! How is a figure written, with its unit?

use becalm_report::format;
use becalm_sim::study::Figure;

/// The value, or where it was searched for the two values between which it is known to lie.
pub fn between(figure: &Figure) -> String {
    if let Some(ends) = figure.interval.filter(|_| SEARCHED.contains(&figure.id)) {
        let [low, high] = [ends.0, ends.1].map(|it| with_unit(it, figure.unit));
        if figure.value.is_some() && low != high {
            return format!("{low} to {high}");
        }
    }
    value(figure)
}

/// The value in the unit that suits it; a dash where there is none.
pub fn value(figure: &Figure) -> String {
    figure
        .value
        .map_or_else(|| "-".into(), |value| with_unit(value, figure.unit))
}

const SEARCHED: [&str; 3] = ["largest_load", "longest_outage_s", "most_clients"];

/// The value, and the interval that it lies in.
pub fn whole(figure: &Figure) -> String {
    let value = value(figure);
    let ends = figure
        .interval
        .map(|(low, high)| [low, high].map(|it| with_unit(it, figure.unit)));
    match ends {
        Some([low, high]) if low != value || high != value => format!("{value} ({low} to {high})"),
        _ => value,
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "s" => format::seconds(value),
        "ms" => format::milliseconds(value),
        "" => format::plain(value),
        "%" | "/s" => format!("{}{unit}", format::plain(value)),
        unit => format!("{} {unit}", format::plain(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_that_a_reader_expects() {
        let text = |unit, value| self::value(&Figure::new("id", "title", unit, value));
        assert_eq!(text("s", Some(0.25)), "250ms");
        assert_eq!(text("ms", Some(1_500.0)), "1.5s");
        assert_eq!(text("%", Some(12.5)), "12.5%");
        assert_eq!(text("/s", Some(1_234.0)), "1 234/s");
        assert_eq!(text("", Some(1.1)), "1.1");
        assert_eq!(text("clients", Some(3.0)), "3 clients");
        assert_eq!(text("s", None), "-");
        let figure = Figure::new("id", "title", "s", Some(2.0)).within(Some((1.5, 2.5)));
        assert_eq!(whole(&figure), "2s (1.5s to 2.5s)");
        assert_eq!(between(&figure), "2s", "it was measured");
        let outage =
            Figure::new("longest_outage_s", "title", "s", Some(2.0)).within(Some((1.5, 2.5)));
        assert_eq!(between(&outage), "1.5s to 2.5s", "s4: as an interval");
        assert_eq!(value(&outage), "2s");
        assert_eq!(whole(&outage), "2s (1.5s to 2.5s)");
        assert_eq!(
            whole(&figure.within(Some((2.0, 2.0)))),
            "2s",
            "nothing is uncertain"
        );
    }
}

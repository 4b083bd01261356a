//! How small can a scenario be made, so that a debug build studies it in a second?

/// Parameters of this scenario with their values.
pub fn of(scenario: &str) -> &'static [(&'static str, &'static str)] {
    match scenario {
        "occ" => &[("clients", "20"), ("step", "10")],
        "herd" => &[("clients", "300"), ("outage", "20s"), ("horizon", "1m")],
        "clipped" => &[("clients", "200"), ("outage", "2m"), ("horizon", "3m")],
        "appointments" => &[
            ("clients", "300"),
            ("capacity", "15"),
            ("backlog", "200"),
            ("horizon", "1m"),
        ],
        "moments" => &[("calls", "300")],
        "flaky" => &[("load", "50"), ("horizon", "8s")],
        "blip" => &[("load", "200"), ("horizon", "13s")],
        "layers" => &[("load", "2"), ("outage", "5s"), ("horizon", "20s")],
        "cascade" => &[("load", "51"), ("capacity", "50"), ("horizon", "20s")],
        "metastable" => &[
            ("load", "14"),
            ("workers", "1"),
            ("service-time", "50ms"),
            ("horizon", "16s"),
        ],
        "trigger" => &[
            ("load", "12"),
            ("workers", "1"),
            ("service-time", "50ms"),
            ("horizon", "16s"),
        ],
        "queue" => &[("load", "110"), ("workers", "1"), ("horizon", "20s")],
        "loops" => &[("clients", "10"), ("horizon", "10s")],
        "throttle" => &[
            ("load", "10"),
            ("accepts", "1"),
            ("clients", "2"),
            ("overload", "3s"),
            ("horizon", "16s"),
        ],
        "small-clients" => &[("load", "20"), ("clients", "50"), ("horizon", "30s")],
        "fleet" => &[
            ("processes", "20"),
            ("load", "400"),
            ("burst", "20"),
            ("trouble", "down"),
            ("from", "6s"),
            ("until", "12s"),
            ("horizon", "15s"),
        ],
        "deadline" => &[("load", "50"), ("workers", "50"), ("horizon", "20s")],
        "priority" => &[
            ("critical", "5"),
            ("load", "5"),
            ("accepts", "15"),
            ("clients", "2"),
            ("outage", "3s"),
            ("horizon", "26s"),
        ],
        "cache" => &[
            ("load", "40"),
            ("keys", "50"),
            ("workers", "1"),
            ("service-time", "50ms"),
            ("horizon", "15s"),
        ],
        "tiers" => &[
            ("load", "10"),
            ("workers", "1"),
            ("service-time", "50ms"),
            ("queue", "40"),
            ("outage", "2s"),
            ("horizon", "20s"),
        ],
        _ => &[],
    }
}

//! Which families of formats are there?

use std::str::FromStr;

/// A family of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// nginx, in a format that many use.
    Nginx,
    /// Envoy's text, as it is by default or as Istio has it.
    Envoy,
    /// Apache, in one of its own formats with `%D` behind it.
    Apache,
    /// Traefik's `common`.
    Traefik,
    /// A JSON object in each line.
    Json,
    /// `name=value` in each line.
    Pairs,
    /// HAProxy's `option httplog`.
    Haproxy,
    /// AWS's Application Load Balancer.
    Alb,
    /// AWS's Classic Load Balancer.
    Elb,
    /// A table with a header.
    Csv,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Json,
        Self::Csv,
        Self::Haproxy,
        Self::Alb,
        Self::Elb,
        Self::Envoy,
        Self::Traefik,
        Self::Nginx,
        Self::Pairs,
        Self::Apache,
    ];

    /// Whether the first lines may say it: Apache's whole numbers look like those of others, which are another unit.
    pub(super) fn is_plain(self) -> bool {
        self != Self::Apache
    }

    /// Its name on a command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Envoy => "envoy",
            Self::Json => "json",
            Self::Haproxy => "haproxy",
            Self::Alb => "alb",
            Self::Csv => "csv",
            Self::Elb => "elb",
            Self::Pairs => "pairs",
            Self::Apache => "apache",
            Self::Traefik => "traefik",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| {
            format!(
                "no format is called {text}; there are nginx, envoy, apache, traefik, json, pairs, haproxy, alb, elb and csv"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_names() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("iis".parse::<Kind>().is_err());
    }
}

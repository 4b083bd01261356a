//! Which versions were measured? What the lock file says, so that no table can name another.

const LOCK: &str = include_str!("../Cargo.lock");

/// The package with its version; a name that is no package stays as it is.
pub fn with_version(package: &str) -> String {
    let name = format!("name = \"{package}\"");
    let mut lines = LOCK.lines().skip_while(|line| **line != name);
    match lines
        .nth(1)
        .and_then(|line| line.strip_prefix("version = "))
    {
        Some(version) => format!("{package} {}", version.trim_matches('"')),
        None => package.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_the_version_of_the_lock_file() {
        assert!(with_version("tower").starts_with("tower 0.5."));
        assert_eq!(with_version("the bare call"), "the bare call");
    }
}

//! What is set for the method of this path? For itself, or else for its service, or else for all.

use std::collections::BTreeMap;

use crate::service_config::Name;

/// Something for each of some methods.
#[derive(Debug, Clone)]
pub(super) struct Methods<T> {
    /// By `/service/method`, and by `/service/` for all of a service. They are few: to compare some of them costs less than to hash one.
    named: BTreeMap<String, T>,
    all: Option<T>,
}

impl<T> Methods<T> {
    pub fn of(all: Option<T>) -> Self {
        let named = BTreeMap::new();
        Self { named, all }
    }

    pub fn insert(&mut self, name: &Name, value: T) {
        let Name {
            service, method, ..
        } = name;
        if service.is_empty() {
            self.all = Some(value);
        } else {
            self.named.insert(format!("/{service}/{method}"), value);
        }
    }

    pub fn get(&self, path: &str) -> Option<&T> {
        if self.named.is_empty() {
            return self.all.as_ref();
        }
        let (path, service) = parts(path);
        let named = self.named.get(path).or_else(|| self.named.get(service));
        named.or(self.all.as_ref())
    }
}

/// `/service/method` and `/service/` of a path that may begin with more.
fn parts(path: &str) -> (&str, &str) {
    let method = path.rfind('/').unwrap_or(0);
    let service = path[..method].rfind('/').unwrap_or(0);
    (
        &path[service..],
        path.get(service..=method).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_name_wins_whatever_the_path_begins_with() {
        let mut methods = Methods::of(Some("all"));
        assert_eq!(methods.get("/shop.Orders/Get"), Some(&"all"));
        for (name, value) in [
            ("/shop.Orders/*", "service"),
            ("/shop.Orders/Get", "method"),
        ] {
            methods.insert(&name.parse().expect("a name"), value);
        }
        for (path, expected) in [
            ("/shop.Orders/Get", "method"),
            ("/behind/a/proxy/shop.Orders/Get", "method"),
            ("/shop.Orders/Place", "service"),
            ("/shop.Users/Get", "all"),
            ("Get", "all"),
            ("/", "all"),
            ("", "all"),
        ] {
            assert_eq!(methods.get(path), Some(&expected), "{path}");
        }
        methods.insert(&"/*/*".parse().expect("a name"), "new");
        assert_eq!(methods.get("/shop.Users/Get"), Some(&"new"));
    }
}

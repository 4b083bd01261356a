//! Does each package have what its users need, and nothing that is only in the repository?
#![cfg(feature = "serde")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn manifest(folder: &Path) -> toml::Table {
    read(&folder.join("Cargo.toml")).parse().unwrap()
}

/// The folder and the manifest of each package that can be published.
fn packages() -> Vec<(PathBuf, toml::Table)> {
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let packages = folders.map(|folder| {
        let folder = folder.unwrap().path();
        let manifest = manifest(&folder);
        (folder, manifest)
    });
    let packages = packages.filter(|(_, it)| it["package"].get("publish").is_none());
    let packages: Vec<_> = packages.collect();
    assert!(packages.len() > 10, "{packages:?}");
    packages
}

/// The sources of a package, which are in it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut files = Vec::new();
    for path in entries {
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
    files
}

/// Copies and no links: a checkout on Windows would have the target's name for a text.
#[test]
fn each_package_has_both_licences() {
    for (folder, _) in packages() {
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let path = folder.join(name);
            assert!(!path.is_symlink(), "{}", path.display());
            let is_same = read(&path) == read(&root().join(name));
            assert!(is_same, "{} is not {name} of the root", path.display());
        }
    }
}

/// As crates.io wants it, and as docs.rs shows what a feature adds.
#[test]
fn each_manifest_says_what_a_registry_shows() {
    for (folder, manifest) in packages() {
        let package = &manifest["package"];
        let name = package["name"].as_str().unwrap();
        assert!(folder.ends_with(name), "{name}");
        for key in ["include", "license", "repository", "rust-version"] {
            assert!(package.get(key).is_some(), "{name} has no {key}");
        }
        let description = package["description"].as_str().unwrap();
        assert!(description.ends_with('.'), "{name}: {description}");
        for key in ["keywords", "categories"] {
            let words = package[key].as_array().unwrap();
            assert!((1..=5).contains(&words.len()), "{name}: {key}");
            let is_short = |word: &toml::Value| word.as_str().unwrap().len() <= 20;
            assert!(key == "categories" || words.iter().all(is_short), "{name}");
        }
        if folder.join("src/lib.rs").exists() {
            let docs = &package["metadata"]["docs"]["rs"];
            assert_eq!(docs["all-features"].as_bool(), Some(true), "{name}");
            let arguments = docs["rustdoc-args"].to_string();
            assert_eq!(arguments, r#"["--cfg", "docsrs"]"#, "{name}");
            let lib = read(&folder.join("src/lib.rs"));
            for line in [
                "#![doc = include_str!(\"../README.md\")]",
                "#![cfg_attr(docsrs, feature(doc_cfg))]",
            ] {
                assert!(lib.contains(line), "{name}: no {line}");
            }
        }
    }
}

/// What it is, four lines, how to depend on it, features, limits, and the Rust that it needs.
#[test]
fn each_readme_has_its_parts_and_its_links_lead_to_files() {
    let root = root();
    let workspace = &manifest(&root)["workspace"]["package"].clone();
    let version = workspace["version"].as_str().unwrap();
    let (minor, _) = version.rsplit_once('.').unwrap();
    for (folder, manifest) in packages() {
        let name = manifest["package"]["name"].as_str().unwrap();
        let page = read(&folder.join("README.md"));
        assert!(page.starts_with(&format!("# {name}\n\n")), "{name}");
        for part in ["## Features\n", "## Limits\n", "## More\n", "\n```"] {
            assert!(page.contains(part), "{name}: no {part}");
        }
        let is_command = folder.join("src/main.rs").exists();
        let how = if is_command {
            format!("$ cargo install {name}\n")
        } else {
            format!("\n{name} = ")
        };
        assert!(page.contains(&how), "{name}: no {how}");
        let stated = page.split(&how).nth(1).unwrap().lines().next().unwrap();
        assert!(
            is_command || stated.contains(&format!("\"{minor}\"")),
            "{name}: {stated}"
        );
        let rust = &manifest["package"]["rust-version"];
        let rust = rust.as_str().or(workspace["rust-version"].as_str());
        let rust = format!("\nRust {}", rust.unwrap());
        assert!(page.contains(&rust), "{name}: no {rust}");
        let features = manifest.get("features").and_then(toml::Value::as_table);
        let features = features.into_iter().flat_map(toml::Table::keys);
        for feature in features.filter(|it| *it != "default") {
            let is_told = page.contains(&format!("`{feature}`"));
            assert!(is_told, "{name}: README.md does not tell of {feature}");
        }
        let links = page.split("github.com/becalm-rs/becalm/blob/main/").skip(1);
        for link in links {
            let path = link.split([')', '#']).next().unwrap();
            assert!(root.join(path).exists(), "{name}: there is no {path}");
        }
        assert!(
            !page.contains("](../"),
            "{name}: a registry has no such file"
        );
    }
}

#[test]
fn no_source_of_a_package_includes_a_file_outside_of_it() {
    for (folder, _) in packages() {
        let inside = folder.canonicalize().unwrap();
        for path in sources(&folder.join("src")) {
            let text = read(&path);
            for name in [
                "include_str!(\"",
                "include_bytes!(\"",
                "include!(\"",
                "#[path = \"",
            ] {
                for included in text.split(name).skip(1) {
                    let file = included.split('"').next().unwrap();
                    let file = path.with_file_name(file).canonicalize();
                    let is_inside = file.is_ok_and(|it| it.starts_with(&inside));
                    assert!(is_inside, "{}: {name}..", path.display());
                }
            }
        }
    }
}

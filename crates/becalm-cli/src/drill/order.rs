//! Where may `--target URL` stand? Anywhere behind `drill`, as a flag does, though its flags are those of a command of its own.

use std::ffi::OsString;

const FLAG: &str = "--target";

/// The arguments of a command line with the target first, if it has one.
pub fn in_order(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<_> = arguments.into_iter().collect();
    if arguments.get(1).is_none_or(|it| it != "drill") {
        return arguments;
    }
    let url = |it: &OsString| {
        Some(
            it.to_str()?
                .strip_prefix(FLAG)?
                .strip_prefix('=')?
                .to_owned(),
        )
    };
    let flag = |it: &OsString| it == FLAG || url(it).is_some();
    let Some(at) = arguments.iter().position(flag) else {
        return arguments;
    };
    let target = url(&arguments.remove(at)).map(OsString::from);
    let is_url = |it: &OsString| !it.as_encoded_bytes().starts_with(b"-");
    let target = target.or_else(|| {
        let is_there = arguments.get(at).is_some_and(is_url);
        is_there.then(|| arguments.remove(at))
    });
    arguments.splice(2..2, [Some(FLAG.into()), target].into_iter().flatten());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_stands_first_wherever_it_was() {
        for (given, expected) in [
            (
                "becalm drill --load 9 --target http://a --strict",
                "becalm drill --target http://a --load 9 --strict",
            ),
            (
                "becalm drill --load 9 --target=http://a",
                "becalm drill --target http://a --load 9",
            ),
            (
                "becalm drill --target http://a",
                "becalm drill --target http://a",
            ),
            (
                "becalm drill --load 9 --target --help",
                "becalm drill --target --load 9 --help",
            ),
            ("becalm drill --target", "becalm drill --target"),
            (
                "becalm drill target http://a",
                "becalm drill target http://a",
            ),
            ("becalm run -- a --target b", "becalm run -- a --target b"),
            ("becalm", "becalm"),
        ] {
            let given = in_order(given.split(' ').map(OsString::from));
            assert_eq!(given.join(" ".as_ref()), expected);
        }
    }
}

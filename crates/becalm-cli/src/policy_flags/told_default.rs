//! Which default does the help of a policy flag name? Another, where a command does not start from the
//! library's.

use clap::Arg;

/// The flag, with this default in its help in place of the library's; without one, with none.
pub fn told_default(flag: Arg, default: Option<&str>) -> Arg {
    const BEGINS: &str = " [default: ";
    let told = default
        .map(|it| format!("{BEGINS}{it}]"))
        .unwrap_or_default();
    let changed = |help: String| match (help.find(BEGINS), help.find(']')) {
        (Some(from), Some(to)) if from < to => help[..from].to_owned() + &told + &help[to + 1..],
        _ => help,
    };
    // As they stand: to look for colours takes longer than all else.
    let [short, long] =
        [flag.get_help(), flag.get_long_help()].map(|it| it.map(|it| it.ansi().to_string()));
    let flag = match short {
        Some(help) => flag.help(changed(help)),
        None => flag,
    };
    match long {
        Some(help) => flag.long_help(changed(help)),
        None => flag,
    }
}

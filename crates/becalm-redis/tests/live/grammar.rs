//! Which words may a command have? What the server's own documentation says, drawn by chance.

use std::collections::BTreeMap;

use redis::{Cmd, Connection, Value, cmd};

/// Numbers that look drawn, the same for the same seed (splitmix64, Steele, Lea and Flood 2014).
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) >> 33).expect("31 bits") % end
    }

    pub fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// An argument, as `COMMAND DOCS` tells it.
#[derive(Debug, Default, Clone)]
struct Argument {
    name: String,
    kind: String,
    token: Option<String>,
    is_optional: bool,
    is_multiple: bool,
    repeats_token: bool,
    parts: Vec<Argument>,
}

/// The commands of a server with their arguments.
pub struct Grammar {
    commands: BTreeMap<String, Documented>,
}

#[derive(Debug, Default)]
struct Documented {
    /// What it is for: "string", "stream".
    group: String,
    arguments: Vec<Argument>,
}

impl Grammar {
    pub fn of(server: &mut Connection) -> Self {
        let told: Value = cmd("COMMAND")
            .arg("DOCS")
            .query(server)
            .expect("documentation");
        let mut commands = BTreeMap::new();
        collect(&told, &mut commands);
        Self { commands }
    }

    pub fn names(&self) -> Vec<&str> {
        self.commands.keys().map(String::as_str).collect()
    }

    /// Whether the server's documentation of this command has this word.
    pub fn has(&self, name: &str, token: &str) -> bool {
        fn is_in(arguments: &[Argument], token: &str) -> bool {
            arguments.iter().any(|argument| {
                argument.token.as_deref() == Some(token) || is_in(&argument.parts, token)
            })
        }
        is_in(&self.commands[name].arguments, token)
    }

    /// This command with arguments that are drawn; now and then with options in another place, or one more.
    pub fn draw(&self, name: &str, words: &Words<'_>, chance: &mut Chance) -> Cmd {
        let mut drawn: Vec<Vec<String>> = Vec::new();
        let Documented { group, arguments } = &self.commands[name];
        let mut fitting = words.keys.to_vec();
        if !chance.is_one_in(8) {
            fitting.retain(|(_, of)| of == group || *of == "any");
        }
        let fitting: Vec<_> = fitting.iter().map(|(key, _)| *key).collect();
        let words = &Drawn {
            keys: if fitting.is_empty() {
                words.keys.iter().map(|(key, _)| *key).collect()
            } else {
                fitting
            },
            names: words.names,
        };
        for argument in arguments {
            let mut part = Vec::new();
            argument.draw(words, chance, &mut part);
            drawn.push(part);
        }
        if drawn.len() > 2 && chance.is_one_in(4) {
            let (one, other) = (
                1 + chance.below(drawn.len() - 1),
                1 + chance.below(drawn.len() - 1),
            );
            drawn.swap(one, other);
        }
        if chance.is_one_in(6) && !arguments.is_empty() {
            let again = chance.of(arguments);
            let mut part = Vec::new();
            again.draw(words, chance, &mut part);
            drawn.push(part);
        }
        let mut flat = drawn.concat();
        count_those_that_follow(&mut flat, arguments);
        let mut command = Cmd::new();
        for word in name.split('|') {
            command.arg(word);
        }
        command.arg(flat);
        command
    }
}

/// The words that stand for keys, each with the group of commands that it is for, and for members and other names.
pub struct Words<'a> {
    pub keys: &'a [(&'a str, &'a str)],
    pub names: &'a [&'a str],
}

/// Those that fit a command.
struct Drawn<'a> {
    keys: Vec<&'a str>,
    names: &'a [&'a str],
}

impl Argument {
    fn draw(&self, words: &Drawn<'_>, chance: &mut Chance, drawn: &mut Vec<String>) {
        if self.is_optional && !chance.is_one_in(3) {
            return;
        }
        let times = if self.is_multiple {
            1 + chance.below(3)
        } else {
            1
        };
        let counts = ["numkeys", "numfields", "numids"].contains(&&*self.name);
        for time in 0..times {
            if let Some(token) = &self.token
                && (time == 0 || self.repeats_token)
            {
                drawn.push(token.clone());
            }
            match &*self.kind {
                "pure-token" => {}
                "oneof" => chance.of(&self.parts).draw_once(words, chance, drawn),
                "block" => self
                    .parts
                    .iter()
                    .for_each(|part| part.draw(words, chance, drawn)),
                "key" => drawn.push((*chance.of(&words.keys)).into()),
                "integer" if counts => drawn.push(COUNT.into()),
                "integer" => {
                    drawn.push((*chance.of(&["0", "1", "-1", "2", "100", "100000", "7"])).into());
                }
                "double" => drawn.push((*chance.of(&["0", "1", "2", "3.5", "-1", "inf"])).into()),
                "unix-time" => {
                    drawn.push((*chance.of(&["1", "9999999999", "9999999999000"])).into());
                }
                "pattern" => drawn.push((*chance.of(&["*", "w_*", "#", "set"])).into()),
                _ => drawn.push(self.named(words, chance)),
            }
        }
    }

    fn draw_once(&self, words: &Drawn<'_>, chance: &mut Chance, drawn: &mut Vec<String>) {
        let one = Self {
            is_optional: false,
            ..self.clone()
        };
        one.draw(words, chance, drawn);
    }

    fn named(&self, words: &Drawn<'_>, chance: &mut Chance) -> String {
        let known: &[&str] = match &*self.name {
            "id" | "ID" | "last-id" | "lastid" | "start" | "end" if self.kind == "string" => &[
                "1-1", "1-2", "5-*", "9-9", "*", "0", "$", ">", "-", "+", "1",
            ],
            "group" | "groupname" => &["group", "other"],
            "operation" => &["AND", "OR", "XOR", "NOT"],
            "script" => &["return 1"],
            "consumer" | "consumername" => &["consumer", "another"],
            "encoding" => &["u8", "i5"],
            "min" | "max" => &["-inf", "+inf", "0", "(1", "2", "[a", "-", "+"],
            "threshold" => &["0", "1", "2", "1-2"],
            _ => words.names,
        };
        (*chance.of(known)).into()
    }
}

/// Stands for the number of the words that follow, as far as the command takes them along.
const COUNT: &str = "\0count";

/// The count of keys or fields, which is to be right for the command to be run at all.
fn count_those_that_follow(words: &mut [String], arguments: &[Argument]) {
    let Some(at) = words.iter().position(|word| word == COUNT) else {
        return;
    };
    let has_values = |argument: &Argument| argument.parts.iter().any(|part| part.kind == "block");
    let step = if arguments.iter().any(has_values) {
        2
    } else {
        1
    };
    let is_option = |word: &String| {
        let mut tokens = arguments.iter().flat_map(Argument::tokens);
        tokens.any(|token| token == word)
    };
    let following = words[at + 1..]
        .iter()
        .take_while(|word| !is_option(word))
        .count();
    words[at] = (following / step).to_string();
    for word in &mut words[at + 1..] {
        if word == COUNT {
            *word = "1".into();
        }
    }
}

impl Argument {
    fn tokens(&self) -> Vec<&str> {
        let own = self.token.iter().map(String::as_str);
        own.chain(self.parts.iter().flat_map(Self::tokens))
            .collect()
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        _ => String::new(),
    }
}

/// The pairs of a map, as RESP2 gives it.
fn pairs(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Array(flat) => flat
            .chunks_exact(2)
            .map(|pair| (text(&pair[0]), &pair[1]))
            .collect(),
        _ => Vec::new(),
    }
}

fn collect(told: &Value, commands: &mut BTreeMap<String, Documented>) {
    for (name, told) in pairs(told) {
        let told = pairs(told);
        let of = |what: &str| {
            told.iter()
                .find(|(name, _)| name == what)
                .map(|(_, value)| *value)
        };
        if let Some(subcommands) = of("subcommands") {
            collect(subcommands, commands);
            continue;
        }
        let documented = Documented {
            group: of("group").map(text).unwrap_or_default(),
            arguments: of("arguments").map(arguments).unwrap_or_default(),
        };
        commands.insert(name.to_uppercase(), documented);
    }
}

fn arguments(told: &Value) -> Vec<Argument> {
    let Value::Array(all) = told else {
        return Vec::new();
    };
    all.iter().map(argument).collect()
}

fn argument(told: &Value) -> Argument {
    let mut argument = Argument::default();
    for (name, value) in pairs(told) {
        match &*name {
            "name" => argument.name = text(value),
            "type" => argument.kind = text(value),
            "token" => argument.token = Some(text(value)),
            "arguments" => argument.parts = arguments(value),
            "flags" => {
                let Value::Array(flags) = value else { continue };
                let has = |flag: &str| flags.iter().any(|it| text(it) == flag);
                argument.is_optional = has("optional");
                argument.is_multiple = has("multiple");
                argument.repeats_token = has("multiple_token");
            }
            _ => {}
        }
    }
    argument
}

//! What has no lines of its own, and which command gives them?

/// What these first bytes are packed in, and the command that unpacks it.
pub fn packed(beginning: &[u8]) -> Option<(&'static str, &'static str)> {
    let magic: [(&[u8], &str, &str); 6] = [
        (b"\x1f\x8b", "compressed", "zcat"),
        (b"\x28\xb5\x2f\xfd", "compressed", "zstdcat"),
        (b"\xfd7zXZ", "compressed", "xzcat"),
        (b"BZh", "compressed", "bzcat"),
        (b"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8"),
        (b"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8"),
    ];
    let is_its = |it: &&(&[u8], _, _)| beginning.starts_with(it.0);
    if let Some((_, kind, command)) = magic.iter().find(is_its) {
        return Some((kind, command));
    }
    let text = beginning.trim_ascii_start();
    let inner = text.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    if inner.is_some_and(|it| it.starts_with(b"{")) {
        return Some(("one array of JSON", "jq -c '.[]'"));
    }
    let first = text.split(|it| *it == b'\n').next()?;
    let is_open = first.trim_ascii_end() == b"{";
    is_open.then_some(("JSON over many lines", "jq -c ."))
}

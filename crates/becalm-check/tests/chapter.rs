//! Does the chapter tell of every code?

use becalm_check::code::ALL;

#[test]
fn the_chapter_tells_every_code() {
    let chapter = include_str!("../../../docs/check.md");
    let rows = ALL.iter().map(|it| {
        format!(
            "| `{}` | {} | {} |",
            it.name,
            it.severity.as_str(),
            it.about
        )
    });
    for row in rows {
        assert!(chapter.lines().any(|line| line == row), "{row}");
    }
}

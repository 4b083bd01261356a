//! Of which places of a file does a finding tell already?

use foldhash::HashMap;

use crate::checked::Checked;
use crate::code;
use crate::document::Span;

/// The places that findings are about, in their order, by the files.
pub(crate) struct Mentioned<'a>(HashMap<&'a str, Vec<Span>>);

impl<'a> Mentioned<'a> {
    pub fn of(checked: &'a Checked) -> Self {
        let mut all: HashMap<&str, Vec<Span>> = HashMap::default();
        let is_of_place = |code: &str| {
            let mut codes = code::ALL.iter();
            code != code::NO_TOTAL_TIME.name && codes.any(|it| it.name == code)
        };
        for it in checked.findings.iter().filter(|it| is_of_place(it.code)) {
            all.entry(&*it.file).or_default().push(it.span);
        }
        for (file, beyond) in checked.tally.beyond.iter() {
            let beyond = beyond.iter().filter(|it| is_of_place(it.kind.0));
            let places = all.entry(file).or_default();
            places.extend(beyond.map(|it| it.span));
        }
        for it in &checked.mappings {
            let lost = it.lost.iter().filter_map(|it| it.span);
            all.entry(&*it.file).or_default().extend(lost);
        }
        for (file, lost) in &checked.tally.lost {
            all.entry(&**file).or_default().extend(lost);
        }
        for places in all.values_mut() {
            places.sort();
        }
        Self(all)
    }

    /// Those of a file.
    pub fn in_file(&self, file: &str) -> &[Span] {
        self.0.get(file).map_or(&[], |it| it)
    }
}

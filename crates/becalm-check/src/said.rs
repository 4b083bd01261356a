//! What does a directive say, and where, where files include others?

use std::rc::Rc;

use crate::document::Span;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;

/// A value with its place.
#[derive(Debug, Clone)]
pub(crate) struct Said<'a, T> {
    /// `None` of a placeholder, and of what is not understood.
    pub value: Option<T>,
    /// As it stands there. What is said once may hold in very many places.
    pub text: Rc<str>,
    pub span: Span,
    pub file: &'a str,
}

impl<'a, T> Said<'a, T> {
    /// Where the key comes from, in its own file.
    pub fn origin(&self) -> Origin {
        match self.value {
            Some(_) => Origin::Line(self.span),
            None => Origin::Unknown(self.span, self.text.to_string()),
        }
    }

    /// Tells a draft, whose retries are configured at this place, of this; findings are of the file of this.
    pub fn tell(
        &self,
        reading: &mut Reading<'a>,
        draft: &mut Draft,
        at: Span,
        tell: impl FnOnce(&mut Reading<'a>, &mut Draft),
    ) {
        reading.in_file(self.file, draft, at, tell);
    }

    /// Its place, where that is in this file.
    pub fn span_in(&self, file: &str) -> Option<Span> {
        (self.file == file).then_some(self.span)
    }
}

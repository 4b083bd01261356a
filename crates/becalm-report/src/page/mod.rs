//! How does a report travel as one file?

use std::fmt::Write as _;

use crate::colour::Colour;
use crate::escape::markup;
use crate::format::glued;
use crate::svg::{self, Figure};
use crate::table::Table;

/// A self-contained HTML page: no outside resource, readable on light and dark ground, on paper and
/// on a narrow screen. All text is escaped.
///
/// The one script shows the values at the pointer. The page's own policy forbids every other, and
/// whatever is not in the file.
///
/// ```
/// use becalm_report::{Colour, Page};
///
/// let page = Page::new("A herd of 10 000 clients")
///     .badges([(Colour::Red, "metastable", "full jitter"), (Colour::Green, "stable", "a budget")])
///     .contents()
///     .heading("How it was run")
///     .details("The command", |part| part.code("becalm storm herd --seed 1"));
/// assert!(page.to_html().contains("href=\"#how-it-was-run\""));
/// ```
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    body: String,
    /// Of each section, its anchor and its name.
    sections: Vec<(String, String)>,
    /// Where in the body the list of sections stands.
    contents: Option<usize>,
}

impl Page {
    /// A page with this title as its first heading.
    pub fn new(title: impl Into<String>) -> Self {
        let title = title.into();
        let body = format!("<h1>{}</h1>", markup(&title));
        Self {
            title,
            body,
            sections: Vec::new(),
            contents: None,
        }
    }

    /// Adds a heading. It begins a section, which has an anchor named after it.
    #[must_use]
    pub fn heading(mut self, text: &str) -> Self {
        let anchor = self.anchor(text);
        let name = markup(text);
        let _ = write!(
            self.body,
            "<h2 id=\"{anchor}\"><a href=\"#{anchor}\">{name}</a></h2>"
        );
        self.sections.push((anchor, text.into()));
        self
    }

    /// Adds the fold: a list of all sections, with links to them. What is read first stands above it.
    /// The last such call counts.
    #[must_use]
    pub fn contents(mut self) -> Self {
        self.contents = Some(self.body.len());
        self
    }

    /// Adds a part that is closed until its summary is pressed, for what few readers want. On
    /// paper it is open.
    #[must_use]
    pub fn details(mut self, summary: &str, part: impl FnOnce(Self) -> Self) -> Self {
        let before = format!(
            "{}<details><summary>{}</summary>",
            self.body,
            markup(summary)
        );
        let contents = self.contents.take();
        self.body.clear();
        let mut page = part(self);
        page.contents = page.contents.map(|at| at + before.len()).or(contents);
        page.body = before + &page.body + "</details>";
        page
    }

    /// Adds verdicts: of each its colour, its word, and what it is about.
    #[must_use]
    pub fn badges<W: AsRef<str>, A: AsRef<str>>(
        mut self,
        badges: impl IntoIterator<Item = (Colour, W, A)>,
    ) -> Self {
        self.body.push_str("<ul class=\"bc-badges\">");
        for (colour, word, about) in badges {
            let _ = write!(
                self.body,
                "<li><span class=\"bc-badge\" style=\"background:var({})\">{}</span> <span>{}</span></li>",
                colour.property(),
                markup(word.as_ref()),
                markup(about.as_ref())
            );
        }
        self.body.push_str("</ul>");
        self
    }

    /// Adds a paragraph.
    #[must_use]
    pub fn paragraph(self, text: &str) -> Self {
        self.element("p", &glued(text))
    }

    /// Adds a command line or other text that is copied as it stands.
    #[must_use]
    pub fn code(self, text: &str) -> Self {
        self.element("pre", text)
    }

    /// Adds a conclusion that is seen first, marked with a colour.
    #[must_use]
    pub fn conclusion(mut self, colour: Colour, text: &str) -> Self {
        let _ = write!(
            self.body,
            "<p class=\"bc-conclusion\" style=\"border-color:var({})\">{}</p>",
            colour.property(),
            markup(&glued(text))
        );
        self
    }

    /// Adds a few figures that are seen first, of this: of each its value with the unit, and its name.
    #[must_use]
    pub fn figures<V: AsRef<str>, N: AsRef<str>>(
        mut self,
        of: &str,
        figures: impl IntoIterator<Item = (V, N)>,
    ) -> Self {
        if !of.is_empty() {
            let _ = write!(self.body, "<p class=\"bc-of\">{}</p>", markup(of));
        }
        self.body.push_str("<dl class=\"bc-figures\">");
        for (value, name) in figures {
            let _ = write!(
                self.body,
                "<div><dt>{}</dt><dd>{}</dd></div>",
                markup(name.as_ref()),
                markup(&glued(value.as_ref()))
            );
        }
        self.body.push_str("</dl>");
        self
    }

    /// Adds a picture with a caption. On a narrow screen its [`fitted`](Figure::fitted) form is
    /// seen.
    #[must_use]
    pub fn figure(mut self, figure: &impl Figure, caption: &str) -> Self {
        let _ = write!(
            self.body,
            "<figure>{}<figcaption>{}</figcaption></figure>",
            svg::to_both(figure),
            markup(caption)
        );
        self
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: &Table) -> Self {
        self.body.push_str(&table.to_html());
        self
    }

    /// Adds terms with what they mean.
    #[must_use]
    pub fn definitions<T: AsRef<str>, D: AsRef<str>>(
        mut self,
        entries: impl IntoIterator<Item = (T, D)>,
    ) -> Self {
        self.body.push_str("<dl>");
        for (term, meaning) in entries {
            let _ = write!(
                self.body,
                "<dt>{}</dt><dd>{}</dd>",
                markup(term.as_ref()),
                markup(&glued(meaning.as_ref()))
            );
        }
        self.body.push_str("</dl>");
        self
    }

    /// The page as text, to be written to a file in UTF-8.
    pub fn to_html(&self) -> String {
        let (before, after) = self.body.split_at(self.contents.unwrap_or(0));
        let contents = self
            .contents
            .map_or(String::new(), |_| self.list_of_sections());
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; script-src '{SCRIPT_SUM}'; base-uri 'none'; form-action 'none'\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <title>{}</title><style>{}{STYLE}</style></head><body><main>{before}{contents}{after}</main>\
             <script>{SCRIPT}</script></body></html>\n",
            markup(&self.title),
            svg::styles(),
        )
    }

    fn list_of_sections(&self) -> String {
        let mut list = String::from("<nav class=\"bc-fold\" aria-label=\"Sections\"><ul>");
        let all = self.sections.len();
        let is_left_out = |at: usize| {
            all > MOST_SECTIONS && (MOST_SECTIONS / 2..all - MOST_SECTIONS / 2).contains(&at)
        };
        for (at, (anchor, name)) in self.sections.iter().enumerate() {
            if !is_left_out(at) {
                let _ = write!(list, "<li><a href=\"#{anchor}\">{}</a></li>", markup(name));
            } else if !is_left_out(at - 1) {
                let _ = write!(list, "<li>and {} more</li>", all - MOST_SECTIONS);
            }
        }
        list + "</ul></nav>"
    }

    /// A name for an anchor that no other section has: letters and digits of the text.
    fn anchor(&self, text: &str) -> String {
        let words = text.split(|it: char| !it.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|it| !it.is_empty()).collect();
        let name = match words.join("-").to_ascii_lowercase() {
            name if name.is_empty() => "section".into(),
            name => name,
        };
        let is_free = |anchor: &String| self.sections.iter().all(|(other, _)| other != anchor);
        let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.clone())
            .chain(numbered)
            .find(is_free)
            .unwrap_or(name)
    }

    fn element(mut self, tag: &str, text: &str) -> Self {
        let _ = write!(self.body, "<{tag}>{}</{tag}>", markup(text));
        self
    }
}

/// Sections that the list names: of more the first and the last.
const MOST_SECTIONS: usize = 16;

/// The rules of the page; those of the pictures are theirs.
const STYLE: &str = include_str!("style.css");

/// Shows values at the pointer.
const SCRIPT: &str = include_str!("live.js");

/// The SHA-256 of the script in base 64 (Content Security Policy Level 3, section 2.3.1): a page
/// runs this script and no other. A browser that finds another sum runs nothing and says so.
const SCRIPT_SUM: &str = "sha256-YcQ6vsGUaEifwJNgMCxVAFQpH4I1Qq6Tqffbowzhpoc=";

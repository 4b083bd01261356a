//! What spans were there, and what do they hold?

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// The fields of a span, as texts.
pub type Fields = BTreeMap<&'static str, String>;

/// The spans of this thread, from now on.
#[derive(Clone, Default)]
pub struct Spans(Arc<Mutex<Vec<Fields>>>);

impl Spans {
    /// Records those of this thread while the guard lives.
    pub fn record() -> (Self, DefaultGuard) {
        let spans = Self::default();
        let registry = Registry::default().with(spans.clone());
        (spans, tracing::subscriber::set_default(registry))
    }

    /// Those with this field.
    ///
    /// # Panics
    ///
    /// A recording has panicked.
    pub fn with(&self, field: &str) -> Vec<Fields> {
        let mut spans = self.0.lock().expect("unpoisoned").clone();
        spans.retain(|span| span.contains_key(field));
        spans
    }
}

/// Where a span is in the list.
struct At(usize);

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Into(Fields::new());
        attributes.record(&mut fields);
        let mut spans = self.0.lock().expect("unpoisoned");
        spans.push(fields.0);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(At(spans.len() - 1));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = Into(Fields::new());
        values.record(&mut fields);
        let Some(span) = context.span(id) else { return };
        if let Some(At(at)) = span.extensions().get() {
            self.0.lock().expect("unpoisoned")[*at].append(&mut fields.0);
        }
    }
}

struct Into(Fields);

impl Visit for Into {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

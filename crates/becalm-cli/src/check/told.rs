//! What is there to tell of a check?

use becalm_check::Checked;
use becalm_check::layers::Layers;

use super::input::Input;
use super::service::Judged;

/// Everything that the reports tell.
pub struct Told<'a> {
    pub inputs: &'a [Input],
    pub checked: Checked,
    /// How many findings the baseline knows.
    pub known: usize,
    pub layers: Option<Layers>,
    /// Of each mapping, with `--service`.
    pub judged: Option<Vec<Judged>>,
}

impl<'a> Told<'a> {
    /// The file of this name.
    pub fn input(&self, file: &str) -> Option<&'a Input> {
        self.inputs.iter().find(|it| it.name() == file)
    }

    /// The verdict on the mapping of this number.
    pub fn judged(&self, at: usize) -> Option<&Judged> {
        self.judged.as_ref()?.get(at)
    }
}

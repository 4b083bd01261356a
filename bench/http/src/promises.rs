//! What is promised, and is it kept?

/// Figures with what they may be at most.
#[derive(Default)]
pub struct Promises(Vec<(&'static str, f64, f64)>);

impl Promises {
    pub fn at_most(&mut self, of: &'static str, figure: f64, bound: f64) {
        self.0.push((of, figure, bound));
    }

    pub fn are_kept(&self) -> bool {
        self.0.iter().all(|(_, figure, bound)| figure <= bound)
    }

    pub fn print(&self) {
        println!("| promise | at most | is |\n|---|--:|--:|");
        for (of, figure, bound) in &self.0 {
            let missed = if figure <= bound { "" } else { " **missed**" };
            println!("| {of} | {bound:.0} | {figure:.0}{missed} |");
        }
    }
}

//! What is promised, and is it kept?

/// Figures with what they may be.
#[derive(Default)]
pub struct Promises(Vec<Promise>);

struct Promise {
    of: &'static str,
    figure: f64,
    bound: f64,
    is_least: bool,
}

impl Promise {
    fn is_kept(&self) -> bool {
        if self.is_least {
            self.figure >= self.bound
        } else {
            self.figure <= self.bound
        }
    }
}

impl Promises {
    pub fn at_most(&mut self, of: &'static str, figure: f64, bound: f64) {
        self.add(of, figure, bound, false);
    }

    pub fn at_least(&mut self, of: &'static str, figure: f64, bound: f64) {
        self.add(of, figure, bound, true);
    }

    fn add(&mut self, of: &'static str, figure: f64, bound: f64, is_least: bool) {
        self.0.push(Promise {
            of,
            figure,
            bound,
            is_least,
        });
    }

    pub fn are_kept(&self) -> bool {
        self.0.iter().all(Promise::is_kept)
    }

    pub fn print(&self) {
        println!("| promise | | is |");
        println!("|---|--:|--:|");
        for promise in &self.0 {
            let Promise {
                of, figure, bound, ..
            } = promise;
            let at = if promise.is_least {
                "at least"
            } else {
                "at most"
            };
            let missed = if promise.is_kept() { "" } else { " **missed**" };
            println!("| {of} | {at} {bound} | {figure:.2}{missed} |");
        }
    }
}

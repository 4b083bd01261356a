//! Where is a picture drawn again and again? On another page of the terminal, which is left as it was.

use becalm_report::terminal::Painter;

use crate::show::Console;

/// Another page of the terminal, which is given back when this is dropped.
#[derive(Debug)]
pub struct Paper<'a> {
    console: &'a dyn Console,
}

impl<'a> Paper<'a> {
    /// Takes another page and hides the cursor (DEC private modes 1049 and 25).
    pub fn enter(console: &'a dyn Console) -> Self {
        console.write("\x1b[?1049h\x1b[?25l");
        Self { console }
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        self.console.size()
    }

    /// Colours where they are seen and wanted.
    pub fn painter(&self) -> Painter {
        self.console.painter()
    }

    /// Draws over what was there.
    pub fn draw(&self, lines: &[String]) {
        let mut text = String::from("\x1b[H");
        for (index, line) in lines.iter().take(self.size().1).enumerate() {
            // A line break behind the last line would scroll.
            text.push_str(if index == 0 { "" } else { "\r\n" });
            text.push_str(line);
            text.push_str("\x1b[K");
        }
        text.push_str("\x1b[J");
        self.console.write(&text);
    }

    /// Gives the page back, and leaves these lines on the one before.
    pub fn leave(self, lines: &[String]) {
        let console = self.console;
        drop(self);
        console.write(&(lines.join("\n") + "\n\n"));
    }
}

impl Drop for Paper<'_> {
    fn drop(&mut self) {
        self.console.write("\x1b[?25h\x1b[?1049l");
    }
}

//! Where is a picture drawn again and again? On another page of the terminal, which is left as it was.

use becalm_report::terminal::Painter;

use crate::stream::Stream;

/// Another page of the terminal, which is given back when this is dropped.
#[derive(Debug)]
pub struct Paper {
    stream: Stream,
}

impl Paper {
    /// Takes another page and hides the cursor (DEC private modes 1049 and 25).
    pub fn enter(stream: Stream) -> Self {
        stream.write("\x1b[?1049h\x1b[?25l");
        Self { stream }
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        self.stream.size()
    }

    /// Colours where they are seen and wanted.
    pub fn painter(&self) -> Painter {
        self.stream.painter()
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
        self.stream.write(&text);
    }

    /// Gives the page back, and leaves these lines on the one before.
    pub fn leave(self, lines: &[String]) {
        let stream = self.stream;
        drop(self);
        stream.write(&(lines.join("\n") + "\n\n"));
    }
}

impl Drop for Paper {
    fn drop(&mut self) {
        self.stream.write("\x1b[?25h\x1b[?1049l");
    }
}

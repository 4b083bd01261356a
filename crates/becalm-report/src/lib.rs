//! How is a measurement shown? Charts as SVG, as self-contained HTML, and in a terminal.

//! What does a browser make of a page? Headless Chromium, asked over its `DevTools` protocol.
//!
//! The protocol runs over a pipe (`--remote-debugging-pipe`: file descriptors 3 and 4, messages of
//! JSON ended by a zero byte), so no port is opened and nothing can collide. The profile is a new
//! directory that is gone afterwards; a browser that hangs is killed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The longest wait for one answer: a loaded machine takes seconds to start a browser.
const PATIENCE: Duration = Duration::from_secs(60);

const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
                     --disable-background-networking --disable-component-update --disable-sync \
                     --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe";

/// How a page is looked at.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Of the window, in pixels.
    pub width: u32,
    /// Of the window, in pixels.
    pub height: u32,
    /// Whether the reader prefers a dark ground.
    pub dark: bool,
}

/// A running browser with one open page; it ends when this is dropped.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    next: u64,
    complaints: Vec<String>,
    directory: TempDir,
}

impl Browser {
    /// Starts `chromium`. Panics where there is none: a test that needs it must not pass without.
    pub fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory for the profile");
        let profile = directory.path().join("profile");
        // The shell gives the pipes the numbers that the browser expects.
        let script = format!(
            "exec chromium {FLAGS} --user-data-dir='{}' about:blank 3<&0 4>&1 </dev/null >/dev/null",
            profile.display()
        );
        let mut child = Command::new("/bin/sh")
            .args(["-c", &script])
            .env("HOME", directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Its helpers are in its group, and are ended with it.
            .process_group(0)
            .spawn()
            .expect("a shell");
        let to = child.stdin.take().expect("piped");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while matches!(output.read_until(0, &mut message), Ok(1..)) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else {
                    break;
                };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            to,
            from,
            session: None,
            next: 0,
            complaints: Vec::new(),
            directory,
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = session["sessionId"].as_str().map(Into::into);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Opens a page as a reader would, and waits until it is drawn.
    pub fn open(&mut self, html: &str, view: View) {
        let file = self.directory.path().join("page.html");
        std::fs::write(&file, html).expect("a file for the page");
        let metrics = json!({"width": view.width, "height": view.height, "deviceScaleFactor": 1, "mobile": view.width < 600});
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        let touch = json!({"enabled": view.width < 600});
        self.call("Emulation.setTouchEmulationEnabled", &touch);
        let scheme = if view.dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", &media);
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", &json!({"url": url}));
        self.evaluate(
            "new Promise(done => { const wait = () => \
             location.protocol === 'file:' && document.readyState === 'complete' \
             ? requestAnimationFrame(() => requestAnimationFrame(done)) : setTimeout(wait, 10); wait() })",
        );
    }

    /// The value of an expression in the page; of a promise, what it comes to.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", &asked);
        let failed = answer.get("exceptionDetails");
        assert!(failed.is_none(), "{expression}: {failed:?}");
        answer["result"]["value"].clone()
    }

    /// Moves the mouse, as the window counts.
    pub fn move_mouse(&mut self, x: f64, y: f64) {
        let event = json!({"type": "mouseMoved", "x": x, "y": y});
        self.call("Input.dispatchMouseEvent", &event);
    }

    /// Puts a finger down and lifts it.
    pub fn tap(&mut self, x: f64, y: f64) {
        let down = json!({"type": "touchStart", "touchPoints": [{"x": x, "y": y}]});
        self.call("Input.dispatchTouchEvent", &down);
        let up = json!({"type": "touchEnd", "touchPoints": []});
        self.call("Input.dispatchTouchEvent", &up);
    }

    /// Presses and releases a key by its name: `Tab`, `ArrowRight`.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Escape" => 27,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            other => panic!("{other} has no code here yet"),
        };
        for event in ["rawKeyDown", "keyUp"] {
            let event =
                json!({"type": event, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Errors and warnings of the console, broken policies among them, since the start.
    pub fn complaints(&mut self) -> &[String] {
        // Whatever was written before this is answered has come before its answer.
        self.evaluate("1");
        &self.complaints
    }

    /// Saves what is seen, of the window or of the whole page, to the directory that `BECALM_SCREENSHOTS` names, if
    /// it does, for a human to look at.
    pub fn screenshot(&mut self, name: &str, whole: bool) {
        let Some(directory) = std::env::var_os("BECALM_SCREENSHOTS") else {
            return;
        };
        let asked = json!({"format": "png", "captureBeyondViewport": whole});
        let png = self.call("Page.captureScreenshot", &asked);
        let png = base64::engine::general_purpose::STANDARD
            .decode(png["data"].as_str().expect("a picture"))
            .expect("base 64");
        std::fs::write(Path::new(&directory).join(name), png).expect("a file for the picture");
    }

    /// Sends a command and waits for its answer.
    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to
            .write_all(&bytes)
            .expect("chromium runs: scripts/test installs it");
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = self.from.recv_timeout(left);
            let answer = answer.unwrap_or_else(|error| {
                panic!("no answer to {method} ({error}): is chromium installed?")
            });
            if answer["id"] == json!(self.next) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }

    /// Keeps what the page complains of.
    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        let is_bad = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => parameters["type"] != "log",
            Some("Log.entryAdded") => parameters["entry"]["level"] != "verbose",
            _ => false,
        };
        if is_bad {
            self.complaints.push(parameters.to_string());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // All of the group: the browser's helpers would write to the profile while it is removed.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.child.wait();
    }
}

//! The local control socket: a request a line, an answer a line, both JSON.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::control::{Handle, Handles, Switch};
use crate::dump::dump;
use crate::status::Status;
use crate::{tables, trace};

/// The longest request: a table of a million flows.
const MOST_REQUEST_LEN: u64 = 1 << 30;

/// Sides that ask at once; further ones are hung up.
const MOST_ASKING: usize = 64;
/// After it could not be seen who asks.
const PAUSE: Duration = Duration::from_millis(100);

/// What can be asked. `switch` may be left out where there is one.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Loads a file's text: in the place of everything, or on top of it.
    Load {
        /// Which switch.
        switch: Option<String>,
        /// The file's name, whose end decides on the syntax.
        file: String,
        /// What it says.
        text: String,
        /// Where entries of `.tab` files go.
        #[serde(default)]
        table: u8,
        /// Whether what is there stays.
        #[serde(default)]
        add: bool,
    },
    /// Gives everything as text.
    Dump {
        /// Which switch.
        switch: Option<String>,
        /// Records of `.tab` files instead of lines of `ovs-ofctl`; flows only.
        #[serde(default)]
        tab: bool,
        /// Whether lines have counters.
        #[serde(default)]
        counters: bool,
    },
    /// Says which entries a frame meets.
    Trace {
        /// Which switch.
        switch: Option<String>,
        /// The frame's headers as a match.
        #[serde(default)]
        matching: String,
        /// The frame itself, as hexadecimal digits.
        frame: Option<String>,
        /// Whether the bytes that leave are wanted too.
        #[serde(default)]
        hex: bool,
    },
    /// Says how a table is run.
    Explain {
        /// Which switch.
        switch: Option<String>,
        /// Which table.
        table: u8,
        /// Whether the machine code is wanted too.
        #[serde(default)]
        code: bool,
    },
    /// Says what the switches are and have counted.
    Status {},
}

/// A socket of this machine, which is removed when this is dropped.
pub struct Socket {
    path: PathBuf,
    listener: UnixListener,
    /// Device and inode: what has been put there since is somebody else's.
    made: (u64, u64),
}

impl Socket {
    /// Makes it. Only this user may ask.
    ///
    /// # Errors
    /// When it cannot be made; what is there and is no socket stays.
    pub fn open(path: &Path) -> io::Result<Self> {
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                let text = "there is a file that is no socket: give another path, or remove it";
                return Err(io::Error::other(text));
            }
            Ok(_) if UnixStream::connect(path).is_ok() => {
                let text = "another switch answers there: give another path";
                return Err(io::Error::other(text));
            }
            // What one left that has ended.
            Ok(_) => std::fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let made = std::fs::symlink_metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            listener,
            made: (made.dev(), made.ino()),
        })
    }

    /// What it is made of.
    pub(crate) fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// Answers from threads of its own, which live as long as the process.
    ///
    /// # Errors
    /// When there is no descriptor left for it.
    pub fn serve(&self, handles: Arc<Handles>) -> io::Result<JoinHandle<()>> {
        let listener = self.listener.try_clone()?;
        let thread = std::thread::Builder::new().name("local".to_owned());
        thread.spawn(move || {
            let asking = Arc::new(());
            loop {
                let accepted = listener.accept();
                let Ok((stream, _)) = accepted else {
                    // Without a descriptor or memory for it, it would fail again at once.
                    std::thread::sleep(PAUSE);
                    continue;
                };
                // Each has one.
                if Arc::strong_count(&asking) > MOST_ASKING {
                    continue;
                }
                let (handles, asking) = (Arc::clone(&handles), Arc::clone(&asking));
                // Without memory for a thread, it is hung up.
                let _ = std::thread::Builder::new().spawn(move || {
                    // The other side may hang up whenever it likes.
                    let _ = converse(stream, &handles);
                    drop(asking);
                });
            }
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let is_own = |found: std::fs::Metadata| (found.dev(), found.ino()) == self.made;
        if std::fs::symlink_metadata(&self.path).is_ok_and(is_own) {
            // It may have been removed by somebody else just now.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Until the other side hangs up, or says what is no request: another protocol would wait for ever.
fn converse(stream: UnixStream, handles: &Handles) -> io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        let begins = reader.fill_buf()?.first().copied();
        if begins.is_some_and(|byte| byte != b'{' && !byte.is_ascii_whitespace()) {
            let message = "no request: this socket takes a JSON object a line; it does not speak OpenFlow";
            return writeln!(writer, "{}", json!({ "error": message }));
        }
        let mut line = String::new();
        if reader.by_ref().take(MOST_REQUEST_LEN).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let answer = answer(&line, handles).unwrap_or_else(|message| json!({ "error": message }));
        writeln!(writer, "{answer}")?;
    }
}

/// What to say to a line.
///
/// # Errors
/// When it cannot be done, in one line.
pub fn answer(line: &str, handles: &Handles) -> Result<Value, String> {
    let request: Request = serde_json::from_str(line).map_err(|error| format!("no request: {error}"))?;
    match request {
        Request::Load {
            switch,
            file,
            text,
            table,
            add,
        } => {
            let ports = ask(handles, switch.clone(), |switch| switch.ports.names())?;
            let tables = tables::read_for(&file, &text, table, &ports).map_err(|error| error.to_string())?;
            let count = tables.changes.len();
            let notes: Vec<_> = tables.notes_of(&file).collect();
            ask(handles, switch, move |switch| switch.load(&file, &tables, !add))?
                .map_err(|error| error.to_string())?;
            Ok(json!({ "changes": count, "notes": notes }))
        }
        Request::Dump { switch, tab, counters } => {
            Ok(json!({ "text": ask(handles, switch, move |switch| dump(switch, tab, counters))? }))
        }
        Request::Trace {
            switch,
            matching,
            frame,
            hex,
        } => {
            let traced = ask(handles, switch, move |switch| {
                trace::trace(switch, &matching, frame.as_deref(), hex)
            })?;
            Ok(json!({ "text": traced? }))
        }
        Request::Explain { switch, table, code } => {
            let text = ask(handles, switch, move |switch| switch.explain(table, code))?;
            Ok(json!({ "text": text? }))
        }
        Request::Status {} => {
            let names: Vec<_> = handles.keys().collect();
            let statuses = names
                .iter()
                .filter_map(|name| handles[*name].call(|switch| Status::of(switch)).ok());
            Ok(json!({ "switches": statuses.collect::<Vec<_>>() }))
        }
    }
}

fn ask<A: Send + 'static>(
    handles: &Handles,
    name: Option<String>,
    question: impl FnOnce(&mut Switch) -> A + Send + 'static,
) -> Result<A, String> {
    find(handles, name)?.call(question).map_err(|error| error.to_string())
}

fn find(handles: &Handles, name: Option<String>) -> Result<&Handle, String> {
    let names: Vec<_> = handles.keys().map(String::as_str).collect();
    match name {
        Some(name) => {
            let found = handles.get(&name);
            found.ok_or_else(|| format!("there is no switch {name:?}: there are {}", names.join(", ")))
        }
        None if handles.len() == 1 => handles.values().next().ok_or_else(String::new),
        None => Err(format!("say which switch: {}", names.join(", "))),
    }
}

//! The local control socket: a request a line, an answer a line, both JSON.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::control::{Handle, Handles, Switch};
use crate::dump::dump;
use crate::settings::port::{PortSettings, QueueTable};
use crate::socket::Socket;
use crate::status::Status;
use crate::{capture, membership, tables, trace};

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
    /// Adds a port.
    AddPort {
        /// Which switch.
        switch: Option<String>,
        /// What it is to be.
        port: PortSettings,
    },
    /// Removes a port.
    RemovePort {
        /// Which switch.
        switch: Option<String>,
        /// Its number, or the name of its interface.
        port: String,
    },
    /// Adds a queue to a port, or changes it.
    AddQueue {
        /// Which switch.
        switch: Option<String>,
        /// The port's number, or the name of its interface.
        port: String,
        /// What it is to be.
        queue: QueueTable,
    },
    /// Removes a queue of a port.
    RemoveQueue {
        /// Which switch.
        switch: Option<String>,
        /// The port's number, or the name of its interface.
        port: String,
        /// The queue's number.
        queue: u32,
    },
    /// Forgets which addresses are behind which port.
    Forget {
        /// Which switch.
        switch: Option<String>,
    },
    /// Copies what ports take and send to another.
    Mirror {
        /// Which switch.
        switch: Option<String>,
        /// The port that gets the copies, by number or interface.
        output: String,
        /// The others, likewise; none for no copies.
        ports: Vec<String>,
    },
    /// Captures what passes a port. The file follows the answer.
    Capture(capture::Wanted),
}

/// Answers from threads of its own, which live as long as the process.
///
/// # Errors
/// When there is no descriptor left for it.
pub fn serve(socket: &Socket, handles: Arc<Handles>) -> io::Result<JoinHandle<()>> {
    let listener = socket.listener().try_clone()?;
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
        if let Ok(Request::Capture(wanted)) = serde_json::from_str(&line) {
            return match find(handles, wanted.switch.clone()) {
                Ok(handle) => capture::serve(&writer, handle, &wanted),
                Err(message) => writeln!(writer, "{}", json!({ "error": message })),
            };
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
            let loaded =
                json!({ "changes": tables.changes.len(), "notes": tables.notes_of(&file).collect::<Vec<_>>() });
            let done = ask(handles, switch, move |switch| switch.load(&file, &tables, !add))?;
            done.map(|()| loaded).map_err(|error| error.to_string())
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
            let statuses = handles
                .values()
                .filter_map(|handle| handle.call(|switch| Status::of(switch)).ok());
            Ok(json!({ "switches": statuses.collect::<Vec<_>>() }))
        }
        Request::AddPort { switch, port } => {
            check_unused(&port.interface, handles)?;
            done(membership::add_port(find(handles, switch)?, port))
        }
        Request::RemovePort { switch, port } => {
            let handle = find(handles, switch.clone())?;
            let number = ask(handles, switch, move |switch| {
                switch.find_port(&port).map(|port| port.number)
            })??;
            done(membership::remove_port(handle, number))
        }
        Request::AddQueue { switch, port, queue } => {
            done(ask(handles, switch, move |switch| switch.add_queue(&port, queue))?)
        }
        Request::RemoveQueue { switch, port, queue } => {
            done(ask(handles, switch, move |switch| switch.remove_queue(&port, queue))?)
        }
        Request::Forget { switch } => {
            ask(handles, switch, |switch| switch.ports.forget_addresses())?;
            Ok(json!({}))
        }
        Request::Mirror { switch, output, ports } => {
            done(ask(handles, switch, move |switch| switch.mirror(&output, &ports))?)
        }
        Request::Capture(_) => Err("a capture needs a connection of its own".to_owned()),
    }
}

/// Checks that no switch has an interface as a port.
fn check_unused(interface: &str, handles: &Handles) -> Result<(), String> {
    for handle in handles.values() {
        let name = interface.to_owned();
        let used = handle.call(move |switch| switch.ports.names().contains_key(&name));
        if used.unwrap_or(false) {
            return Err(format!("interface {interface} is a port already: remove it first"));
        }
    }
    Ok(())
}

fn done(done: Result<(), String>) -> Result<Value, String> {
    done.map(|()| json!({}))
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

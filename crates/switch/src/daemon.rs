//! A process of switches: opened from its settings, run until a signal ends it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use brimful_pipeline::{Limits, Pipeline};

use crate::channel::{self, Channel};
use crate::compiled::Compiled;
use crate::control::{Handles, Running, Switch};
use crate::files::read_text;
use crate::notice::say;
use crate::plane::{Interpreter, Plane, SharedPipeline};
use crate::ports::{Input, Ports};
use crate::settings::{Settings, SwitchSettings};
use crate::socket::Socket;
use crate::state::Keeper;
use crate::telemetry::Telemetry;
use crate::{links, local, membership, metrics, opening, state, tables};

/// How often signals are looked for.
const PATIENCE: Duration = Duration::from_millis(20);

/// What signals ask for.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// To end.
    pub ends: Arc<AtomicBool>,
    /// To read tables again.
    pub reloads: Arc<AtomicBool>,
}

/// Runs switches until a signal ends them; `ready` is called once all of them run, and `lives` many times a
/// second from then on. Where the settings are from a file, it
/// is read again when tables are.
///
/// # Errors
/// When something cannot be opened or tables cannot be loaded, or a part of it fails, in one line.
pub fn run(
    mut settings: Settings,
    file: Option<&Path>,
    signals: &Signals,
    ready: impl FnOnce(),
    mut lives: impl FnMut(&Handles),
) -> Result<(), String> {
    settings.check()?;
    // Before anything is opened: a bad certificate starts nothing.
    let peers = settings.switches.iter().map(SwitchSettings::peers);
    let peers = peers.collect::<Result<Vec<_>, String>>()?;
    let mut running = Vec::new();
    for switch in &settings.switches {
        running.push(open(switch)?);
    }
    let named = settings.switches.iter().zip(&running);
    let handles: Handles = named
        .map(|(switch, running)| (switch.name.clone(), running.handle.clone()))
        .collect();
    let keepers = restore(&settings, &handles)?;
    let handles = Arc::new(handles);
    let (helpers, control) = help(&settings, &handles, signals)?;
    let telemetry = settings
        .telemetry
        .as_ref()
        .map(|directory| Telemetry::open(directory))
        .transpose();
    let mut telemetry = telemetry.map_err(|error| format!("telemetry: {error}"))?;
    // Last, so that controllers find the tables of the files.
    let mut channels = Vec::new();
    for (peers, running) in peers.into_iter().zip(&running) {
        channels.push(channel::start(peers, &running.handle)?);
    }
    let parts = Parts {
        running,
        channels,
        keepers,
        helpers,
    };
    ready();
    while !signals.ends.load(Relaxed) {
        std::thread::sleep(PATIENCE);
        match parts.check() {
            // Some end by the same signal.
            Err(failure) if !signals.ends.load(Relaxed) => return Err(failure),
            _ => {}
        }
        lives(&handles);
        if signals.reloads.swap(false, Relaxed)
            && let Err(error) = reload(&mut settings, file, &handles)
        {
            say(format_args!("{error}; the tables stay as they were"));
        }
        if let Some(telemetry) = &mut telemetry {
            telemetry.write_when_due(&handles);
        }
    }
    if let Some(telemetry) = &mut telemetry {
        telemetry.finish(&handles);
    }
    parts.stop()?;
    drop(control);
    Ok(())
}

/// Starts what serves all switches, and gives the socket that is there as long as it is kept.
fn help(
    settings: &Settings,
    handles: &Arc<Handles>,
    signals: &Signals,
) -> Result<(Vec<JoinHandle<()>>, Option<Socket>), String> {
    let mut helpers = Vec::new();
    match links::watch(Arc::clone(handles), Arc::clone(&signals.ends)) {
        Ok(links) => helpers.push(links),
        Err(error) => say(format_args!("links are looked at ten times a second only: {error}")),
    }
    let mut control = None;
    if let Some(path) = &settings.control {
        let socket = Socket::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        helpers.push(local::serve(&socket, Arc::clone(handles)).map_err(|error| error.to_string())?);
        control = Some(socket);
    }
    if let Some(address) = &settings.metrics {
        let served = metrics::serve(address, Arc::clone(handles));
        helpers.push(served.map_err(|error| format!("{address}: {error}"))?);
    }
    Ok((helpers, control))
}

/// What runs in threads of its own.
struct Parts {
    running: Vec<Running>,
    channels: Vec<Channel>,
    keepers: Vec<Keeper>,
    /// Threads that serve all switches, as long as the process lives.
    helpers: Vec<JoinHandle<()>>,
}

impl Parts {
    /// Whether all of them still run. A process that has lost one would look well and not be: it is better started again.
    fn check(&self) -> Result<(), String> {
        let of_switch = self.running.iter().find_map(Running::failure);
        let of_channel = self.channels.iter().any(Channel::has_failed);
        let of_keeper = self.keepers.iter().any(Keeper::has_failed);
        let of_helper = self.helpers.iter().any(JoinHandle::is_finished);
        let failed = of_switch
            .or(of_channel.then_some("a thread for controllers has ended"))
            .or(of_keeper.then_some("the thread that keeps tables in a file has ended"))
            .or(of_helper.then_some("a thread for links, metrics or local requests has ended"));
        failed.map_or(Ok(()), |what| {
            Err(format!(
                "{what}, as said above: the process ends, so that it can be started again"
            ))
        })
    }

    fn stop(self) -> Result<(), String> {
        self.channels.into_iter().for_each(Channel::stop);
        self.keepers.into_iter().for_each(Keeper::stop);
        let mut have_ended = true;
        for running in self.running {
            have_ended &= running.stop();
        }
        if have_ended {
            Ok(())
        } else {
            Err("a thread of the switch did not end in time: it was left".to_owned())
        }
    }
}

/// Starts a switch on its interfaces, with empty tables.
fn open(settings: &SwitchSettings) -> Result<Running, String> {
    let mut inputs = Vec::new();
    let mut ports = Vec::new();
    for port in &settings.ports {
        let opened = opening::open(port, settings.threads, settings.ports.len())?;
        inputs.extend(opened.inputs);
        ports.push(opened.port);
    }
    let inputs = deal(inputs, settings.threads).map_err(|error| format!("{}: {error}", settings.name))?;
    let limits = Limits {
        entries: settings.entries,
        ..Limits::default()
    };
    let pipeline = SharedPipeline::new(Pipeline::new(limits));
    let plane = plane(&settings.name, &pipeline);
    let mut switch = Switch::new(
        settings.name.clone(),
        settings.datapath()?,
        Ports::learning(ports, settings.learning()),
        pipeline,
        plane,
    );
    switch.packets.limit(settings.packet_in_rate);
    switch.port_settings = settings.ports.iter().map(|port| (port.number, port.clone())).collect();
    switch.renew_queues();
    switch.set_mirrors(&settings.mirrors);
    Ok(switch.start(inputs))
}

/// Machine code where this processor has some, else the interpreter.
fn plane(name: &str, pipeline: &SharedPipeline) -> Box<dyn Plane> {
    let seed = RandomState::new().build_hasher().finish();
    match Compiled::new(pipeline.clone(), seed) {
        Ok(compiled) => Box::new(compiled),
        Err(error) => {
            say(format_args!(
                "{name}: its tables are interpreted, as no code can be made: {error}"
            ));
            Box::new(Interpreter::new(pipeline.clone()))
        }
    }
}

/// Deals what is to be received out to threads.
fn deal(inputs: Vec<Input>, threads: usize) -> Result<Vec<Vec<Input>>, String> {
    let queues = inputs.len();
    if threads > queues.max(1) {
        return Err(format!(
            "{threads} data-plane threads for {queues} receive queues: use 1 to {queues}"
        ));
    }
    let mut dealt: Vec<Vec<Input>> = (0..threads).map(|_| Vec::new()).collect();
    for (index, input) in inputs.into_iter().enumerate() {
        dealt[index % threads].push(input);
    }
    Ok(dealt)
}

/// Gives switches the tables that they had, or else those of their files, and keeps them from then on.
fn restore(settings: &Settings, handles: &Handles) -> Result<Vec<Keeper>, String> {
    load_all(settings, handles)?;
    let mut keepers = Vec::new();
    for switch in &settings.switches {
        let handle = &handles[&switch.name];
        let Some(path) = &switch.state else {
            if switch.tables.is_empty() && !switch.controllers.is_empty() {
                say(format_args!("{}: its tables are empty", switch.name));
            }
            continue;
        };
        let name = path.display();
        match state::read(path)? {
            Some(tables) => {
                let count = tables.changes.len();
                let file = name.to_string();
                let loaded = handle.call(move |switch| switch.load(&file, &tables, true));
                loaded
                    .map_err(|ended| ended.to_string())?
                    .map_err(|error| error.to_string())?;
                say(format_args!(
                    "{}: {count} entries, groups and meters are back from {name}",
                    switch.name
                ));
            }
            None => say(format_args!("{}: {name} is not there yet", switch.name)),
        }
        keepers.push(Keeper::start(path.clone(), handle)?);
    }
    Ok(keepers)
}

/// Has all switches follow the file of settings: ports, queues, mirrors, tables. What else is new there is for the next
/// start, which is said.
fn reload(settings: &mut Settings, file: Option<&Path>, handles: &Handles) -> Result<(), String> {
    if let Some(path) = file {
        let name = path.display();
        let text = read_text(path).map_err(|error| format!("{name}: {error}"))?;
        let new = Settings::read(&name.to_string(), &text)?;
        for other in settings.follow(&new) {
            say(format_args!("{name}: {other}: takes effect with the next start only"));
        }
        for switch in &settings.switches {
            for obstacle in membership::follow(&handles[&switch.name], switch) {
                say(format_args!("{}: {obstacle}", switch.name));
            }
        }
    }
    load_all(settings, handles)
}

/// Loads the tables of all switches, each in the place of what it had.
fn load_all(settings: &Settings, handles: &Handles) -> Result<(), String> {
    for switch in settings.switches.iter().filter(|switch| !switch.tables.is_empty()) {
        let mut all = tables::Tables::default();
        let mut files = Vec::new();
        let handle = &handles[&switch.name];
        let ports = handle.call(|switch| switch.ports.names());
        let ports = ports.map_err(|ended| ended.to_string())?;
        for path in &switch.tables {
            let name = path.display().to_string();
            let text = read_text(path).map_err(|error| format!("{name}: {error}"))?;
            let read = tables::read_for(&name, &text, 0, &ports).map_err(|error| error.to_string())?;
            read.notes_of(&name).for_each(say);
            all.changes.extend(read.changes);
            files.push(name);
        }
        let loaded = handle.call(move |switch| switch.load(&files.join("+"), &all, true));
        loaded
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

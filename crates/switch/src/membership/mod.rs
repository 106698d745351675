//! Ports, queues and mirrors that come and go while frames pass.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::control::{Handle, Switch};
use crate::opening::{self, OpenedPort};
use crate::ports::SwitchPort;
use crate::settings::SwitchSettings;
use crate::settings::port::{MirrorSettings, PortSettings, QueueTable, check_mirror};
use crate::watch::PortEvent;

#[cfg(test)]
mod tests;

/// How long data-plane threads may take to let go of a port: they look between two bursts.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(1);

/// Adds a port. Its interface is opened on this thread, so that the switch does not wait for that.
///
/// # Errors
/// When there is one of this number or interface, or it cannot be opened.
pub(crate) fn add_port(handle: &Handle, settings: PortSettings) -> Result<(), String> {
    settings.check()?;
    let (number, interface) = (settings.number, settings.interface.clone());
    let checked = handle.call(move |switch| {
        switch.check_new(number, &interface)?;
        Ok::<_, String>((switch.threads, switch.ports.all().len() + 1))
    });
    let (threads, ports) = checked.map_err(|ended| ended.to_string())??;
    let opened = opening::open(&settings, threads, ports)?;
    let added = handle.call(move |switch| switch.add_port(settings, opened));
    added.map_err(|ended| ended.to_string())?
}

/// Removes a port, and waits until its interface is let go of, which is closed on this thread.
///
/// # Errors
/// When there is none of this number.
pub(crate) fn remove_port(handle: &Handle, number: u32) -> Result<(), String> {
    let gone = handle.call(move |switch| switch.remove_port(number).map(|gone| (gone, Arc::clone(&switch.ports))));
    let (gone, ports) = gone.map_err(|ended| ended.to_string())??;
    let begun = Instant::now();
    loop {
        ports.close_departed();
        // Data-plane threads, and others that look at its counts, have had it too.
        if Arc::strong_count(&gone) == 1 || begun.elapsed() > PATIENCE {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
}

/// Has a switch follow its settings; gives what could not be done, a line each.
pub(crate) fn follow(handle: &Handle, wanted: &SwitchSettings) -> Vec<String> {
    let before = handle.call(|switch| switch.port_settings.clone());
    let Ok(before) = before else {
        return Vec::new();
    };
    let find = |number: u32| wanted.ports.iter().find(|port| port.number == number);
    let mut obstacles = Vec::new();
    let mut note = |number: u32, done: Result<(), String>| {
        obstacles.extend(done.err().map(|error| format!("port {number}: {error}")));
    };
    // First, so that interfaces and numbers are free for others.
    for (&number, port) in &before {
        if !find(number).is_some_and(|wanted| wanted.is_like(port)) {
            note(number, remove_port(handle, number));
        }
    }
    for port in &wanted.ports {
        let number = port.number;
        match before.get(&number) {
            Some(before) if before == port => {}
            Some(before) if before.is_like(port) => {
                let port = port.clone();
                let done = handle.call(move |switch| switch.set_queues(number, port.speed_bps, port.queues));
                note(number, done.unwrap_or(Ok(())));
            }
            _ => note(number, add_port(handle, port.clone())),
        }
    }
    let mirrors = wanted.mirrors.clone();
    // A switch that has ended copies nothing.
    let _ = handle.call(move |switch| switch.set_mirrors(&mirrors));
    obstacles
}

impl Switch {
    /// A port by its number or the name of its interface.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn find_port(&self, text: &str) -> Result<Arc<SwitchPort>, String> {
        let number = text.parse().ok().or_else(|| self.ports.names().get(text).copied());
        let found = number.and_then(|number| self.ports.get(number));
        found.ok_or_else(|| {
            let ports = self.ports.all();
            let there: Vec<_> = ports
                .iter()
                .map(|port| format!("{} ({})", port.number, port.name))
                .collect();
            format!("there is no port {text}: there are {}", there.join(", "))
        })
    }

    fn check_new(&self, number: u32, interface: &str) -> Result<(), String> {
        if let Some(port) = self.ports.get(number) {
            return Err(format!("there is a port {number} ({}): remove it first", port.name));
        }
        match self.ports.names().get(interface) {
            Some(number) => Err(format!("interface {interface} is port {number}: remove it first")),
            None => Ok(()),
        }
    }

    fn add_port(&mut self, settings: PortSettings, opened: OpenedPort) -> Result<(), String> {
        let number = settings.number;
        self.check_new(number, &settings.interface)?;
        let mut inputs = Vec::new();
        for input in opened.inputs {
            let least = self.shares.iter().enumerate().min_by_key(|(_, share)| share.len());
            // Without threads nothing is received.
            let Some((thread, _)) = least else { break };
            self.shares[thread].push(number);
            inputs.push((thread, input));
        }
        self.ports.add(Arc::clone(&opened.port), inputs);
        self.port_settings.insert(number, settings);
        self.renew_queues();
        opened.port.look_at_link();
        self.ports.renew();
        self.tell_of(&opened.port, PortEvent::Added);
        Ok(())
    }

    fn remove_port(&mut self, number: u32) -> Result<Arc<SwitchPort>, String> {
        let gone = self.ports.remove(number);
        let gone = gone.ok_or_else(|| format!("there is no port {number}"))?;
        self.shares
            .iter_mut()
            .for_each(|share| share.retain(|&other| other != number));
        self.port_settings.remove(&number);
        self.renew_queues();
        for tap in &*gone.taps() {
            tap.end();
        }
        self.tell_of(&gone, PortEvent::Deleted);
        Ok(gone)
    }

    /// Gives a port other queues, or none.
    ///
    /// # Errors
    /// When their rates cannot be, or there is no such port.
    pub(crate) fn set_queues(&mut self, number: u32, speed_bps: u64, queues: Vec<QueueTable>) -> Result<(), String> {
        let (Some(port), Some(settings)) = (self.ports.get(number), self.port_settings.get_mut(&number)) else {
            return Err(format!("there is no port {number}"));
        };
        let changed = PortSettings {
            speed_bps,
            queues,
            ..settings.clone()
        };
        changed.check()?;
        port.set_queues(speed_bps, changed.queues()?);
        *settings = changed;
        self.renew_queues();
        self.ports.renew();
        Ok(())
    }

    /// Gives a port a queue, or a queue of it other rates.
    ///
    /// # Errors
    /// As [`Self::set_queues`].
    pub(crate) fn add_queue(&mut self, port: &str, queue: QueueTable) -> Result<(), String> {
        self.change_queues(port, |queues| {
            queues.retain(|other| other.id != queue.id);
            queues.push(queue);
            Ok(())
        })
    }

    /// Takes a queue from a port.
    ///
    /// # Errors
    /// When there is none of this number.
    pub(crate) fn remove_queue(&mut self, port: &str, id: u32) -> Result<(), String> {
        self.change_queues(port, |queues| {
            let before = queues.len();
            queues.retain(|other| other.id != id);
            match before - queues.len() {
                0 => Err(format!("port {port} has no queue {id} that could be removed")),
                _ => Ok(()),
            }
        })
    }

    fn change_queues(
        &mut self,
        port: &str,
        change: impl FnOnce(&mut Vec<QueueTable>) -> Result<(), String>,
    ) -> Result<(), String> {
        let number = self.find_port(port)?.number;
        let Some(settings) = self.port_settings.get(&number) else {
            return Err(format!("port {port} has no settings"));
        };
        let (mut queues, speed_bps) = (settings.queues.clone(), settings.speed_bps);
        change(&mut queues)?;
        self.set_queues(number, speed_bps, queues)
    }

    /// Copies what ports take and send to another; without ports, nothing more.
    ///
    /// # Errors
    /// When one of them is not there, or the output is among them.
    pub(crate) fn mirror(&mut self, output: &str, ports: &[String]) -> Result<(), String> {
        let output = self.find_port(output)?.number;
        let ports = ports.iter().map(|port| self.find_port(port).map(|port| port.number));
        let ports = ports.collect::<Result<Vec<u32>, String>>()?;
        check_mirror(output, &ports, |_| true)?;
        self.ports.mirror(output, ports);
        Ok(())
    }

    /// Gives the tables the queues that there are.
    pub(crate) fn renew_queues(&mut self) {
        let ports = self.ports.all();
        let queues = ports.iter().flat_map(|port| port.queue_rates());
        let queues = std::iter::once(0).chain(queues.map(|rates| rates.queue));
        self.pipeline.write().set_queues(queues.collect());
    }

    /// Copies what some ports take and send to others, and nothing else.
    pub(crate) fn set_mirrors(&mut self, mirrors: &[MirrorSettings]) {
        let before: Vec<u32> = self.ports.mirrors().keys().copied().collect();
        for output in before {
            self.ports.mirror(output, Vec::new());
        }
        for mirror in mirrors {
            self.ports.mirror(mirror.output, mirror.ports.clone());
        }
    }
}

//! What a switch does that is to stand alone while no controller is there (OF 1.3.5 section 6.3.3): it forwards frames as
//! a bridge does. The controllers' tables are put aside meanwhile.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brimful_openflow::{Action, FlowMod, Instruction, Match, port};

use super::controllers::Controllers;
use crate::control::{Ended, Handle};
use crate::dump::Snapshot;
use crate::watch::TableChange;

/// How long no controller is there before the switch stands alone.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(100);

/// Whether the switch stands alone, and the tables of its controllers then.
#[derive(Default)]
pub(super) struct Standalone(Mutex<Option<Vec<TableChange>>>);

impl Standalone {
    fn aside(&self) -> MutexGuard<'_, Option<Vec<TableChange>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A controller is there: it finds the tables as they were.
    ///
    /// # Errors
    /// When the switch has ended.
    pub(super) fn leave(&self, handle: &Handle) -> Result<(), Ended> {
        let mut aside = self.aside();
        let Some(tables) = aside.take() else {
            return Ok(());
        };
        handle.call(move |switch| switch.replace_all(tables))
    }

    fn enter(&self, controllers: &Controllers, handle: &Handle) -> Result<(), Ended> {
        let mut aside = self.aside();
        if aside.is_some() || controllers.established() > 0 {
            return Ok(());
        }
        let normal = Action::Output {
            port: port::NORMAL,
            max_len: 0,
        };
        let instructions = vec![Instruction::ApplyActions(vec![normal])];
        let all = TableChange::Flow(Box::new(FlowMod::add(0, 0, Match::default(), instructions)));
        *aside = Some(handle.call(move |switch| {
            let tables = Snapshot::of(&switch.pipeline.read()).changes();
            switch.replace_all(vec![all]);
            tables
        })?);
        Ok(())
    }
}

/// Stands alone whenever no controller is there, until the end.
///
/// # Errors
/// When the switch has ended.
pub(super) fn watch(
    standalone: &Standalone,
    controllers: &Controllers,
    handle: &Handle,
    ends: &AtomicBool,
) -> Result<(), Ended> {
    let mut last_seen = Instant::now();
    while !ends.load(Relaxed) {
        std::thread::sleep(LOOK);
        if controllers.established() > 0 {
            last_seen = Instant::now();
        } else if last_seen.elapsed() >= PATIENCE {
            standalone.enter(controllers, handle)?;
        }
    }
    Ok(())
}

//! The thread that lays tables out anew and compiles them.
//!
//! Changes go on meanwhile and never wait for it longer than it takes to note a hundred rules: the rules are noted bit by
//! bit, laid out without the lock, and what has changed since is made up for before the new form is compiled.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::compile::Source;
use crate::engine::Shared;
use crate::journal::{NotedRule, make_up_for, next_random};
use crate::reclaim::Garbage;
use crate::version::{NewRule, Version};

/// How long changes gather before they are compiled, by the time that the last compilation took.
const PAUSE_FACTOR: u32 = 4;
const LONGEST_PAUSE: Duration = Duration::from_millis(200);
/// Rules that are noted, or changes that are made up for, while others wait.
const AT_ONCE: usize = 100;
/// How often it looks whether forms that were replaced are still read.
const PATIENCE: Duration = Duration::from_millis(20);

impl Shared {
    /// Compiles one table after the other. Changes go on meanwhile, into the old form and into the new one.
    pub(crate) fn compile_for_ever(&self) {
        let mut state = self.lock();
        while !state.ends {
            let unread = state.epochs.take_unread_forms();
            if !unread.is_empty() {
                drop(state);
                drop(unread);
                state = self.lock();
            }
            let Some(index) = state.waiting.pop_first() else {
                state.is_compiling = false;
                self.changed.notify_all();
                state = self.wait(state);
                continue;
            };
            state.is_compiling = true;
            let compiler = Arc::clone(&state.compiler);
            drop(state);
            let begun = Instant::now();
            let source = self.lay_out(index);
            let code = compiler.compile(&source);
            state = self.lock();
            if let Ok(code) = code {
                state.publish(&self.functions, index, code);
            }
            if !state.waiting.is_empty() {
                // A storm of changes is compiled together.
                let pause = (begun.elapsed() * PAUSE_FACTOR).min(LONGEST_PAUSE);
                drop(state);
                std::thread::sleep(pause);
                state = self.lock();
            }
        }
    }

    /// Until there is something to compile; while forms that were replaced wait to be read no more, not for long.
    fn wait<'s>(&self, state: crate::engine::Locked<'s>) -> crate::engine::Locked<'s> {
        let is_watching = state.epochs.has_forms();
        if is_watching {
            let waited = self.changed.wait_timeout(state, PATIENCE);
            waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state)
        } else {
            self.changed
                .wait(state)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }

    /// Lays out the form that suits a table's rules now; gives what its code is compiled from.
    fn lay_out(&self, index: usize) -> Source {
        let rules = self.note(index);
        let mut random = next_random(&mut self.lock().random);
        let (mut factor, mut unread) = (|| next_random(&mut random), Garbage::default());
        let new: Vec<NewRule<'_>> = rules.iter().map(NotedRule::as_new).collect();
        let mut next = Version::planned(&new, &mut factor, &mut unread);
        loop {
            let mut state = self.lock_after_changes();
            let table = &mut state.tables[index];
            let journal = table.journal.get_or_insert_default();
            if journal.len() <= AT_ONCE {
                let last = table.journal.take().unwrap_or_default();
                make_up_for(&mut next, &last, &mut factor, &mut unread);
                next.shapes = table.shapes.len();
                let source = table.source(&next);
                table.next = Some(next);
                return source;
            }
            let since = std::mem::take(journal);
            drop(state);
            make_up_for(&mut next, &since, &mut factor, &mut unread);
        }
    }

    /// Notes the rules of a table; from the beginning on, the table keeps a journal of what changes.
    fn note(&self, index: usize) -> Vec<NotedRule> {
        let mut noted: Vec<NotedRule> = Vec::new();
        self.lock().tables[index].journal = Some(Vec::new());
        loop {
            let next = noted.last().map_or(0, |last| last.counter + 1);
            // What grows does so without the lock.
            noted.reserve(AT_ONCE);
            let state = self.lock_after_changes();
            let rules = state.tables[index].rules.range(next..).take(AT_ONCE);
            let before = noted.len();
            noted.extend(rules.filter_map(|counter| {
                state.owned.get(counter).map(|rule| NotedRule {
                    counter: *counter,
                    value: rule.value,
                    entry: Arc::clone(&rule.entry),
                })
            }));
            if noted.len() == before {
                return noted;
            }
        }
    }
}

//! The tables of a switch in a file, so that it has them again when it comes back.
//!
//! The file is in the syntax of `ovs-ofctl`. It is written beside the old one and then put in its place, so that there
//! is always a whole one. Its last line counts the others: a file without it was cut short, and is refused.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::control::Handle;
use crate::dump::Snapshot;
use crate::files::read_text;
use crate::notice::say;
use crate::plane::SharedPipeline;
use crate::tables::{self, Tables};

/// How often the tables are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// The time between two writings is at least this many times what the first one took.
const PAUSE_FACTOR: u32 = 10;
const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
const END: &str = "# end: ";

/// What a file holds; `None` where there is none yet.
///
/// # Errors
/// When it is not whole, or says what cannot be, in one line.
pub(crate) fn read(path: &Path) -> Result<Option<Tables>, String> {
    let name = path.display();
    let text = match read_text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{name}: {error}")),
    };
    let lines = text.lines().count();
    let count = text.lines().last().and_then(|last| last.strip_prefix(END));
    if count.and_then(|count| count.parse().ok()) != Some(lines.saturating_sub(1)) {
        return Err(format!("{name}: it is not whole: remove it to start with empty tables"));
    }
    let tables = tables::ovs::read(&name.to_string(), &text).map_err(|error| error.to_string())?;
    Ok(Some(tables))
}

/// Writes the tables whenever they have changed, and at the end.
pub(crate) struct Keeper {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Keeper {
    /// Of a switch's tables.
    ///
    /// # Errors
    /// When the switch has ended, or the file cannot be written, in one line.
    pub(crate) fn start(path: PathBuf, handle: &Handle) -> Result<Self, String> {
        let (pipeline, revision) = handle
            .call(|switch| (switch.pipeline.clone(), Arc::clone(&switch.revision)))
            .map_err(|ended| ended.to_string())?;
        let mut written = revision.load(Relaxed);
        write(&path, &pipeline).map_err(|error| format!("{}: {error}", path.display()))?;
        let ends = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut next = Instant::now();
            let mut has_failed = false;
            loop {
                // What was changed before the end was asked for is written, too.
                let is_last = own.load(Acquire);
                if is_last || Instant::now() >= next {
                    let begun = Instant::now();
                    let done = write_when_changed(&path, &pipeline, &revision, &mut written);
                    next = begun + SHORTEST_PAUSE.max(begun.elapsed() * PAUSE_FACTOR);
                    if let (Err(error), false) = (&done, has_failed) {
                        say(format_args!("{}: {error}", path.display()));
                    }
                    has_failed = done.is_err();
                }
                if is_last {
                    return;
                }
                std::thread::sleep(LOOK);
            }
        });
        Ok(Self { ends, thread })
    }

    /// Whether its thread has ended although it should not: it has panicked.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Writes what has changed, and ends.
    pub(crate) fn stop(self) {
        self.ends.store(true, Release);
        // A thread that has panicked has said so.
        let _ = self.thread.join();
    }
}

fn write_when_changed(
    path: &Path,
    pipeline: &SharedPipeline,
    revision: &AtomicU64,
    written: &mut u64,
) -> io::Result<()> {
    let current = revision.load(Relaxed);
    if current != *written {
        write(path, pipeline)?;
        *written = current;
    }
    Ok(())
}

fn write(path: &Path, pipeline: &SharedPipeline) -> io::Result<()> {
    let text = Snapshot::of(&pipeline.read()).text();
    let beside = path.with_added_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    writeln!(file, "{END}{}", text.lines().count())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use brimful_pipeline::{Limits, Pipeline};

    use super::*;
    use crate::control::Switch;
    use crate::plane::Interpreter;
    use crate::ports::Ports;

    const RULES: &str = "meter=1,kbps,bands=type=drop,rate=1000\n\
        group_id=7,type=all,bucket=actions=output:2\n\
        priority=3,in_port=1,actions=meter:1,group:7\n\
        priority=3,in_port=2,actions=output:1\n";

    fn switch() -> crate::control::Running {
        let pipeline = SharedPipeline::new(Pipeline::new(Limits::default()));
        let plane = Box::new(Interpreter::new(pipeline.clone()));
        Switch::new("test".to_owned(), 1, Ports::new([]), pipeline, plane).start(Vec::new())
    }

    fn load(running: &crate::control::Running, tables: Tables) {
        let loaded = running.handle.call(move |switch| switch.load("file", &tables, true));
        loaded.unwrap().unwrap();
    }

    fn text(running: &crate::control::Running) -> String {
        running
            .handle
            .call(|switch| Snapshot::of(&switch.pipeline.read()).text())
            .unwrap()
    }

    #[test]
    fn tables_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        assert_eq!(read(&path), Ok(None));
        let first = switch();
        let keeper = Keeper::start(path.clone(), &first.handle).unwrap();
        load(&first, tables::read("rules.flows", RULES, 0).unwrap());
        let before = text(&first);
        keeper.stop();
        first.stop();
        let second = switch();
        load(&second, read(&path).unwrap().unwrap());
        assert_eq!(text(&second), before);
        assert_eq!(before.lines().count(), 4);
        second.stop();
    }

    #[test]
    fn a_file_that_was_cut_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let running = switch();
        load(&running, tables::read("rules.flows", RULES, 0).unwrap());
        Keeper::start(path.clone(), &running.handle).unwrap().stop();
        running.stop();
        let whole = fs::read_to_string(&path).unwrap();
        for end in 0..whole.len() - 1 {
            fs::write(&path, &whole[..end]).unwrap();
            let message = read(&path).unwrap_err();
            assert!(message.contains("it is not whole"), "{message}");
        }
    }
}

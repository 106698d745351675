//! Whether switches could be started with certain settings: what they name is read as a start reads it, and nothing is opened.

use std::path::Path;

use brimful_pipeline::{Limits, Pipeline};

use crate::change::apply_all;
use crate::files::read_text;
use crate::settings::{Settings, SwitchSettings};
use crate::state;
use crate::tables::{self, Tables};

/// Checks them, with the tables, keys and certificates that they name. Whether the interfaces are there is not asked: they
/// may come later than this.
///
/// # Errors
/// With the first thing that is wrong, in one line.
pub fn check(settings: &Settings) -> Result<(), String> {
    settings.check()?;
    for switch in &settings.switches {
        switch.peers()?;
        if let Some(path) = &switch.state
            && let Some(tables) = state::read(path)?
        {
            try_out(&mut empty(switch)?, path, &tables)?;
        }
        // Files may name groups of those before them.
        let mut pipeline = empty(switch)?;
        for path in &switch.tables {
            let name = path.display().to_string();
            let text = read_text(path).map_err(|error| format!("{name}: {error}"))?;
            let tables = tables::read_for(&name, &text, 0, &switch.port_names()).map_err(|error| error.to_string())?;
            try_out(&mut pipeline, path, &tables)?;
        }
    }
    Ok(())
}

/// The tables with which a switch begins.
fn empty(settings: &SwitchSettings) -> Result<Pipeline, String> {
    let mut pipeline = Pipeline::new(Limits {
        entries: settings.entries,
        ..Limits::default()
    });
    let mut queues = vec![0];
    for port in &settings.ports {
        queues.extend(port.queues()?.iter().map(|queue| queue.queue));
    }
    pipeline.set_queues(queues.into_iter().collect());
    Ok(pipeline)
}

fn try_out(pipeline: &mut Pipeline, path: &Path, tables: &Tables) -> Result<(), String> {
    let done = apply_all(pipeline, &path.display().to_string(), tables, 0, &mut Vec::new());
    done.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn tables_that_a_switch_would_refuse_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let groups = file("groups.flows", "group_id=1,type=all,bucket=set_queue:3,output:1\n");
        let settings = |flows: &str| {
            let text = format!(
                "[[switch]]\nname = 'edge'\ntables = ['{groups}', '{flows}']\n[[switch.port]]\nnumber = 1\n\
                interface = 'absent'\n[[switch.port.queue]]\nid = 3\n"
            );
            Settings::read("s.toml", &text).unwrap()
        };
        for (text, expected) in [
            ("in_port=absent,actions=group:1\n", None),
            ("actions=group:2\n", Some("rules.flows:1:1: ")),
            (
                "actions=drop\n\nactions=set_queue:4,output:1\n",
                Some("rules.flows:3:1: "),
            ),
            ("actions=fly\n", Some("rules.flows:1:9: there is no action fly")),
        ] {
            let flows = file("rules.flows", text);
            let message = check(&settings(&flows)).err();
            match (expected, &message) {
                (None, None) => {}
                (Some(expected), Some(message)) => assert!(message.contains(expected), "{message}"),
                _ => panic!("{text:?}: {message:?}"),
            }
        }
        assert!(
            check(&settings("absent.flows"))
                .unwrap_err()
                .contains("absent.flows: No such file")
        );
    }
}

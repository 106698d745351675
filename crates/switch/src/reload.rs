//! What of other settings a switch that runs can take over.

use crate::settings::{Settings, SwitchSettings};

impl Settings {
    /// Takes over files of tables, ports with their queues, and mirrors: the settings that may change while switches run.
    /// Gives what else is another.
    pub fn follow(&mut self, new: &Self) -> Vec<String> {
        let mut others = Vec::new();
        for own in &mut self.switches {
            let Some(other) = new.switches.iter().find(|other| other.name == own.name) else {
                others.push(format!("switch {} is gone", own.name));
                continue;
            };
            let followed = SwitchSettings {
                tables: other.tables.clone(),
                ports: other.ports.clone(),
                mirrors: other.mirrors.clone(),
                ..own.clone()
            };
            *own = followed;
            if own != other {
                others.push(format!("switch {} has other settings", own.name));
            }
        }
        let is_new = |other: &&SwitchSettings| self.switches.iter().all(|own| own.name != other.name);
        let added = new.switches.iter().filter(is_new);
        others.extend(added.map(|other| format!("switch {} is new", other.name)));
        let of = |settings: &Self| {
            (
                settings.control.clone(),
                settings.metrics.clone(),
                settings.telemetry.clone(),
            )
        };
        if of(self) != of(new) {
            others.push("control, metrics or telemetry is another".to_owned());
        }
        others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "control = '/run/s.sock'\n[[switch]]\nname = 'edge'\ndpid = '1'\ntables = ['a.flows']\n\
        [[switch.port]]\nnumber = 2\ninterface = 'pb'\n[[switch.port.queue]]\nid = 1\nmax_rate = 250\n";

    #[test]
    fn of_other_settings_tables_and_ports_are_taken_over_and_the_rest_is_named() {
        for (from, to, expected) in [
            ("a.flows", "b.flows", &[][..]),
            ("'pb'", "'pc'", &[]),
            ("max_rate = 250", "max_rate = 300", &[]),
            ("dpid", "entries = 5\ndpid", &["switch edge has other settings"]),
            ("'edge'", "'core'", &["switch edge is gone", "switch core is new"]),
            ("s.sock", "t.sock", &["control, metrics or telemetry is another"]),
        ] {
            let mut settings = Settings::read("s.toml", FILE).unwrap();
            let new = Settings::read("s.toml", &FILE.replace(from, to)).unwrap();
            assert_eq!(settings.follow(&new), expected, "{to}");
            assert!(!expected.is_empty() || settings == new);
        }
    }
}

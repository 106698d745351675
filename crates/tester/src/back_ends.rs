use std::io::{self, Write};

use brimful_netdev::{Care, interface_names, try_back_ends};
use serde_json::json;

/// Writes one JSON object a line for each interface: which back ends work, and why the others do not.
///
/// Interfaces that nobody named are those of the namespace; such that carry an address are handled with care.
pub(crate) fn list(named: &[String], output: &mut impl Write) -> io::Result<()> {
    let (interfaces, care) = if named.is_empty() {
        (interface_names()?, Care::SpareAddresses)
    } else {
        (named.to_vec(), Care::TryAll)
    };
    for interface in interfaces {
        let attempts = try_back_ends(&interface, care).into_iter();
        let back_ends = attempts.map(|attempt| {
            let name = attempt.back_end.name();
            json!({"name": name, "works": attempt.obstacle.is_none(), "obstacle": attempt.obstacle})
        });
        let line = json!({"interface": interface, "back_ends": back_ends.collect::<Vec<_>>()});
        writeln!(output, "{line}")?;
    }
    Ok(())
}

use std::io::{self, Write};

use brimful_netdev::{Care, Findings, interface_names, try_back_ends};
use serde_json::json;

/// Writes one JSON object a line for each interface: what it is used for, which back ends work, and why the others do not.
///
/// Without names, the interfaces are those of the namespace; such that are in use are handled with care.
pub(crate) fn list(named: &[String], output: &mut impl Write) -> io::Result<()> {
    let (interfaces, care) = if named.is_empty() {
        (interface_names()?, Care::SpareUsed)
    } else {
        (named.to_vec(), Care::TakeAll)
    };
    for interface in interfaces {
        let Findings { used_for, attempts } = try_back_ends(&interface, care);
        let back_ends = attempts.into_iter().map(|attempt| {
            let name = attempt.back_end.name();
            json!({"name": name, "works": attempt.obstacle.is_none(), "obstacle": attempt.obstacle})
        });
        let line = json!({"interface": interface, "used_for": used_for, "back_ends": back_ends.collect::<Vec<_>>()});
        writeln!(output, "{line}")?;
    }
    Ok(())
}

use std::io::{self, Write};

use brimful_netdev::{Attempt, Care, Findings, interface_names, try_back_ends};
use serde_json::{Value, json};

/// Writes one JSON object a line for each interface: what it is used for, which back ends work, and why the others do not.
///
/// Without names, the interfaces are those of the namespace.
pub(crate) fn list(named: &[String], care: Care, output: &mut impl Write) -> io::Result<()> {
    let interfaces = if named.is_empty() {
        interface_names()?
    } else {
        named.to_vec()
    };
    for interface in interfaces {
        let Findings { used_for, attempts } = try_back_ends(&interface, care);
        let back_ends: Value = attempts.iter().map(shown).collect();
        let line = json!({"interface": interface, "used_for": used_for, "back_ends": back_ends});
        writeln!(output, "{line}")?;
    }
    Ok(())
}

fn shown(attempt: &Attempt) -> Value {
    let name = attempt.back_end.name();
    let mut shown = json!({"name": name, "works": attempt.obstacle.is_none(), "obstacle": attempt.obstacle});
    for (field, is_so) in [("zero_copy", attempt.is_zero_copy), ("is_taken", attempt.is_taken)] {
        if is_so {
            shown[field] = json!(true);
        }
    }
    shown
}

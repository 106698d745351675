//! What packages have of a program besides itself, from the same texts as `--help`.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap_complete::Shell;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Document {
    /// Write the manual pages of this program and its commands.
    Man {
        /// Where to, such as `/usr/local/share/man/man1`.
        directory: PathBuf,
    },
    /// Print what a shell completes the commands and options of this program with.
    Completion {
        /// The shell.
        shell: Shell,
    },
}

impl Document {
    /// Writes it for a program.
    ///
    /// # Errors
    /// A line that says what cannot be written.
    pub(crate) fn write(&self, mut program: clap::Command) -> Result<(), String> {
        match self {
            Self::Man { directory } => fs::create_dir_all(directory)
                .and_then(|()| clap_mangen::generate_to(program, directory))
                .map_err(|error| format!("{}: {error}", directory.display())),
            Self::Completion { shell } => {
                let name = program.get_name().to_owned();
                let mut script = Vec::new();
                clap_complete::generate(*shell, &mut program, &name, &mut script);
                let script = String::from_utf8_lossy(&script);
                // For bash it spells a name with a hyphen in two ways, and completes nothing after a command (clap#6421).
                let script = script.replace(&name.replace('-', "__subcmd__"), &name.replace('-', "__"));
                io::stdout()
                    .write_all(script.as_bytes())
                    .map_err(|error| error.to_string())
            }
        }
    }
}

//! What programs say of arguments that make no sense.

/// What clap has to say, in one line: usage and tips follow after a blank one.
pub(crate) fn first_paragraph(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.trim_start_matches("error: ").lines().map(str::trim);
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

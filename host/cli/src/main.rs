//! The `loadline` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(loadline_command::command(std::env::args_os()))
}

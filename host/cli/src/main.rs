//! The `loadline` command.

use std::process::ExitCode;

/// musl's own takes most pieces from the system one by one, and gives them back.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(loadline_command::command(std::env::args_os()))
}

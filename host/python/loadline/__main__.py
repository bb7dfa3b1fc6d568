"""The `loadline` command: `python -m loadline`, and the script of the package."""

import signal
import sys

from . import _loadline


def main():
    """Runs the command, and ends with its exit status."""
    # The command has handlers of its own; Python's would hold signals back until it ends.
    for name in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(name, signal.SIG_DFL)
    sys.exit(_loadline.command(["loadline", *sys.argv[1:]]))


if __name__ == "__main__":
    main()

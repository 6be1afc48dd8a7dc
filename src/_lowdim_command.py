"""The start of the command `lowdim`. Importing lowdim takes a second, in which Ctrl-C should end it quietly too."""

import sys


def main() -> None:
    """Import lowdim and run its command; if that is interrupted, end with the exit code that a shell would give."""
    try:
        from lowdim.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)

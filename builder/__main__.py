"""``python -m builder`` and the console script ``imgbuild``."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded ends it without a traceback."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from builder.cli.main import main as run  # noqa: PLC0415 - what is loaded here is what takes the time

    signal.signal(signal.SIGINT, handler)
    run()


if __name__ == "__main__":
    main()

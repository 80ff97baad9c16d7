"""`python -m ptxmm` is the command `ptxmm`."""

import os
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line; Ctrl-C is quiet from the first import on."""
    try:
        from ptxmm.cli import main as run

        run()
    except KeyboardInterrupt:
        with suppress(OSError):
            os.write(2, b"ptxmm: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()

"""`python -m ptxmm` is the command `ptxmm`."""

from ptxmm.cli import main

if __name__ == "__main__":
    main()

"""`python -m lowdim.cli` is the command `lowdim`."""

from . import main

main()

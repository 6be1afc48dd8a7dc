"""`python -m lowdim.cli` is the command `lowdim`."""

from . import main

if __name__ == "__main__":
    main()

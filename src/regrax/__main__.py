"""`python -m regrax` is the command `regrax`."""

from regrax.cli import main

if __name__ == "__main__":
    main()

"""Run the `regrax` command with `python -m regrax`."""

from regrax.cli import main

if __name__ == "__main__":
    main()

"""In cells of the site a command that fails fails the cell."""

import subprocess

from IPython import get_ipython


def system(command):
    """Run a `!command`, show what it prints, and raise if it fails."""
    done = subprocess.run(command, shell=True, text=True, stdout=-1, stderr=subprocess.STDOUT)
    print(done.stdout, end="")
    done.check_returncode()


get_ipython().system = system

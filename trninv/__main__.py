"""Run the command line with ``python -m trninv``."""

from trninv.cli.main import run

run()

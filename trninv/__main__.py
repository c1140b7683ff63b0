"""``python -m trninv``: the command line."""

from trninv.cli.main import main

main()

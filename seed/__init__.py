"""Hold the catalog, in catalog/*.toml, and one script per generation that seeds its systems.

``python -m seed.trn2`` runs ``trninv seed`` for the systems of Trainium2, with the same options.
"""

import sys
from collections.abc import Sequence

import click

from trninv.catalog.models import System
from trninv.cli.main import main, trninv
from trninv.cli.seed_commands import seed


def run(systems: Sequence[System]) -> None:
    """Run ``trninv seed`` with this program's arguments, on `systems` unless the arguments name others.

    Systems that are seeded only when a user names them are omitted, unless all systems are such.

    Raises
    ------
    SystemExit
        Always, with the exit status of ``trninv seed``.

    """
    arguments = sys.argv[1:]
    program = trninv.make_context("trninv", ["seed"], resilient_parsing=True)
    options = seed.make_context("seed", arguments.copy(), program, resilient_parsing=True).params
    slugs = [system.slug for system in systems if not system.is_by_name] or [system.slug for system in systems]
    if {"-h", "--help"}.intersection(arguments):
        click.echo(f"Without SYSTEM, this script seeds {', '.join(slugs)}.\n")
    main(["seed", *arguments, *([] if options["system"] or options["everything"] else slugs)])

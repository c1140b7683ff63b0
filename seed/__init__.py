"""Define facts and systems in catalog/*.toml, and seed the systems of a generation with a script each.

``python -m seed.trn2`` is ``trninv seed`` of that script's systems, with the same options.
"""

import sys
from collections.abc import Sequence

import click

from trninv.catalog.models import System
from trninv.cli.main import main, trninv
from trninv.cli.seed_commands import seed


def run(systems: Sequence[System]) -> None:
    """Run ``trninv seed`` with this program's arguments, on the given systems unless the arguments name others.

    Systems that are seeded only by name are omitted, unless all are.

    Raises
    ------
    SystemExit
        Always, with the exit status of ``trninv seed``.

    """
    words = sys.argv[1:]
    program = trninv.make_context("trninv", ["seed"], resilient_parsing=True)
    given = seed.make_context("seed", words.copy(), program, resilient_parsing=True).params
    slugs = [system.slug for system in systems if not system.is_by_name] or [system.slug for system in systems]
    if {"-h", "--help"}.intersection(words):
        click.echo(f"Without SYSTEM, this script seeds {', '.join(slugs)}.\n")
    main(["seed", *words, *([] if given["system"] or given["everything"] else slugs)])

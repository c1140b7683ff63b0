"""What help and completion show, although nothing is imported for it."""

import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete

from trninv.cli.main import _build_command_list, summary, trninv
from trninv.routing.questions import all_questions

CONTEXT = click.Context(trninv)
SLOW = ("sqlalchemy", "networkx", "numpy", "graphql", "uvicorn")


def own() -> dict[str, str]:
    """Names and helps as the commands themselves have them."""
    commands = ((name, trninv.get_command(CONTEXT, name)) for name in trninv.list_commands(CONTEXT))
    return {name: summary((command.help or "").partition("\b")[0]) for name, command in commands if command}


def test_the_list_is_what_the_commands_say() -> None:
    listed = _build_command_list().commands
    assert {name: command.get_short_help_str() for name, command in listed.items()} == own()
    assert list(listed) == trninv.list_commands(CONTEXT)
    assert {asked.command.split()[0] for asked in all_questions()} <= listed.keys()


def test_a_file_of_a_question_is_no_command() -> None:
    assert trninv.get_command(CONTEXT, "placement") is None
    assert trninv.get_command(CONTEXT, "question") is None


@pytest.mark.parametrize(("written", "found"), [("pa", ["path"]), ("--de", ["--debug"]), ("no", ["note"]), ("nox", [])])
def test_completion_finds_commands_and_options(written: str, found: list[str]) -> None:
    shell = ShellComplete(trninv, {}, "trninv", "_TRNINV_COMPLETE")
    assert [item.value for item in shell.get_completions([], written)] == found


def test_completion_says_what_a_command_does() -> None:
    (item,) = ShellComplete(trninv, {}, "trninv", "_TRNINV_COMPLETE").get_completions([], "pat")
    assert item.help == own()["path"]


@pytest.mark.parametrize("asked", ["['--help']", "['--version']", "['help']"])
def test_the_list_imports_no_command(asked: str) -> None:
    code = (
        "import contextlib, io, sys\nfrom trninv.cli.main import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main({asked})\n"
        f"print([name for name in {SLOW} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_a_question_imports_no_other_and_no_solver_that_it_does_without() -> None:
    code = (
        "import sys\nfrom trninv.cli.main import trninv\ntrninv.get_command(None, 'path')\n"
        "unwanted = ('networkx', 'numpy', 'trninv.routing.questions.sweep', 'trninv.catalog.models')\n"
        "print([name for name in unwanted if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_the_service_starts_without_solvers() -> None:
    code = (
        "import sys, trninv.service.application\n"
        "print([name for name in ('networkx', 'psycopg', 'scipy', 'sqlglot') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_status_imports_neither_alembic_nor_the_catalog() -> None:
    code = (
        "import sys\nfrom trninv.cli.main import trninv\ntrninv.get_command(None, 'status')\n"
        "unwanted = ('alembic', 'psycopg', 'trninv.catalog.models', 'trninv.inventory.schema.things')\n"
        "print([name for name in unwanted if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"

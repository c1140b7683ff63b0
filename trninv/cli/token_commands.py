"""Create, list, rotate and revoke the service's bearer tokens (`token`)."""

from typing import Any

import click

from trninv.cli.change_commands import author, build_command, change_command, print_result
from trninv.cli.database_connection import write_connection
from trninv.cli.listing import listing_options, print_listing
from trninv.errors import UsageError
from trninv.inventory.changes.create_token import create_token
from trninv.inventory.changes.create_tokens import create_tokens
from trninv.inventory.changes.rotate_token import rotate_token


@click.group("token")
def token() -> None:
    """Manage bearer tokens for the service.

    The service requires them if you set TRNINV_AUTH=tokens. A principal (a person, program or machine) may have several
    tokens, so that a new one can replace an old one without an interruption.

    \b
    trninv token create grafana --scope read --expires 90d
    trninv token create --from-file hosts.txt --scope observe > tokens.tsv
    trninv token list
    trninv token rotate grafana --overlap 24h
    trninv token revoke grafana
    """


_NOT_SHOWN_AGAIN = "It cannot be shown again: only its SHA-256 is stored."
_NONE_SHOWN_AGAIN = "They cannot be shown again: only their SHA-256 is stored."


@click.pass_obj
def _run_create(
    database: str,
    /,
    style: str,
    name: str | None,
    from_file: str | None,
    *,
    dry_run: bool,
    who: str | None,
    **values: Any,
) -> None:
    if (name is None) == (from_file is None):
        raise UsageError("write either the NAME of one principal or --from-file FILE")
    change = create_token if from_file is None else create_tokens
    names: dict[str, Any] = {"name": name} if from_file is None else {"names": _read_names(from_file)}
    arguments = change.coerce_values(**names, **values, **author("", change, who))
    with write_connection(database, commits=not dry_run) as (connection, _):
        result = change(connection, **arguments)
    print_result(style, result, change.render(result), dry_run=dry_run)
    click.echo(_NOT_SHOWN_AGAIN if from_file is None else _NONE_SHOWN_AGAIN, err=True)


def _read_names(name: str) -> list[str]:
    """Return the names in a file, one on each line; blank lines and lines that start with # are skipped."""
    try:
        with click.open_file(name, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except UnicodeDecodeError:
        raise UsageError(f"--from-file {name}: it is not UTF-8 text; write one name on each line") from None
    except OSError as error:
        raise UsageError(f"--from-file {name}: {error.strerror}") from None
    return [line for line in lines if line and not line.startswith("#")]


def _create_command() -> click.Command:
    from_file = click.Option(
        ["--from-file"],
        type=click.Path(dir_okay=False, allow_dash=True),
        metavar="FILE",
        help="Create a token for each name in a file, one on each line; prints NAME, a tab and the token.",
    )
    command = build_command(create_token, _run_create, from_file)
    (name,) = (parameter for parameter in command.params if parameter.name == "name")
    name.required = False
    return command


@click.pass_obj
def _run_rotate(database: str, /, style: str, *, dry_run: bool, who: str | None, **values: Any) -> None:
    arguments = rotate_token.coerce_values(**values, **author("", rotate_token, who))
    with write_connection(database, commits=not dry_run) as (connection, _):
        token_text = rotate_token(connection, **arguments)
    print_result(style, token_text, rotate_token.render(token_text), dry_run=dry_run)
    click.echo(_NOT_SHOWN_AGAIN, err=True)


token.add_command(_create_command(), "create")
token.add_command(build_command(rotate_token, _run_rotate), "rotate")
token.add_command(change_command("revoke_token"), "revoke")


@token.command("list")
@listing_options("token")
def list_(database: str, **options: Any) -> None:
    """List the tokens in the order of their creation.

    The tokens themselves are not stored. For tokens with the scope observe, the list shows the rows and bytes that
    their principal reported in the current hour (UTC); TRNINV_OBSERVE_ROWS and TRNINV_OBSERVE_BYTES set the limits.

    \b
    trninv token list --format json
    """
    print_listing("token", "no tokens: trninv token create NAME creates one", database, **options)


@token.command("events")
@listing_options("token_event")
def events(database: str, **options: Any) -> None:
    """List who created, replaced and revoked tokens.

    The list also shows when each token was first used.

    `trninv list token-event --where name=grafana` lists those of one principal.

    \b
    trninv token events --format json
    """
    print_listing("token_event", "no events: no token was created", database, **options)

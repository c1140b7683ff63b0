"""Create, list and revoke tokens."""

import click

from trninv.cli.database_connection import read_connection, write_connection
from trninv.cli.output import format_option, print_table, print_value
from trninv.database.tables import TOKEN_SCOPES
from trninv.inventory.access import bearer_tokens

_EMPTY_HINT = "no tokens: trninv token create NAME creates one"
_COLUMNS = bearer_tokens.ListedToken._fields


@click.group("token")
def token() -> None:
    """Manage bearer tokens for the service.

    The service requires them with TRNINV_AUTH=tokens.

    \b
    trninv token create grafana --scope read --expires 90d
    trninv token list
    trninv token revoke grafana
    """


@token.command()
@click.argument("name")
@click.option(
    "--scope", type=click.Choice(TOKEN_SCOPES), default="read", show_default=True, help="What the token allows."
)
@click.option("--expires", metavar="SPAN", help="Lifetime in days or hours, such as 90d or 12h. [default: unlimited]")
@click.pass_obj
def create(database: str, name: str, scope: str, expires: str | None) -> None:
    """Create a token and print it once.

    \b
    trninv token create grafana --scope read --expires 90d
    """
    with write_connection(database) as connection:
        token_text = bearer_tokens.create_token(connection, name, scope, expires)
    click.echo(token_text)
    click.echo("It cannot be shown again: only its SHA-256 is stored.", err=True)


@token.command("list")
@format_option
@click.pass_obj
def list_(database: str, style: str) -> None:
    """List the tokens by name.

    The tokens themselves are not stored. For tokens of scope observe, the list has the rows and bytes reported since
    the hour began in UTC; TRNINV_OBSERVE_ROWS and TRNINV_OBSERVE_BYTES are the limits per hour.

    \b
    trninv token list --format json
    """
    with read_connection(database, None) as connection:
        tokens = [row._asdict() for row in bearer_tokens.list_tokens(connection)]
    print_value(style, tokens, lambda: print_table(_COLUMNS, (row.values() for row in tokens), empty_text=_EMPTY_HINT))


@token.command()
@click.argument("name")
@click.pass_obj
def revoke(database: str, name: str) -> None:
    """Revoke a token.

    \b
    trninv token revoke grafana
    """
    with write_connection(database) as connection:
        bearer_tokens.revoke_token(connection, name)
    click.echo(f"{name}: revoked")

"""Replace the tokens of a principal."""

from typing import Annotated

from sqlalchemy import Connection

from trninv.database.tables import TOKEN_SCOPE_MEANINGS
from trninv.inventory.access import bearer_tokens
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument


@change(
    scope="admin",
    returns={"token": "The new token; it cannot be shown again, because only its SHA-256 is stored."},
    undo="`trninv token revoke NAME --number N` revokes the new token; those that it replaces keep their new expiry.",
    command="token rotate",
    examples=("token rotate grafana --overlap 24h --expires 90d",),
    field="",
)
def rotate_token(
    connection: Connection,
    name: Annotated[str, Argument("Name of the principal.", metavar="NAME", is_text=True)],
    overlap: Annotated[
        str,
        Argument(
            "How long the replaced tokens stay valid, in days or hours; sooner if they expire sooner.",
            metavar="SPAN",
            is_text=True,
        ),
    ] = "24h",
    expires: Annotated[
        str | None,
        Argument("Lifetime of the new token in days or hours; by default unlimited.", metavar="SPAN", is_text=True),
    ] = None,
    scope: Annotated[
        str | None,
        Argument("Scope of the tokens to replace, if it has several.", words=TOKEN_SCOPE_MEANINGS, is_text=True),
    ] = None,
    *,
    who: str,
) -> str:
    """Create a token that replaces a principal's valid tokens. These expire once the overlap is over."""
    return bearer_tokens.rotate_token(connection, name, scope, expires, overlap, who=who)

"""Create a token."""

from typing import Annotated

from sqlalchemy import Connection

from trninv.database.tables import TOKEN_SCOPE_MEANINGS
from trninv.inventory.access import bearer_tokens
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument

NewTokenScope = Annotated[str, Argument("What the token allows.", words=TOKEN_SCOPE_MEANINGS, is_text=True)]
Lifetime = Annotated[
    str | None,
    Argument("Lifetime in days or hours, such as 90d or 12h; by default unlimited.", metavar="SPAN", is_text=True),
]


@change(
    scope="admin",
    returns={"token": "The token; it cannot be shown again, because only its SHA-256 is stored."},
    undo="`trninv token revoke NAME --number N` revokes it.",
    command="token create",
    examples=("token create grafana --scope read --expires 90d",),
    field="",
)
def create_token(
    connection: Connection,
    name: Annotated[
        str,
        Argument("Name of the principal: the person, program or machine that uses it.", metavar="NAME", is_text=True),
    ],
    scope: NewTokenScope = "read",
    expires: Lifetime = None,
    *,
    who: str,
) -> str:
    """Create a token; its text is shown only once. A principal may have several tokens."""
    return bearer_tokens.create_token(connection, name, scope, expires, who=who)

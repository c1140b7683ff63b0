"""Create tokens for many principals."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from sqlalchemy import Connection

from trninv.inventory.access import bearer_tokens
from trninv.inventory.access.bearer_tokens import IssuedToken
from trninv.inventory.change import change
from trninv.inventory.changes.create_token import Lifetime, NewTokenScope
from trninv.inventory.parameter import Argument


def _render(tokens: Sequence[IssuedToken]) -> Iterator[str]:
    return (f"{issued.name}\t{issued.token}" for issued in tokens)


@change(
    scope="admin",
    returns={"tokens": "The name and the token of each principal; tokens cannot be shown again."},
    undo="`trninv token revoke NAME --number N` revokes one of them.",
    command="token create --from-file",
    examples=("token create --from-file hosts.txt --scope observe --expires 90d > tokens.tsv",),
    render=_render,
    field="",
)
def create_tokens(
    connection: Connection,
    names: Annotated[Sequence[str], Argument("Names of the principals, each once.", is_text=False)],
    scope: NewTokenScope = "read",
    expires: Lifetime = None,
    *,
    who: str,
) -> list[IssuedToken]:
    """Create one token for each of many principals: all of them or, if one name is refused, none."""
    return bearer_tokens.issue_tokens(connection, names, scope, expires, who=who)

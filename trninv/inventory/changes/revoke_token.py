"""Revoke tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import Connection

from trninv.inventory.access import bearer_tokens
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument


@dataclass(frozen=True, slots=True)
class Revocation:
    """The tokens of a principal that a change revoked."""

    name: str
    numbers: tuple[int, ...]


def _render(revocation: Revocation) -> Iterator[str]:
    numbers = ", ".join(map(str, revocation.numbers))
    yield f"{revocation.name}: revoked {numbers}" if numbers else f"{revocation.name}: all are revoked already"


@change(
    scope="admin",
    returns={"name": "Name of the principal.", "numbers": "Numbers of the tokens that are revoked now."},
    undo="A revoked token stays revoked; `trninv token create NAME` creates another one for the same principal.",
    command="token revoke",
    examples=("token revoke grafana", "token revoke grafana --number 17"),
    render=_render,
    field="",
)
def revoke_token(
    connection: Connection,
    name: Annotated[str, Argument("Name of the principal.", metavar="NAME", is_text=True)],
    number: Annotated[
        int | None, Argument("Number of one of its tokens, from trninv token list; by default all.", minimum=1)
    ] = None,
    *,
    who: str,
) -> Revocation:
    """Revoke all tokens of a principal, or one of them. Requests with them are refused from then on."""
    return Revocation(name, tuple(bearer_tokens.revoke_token(connection, name, number, who=who)))

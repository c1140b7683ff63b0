"""End the binding of a slot."""

from collections.abc import Iterator
from typing import Annotated

from sqlalchemy import Connection

from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.inventory.state import bindings
from trninv.inventory.state.bindings import Binding, machine_name


def _render(ended: Binding) -> Iterator[str]:
    yield f"{ended.address}: {machine_name(ended)} is no longer bound"


@change(
    scope="operate",
    returns={"ended": "The binding that ended."},
    undo="`trninv bind SLOT INSTANCE` binds the instance again.",
    render=_render,
    examples=("unbind lab/d0/s1", "unbind @i-0123456789abcdef0"),
)
def unbind(
    connection: Connection, slot: Annotated[str, Argument("The slot: a server of the design.")], *, who: str
) -> Binding:
    """End the binding of a slot.

    The same observations do not infer it again.
    """
    return bindings.unbind(connection, slot, who=who)

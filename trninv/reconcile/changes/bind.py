"""Bind an instance to a slot."""

from typing import Annotated

from sqlalchemy import Connection

from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.inventory.state import bindings
from trninv.inventory.state.bindings import BindingChanges
from trninv.reconcile.latest_observations import pinned_binding
from trninv.rendered_text import Rendered


def _render(changes: BindingChanges) -> Rendered:
    yield from changes.render()
    if not changes.created:
        yield "no new binding: the instance is already bound to the slot"


@change(
    scope="operate",
    returns={
        "created": "The new binding; empty if the instance was already bound to the slot.",
        "ended": "Bindings that ended: the previous ones of the slot and of the instance.",
    },
    undo="`trninv unbind SLOT`, and `trninv bind` for each binding that ended.",
    render=_render,
    examples=("bind lab/d0/s1 i-0123456789abcdef0",),
)
def bind(
    connection: Connection,
    slot: Annotated[str, Argument("The slot: a server of the design.")],
    instance: Annotated[str, Argument("The instance's id, or the name of its host.", is_text=True)],
    *,
    who: str,
) -> BindingChanges:
    """Bind an instance to a slot; the earlier bindings of both end."""
    return bindings.bind(connection, [pinned_binding(connection, slot, instance)], who=who)

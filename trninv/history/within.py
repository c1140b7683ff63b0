"""Decide from addresses alone whether an event belongs to a scope, for listeners."""

from dataclasses import dataclass
from itertools import accumulate

from sqlalchemy import Connection

from trninv.errors import WrongLevelError
from trninv.inventory.address import resolve
from trninv.inventory.fields import select_thing
from trninv.inventory.kinds import THINGS
from trninv.inventory.named import split_link


@dataclass(frozen=True, slots=True)
class ScopeMatcher:
    """A scope: a place, everything below it, and the links that end there; a rack's contents are read once."""

    places: frozenset[str]

    @classmethod
    def from_scope(cls, connection: Connection, scope: str) -> "ScopeMatcher":
        """Make the matcher of an existing place.

        Raises
        ------
        AddressError, UnknownAddressError
        WrongLevelError
            A core, which has no state.

        """
        place = resolve(connection, scope)
        if place.level == "core":
            raise WrongLevelError(f"{place.address} is a core and has no state: name its chip")
        if place.level == "rack":
            things = THINGS["server"], THINGS["switch"]
            results = (
                connection.execute(select_thing(kind).where(kind.containers["rack"] == place.id)) for kind in things
            )
            return cls(frozenset(row.address for rows_ in results for row in rows_))
        return cls(frozenset({place.address}))

    def matches(self, address: str) -> bool:
        """Whether the part with this address is in the scope."""
        return address in self.places or any(
            above in self.places for end in split_link(address) for above in accumulate(end.split("/"), "{}/{}".format)
        )

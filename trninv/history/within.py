"""Whether an event is of a place, told without the database: for those who listen."""

from dataclasses import dataclass
from itertools import accumulate

from sqlalchemy import Connection

from trninv.errors import WrongLevelError
from trninv.inventory.address import locate
from trninv.inventory.fields import rows
from trninv.inventory.kinds import KINDS
from trninv.inventory.named import ends


@dataclass(frozen=True, slots=True)
class Within:
    """A place, all that it holds and the links that end there; of a rack, what is in it when it is asked for."""

    places: frozenset[str]

    @classmethod
    def of(cls, connection: Connection, scope: str) -> "Within":
        """Of a place that there is.

        Raises
        ------
        AddressError, UnknownAddressError
        WrongLevelError
            A core, which has no state.

        """
        place = locate(connection, scope)
        if place.level == "core":
            raise WrongLevelError(f"{place.address} is a core and has no state: name its chip")
        if place.level == "rack":
            kinds = KINDS["server"], KINDS["switch"]
            found = (connection.execute(rows(kind).where(kind.within["rack"] == place.id)) for kind in kinds)
            return cls(frozenset(row.address for each in found for row in each))
        return cls(frozenset({place.address}))

    def has(self, address: str) -> bool:
        """Whether a part with this address is there."""
        return address in self.places or any(
            above in self.places for end in ends(address) for above in accumulate(end.split("/"), "{}/{}".format)
        )

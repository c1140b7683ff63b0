"""draw --jobs: who holds the chips of a domain, and where the next job fits; the room that a fleet has."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trninv.drawing import jobs, room, wiring
from trninv.errors import UsageError
from trninv.inventory.address import resolve
from trninv.jobs.questions import find
from trninv.routing.fleet import Fleet

if TYPE_CHECKING:
    from trninv.jobs.questions.fits import FitsAnswer


@dataclass(frozen=True, slots=True)
class NextJob:
    """What is to be placed and outlined, if anything.

    Raises
    ------
    UsageError
        It is said in two ways, or of a picture that shows no jobs.

    """

    shape: str | None
    chips: int | None
    of_jobs: bool

    def __post_init__(self) -> None:
        if (self.shape is not None or self.chips is not None) and not self.of_jobs:
            raise UsageError("--propose and --chips outline a place among jobs: say --jobs as well")
        if self.shape is not None and self.chips is not None:
            raise UsageError("--propose and --chips are two ways to say what is placed: choose one")

    def __bool__(self) -> bool:
        return self.shape is not None or self.chips is not None


def jobs_picture(asked: Fleet, scope: str, following: NextJob) -> str:
    """The picture of what lies in one domain, or of a cluster of several.

    Raises
    ------
    UsageError
        A place is to be outlined in a fleet.

    """
    with asked.in_one_state() as one:
        with one.wirings() as reader:
            place = resolve(reader.connection, scope)
            blocks, sizes = room.read(reader, place.address) if place.level == "cluster" else ((), ())
            if len(blocks) > 1:
                if following:
                    raise UsageError(f"{place.address} has many domains: name one, such as {place.address}/d0")
                return room.picture(place.address, blocks, sizes)
            diagram = wiring.read(reader.connection, scope)
            held = jobs.read(reader, diagram)
        if not following:
            return jobs.picture(diagram, held)
        fits: FitsAnswer = one.ask(find("fits"), of=diagram.scope, shape=following.shape, chips=following.chips, k=1)
    places = fits.placements[0].places if fits.placements else ()
    return jobs.picture(diagram, held, places, next(line for line in fits.told() if isinstance(line, str)))

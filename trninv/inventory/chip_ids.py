"""The chips of a job as text: ids of those to work on, then, after a semicolon, of those to spare: ``1-16,40;41``."""

from collections.abc import Iterable, Iterator, Mapping


def written(roles: Mapping[int, str]) -> str:
    """Write chips, given by id with what each is for; the same chips are always the same text."""
    work, spare = (_ranges(sorted(key for key, each in roles.items() if each == role)) for role in ("work", "spare"))
    return f"{work};{spare}" if spare else work


def read(text: str) -> dict[int, str]:
    """Return the chips of a text, by id with what each is for."""
    work, _, spare = text.partition(";")
    return dict.fromkeys(_ids(work), "work") | dict.fromkeys(_ids(spare), "spare")


def _ranges(ids: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for key in ids:
        if runs and key == runs[-1][1] + 1:
            runs[-1][1] = key
        else:
            runs.append([key, key])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs)


def _ids(text: str) -> Iterator[int]:
    for run in filter(None, text.split(",")):
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1)

"""Slurm's host lists: lab-d[0-2]-s[0-3] stands for twelve names, in that order."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from math import prod
from typing import Final

from trninv.errors import UsageError

_MOST: Final = 1_000_000
"""Names that one list may stand for."""
_LAST = re.compile(r"(.*?)(\d+)(\D*)", re.ASCII)
"""Head, last number and tail of a name."""
_BEFORE = re.compile(r"(.*?)(\d+)([^\d\[]+(?:\d+|\[[^\]]*\])[^\d\[]*)", re.ASCII)
"""The same of the number before the last, or before a bracket."""
_AT_END = re.compile(r"(\d+)$", re.ASCII)
_PIECE = re.compile(r"(?:[^\[\],]|\[[^\[\]]*\])+")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def folded(names: Sequence[str]) -> str:
    """Names as a host list that stands for them in their order, with two pairs of brackets in a name at most."""
    return ",".join(_fold(_fold(names, _LAST), _BEFORE))


def _fold(names: Sequence[str], number_of: re.Pattern[str]) -> list[str]:
    """Neighbours that differ only in a certain number become one, with a bracket for that number.

    A list must end with a bracket that is in it: Slurm refuses what goes on with text.
    """
    split = [number_of.fullmatch(name) for name in names]
    parts = [(at[1], at[2], at[3]) if at else (name, "", "") for name, at in zip(names, split, strict=True)]
    found = []
    for (head, _, tail), group in groupby(parts, lambda part: (part[0], _width(part[1]), part[2])):
        numbers, end = [number for _, number, _ in group], _AT_END.sub(r"[\1]", tail)
        if len(numbers) > 1 and (not end or end.endswith("]")):
            found.append(f"{head}[{','.join(_ranges(numbers))}]{end}")
        else:
            found += (f"{head}{number}{tail}" for number in numbers)
    return found


def _width(number: str) -> int:
    """How wide numbers are that begin with 0; 1 of those that don't, and 0 of no number."""
    return len(number) if number.startswith("0") else min(len(number), 1)


def _ranges(numbers: Sequence[str]) -> Iterator[str]:
    if numbers == [""]:
        yield ""
        return
    for _, run in groupby(enumerate(numbers), lambda each: int(each[1]) - each[0]):
        first, *_, last = (*(members := [number for _, number in run]), members[-1])
        yield first if first == last else f"{first}-{last}"


def expanded(hostlist: str) -> list[str]:
    """The names that a host list stands for.

    Raises
    ------
    UsageError
        It is not one, or stands for more than a million names.

    """
    names: list[str] = []
    pieces = _PIECE.findall(hostlist)
    if ",".join(pieces) != hostlist:
        raise UsageError(f"{hostlist[:80]!r} is not a host list")
    for piece in pieces:
        parts = [[text] if text else list(_numbers(ranges)) for ranges, text in _PART.findall(piece)]
        if len(names) + prod(map(len, parts)) > _MOST:
            raise UsageError(f"{piece[:80]!r} stands for too many names")
        names += ("".join(each) for each in product(*parts))
    return names


def _numbers(ranges: str) -> Iterator[str]:
    for each in ranges.split(","):
        found = _RANGE.fullmatch(each)
        if not found or int(found[2] or found[1]) - int(found[1]) > _MOST:
            raise UsageError(f"[{ranges[:80]}] is not a range of numbers")
        width = len(found[1])
        yield from (str(number).rjust(width, "0") for number in range(int(found[1]), int(found[2] or found[1]) + 1))

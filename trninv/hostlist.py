"""Fold and expand Slurm host lists: lab-d[0-2]-s[0-3] stands for twelve names, in that order."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from math import prod
from typing import Final

from trninv.errors import UsageError

_MAX_NAMES: Final = 1_000_000
"""The maximum number of names in a list."""
_LAST = re.compile(r"(.*?)(\d+)(\D*)", re.ASCII)
"""Head, last number and tail of a name."""
_BEFORE = re.compile(r"(.*?)(\d+)([^\d\[]+(?:\d+|\[[^\]]*\])[^\d\[]*)", re.ASCII)
"""The same for the number before the last one, or before a bracket."""
_AT_END = re.compile(r"(\d+)$", re.ASCII)
_PIECE = re.compile(r"(?:[^\[\],]|\[[^\[\]]*\])+")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def fold(names: Sequence[str]) -> str:
    """Fold names into a host list that expands to them in order, with at most two pairs of brackets per name."""
    return ",".join(_fold_number(_fold_number(names, _LAST), _BEFORE))


def _fold_number(names: Sequence[str], number_of: re.Pattern[str]) -> list[str]:
    """Fold consecutive names that differ only in one number, into one with a bracket for that number.

    A folded name must end with a bracket: Slurm refuses text after the last one.
    """
    split = [number_of.fullmatch(name) for name in names]
    parts = [
        (match[1], match[2], match[3]) if match else (name, "", "") for name, match in zip(names, split, strict=True)
    ]
    folded_names = []
    for (head, _, tail), group in groupby(parts, lambda part: (part[0], _width(part[1]), part[2])):
        numbers, end = [number for _, number, _ in group], _AT_END.sub(r"[\1]", tail)
        if len(numbers) > 1 and (not end or end.endswith("]")):
            folded_names.append(f"{head}[{','.join(_ranges(numbers))}]{end}")
        else:
            folded_names += (f"{head}{number}{tail}" for number in numbers)
    return folded_names


def _width(number: str) -> int:
    """Return the width of a zero-padded number; 1 for other numbers, 0 if there is no number."""
    return len(number) if number.startswith("0") else min(len(number), 1)


def _ranges(numbers: Sequence[str]) -> Iterator[str]:
    if numbers == [""]:
        yield ""
        return
    for _, run in groupby(enumerate(numbers), lambda numbered: int(numbered[1]) - numbered[0]):
        first, *_, last = (*(members := [number for _, number in run]), members[-1])
        yield first if first == last else f"{first}-{last}"


def expand(hostlist: str) -> list[str]:
    """Expand a host list into its names.

    Raises
    ------
    UsageError
        The text is not a host list, or expands to more than a million names.
    """
    names: list[str] = []
    pieces = _PIECE.findall(hostlist)
    if ",".join(pieces) != hostlist:
        raise UsageError(f"{hostlist[:80]!r} is not a host list, such as lab-d[0-2]-s[0-3]")
    for piece in pieces:
        parts = [[text] if text else list(_numbers(ranges)) for ranges, text in _PART.findall(piece)]
        if len(names) + prod(map(len, parts)) > _MAX_NAMES:
            raise UsageError(f"{piece[:80]!r} expands to more than {_MAX_NAMES:,} names")
        names += ("".join(combination) for combination in product(*parts))
    return names


def _numbers(ranges: str) -> Iterator[str]:
    for text in ranges.split(","):
        match = _RANGE.fullmatch(text)
        if not match or int(match[2] or match[1]) - int(match[1]) > _MAX_NAMES:
            raise UsageError(f"[{ranges[:80]}] is not a list of number ranges")
        width = len(match[1])
        yield from (str(number).rjust(width, "0") for number in range(int(match[1]), int(match[2] or match[1]) + 1))

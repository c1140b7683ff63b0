"""Fold and expand Slurm host lists: lab-d[0-2]-s[0-3] stands for twelve names, in that order."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from math import prod
from typing import Final

from trninv.errors import UsageError

_MAX_NAMES: Final = 1_000_000
"""The maximum number of names in a list."""
_LAST_NUMBER = re.compile(r"(.*?)(\d+)(\D*)", re.ASCII)
"""A name's last number, with the text before and after it."""
_EARLIER_NUMBER = re.compile(r"(.*?)(\d+)([^\d\[]+(?:\d+|\[[^\]]*\])[^\d\[]*)", re.ASCII)
"""A name's number before the last one, or before a bracket, with the text before and after it."""
_FINAL_DIGITS = re.compile(r"(\d+)$", re.ASCII)
_PIECE = re.compile(r"(?:[^\[\],]|\[[^\[\]]*\])+")
"""A piece of a host list; commas outside brackets separate the pieces."""
_RANGES_OR_TEXT = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
"""The content of a pair of brackets, or text outside brackets."""
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def fold(names: Sequence[str]) -> str:
    """Fold names into a host list that expands to them in order, with at most two pairs of brackets per name."""
    return ",".join(_fold_number(_fold_number(names, _LAST_NUMBER), _EARLIER_NUMBER))


def _fold_number(names: Sequence[str], number_pattern: re.Pattern[str]) -> list[str]:
    """Fold consecutive names that differ only in one number into one name with that number in brackets.

    A folded name must end with a bracket, because Slurm refuses text after the last bracket.
    """
    matches = [number_pattern.fullmatch(name) for name in names]
    parts = [
        (match[1], match[2], match[3]) if match else (name, "", "") for name, match in zip(names, matches, strict=True)
    ]
    folded_names = []
    for (head, _, tail), group in groupby(parts, lambda part: (part[0], _width(part[1]), part[2])):
        numbers = [number for _, number, _ in group]
        # a single number at the end is put in brackets too, so that the name ends with a bracket
        end = _FINAL_DIGITS.sub(r"[\1]", tail)
        if len(numbers) > 1 and numbers[0] and (not end or end.endswith("]")):
            folded_names.append(f"{head}[{','.join(_ranges(numbers))}]{end}")
        else:
            folded_names += (f"{head}{number}{tail}" for number in numbers)
    return folded_names


def _width(number: str) -> int:
    """Return the width of a zero-padded number; 1 for other numbers, 0 if there is no number."""
    return len(number) if number.startswith("0") else min(len(number), 1)


def _ranges(numbers: Sequence[str]) -> Iterator[str]:
    """Yield runs of consecutive numbers as "first-last", and other numbers alone."""
    for _, run in groupby(enumerate(numbers), lambda numbered: int(numbered[1]) - numbered[0]):
        members = [number for _, number in run]
        yield members[0] if len(members) == 1 else f"{members[0]}-{members[-1]}"


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
        raise UsageError(f"{hostlist[:80]!r} is not a host list; write one such as lab-d[0-2]-s[0-3]")
    for piece in pieces:
        choices = [[text] if text else list(_expand_ranges(ranges)) for ranges, text in _RANGES_OR_TEXT.findall(piece)]
        if len(names) + prod(map(len, choices)) > _MAX_NAMES:
            raise UsageError(f"{piece[:80]!r} expands to more than {_MAX_NAMES:,} names; split the list")
        names += ("".join(combination) for combination in product(*choices))
    return names


def _expand_ranges(ranges: str) -> Iterator[str]:
    """Yield the numbers in a pair of brackets, as wide as the first number of their range, padded with zeros."""
    for text in ranges.split(","):
        match = _RANGE.fullmatch(text)
        if not match or int(match[1]) > int(match[2] or match[1]):
            raise UsageError(f"[{ranges[:80]}] is not a list of number ranges, such as [0-2,5]")
        numbers, width = range(int(match[1]), int(match[2] or match[1]) + 1), len(match[1])
        if len(numbers) > _MAX_NAMES:
            raise UsageError(f"[{ranges[:80]}] expands to more than {_MAX_NAMES:,} names; split the list")
        yield from (str(number).rjust(width, "0") for number in numbers)

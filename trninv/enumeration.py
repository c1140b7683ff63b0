"""Declare closed sets of words together with their meanings."""

from enum import StrEnum
from typing import Self


class DescribedEnum(StrEnum):
    """An enumeration whose members are written ``NAME = "NAME", "What it means."``"""

    description: str

    def __new__(cls, value: str, description: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member

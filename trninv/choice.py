"""Words out of a few, each with what it means: shown by ``--help``, by the GraphQL schema and in the reference."""

from enum import StrEnum
from typing import Self


class Choice(StrEnum):
    """An enumeration whose members are written ``NAME = "NAME", "What it means."``"""

    says: str

    def __new__(cls, value: str, says: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.says = says
        return member

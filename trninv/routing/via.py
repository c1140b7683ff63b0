"""Over which links traffic goes: one rule for every question.

Within a domain over its scale-up links alone, even where they are in pieces; across domains over the EFA fabric as
well. Which of both a question is about follows from the places that it names, not from what of them is up.
"""

from collections.abc import Collection
from typing import Annotated

from trninv.choice import DescribedEnum


class Via(DescribedEnum):
    """Over which links."""

    SCALE_UP = "SCALE_UP", "Scale-up links (NeuronLink and its switches) alone."
    ANY = "ANY", "Scale-up links and the EFA fabric."

    @classmethod
    def for_domains(cls, domains: Collection[int], requested: "Via | None" = None) -> "Via":
        """What is asked for; else scale-up links alone within a domain, both across domains."""
        return requested or (cls.ANY if len(domains) > 1 else cls.SCALE_UP)

    @property
    def definition_suffix(self) -> str:
        """The end of a definition."""
        return {
            Via.SCALE_UP: "; over scale-up links",
            Via.ANY: "; over scale-up links and the EFA fabric, through no other domain",
        }[self]

    def disconnected_reason(self, subject: str, alternative: str = "") -> str:
        """That nothing joins them, and what is ``otherwise``: over EFA as well."""
        if self is Via.ANY:
            return f"no links that are up join {subject}"
        reason = f"no scale-up links that are up join {subject}"
        return f"{reason}; via ANY, over EFA as well, {alternative}" if alternative else reason


DisconnectedReason = Annotated[
    str | None, "What is not joined over these links, and whether it is via ANY; null where all is."
]
VIA_DESCRIPTION = "Over which links: within a domain scale-up links alone, across domains EFA as well, unless said."

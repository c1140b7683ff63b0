"""Choose the links that traffic may use: scale-up links (NeuronLink) alone, or the EFA network as well.

Unless a question or its caller chooses otherwise, traffic within a domain uses scale-up links alone, even if failures
split the domain; traffic across domains uses the EFA fabric as well. What counts are the domains of the places that a
question names, even if only one of these domains has healthy chips.
"""

from collections.abc import Collection
from typing import Annotated

from trninv.enumeration import DescribedEnum


class LinkSelection(DescribedEnum):
    """Links that traffic may use."""

    SCALE_UP = "SCALE_UP", "Scale-up links (NeuronLink and its switches) only."
    ANY = "ANY", "Scale-up links and the EFA fabric."

    @classmethod
    def for_domains(cls, domains: Collection[int], requested: "LinkSelection | None" = None) -> "LinkSelection":
        """Return the requested selection, or the default for this number of domains."""
        return requested or (cls.ANY if len(domains) > 1 else cls.SCALE_UP)

    @property
    def definition_suffix(self) -> str:
        """Text to append to an answer's definition: the links used."""
        return {
            LinkSelection.SCALE_UP: "; over scale-up links",
            LinkSelection.ANY: "; over scale-up links and the EFA fabric, through no other domain",
        }[self]

    def disconnected_reason(self, subject: str, alternative: str = "") -> str:
        """Return a clause that says that nothing joins ``subject``; ``alternative`` says what EFA would connect."""
        if self is LinkSelection.ANY:
            return f"no links that are up join {subject}"
        reason = f"no scale-up links that are up join {subject}"
        return f"{reason}; via ANY, over EFA as well, {alternative}" if alternative else reason


DisconnectedReason = Annotated[
    str | None, "What is not connected over these links, and whether ANY would help; null if all is connected."
]
VIA_DESCRIPTION = "Links to use; by default scale-up links within a domain, and also EFA across domains."

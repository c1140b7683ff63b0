"""Check derived numbers against printed facts, with the rounding under which they agree."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from trninv.catalog.facts import Catalog, Fact, render_value


@dataclass(frozen=True, slots=True)
class DerivationCheck:
    """A derivation compared with a printed fact.

    Attributes
    ----------
    verdict
        "exact", "rounds" (to the printed digits), "truncates" (cut at the printed digits), or "conflict".
    """

    formula: str
    derived: str
    printed: Fact
    verdict: str


def check_derivations(catalog: Catalog) -> Iterator[DerivationCheck]:
    """Yield the check of every derivation in audit.toml, in order."""
    for row in catalog.audits:
        printed = catalog.term(row["printed"])
        derived = catalog.evaluate(row["derived"])
        rendered = render_value(round(derived), printed.attribute.dimension)
        yield DerivationCheck(row["derived"], rendered, printed, _verdict(derived, printed))


def _verdict(derived: Fraction, printed: Fact) -> str:
    value, step = printed.value or 0, printed.rounding_step
    if derived == value or step is None:
        return "exact"
    if printed.is_rounded(derived):
        return "rounds"
    return "truncates" if math.floor(derived / step) * step == value else "conflict"

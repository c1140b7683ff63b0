"""Numbers derived from others, compared with what is printed; each says under which rounding the two agree."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from trninv.catalog.facts import Catalog, Fact, render

_NUMBER = re.compile(r"[\d,]*\d(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class Finding:
    """One derivation against one printed fact.

    Attributes
    ----------
    verdict
        "exact", "rounds" (to the printed digits), "truncates" (cut at the printed digits), or "conflict".

    """

    formula: str
    derived: str
    printed: Fact
    verdict: str


def audit(catalog: Catalog) -> Iterator[Finding]:
    """Every derivation of audit.toml, in its order."""
    for row in catalog.audits:
        printed = catalog.term(row["printed"])
        derived = catalog.evaluate(row["derived"])
        shown = render(round(derived), printed.attribute.dimension)
        yield Finding(row["derived"], shown, printed, _verdict(derived, printed))


def _verdict(derived: Fraction, printed: Fact) -> str:
    value = printed.value or 0
    match = _NUMBER.search(printed.written)
    if derived == value or match is None:
        return "exact"
    digits = Fraction(match[0].replace(",", ""))
    step = Fraction(value) / digits * Fraction(1, 10 ** len(match[1] or ""))
    if math.floor(derived / step + Fraction(1, 2)) * step == value:
        return "rounds"
    return "truncates" if math.floor(derived / step) * step == value else "conflict"

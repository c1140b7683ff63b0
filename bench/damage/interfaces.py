"""Send the same question to the command line, GraphQL over HTTP and Python, and to SQL where SQL can answer it."""

import io
import json
import random
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any

from bench.damage.states import State
from trninv.cli.main import main
from trninv.cli.output import encode
from trninv.errors import TrninvError
from trninv.routing.fleet import BaseFleet
from trninv.routing.questions import find

_BYTES = "{ bytesPerSecond }"
_BOUNDS = f"lower {_BYTES} upper {_BYTES}"
_WIDE, _LINKS = f"{{ hops bandwidth {_BYTES} }}", "{ nodes { address } }"
SHOWN: Mapping[str, str] = {
    "path": "reachable tiedPaths reason via paths { hops steps { kind address } }",
    "bandwidth": f"maximumFlow {_BYTES} reason via widest {_WIDE} minimumCut(first: 1000) {_LINKS}",
    "bisection": f"{_BOUNDS} exact method sideA sideB nominal {{ {_BOUNDS} }} cut(first: 1000) {_LINKS}",
    "collectives": f"chips reason allToAll {{ {_BOUNDS} }} allGather {{ {_BOUNDS} method }}",
    "distances": "chips pairs unreachable diameter byHops { hops pairs }",
    "pool": "chips memory { bytes } byHops { hops chips memory { bytes } }",
    "capability": f"chips idleLinks pool {{ bytes }} halves {{ {_BOUNDS} }} allGather {{ {_BOUNDS} }}",
    "cut_tree": f"a b minFlow {_BYTES} disconnectedChips",
    "split_profile": f"chips method splits {{ chips {_BOUNDS} }}",
    "memory_placement": "place radius isSufficient chips memory { bytes }",
}
"""The fields to compare, by question."""
_FORMS = {"scope": "Address!", "source": "Address!", "target": "Address!", "memory": "BigInt!"}


@dataclass(frozen=True)
class Asked:
    """The name of a question and its arguments."""

    question: str
    given: Mapping[str, str]

    @property
    def words(self) -> list[str]:
        """Return the question as arguments of the command line."""
        return [find(self.question).command, *self.given.values(), "--format", "json"]

    @property
    def document(self) -> str:
        """Return the question as a GraphQL document."""
        taken = ", ".join(f"${name}: {_FORMS[name]}" for name in self.given)
        fields = {each.name: each.argument.name or each.name for each in find(self.question).parameters}
        named = ", ".join(f"{fields[name]}: ${name}" for name in self.given)
        return f"query({taken}) {{ it: {find(self.question).field}({named}) {{ {SHOWN[self.question]} }} }}"


class Interfaces:
    """A fleet, and the service and the command line on the same database."""

    def __init__(self, fleet: BaseFleet, url: str, service: str) -> None:
        self._fleet, self._url, self._service = fleet, url, service

    def unlike(self, state: State, chance: random.Random, number: int) -> Iterator[str]:
        """Draw questions about a state; yield for each the interfaces that differ, or an empty text."""
        for _ in range(number):
            asked = self._chosen(state, chance)
            numbers = {name: int(value) for name, value in asked.given.items() if value.isdecimal()}
            try:
                told = encode(self._fleet.ask(find(asked.question), **{**asked.given, **numbers}))
            except TrninvError as refused:
                told = {"refused": str(refused)}
            found = self._sent("/graphql", {"query": asked.document, "variables": asked.given})
            ways = {
                "GraphQL": found["data"]["it"] if found.get("data") else {"refused": found["errors"][0]["message"]},
                "command line": _printed(["--database", self._url, *asked.words]),
            }
            wrong = [name for name, way in ways.items() if not _agrees(way, told)]
            wrong += ["SQL"] if "refused" not in told and not self._agrees_in_sql(asked, told) else []
            yield f"{' '.join(asked.words)}: Python and {', '.join(wrong)} differ" if wrong else ""

    def _chosen(self, state: State, chance: random.Random) -> Asked:
        chips, question = state.chips(state.cluster), chance.choice(list(SHOWN))
        a, b = chance.sample(chips, 2) if len(chips) > 1 else chips * 2
        domain = a.rpartition("/s")[0]
        given = {
            "path": {"source": a, "target": b},
            "bandwidth": {"source": a, "target": b},
            "bisection": {"scope": chance.choice([domain, state.cluster])},
            "collectives": {"scope": domain},
            "distances": {"scope": chance.choice([domain, state.cluster])},
            "pool": {"scope": a},
            "memory_placement": {"scope": domain, "memory": str(chance.randint(1, 2**40))},
        }
        return Asked(question, given.get(question, {"scope": domain}))

    def _agrees_in_sql(self, asked: Asked, told: Mapping[str, Any]) -> bool:
        """Check the number of healthy chips and the bandwidth of a cut, the two values that SQL can compute."""
        scope = asked.given.get("scope", "")
        if asked.question in ("collectives", "distances", "split_profile"):
            where = f"cluster = '{scope}'" if "/" not in scope else f"domain = '{scope}'"
            found = self._one(f"SELECT count(*) FROM v_chip WHERE state = 'up' AND {where}")  # noqa: S608 # a generated scope
            return bool(found == told["chips"])
        if asked.question != "bisection" or not 0 < len(told["cut"]["nodes"]) == told["cut"]["totalCount"] <= _LISTED:
            return True
        links = ", ".join(f"'{link['address']}'" for link in told["cut"]["nodes"])
        bytes_per_s = "sum(round(bandwidth_gb_per_s * 1000000000))"
        carried = self._one(f"SELECT {bytes_per_s} FROM v_link WHERE address IN ({links})")  # noqa: S608 # a generated scope
        return bool(int(carried) == int(told["upper"]["bytesPerSecond"]))

    def _one(self, sql: str) -> Any:
        (row,) = self._sent("/sql", {"sql": sql})["rows"]
        (value,) = row.values()
        return value

    def _sent(self, path: str, body: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._service + path, json.dumps(body).encode(), headers)  # noqa: S310 # our own
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            return json.load(answer)


_LISTED = 200
"""Most links that one statement may name."""


def _printed(words: Sequence[str]) -> Any:
    """Run a command in this process and return its output, or its error message."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), suppress(SystemExit):
        main(words)
    told = out.getvalue()
    return json.loads(told) if told else {"refused": err.getvalue().removeprefix("trninv: ").strip()}


def _agrees(found: Any, told: Any) -> bool:
    """Return whether two values agree; an object may have more fields than the subset."""
    if isinstance(found, Mapping):
        return isinstance(told, Mapping) and all(name in told and _agrees(found[name], told[name]) for name in found)
    if isinstance(found, list):
        return isinstance(told, list) and len(found) == len(told) and all(map(_agrees, found, told))
    return bool(found == told)

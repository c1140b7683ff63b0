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
FIELDS: Mapping[str, str] = {
    "path": "reachable tiedPaths reason via paths { hops steps { kind address } }",
    "bandwidth": f"maximumFlow {_BYTES} reason via widest {_WIDE} minimumCut(first: 1000) {_LINKS}",
    "bisection": f"{_BOUNDS} exact method sideA sideB nominal {{ {_BOUNDS} }} cut(first: 1000) {_LINKS}",
    "collectives": f"chips reason allToAll {{ {_BOUNDS} }} allGather {{ {_BOUNDS} method }}",
    "distances": "chips pairs unreachable diameter byHops { hops pairs }",
    "memory_pool": "chips memory { bytes } byHops { hops chips memory { bytes } }",
    "capability": f"chips idleLinks pool {{ bytes }} halves {{ {_BOUNDS} }} allGather {{ {_BOUNDS} }}",
    "cut_tree": f"a b minFlow {_BYTES} disconnectedChips",
    "split_profile": f"chips method splits {{ chips {_BOUNDS} }}",
    "memory_placement": "place radius isSufficient chips memory { bytes }",
}
"""The fields to compare, by question."""
_TYPES = {"scope": "Address!", "source": "Address!", "target": "Address!", "memory": "BigInt!"}


@dataclass(frozen=True)
class Question:
    """The name of a question and its arguments."""

    name: str
    arguments: Mapping[str, str]

    @property
    def words(self) -> list[str]:
        """Return the question as arguments of the command line."""
        if self.name == "memory_placement":
            scope, memory = self.arguments.values()
            return ["place", scope, "--memory", memory, "--nearest", "best", "--format", "json"]
        return [find(self.name).command, *self.arguments.values(), "--format", "json"]

    @property
    def document(self) -> str:
        """Return the question as a GraphQL document."""
        variables = ", ".join(f"${name}: {_TYPES[name]}" for name in self.arguments)
        fields = {parameter.name: parameter.argument.name or parameter.name for parameter in find(self.name).parameters}
        argument_list = ", ".join(f"{fields[name]}: ${name}" for name in self.arguments)
        return f"query({variables}) {{ it: {find(self.name).field}({argument_list}) {{ {FIELDS[self.name]} }} }}"


class Interfaces:
    """A fleet, and the service and the command line on the same database."""

    def __init__(self, fleet: BaseFleet, url: str, service: str) -> None:
        self._fleet, self._url, self._service = fleet, url, service

    def differences(self, state: State, rng: random.Random, number: int) -> Iterator[str]:
        """Ask random questions about a damaged cluster; yield for each the interfaces that differ, or an empty text."""
        for _ in range(number):
            question = self._draw_question(state, rng)
            numbers = {name: int(value) for name, value in question.arguments.items() if value.isdecimal()}
            try:
                expected = encode(self._fleet.ask(find(question.name), **{**question.arguments, **numbers}))
            except TrninvError as error:
                expected = {"refused": str(error)}
            response = self._post("/graphql", {"query": question.document, "variables": question.arguments})
            answers = {
                "GraphQL": response["data"]["it"]
                if response.get("data")
                else {"refused": response["errors"][0]["message"]},
                "command line": _run_command(["--database", self._url, *question.words]),
            }
            different = [name for name, answer in answers.items() if not _agrees(answer, expected)]
            different += ["SQL"] if "refused" not in expected and not self._sql_agrees(question, expected) else []
            yield f"{' '.join(question.words)}: Python and {', '.join(different)} differ" if different else ""

    def _draw_question(self, state: State, rng: random.Random) -> Question:
        chips, name = state.chips(state.cluster), rng.choice(list(FIELDS))
        a, b = rng.sample(chips, 2) if len(chips) > 1 else chips * 2
        domain = a.rpartition("/s")[0]
        arguments = {
            "path": {"source": a, "target": b},
            "bandwidth": {"source": a, "target": b},
            "bisection": {"scope": rng.choice([domain, state.cluster])},
            "collectives": {"scope": domain},
            "distances": {"scope": rng.choice([domain, state.cluster])},
            "memory_pool": {"scope": a},
            "memory_placement": {"scope": domain, "memory": str(rng.randint(1, 2**40))},
        }
        return Question(name, arguments.get(name, {"scope": domain}))

    def _sql_agrees(self, question: Question, expected: Mapping[str, Any]) -> bool:
        """Check the number of healthy chips and the bandwidth of a cut, the two values that SQL can compute."""
        scope = question.arguments.get("scope", "")
        if question.name in ("collectives", "distances", "split_profile"):
            where = f"cluster = '{scope}'" if "/" not in scope else f"domain = '{scope}'"
            count = self._query_value(f"SELECT count(*) FROM v_chip WHERE state = 'up' AND {where}")  # noqa: S608 # a generated scope
            return bool(count == expected["chips"])
        if (
            question.name != "bisection"
            or not 0 < len(expected["cut"]["nodes"]) == expected["cut"]["totalCount"] <= _LISTED
        ):
            return True
        links = ", ".join(f"'{link['address']}'" for link in expected["cut"]["nodes"])
        bytes_per_s = "sum(round(bandwidth_gb_per_s * 1000000000))"
        carried = self._query_value(f"SELECT {bytes_per_s} FROM v_link WHERE address IN ({links})")  # noqa: S608 # a generated scope
        return bool(int(carried) == int(expected["upper"]["bytesPerSecond"]))

    def _query_value(self, sql: str) -> Any:
        (row,) = self._post("/sql", {"sql": sql})["rows"]
        (value,) = row.values()
        return value

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._service + path, json.dumps(body).encode(), headers)  # noqa: S310 # our own
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            return json.load(answer)


_LISTED = 200
"""Maximum links that one statement names."""


def _run_command(words: Sequence[str]) -> Any:
    """Run a command in this process and return its output, or its error message."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), suppress(SystemExit):
        main(words)
    output = out.getvalue()
    return json.loads(output) if output else {"refused": err.getvalue().removeprefix("trninv: ").strip()}


def _agrees(subset: Any, expected: Any) -> bool:
    """Return whether two values agree; an object may have more fields than the subset."""
    if isinstance(subset, Mapping):
        return isinstance(expected, Mapping) and all(
            name in expected and _agrees(subset[name], expected[name]) for name in subset
        )
    if isinstance(subset, list):
        return isinstance(expected, list) and len(subset) == len(expected) and all(map(_agrees, subset, expected))
    return bool(subset == expected)

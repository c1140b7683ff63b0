"""JSON of commands has the forms of the GraphQL types: an integer that may need more than 31 bits is a text."""

import json

from conftest import Run, both_ways
from trninv.routing.fleet import BaseFleet


def test_exact_numbers_are_texts_as_in_graphql(run: Run, lite_fleet: BaseFleet) -> None:
    _, out, _ = run("distances", "trn2-16.48xlarge", "--format", "json")
    told = json.loads(out)
    asked = '{ distances(scope: "trn2-16.48xlarge") { pairs unreachable byHops { hops pairs } } }'
    found = both_ways(lite_fleet)(asked)["data"]["distances"]
    assert found == {name: told[name] for name in found}
    assert (told["pairs"], told["unreachable"]) == ("120", "0")
    link = "trn2-16.48xlarge/d0/s0/c0--trn2-16.48xlarge/d0/s0/c1"
    _, out, _ = run("bisection", "trn2-16.48xlarge", "--down", link, "--format", "json")
    assert json.loads(out)["difference"]["bytesPerSecond"] == str(-128 * 10**9)
    _, out, _ = run("sweep", "trn2-16.48xlarge", "--fail", "chip", "--measure", "diameter", "--format", "json")
    told = json.loads(out)
    assert [told["lower"], told["classes"][0]["change"]] == ["4", "0"]

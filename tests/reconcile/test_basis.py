"""Answers say whether machines were observed where they are asked about, from what is remembered as from the tables."""

from collections.abc import Iterator
from io import BytesIO

import pytest
from printed import neuron_ls, text

import trninv
from conftest import BACKENDS, Databases, Run
from trninv.database.engine import write_transaction
from trninv.importers.ingestion import ImportFile, import_files
from trninv.placement.placement_fleet import Fleet
from trninv.routing.answer import WiringSource

pytestmark = pytest.mark.slow_on_postgresql

SEEN, UNSEEN = "u-trn2x64/d0", "trn3-gen1/d0"


@pytest.fixture(scope="module", params=BACKENDS)
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    with trninv.open(databases.seeded(request.param)) as fleet:
        with write_transaction(fleet.engine) as connection:
            for number, document in enumerate((neuron_ls("i-0a"), neuron_ls(None))):
                import_files(
                    connection, "neuron-ls", [ImportFile(f"n{number}", BytesIO(text(document)))], trust_host_names=True
                )
        yield fleet


@pytest.mark.parametrize("name", ["i-0a", "n1"])
def test_an_answer_rests_on_what_was_observed_while_it_stands_there(fleet: Fleet, name: str) -> None:
    a, b, other = f"{SEEN}/s0/c0", f"{SEEN}/s1/c5", f"{UNSEEN}/s0/c0"

    def bases() -> set[WiringSource]:
        changed = fleet.what_if(down=[f"{SEEN}/s3"]).path(a, b)
        assert changed.baseline is not None
        answers = (fleet.path(a, b), fleet.path(a, b, k=2), fleet.memory_pool(a), fleet.bisection(SEEN), changed)
        return {each.wiring_source for each in (*answers, changed.baseline, fleet.collectives("u-trn2x64"))}

    assert bases() == {WiringSource.DESIGN}
    fleet.bind(f"{SEEN}/s2", name, who="tests")
    assert bases() == {WiringSource.OBSERVED}
    assert fleet.path(f"@{name}/c0", b).wiring_source is WiringSource.OBSERVED
    assert {fleet.path(other, f"{UNSEEN}/s1/c0").wiring_source, fleet.memory_pool(other).wiring_source} == {
        WiringSource.DESIGN
    }
    fleet.unbind(f"{SEEN}/s2", who="tests")
    assert bases() == {WiringSource.DESIGN}


def test_the_command_line_says_so(fleet: Fleet, run: Run) -> None:
    url = fleet.engine.url.render_as_string(hide_password=False)
    said = "wiring as the driver's table reports it, not measured\n"
    assert said not in run("pool", f"{SEEN}/s0/c0", database=url)[1]
    fleet.bind(f"{SEEN}/s2", "i-0a", who="tests")
    try:
        assert said in run("pool", f"{SEEN}/s0/c0", database=url)[1]
    finally:
        fleet.unbind(f"{SEEN}/s2", who="tests")

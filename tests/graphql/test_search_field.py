"""What a few letters may mean."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

import trninv
from conftest import BACKENDS, Ask, Databases, both_ways
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.inventory.address.search import MAX_LENGTH, search_inventory
from trninv.inventory.state.bindings import ProposedBinding, bind, resolve_slot, unbind
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.release import release

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

DOCUMENT = """query ($t: String!, $h: Address, $n: Int! = 20) {
  search(text: $t, near: $h, first: $n) { kind name address target { address __typename } } }"""
HERE = "u-trn2x64/d0"
HOSTILE = [
    *("", " ", "%", "_", "\\", "'", '"; DROP TABLE chip', "<img src=x>", "\u202e", "x/d0", "--", "@", "@@", "@%", "//"),
    *("u-trn2x64/d٣", "s0--", "1e9", "d999999999999", "d" * MAX_LENGTH, "9" * (MAX_LENGTH + 1), "{}", "/d0"),
]

Search = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module", params=BACKENDS)
def named(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    """Every small system, with two hosts, an instance and two jobs."""
    url = databases.seeded(request.param)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for slot, instance, host in [("u-trn2x64/d0/s0", "i-0a", "Node-a.lab"), ("u-trn2x64/d0/s1", None, "node-b")]:
            server = resolve_slot(connection, slot).id
            bind(connection, [ProposedBinding(server, slot, instance, host, "pin", "certain")], who="tester")
        allocate(connection, "llama <b>70b</b>", ["u-trn2x64/d0/s2"], who="tester")
        allocate(connection, "Big-llama", ["u-trn2x64/d0/s3"], who="tester")
    yield url
    databases.drop(url)


@pytest.fixture(scope="module")
def search(named: str) -> Iterator[Search]:
    with trninv.open(named) as fleet:
        ask: Ask = both_ways(fleet)

        def run(written: str, here: str | None = None, first: int = 20) -> list[dict[str, Any]]:
            answer = ask(DOCUMENT, t=written, h=here, n=first)
            assert answer["errors"] == [], (written, answer)
            hits: list[dict[str, Any]] = answer["data"]["search"]
            assert len(hits) <= first
            return hits

        yield run


def every(engine: Engine) -> list[str]:
    """All addresses but those of links and of the fabric."""
    kinds = ("cluster", "domain", "server", "chip", "switch", "nic", "rack", "core")
    with read_transaction(engine) as connection:
        return [at for kind in kinds for at in connection.scalars(text(f"SELECT address FROM v_{kind}"))]


def test_addresses_are_those_that_begin_so(named: str) -> None:
    chance = random.Random(19)
    with temporary_engine(named) as engine:
        addresses = every(engine)
        with read_transaction(engine) as connection:
            for _ in range(25):
                here, whole = chance.sample(addresses, 2)
                scopes = ["/".join(here.split("/")[:length]) for length in range(here.count("/") + 1, 0, -1)]
                written = chance.choice([whole, whole.split("/", 1)[-1], whole.rsplit("/", 1)[-1]])
                written = written[: chance.randint(1, len(written))]
                begun = {written, *(f"{scope}/{written}" for scope in scopes)}
                oracle = {
                    each
                    for each in addresses
                    for start in begun
                    if each.startswith(start) and each.count("/") == start.count("/")
                }
                same, near, far, *_ = search_inventory(connection, written.upper(), here, len(addresses))
                assert {each.address for each in (*same, *near, *far)} == oracle, (written, here)
                assert not {each.address for each in near} - {
                    each for each in addresses if each.startswith(f"{scopes[-1]}/")
                }


def test_an_address_is_the_first_hit(named: str, search: Search) -> None:
    with temporary_engine(named) as engine:
        for whole in random.Random(7).sample(every(engine), 6):
            (first, *_) = search(whole, HERE)
            assert (first["address"], first["kind"]) == (whole, first["target"]["__typename"].upper())
    link = f"{HERE}/s1/c5--{HERE}/s1/c6"
    assert search(link)[0] == search("s1/c5--s1/c6", HERE)[0]
    assert (search(link)[0]["kind"], search(link)[0]["name"]) == ("LINK", link)


def test_places_of_all_other_clusters_come_from_one_statement(named: str) -> None:
    statements = list[str]()
    with temporary_engine(named) as engine, read_transaction(engine) as connection:
        event.listen(engine, "before_cursor_execute", lambda *details: statements.append(details[2]))
        *_, few = search_inventory(connection, "s0/c0", HERE, 1)
        for_few = len(statements)
        *_, many = search_inventory(connection, "s0/c0", HERE, 20)
    assert [hit.address for hit in many] == sorted(hit.address or "" for hit in many)
    assert many[:1] == few
    assert len(many) > 2
    assert len(statements) == 2 * for_few


def test_here_is_before_elsewhere(search: Search) -> None:
    hits = [hit["address"] for hit in search("s1/c5", f"{HERE}/s0/c3")]
    assert hits[0] == f"{HERE}/s1/c5"
    assert not any(each.startswith(HERE) for each in hits[1:])
    assert "trn3-gen1/d0/s1/c5" in hits
    assert [hit["address"] for hit in search("s1/c", HERE)][:3] == [f"{HERE}/s1/c{at}" for at in range(3)]
    assert search("s1/c5", "nowhere/d7") == search("s1/c5", "<script>") == search("s1/c5")


def test_names(search: Search) -> None:
    def names(written: str) -> list[tuple[str, str, str | None]]:
        return [(hit["kind"], hit["name"], hit["address"]) for hit in search(written)]

    slot = "u-trn2x64/d0/s0"
    assert names("i-0") == [("INSTANCE", "i-0a", slot)]
    assert names("node") == [("HOST", "node-b", "u-trn2x64/d0/s1"), ("HOST", "Node-a.lab", slot)]
    assert names("@node-b")[0] == ("SERVER", "u-trn2x64/d0/s1", "u-trn2x64/d0/s1")
    assert names("LLAMA") == [("JOB", "llama <b>70b</b>", None), ("JOB", "Big-llama", None)]
    assert ("REPORT", "unhealthy", None) in names("unhealthy")


@pytest.mark.parametrize("written", HOSTILE)
def test_hostile_text_is_text(search: Search, written: str) -> None:
    assert [hit for hit in search(written, HERE) if hit["kind"] not in ("HOST", "INSTANCE", "JOB", "REPORT")] == []


def test_how_many(search: Search, named: str) -> None:
    assert [len(search("d0/s0/c", "u-trn2x64", first)) for first in (0, 1, 20)] == [0, 1, 16]
    with trninv.open(named) as fleet:
        for first in (-1, 21, 10**6):
            (error,) = both_ways(fleet)(DOCUMENT, t="u", n=first)["errors"]
            assert error["extensions"]["code"] == "BAD_ARGUMENT", error


def test_the_longest_text_is_looked_for_and_no_longer_one(seeded: str) -> None:
    name = "j" * MAX_LENGTH
    with temporary_engine(seeded) as engine, write_transaction(engine) as connection:
        allocate(connection, name, ["u-trn2x64/d0/s2"], who="tester")
        assert [each.name for group in search_inventory(connection, name, None, 5) for each in group] == [name]
        assert search_inventory(connection, f"{name}j", None, 5) == []


def test_what_has_ended_is_not_found(seeded: str) -> None:
    slot = "u-trn2x64/d0/s0"
    with temporary_engine(seeded) as engine, write_transaction(engine) as connection:
        bind(
            connection,
            [ProposedBinding(resolve_slot(connection, slot).id, slot, "i-0zz", "zz-host", "pin", "certain")],
            who="me",
        )
        allocate(connection, "zz-job", ["u-trn2x64/d0/s2"], who="me")
        kinds = {"i-0zz": "instance", "zz-host": "host", "zz-job": "job"}
        for name, kind in kinds.items():
            assert [each.kind for group in search_inventory(connection, name, None, 5) for each in group] == [kind]
        unbind(connection, slot, who="me")
        release(connection, "zz-job")
        assert not any(group for name in kinds for group in search_inventory(connection, name, None, 5))

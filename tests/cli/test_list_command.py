"""`trninv list`: the rows, order and fields of GraphQL's lists, for every declared kind."""

import asyncio
import csv
import io
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import things_page
from click.shell_completion import ShellComplete
from populating import populate
from sqlalchemy import select
from strawberry.utils.str_converters import to_camel_case as camel

import trninv
from conftest import BACKENDS, Ask, Databases, Run, both_ways, is_quick, services
from trninv.cli.main import trninv as command_line
from trninv.database.engine import read_transaction
from trninv.database.tables import TABLES, TOKEN_SCOPES
from trninv.graphql import thing_listing
from trninv.graphql.document_request import Request
from trninv.graphql.list_arguments import ordered_fields
from trninv.graphql.thing_listing import (
    LISTED_KINDS,
    list_arguments,
    read_rows,
    signs_of,
    sort_names,
)
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.schema.listing import cell, choose_fields, select_things
from trninv.inventory.schema.thing import Field, Thing, ValueFormat
from trninv.inventory.schema.things import THINGS
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql
_SUBFIELDS = {ValueFormat.CAPACITY: " { bytes }", ValueFormat.BANDWIDTH: " { bytesPerSecond }"}
_NAMES = pytest.mark.parametrize("name", LISTED_KINDS)


@pytest.fixture(scope="module", params=BACKENDS)
def populated(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    """A fleet with things of every kind, which no test changes."""
    with trninv.open(databases.copied(request.param, populate)) as fleet:
        yield fleet


@pytest.fixture
def ask_populated(populated: BaseFleet) -> Ask:
    return both_ways(populated)


def rows(
    fleet: BaseFleet, name: str, *where: str, place: str | None = None, sort: str = "", everything: bool = False
) -> list[dict[str, Any]]:
    """The rows of a list with all columns, as the command reads them."""
    kind = LISTED_KINDS[name]
    arguments = list_arguments(kind, place, where, sort.split(), everything=everything)
    with read_transaction(fleet.engine) as connection:
        page = list(read_rows(connection, kind, arguments, 100_000))
    return [{field.name: cell(kind, field, row) for field in kind.fields} for row in page]


def nodes(ask: Ask, kind: Thing, arguments: str = "") -> list[dict[str, Any]]:
    """The rows of GraphQL's list with all fields."""
    fields = " ".join(f"{camel(field.name)}{_SUBFIELDS.get(field.format, '')}" for field in kind.fields)
    document = f"{{ {camel(kind.list_name)}(first: 1000 {arguments}) {{ nodes {{ {fields} }} }} }}"
    answer = ask(document)
    assert not answer["errors"], answer
    return [
        {field.name: graphql_cell(field, node[camel(field.name)]) for field in kind.fields}
        for node in answer["data"][camel(kind.list_name)]["nodes"]
    ]


def graphql_cell(field: Field, value: Any) -> Any:
    """A value of GraphQL as the command line has it."""
    if value is None:
        return None
    if field.enumeration:
        return next(stored for stored in field.enumeration.meanings() if stored.upper().replace("-", "_") == value)
    if field.format in _SUBFIELDS:
        return int(*value.values())
    if field.format is ValueFormat.KEY:
        return int(value)
    if field.format is ValueFormat.INTS:
        return " ".join(map(str, value))
    return value


def as_graphql(kind: Thing, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with exact numbers as text, as GraphQL writes them."""
    exact = {field.name for field in kind.fields if field.format is ValueFormat.BIGINT}
    return [
        {name: str(value) if name in exact and value is not None else value for name, value in row.items()}
        for row in listed
    ]


@_NAMES
def test_all_rows_and_fields_are_those_of_graphql(populated: BaseFleet, ask_populated: Ask, name: str) -> None:
    kind = LISTED_KINDS[name]
    listed = rows(populated, name)
    assert as_graphql(kind, listed[:1000]) == nodes(ask_populated, kind)
    assert listed or name in ("network-node", "closed-incident")  # no fabric, and nothing has recovered


@pytest.mark.parametrize("name", [name for name, kind in LISTED_KINDS.items() if kind.lifetime])
def test_rows_that_are_not_current_are_listed_on_request(populated: BaseFleet, ask_populated: Ask, name: str) -> None:
    kind = LISTED_KINDS[name]
    assert kind.lifetime
    everything = rows(populated, name, everything=True)
    assert as_graphql(kind, everything) == nodes(ask_populated, kind, f"{camel(kind.lifetime.argument)}: true")
    assert 0 < len(rows(populated, name)) < len(everything)


@pytest.mark.parametrize(
    "place", ["u-trn2x64", "u-trn2x64/d0", "u-trn2x64/d0/s1", "u-trn2x64/r0", "@i-0c", "trn2-16.48xlarge"]
)
def test_a_place_has_the_things_at_or_below_it(populated: BaseFleet, ask_populated: Ask, place: str) -> None:
    servers = {row["address"] for row in rows(populated, "server", place=place)}
    for name, column in ("binding", "slot"), ("finding", "address"), ("cordon", "server"):
        listed = rows(populated, name, place=place, everything=True)
        everything = rows(populated, name, everything=True)
        assert listed == [row for row in everything if "/".join(str(row[column]).split("/")[:3]) in servers]
        argument = "includeCleared" if name == "finding" else "includeEnded"
        arguments = f'scope: "{place}" {argument}: true'
        assert as_graphql(LISTED_KINDS[name], listed) == nodes(ask_populated, LISTED_KINDS[name], arguments)


def test_findings_are_listed_worst_first(populated: BaseFleet, ask_populated: Ask) -> None:
    assert [row["severity"] for row in rows(populated, "finding")] == ["high", "medium", "medium", "info"]
    assert [row["id"] for row in rows(populated, "finding", sort="-severity_rank")] == [4, 2, 3, 1]
    answer = ask_populated("{ drift(minSeverity: MEDIUM, last: 2) { totalCount nodes { id severity } } }")["data"]
    assert answer["drift"] == {
        "totalCount": 3,
        "nodes": [{"id": "2", "severity": "MEDIUM"}, {"id": "3", "severity": "MEDIUM"}],
    }


def test_a_text_contains_another_in_upper_or_lower_case(populated: BaseFleet, ask_populated: Ask) -> None:
    everything = rows(populated, "cordon", everything=True)
    assert len(everything) == 2
    for where in ("why~REPAIR", "why~epAI", "who~ANN", "server~U-TRN2X64/D0/S1"):
        found = rows(populated, "cordon", where, everything=True)
        assert found, where
        assert len(found) < 3
    assert rows(populated, "cordon", "why=REPAIR", everything=True) == []
    assert [row["address"] for row in rows(populated, "server", "address~D0/S3", "cluster=u-trn2x64")] == [
        "u-trn2x64/d0/s3"
    ]
    document = "{{ cordons(includeEnded: true, filter: {{why: {{{}: {}}}}}) {{ totalCount }} }}"
    for test, text, count in (
        ("contains", '"REPAIR"', 0),
        ("containsIgnoreCase", '"REPAIR"', 2),
        ("containsIgnoreCase", '"\u00c4"', 0),
    ):
        assert ask_populated(document.format(test, text))["data"]["cordons"]["totalCount"] == count
    (error,) = ask_populated(document.format("containsIgnoreCase", '""'))["errors"]
    assert "an empty text matches everything" in error["message"]


def test_times_are_compared(populated: BaseFleet) -> None:
    everything = rows(populated, "event")
    first, last = everything[3]["at"], everything[-1]["at"]
    wanted = [row for row in everything if first <= row["at"] < last]
    assert rows(populated, "event", f"at>={first} at<{last}") == wanted != []
    assert rows(populated, "event", f"at={first}") == [row for row in everything if row["at"] == first]
    assert rows(populated, "binding", 'started_at>2026-11-22T02:00:00Z ended_at=""') == rows(populated, "binding")


EACH = 3 if is_quick() else 1
"""Of so many fields of a kind, one is tested."""


@pytest.mark.drawing
@_NAMES
def test_every_order_is_that_of_graphql(populated: BaseFleet, ask_populated: Ask, name: str) -> None:
    kind = LISTED_KINDS[name]
    directions = itertools.cycle([("", "ASC"), ("-", "DESC")])
    for field, (sign, direction) in zip(ordered_fields(kind)[::EACH], directions, strict=False):
        wanted = nodes(ask_populated, kind, f"orderBy: {{{camel(field.name)}: {direction}}}")
        assert as_graphql(kind, rows(populated, name, sort=f"{sign}{field.name}")[:1000]) == wanted


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda value, sample: value == sample,
    "!=": lambda value, sample: value != sample,
    "<": lambda value, sample: value is not None and value < sample,
    "<=": lambda value, sample: value is not None and value <= sample,
    ">": lambda value, sample: value is not None and value > sample,
    ">=": lambda value, sample: value is not None and value >= sample,
    "~": lambda value, sample: value is not None and sample in value,
}


@pytest.mark.drawing
@_NAMES
def test_every_test_selects_the_rows_for_which_it_is_true(populated: BaseFleet, name: str) -> None:
    everything = rows(populated, name)
    for test_name, field in [*thing_listing.filter_fields(LISTED_KINDS[name]).items()][::EACH]:
        samples = (
            [row[test_name] for row in everything if row[test_name] is not None]
            if field and field.format is not ValueFormat.TIME
            else []
        )
        samples = [sample for sample in samples if sample != "" and '"' not in str(sample)]
        if not samples:
            continue
        sample = samples[len(samples) // 2]
        text = f'"{sample}"'.lower() if isinstance(sample, bool) else f'"{sample}"'
        for sign in signs_of(field):
            wanted = [row for row in everything if _TESTS[sign](row[test_name], sample)]
            assert rows(populated, name, f"{test_name}{sign}{text}") == wanted, f"{test_name}{sign}{text}"


def test_all_tests_must_hold(populated: BaseFleet) -> None:
    everything = rows(populated, "chip")
    wanted = [
        row["address"] for row in everything if row["ordinal"] > 3 and row["address"].startswith("u-trn2x64/d0/s1/")
    ]
    assert [row["address"] for row in rows(populated, "chip", "ordinal>3 server=u-trn2x64/d0/s1")] == wanted != []
    assert [row["address"] for row in rows(populated, "chip", "ordinal>3", place="u-trn2x64/d0/s1")] == wanted
    assert rows(populated, "chip", "cluster!=u-trn2x64") == [
        row for row in everything if "u-trn2x64" not in row["address"]
    ]


def test_a_place_has_its_events_and_a_thing_itself(populated: BaseFleet) -> None:
    (event,) = rows(populated, "event", place="trn3-gen1/d0/sw1")
    assert (event["after"], event["factor"]) == ("degraded", 0.25)
    assert [row["address"] for row in rows(populated, "chip", place="u-trn2x64/d0/s0/c3")] == ["u-trn2x64/d0/s0/c3"]


@pytest.mark.parametrize(
    ("name", "place", "wanted"),
    [
        ("job", "u-trn2x64/d0/s0", ["a"]),
        ("job", "u-trn2x64/r0", ["a"]),
        ("job", "trn2-16.48xlarge", ["c"]),
        ("job", "u-trn2x64/d0/s1", []),
        ("allocation", "u-trn2x64/d0/s0/c9/nc1", ["u-trn2x64/d0/s0/c9"]),
        ("allocation", "u-trn2x64/r0", ["u-trn2x64/d0/s0/c8", "u-trn2x64/d0/s0/c9"]),
        ("cordon", "u-trn2x64/d0", ["u-trn2x64/d0/s1"]),
        ("cordon", "trn1.32xlarge", []),
        ("binding", "u-trn2x64/d0/s1", ["u-trn2x64/d0/s1"]),
        ("finding", "u-trn2x64/d0/s1/c3/nc0", ["chip-missing"]),
        ("finding", "u-trn2x64/d0/s2", ["server-unbound"]),
        ("finding", "u-trn2x64", ["chip-missing", "server-unbound", "instance-replaced"]),
    ],
)
def test_a_place_has_its_rows(populated: BaseFleet, name: str, place: str, wanted: list[str]) -> None:
    found = rows(populated, name, place=place)
    first = "rule" if name == "finding" else next(iter(found[0])) if found else ""
    assert [row[first] for row in found] == wanted
    with read_transaction(populated.engine) as connection:
        selected = connection.execute(select_things(THINGS[name], resolve_place(connection, place))).mappings().all()
    assert [{field.name: cell(THINGS[name], field, row) for field in THINGS[name].fields} for row in selected] == found


def test_an_ended_job_is_where_it_had_chips(populated: BaseFleet) -> None:
    assert [row["name"] for row in rows(populated, "job", place="u-trn2x64/d0/s0", everything=True)] == ["a", "b"]
    assert [row["name"] for row in rows(populated, "job", place="u-trn2x64/d0/s0/c8", everything=True)] == ["a"]


def test_a_place_without_such_rows_is_refused(run: Run) -> None:
    status, out, err = run("list", "job", "u-trn2x64/d0/s0/efa0")
    assert (status, out) == (2, "")
    assert "u-trn2x64/d0/s0/efa0 is a nic: name a chip, core, server, rack, domain or cluster" in " ".join(err.split())


@pytest.mark.parametrize(
    "document",
    [
        "{ tokens { nodes { name } } }",
        '{ asOf(time: "2026-11-22T02:00:00Z") { tokens { totalCount } } }',
        "{ ...T } fragment T on Query { tokens @skip(if: true) { totalCount } }",
    ],
)
@pytest.mark.parametrize("scope", [scope for scope in TOKEN_SCOPES if scope != "admin"])
def test_only_an_administrator_lists_tokens(populated: BaseFleet, document: str, scope: str) -> None:
    for api in services(populated).values():
        response = json.loads(asyncio.run(api.run(Request(document), scope=scope)).body)
        assert response.get("data") is None
        (error,) = response["errors"]
        assert error["extensions"]["code"] == "FORBIDDEN"
        # a token of scope observe reads nothing at all
        assert error["message"].endswith(
            f"needs a token of scope {'read' if scope == 'observe' and 'asOf' in document else 'admin'}"
        )


def test_a_listed_token_has_no_secret(populated: BaseFleet) -> None:
    names = {field.name for field in THINGS["token"].fields}
    described = {"number", "name", "scope", "issued_by", "revoked_by", "rows_this_hour", "bytes_this_hour"}
    assert names == {*described, "created", "expires", "last_used", "revoked"}
    with read_transaction(populated.engine) as connection:
        digests = connection.scalars(select(TABLES["_token_digest"].c.sha256)).all()
    text = str(rows(populated, "token"))
    assert len(digests) == 3
    assert not any(digest in text for digest in digests)
    assert [row["rows_this_hour"] for row in rows(populated, "token")] == [None, 3, None]


def test_an_empty_value_selects_what_has_none(populated: BaseFleet) -> None:
    everything = rows(populated, "nic")
    unset = [row for row in everything if row["factor"] is None]
    assert rows(populated, "nic", 'factor=""') == unset
    assert (
        rows(populated, "chip", 'factor!=""')
        == [row for row in rows(populated, "chip") if row["factor"] is not None]
        != []
    )


def test_rows_continue_over_batches(populated: BaseFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = rows(populated, "nic", sort="-state -ordinal")
    monkeypatch.setattr(thing_listing, "_ROWS_AT_A_TIME", 7)
    assert rows(populated, "nic", sort="-state -ordinal") == everything
    with read_transaction(populated.engine) as connection:
        arguments = list_arguments(LISTED_KINDS["nic"], None, (), ())
        assert len(list(read_rows(connection, LISTED_KINDS["nic"], arguments, 14))) == 14


def test_the_formats_have_the_same_rows(run: Run) -> None:
    command = ("list", "chip", "u-trn2x64/d0/s0", "--columns", "address,memory,state", "--limit", "2")
    address = "u-trn2x64/d0/s0/c0"
    status, table, err = run(*command)
    assert (status, table.splitlines()[2].split("  ")[0], err) == (
        0,
        address,
        "truncated: only the first 2 rows are shown (--limit)\n",
    )
    assert "96 GiB" in table
    (_, from_json, _), (_, from_csv, _), (_, from_lines, _) = (
        run(*command, "--format", style) for style in ("json", "csv", "ndjson")
    )
    records = json.loads(from_json)["rows"]
    assert records[0] == {"address": address, "memory": 96 * 2**30, "state": "up"}
    assert [json.loads(line) for line in from_lines.splitlines()] == records
    assert [row["memory"] for row in csv.DictReader(io.StringIO(from_csv))] == [str(96 * 2**30)] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chip", "--where", "stat=up"], "chip has no field 'stat' to test: did you mean state?"),
        (["chip", "--where", "state=dwn"], "there is no 'dwn': did you mean down?"),
        (["chip", "--where", "state>up"], "use =, != with state"),
        (["chip", "--where", "up"], "'up' is not a test; write FIELD=VALUE"),
        (["chip", "--where", "ordinal=x"], "'x' is not a number"),
        (["chip", "--where", "ordinal=99999999999"], "out of range"),
        (["chip", "--where", "memory>96"], "is not a capacity"),
        (["fact", "--where", "disputed=maybe"], "there is no 'maybe'"),
        (["chip", "--sort", "adress"], "chips are not sorted by 'adress'"),
        (["chip", "--columns", "adress"], "chip has no column 'adress': did you mean address?"),
        (["rack", "u-trn2x64/d0/s0"], "racks are not listed by server; name a cluster or rack"),
        (["fact", "u-trn2x64"], "facts are not listed by cluster; omit the place"),
        (["chips"], "KIND"),
    ],
)
def test_a_wrong_argument_is_refused_with_advice(run: Run, arguments: list[str], message: str) -> None:
    status, out, err = run("list", *arguments)
    assert (status, out) == (2, "")
    assert message in " ".join(err.split())


@pytest.mark.parametrize(
    ("words", "incomplete", "completions"),
    [
        (["list"], "ne", ["network-node"]),
        (["list", "chip", "--columns"], "address,mem", ["address,memory", "address,memory_bandwidth"]),
        (["list", "chip", "--sort"], "ordinal,st", ["ordinal,state"]),
        (["list", "chip", "--where"], "st", ["state="]),
        (["list", "chip", "--where"], "clu", ["cluster="]),
    ],
)
def test_kinds_and_fields_are_completed(words: list[str], incomplete: str, completions: list[str]) -> None:
    shell = ShellComplete(command_line, {}, "trninv", "_TRNINV_COMPLETE")
    assert [item.value for item in shell.get_completions(words, incomplete)] == completions


def test_help_describes_every_kind(run: Run) -> None:
    _, out, _ = run("list", "--help")
    assert all(f"  {name} " in out and kind.description[:6] in out for name, kind in LISTED_KINDS.items())


def test_every_field_is_a_column() -> None:
    for kind in LISTED_KINDS.values():
        names = [field.name for field in kind.fields]
        assert [field.name for field in choose_fields(kind, names)] == names
        assert set(sort_names(kind)) - {key.name for key in kind.sort_keys} <= set(names)


def test_the_reference_page_is_what_the_declarations_say() -> None:
    assert things_page.PAGE.read_text() == things_page.render(), (
        "run python tests/things_page.py > docs/reference/things.md"
    )


def test_incidents_are_filtered_and_ordered(ask_populated: Ask) -> None:
    def listed(arguments: str) -> list[Any]:
        answer = ask_populated(f"{{ incidents({arguments}) {{ nodes {{ place severity who }} }} }}")
        assert not answer["errors"], answer
        nodes: list[Any] = answer["data"]["incidents"]["nodes"]
        return nodes

    everything = listed("first: 100")
    assert {row["severity"] for row in everything} == {"HIGH", "MEDIUM", "LOW", "INFO"}
    high = [row for row in everything if row["severity"] == "HIGH"]
    assert listed("filter: {severity: {eq: HIGH}}") == listed("filter: {not: {severity: {ne: HIGH}}}") == high
    assert listed("filter: {or: [{severity: {in: [INFO]}}, {severity: {eq: HIGH}}]}") == [*high, everything[-1]]
    assert listed("orderBy: {severityRank: DESC}")[-len(high) :] == high
    assert listed("orderBy: [{severityRank: ASC}, {id: ASC}], first: 1") == high[:1]
    assert listed('filter: {place: {startsWith: "u-trn2x64/d0/s2"}}') == everything[-1:]
    assert listed("filter: {who: {eq: null}}") == []
    assert listed("filter: {who: {ne: null}}, last: 1") == everything[-1:]

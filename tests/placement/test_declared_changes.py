"""One declaration a change: mutation, permission, method, command and page come from it."""

import asyncio
import inspect
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from click import Argument as PositionalArgument
from every_command import EVERY as EVERY_COMMAND
from graphql import GraphQLInputObjectType, GraphQLObjectType, get_named_type, is_required_input_field
from sqlalchemy import Connection, Engine, text

import trninv
from conftest import BACKENDS, Databases, Run, seed_everything, services
from trninv.database.engine import write_transaction
from trninv.database.tables import TABLES, TOKEN_SCOPES
from trninv.errors import ConflictError, InvalidArgumentError
from trninv.graphql.document_request import Request
from trninv.graphql.graphql_schema import schema
from trninv.inventory.access.bearer_tokens import Principal
from trninv.inventory.change import Change, change
from trninv.inventory.parameter import Argument
from trninv.placement.changes import __main__, all_changes
from trninv.placement.placement_fleet import Fleet
from trninv.placement.questions.make_room import JobMove

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

EVERY = pytest.mark.parametrize("declared", all_changes(), ids=lambda declared: declared.name)
PAGE = Path(__file__).parents[2] / "docs/reference/changes.md"
MUTATIONS = pytest.mark.parametrize(
    "declared", [declared for declared in all_changes() if declared.field], ids=lambda declared: declared.field
)
_D = "u-trn2x64/d0"
_CALLS: dict[str, dict[str, Any]] = {
    "set_state": {"addresses": [f"{_D}/s0/c0"], "state": "down", "why": "x"},
    "bind": {"slot": f"{_D}/s0", "instance": "i-0a"},
    "unbind": {"slot": f"{_D}/s1"},
    "allocate": {"name": "b", "places": [f"{_D}/s0"], "spares": [f"{_D}/s1/c0"]},
    "cordon": {"places": [f"{_D}/s0"], "why": "x"},
    "release": {"name": "a"},
    "uncordon": {"places": [f"{_D}/s3"]},
    "reserve": {"name": "b", "places": [f"{_D}/s0"], "until": "2h"},
    "unreserve": {"name": "a"},
    "replace_servers": {"name": "a", "lost": [f"{_D}/s2"]},
    "detect_drift": {"scope": _D},
    "move_jobs": {"scope": _D, "moves": [JobMove("a", 16, (), (f"{_D}/s0",), must_stop=False)]},
    "note_incident": {"incident": "1", "text": "x"},
    "create_token": {"name": "b", "expires": "1d"},
    "create_tokens": {"names": ["c", "d"], "scope": "observe"},
    "rotate_token": {"name": "a", "overlap": "1h"},
    "revoke_token": {"name": "a"},
}
"""A call of every method that changes something, after `changed` has run."""


def _mutations() -> GraphQLObjectType:
    mutations = schema()._schema.mutation_type
    assert mutations is not None
    return mutations


def _change(url: str) -> None:
    seed_everything(url)
    with trninv.open(url) as fleet:
        fleet.set_state(f"{_D}/s3/c0", "down", who="me", why="x")  # event 1
        fleet.allocate("a", [f"{_D}/s2"], who="me")
        fleet.cordon([f"{_D}/s3"], who="me", why="firmware")
        fleet.reserve("a", [f"{_D}/s2"], from_="2126-01-01T00:00:00Z", until="1h", maintenance=True, who="me")
        fleet.bind(f"{_D}/s1", "i-0b", who="me")
        fleet.create_token("a", who="me")


@pytest.fixture(params=BACKENDS)
def changed(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    """URL of a fleet with a job, a cordon, a reservation, a binding, an incident and a token."""
    url = databases.copied(request.param, _change)
    yield url
    databases.drop(url)


def _rows(url: str) -> dict[str, list[Any]]:
    with trninv.open(url) as fleet, fleet.connect() as connection:
        return {name: list(connection.execute(text(f'SELECT * FROM "{name}" ORDER BY 1'))) for name in TABLES}


@pytest.mark.parametrize("scope", [None, "", "write"])
def test_a_change_without_a_scope_cannot_be_declared(scope: str | None) -> None:
    with pytest.raises(TypeError, match="scope"):
        change(returns={}, undo="", examples=(), **({} if scope is None else {"scope": scope}))  # type: ignore[arg-type]


@EVERY
def test_every_change_has_words_an_example_and_an_undo(declared: Change[..., Any]) -> None:
    assert declared.description
    assert declared.undo.endswith(".")
    assert declared.scope in TOKEN_SCOPES
    assert set(declared.result_types) == set(declared.returns)
    examples = list(declared.examples)
    for command, _, option in (one.partition(" --") for one in declared.command.split(", ")):
        own = [example for example in examples if f"{example} ".startswith(f"{command} ") and option in example]
        assert own
        examples = [example for example in examples if example not in own]
    assert not examples
    texts = [*declared.returns.values(), *(parameter.description for parameter in declared.parameters)]
    assert all(one.endswith(".") for one in texts)


@MUTATIONS
def test_changes_that_share_a_payload_declare_the_same_result(declared: Change[..., Any]) -> None:
    for other in all_changes():
        if other.field and other.payload == declared.payload:
            assert (other.returns, other.result_types) == (declared.returns, declared.result_types)


@MUTATIONS
def test_the_mutation_takes_and_returns_what_is_declared(declared: Change[..., Any]) -> None:
    field = _mutations().fields[declared.field]
    arguments = get_named_type(field.args["input"].type)
    assert isinstance(arguments, GraphQLInputObjectType)
    names = {parameter.argument.name or parameter.name for parameter in declared.parameters}
    author = {"who", "dry_run", "client_mutation_id"} | ({"why"} if declared.takes_reason else set())
    assert {_snake(name) for name in arguments.fields} == names | author
    payload = get_named_type(field.type)
    assert isinstance(payload, GraphQLObjectType)
    assert {_snake(name) for name in payload.fields} == {*declared.returns, "client_mutation_id"}
    assert f"Scope: {declared.scope}." in (field.description or "")


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


@EVERY
def test_the_command_takes_what_is_declared(declared: Change[..., Any]) -> None:
    if " --" in declared.command:  # the question's command has the parameters
        return
    command = EVERY_COMMAND[tuple(declared.command.split())]
    taken = {parameter.name: parameter for parameter in command.params}
    for parameter in declared.parameters:
        argument = parameter.argument
        is_positional = (parameter.is_required and argument.option is None) or argument.positional
        assert isinstance(taken[parameter.name], PositionalArgument) == is_positional
    assert ("who" in taken, "dry_run" in taken) == (declared.takes_author, True)
    assert ("why" in taken, declared.needs_reason) == (declared.takes_reason, "why" in taken and taken["why"].required)


@EVERY
def test_the_method_takes_what_is_declared(declared: Change[..., Any]) -> None:
    parameters = inspect.signature(getattr(Fleet, declared.name)).parameters
    assert {parameter.name for parameter in declared.parameters} | {"dry_run"} <= set(parameters)
    assert "source" not in parameters


_SAMPLES = {"[Address!]!": '["x"]', "State!": "UP", "[MoveInput!]!": "[]"}


def _call(declared: Change[..., Any]) -> str:
    """The mutation of a change with all that its input requires."""
    arguments = get_named_type(_mutations().fields[declared.field].args["input"].type)
    assert isinstance(arguments, GraphQLInputObjectType)
    required = {name: str(field.type) for name, field in arguments.fields.items() if is_required_input_field(field)}
    values = (f"{name}: {_SAMPLES.get(written, _TEXT)}" for name, written in required.items())
    return f"{declared.field}(input: {{{', '.join(values)}}})"


_TEXT = '"x"'
_QUICK = "read", "operate"
"""Of all scopes, those that are tried where slow tests are left out."""


@pytest.mark.parametrize(
    "scope", [pytest.param(each, marks=() if each in _QUICK else pytest.mark.slow) for each in TOKEN_SCOPES]
)
def test_every_change_is_refused_without_its_scope(scope: str, seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        api = services(fleet)["compiled"]
        for declared in filter(lambda declared: declared.field, all_changes()):
            call, payload = _call(declared), "{ clientMutationId }"
            for document in (
                f"mutation {{ {call} {payload} }}",
                f"mutation {{ ...F }} fragment F on Mutation {{ {call} {payload} }}",
                f"mutation {{ ... on Mutation {{ {call} {payload} }} }}",
                f"mutation ($is: Boolean = true) {{ {call} @skip(if: $is) {payload} }}",
            ):
                answer = json.loads(asyncio.run(api.run(Request(document), scope=scope)).body)
                codes = [error["extensions"]["code"] for error in answer.get("errors", ())]
                assert ("FORBIDDEN" in codes) != Principal("", scope).allows(declared.scope), (document, answer)
                assert "BAD_DOCUMENT" not in codes, answer


def test_a_mutation_needs_the_scope_that_is_declared_and_no_other(seeded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = _mutations().fields["release"].extensions["strawberry-definition"]
    monkeypatch.setattr(declared, "metadata", {**declared.metadata, "scope": "admin"})
    document = 'mutation {{ {}(input: {{job: "nobody"}}) {{ clientMutationId }} }}'
    with trninv.open(seeded) as fleet:
        api = services(fleet)["compiled"]
        answer = json.loads(asyncio.run(api.run(Request(document.format("release")), scope="operate")).body)
    assert answer["errors"][0]["message"] == "release needs a token of scope admin"


@pytest.mark.parametrize("name", _CALLS)
def test_a_dry_run_returns_what_would_change_and_changes_nothing(changed: str, name: str) -> None:
    before = _rows(changed)
    with trninv.open(changed) as fleet:
        author = {"who": "me"}
        plan = (
            {"revision": fleet.make_room(scope=_D, servers=1).revision}
            if name in ("move_jobs", "replace_servers")
            else {}
        )
        tried = getattr(fleet, name)(**_CALLS[name], **author, **plan, dry_run=True)
        assert _rows(changed) == before
        made = getattr(fleet, name)(**_CALLS[name], **author, **plan)
    assert type(tried) is type(made)
    assert _rows(changed) != before


def test_a_dry_run_of_a_command_prints_what_would_change(changed: str, run: Run) -> None:
    before = _rows(changed)
    for words, line in (
        (("allocate", "b", f"{_D}/s0"), f"b: allocated 16 chips, {_D}/s0\n"),
        (("release", "a"), "a: released 16 chips\n"),
        (("cordon", f"{_D}/s0", "--why", "x"), f"{_D}/s0: cordoned\n"),
        (("uncordon", f"{_D}/s3"), f"{_D}/s3: uncordoned\n"),
        (("unbind", f"{_D}/s1"), f"{_D}/s1: i-0b is no longer bound\n"),
        (("token", "revoke", "a"), "a: revoked 1\n"),
        (
            ("set", f"{_D}/s0/c0", "down", "--why", "x"),
            f"{_D}/s0/c0: up → down\nthis hits b; where it can go: trninv replace b\n",
        ),
    ):
        assert run(*words, "--dry-run", database=changed) == (0, line, "dry run: nothing was changed\n")
        assert _rows(changed) == before
        assert run(*words, database=changed) == (0, line, "")
        assert (before := _rows(changed)) != {}


def test_a_command_prints_nothing_before_its_change_is_committed(
    changed: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def refused(engine: Engine, *, commits: bool) -> Iterator[Connection]:
        with write_transaction(engine, commits=not commits) as connection:
            yield connection
        raise ConflictError("another transaction was first")

    monkeypatch.setattr("trninv.cli.database_connection.write_transaction", refused)
    for words in (("release", "a"), ("set", f"{_D}/s0/c0", "down", "--why", "x"), ("drift",)):
        status, out, error = run(*words, database=changed)
        assert (status, out) == (1, "")
        assert error == "trninv: another transaction was first\n"


def test_the_page_is_as_declared() -> None:
    assert PAGE.read_text() == __main__.render_page(), "run: ./run generate"


def test_a_value_beyond_its_limits_is_refused() -> None:
    @change(scope="operate", returns={"count": "Its count."}, undo="Nothing.", examples=("count 3",))
    def count(_: Connection, number: Annotated[int, Argument("A number.", maximum=3)], *, who: str) -> int:
        """Count."""
        return number if who else 0

    assert count.coerce_values(3, who="me") == {"number": 3, "who": "me"}
    with pytest.raises(InvalidArgumentError, match="number 4 is out of range"):
        count.coerce_values(4, who="me")


@pytest.fixture
def held(seeded: str) -> Iterator[Fleet]:
    """A fleet that is open."""
    with trninv.open(seeded) as fleet:
        yield fleet


def test_a_single_address_needs_no_list(held: Fleet) -> None:
    assert held.allocate("a", f"{_D}/s0", who="me").chips == 16
    assert [cordon.server for cordon in held.cordon(f"{_D}/s1", who="me", why="x")] == [f"{_D}/s1"]
    (changed,) = held.set_state(f"{_D}/s2/c0", "degraded", factor=0.5, who="me", why="x")
    assert str(changed.after) == "degraded to 0.5"

"""One declaration a question: the command, the field, the price and the page come from it."""

import datetime as dt
import inspect
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import fleet_stub
import pytest
from click import Option
from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema, OperationDefinitionNode, get_named_type, parse
from graphql.execution.values import VariableValues

from conftest import Databases, Run
from trninv.cli import question_commands as commands
from trninv.database.engine import temporary_engine, write_transaction
from trninv.errors import CostLimitError, InvalidArgumentError, UnitError
from trninv.graphql import query_cost
from trninv.graphql.graphql_schema import schema
from trninv.inventory.parameter import PARAMETER_TYPES, Argument
from trninv.placement import questions as placement_questions
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.reserve import reserve
from trninv.placement.placement_fleet import Fleet
from trninv.placement.questions import __main__
from trninv.routing.answer import Answer, answer_fields
from trninv.routing.link_selection import LinkSelection
from trninv.routing.question import ROUTED_COST, SCAN_COST, Question, question
from trninv.routing.questions import all_questions, find
from trninv.units import Bandwidth

EVERY = pytest.mark.parametrize(
    "asked", [*all_questions(), *placement_questions.all_questions()], ids=lambda asked: asked.command
)
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("stub", fleet_stub.STUBS, ids=lambda stub: stub.stem)
def test_a_stub_has_the_types_that_are_declared(stub: Path) -> None:
    assert stub.read_text() == fleet_stub.render(*fleet_stub.STUBS[stub]), "run: ./run generate"


def test_a_method_is_documented_and_can_be_inspected() -> None:
    assert "Parameters" in str(Fleet.path.__doc__)
    assert list(inspect.signature(Fleet.bisection).parameters) == ["self", "scope", "chips", "transit"]


def test_the_addresses_of_values_are_those_of_every_parameter() -> None:
    path = find("path")
    values = path.coerce_values("a/d0", "a/d1", or_from=["a/d2", "a/d3/s0/c0--a/d3/s0/c1"], or_to="a/d4")
    assert list(path.addresses(values)) == ["a/d0", "a/d1", "a/d2", "a/d3/s0/c0", "a/d3/s0/c1", "a/d4"]
    assert list(path.addresses(path.coerce_values("a/d0", "a/d1", avoid="a/d5"))) == ["a/d0", "a/d1"]
    make_room = placement_questions.find("make_room")
    assert list(make_room.addresses(make_room.coerce_values("2x2x1", "a", pinned="slurm:7"))) == ["a"]


def _schema() -> GraphQLSchema:
    return schema()._schema


def test_a_question_without_a_price_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="cost"):
        question(examples=())  # type: ignore[call-arg] # that is the point


@EVERY
def test_every_question_has_a_price_an_example_and_words(asked: Question) -> None:
    assert asked.cost >= ROUTED_COST
    assert asked.description
    assert asked.examples
    assert all(example.split()[0] == asked.command.split()[0] for example in asked.examples)
    assert all(
        each.description.endswith(".") and issubclass(each.value_type, PARAMETER_TYPES) for each in asked.parameters
    )
    assert all(each.description for each in answer_fields(asked.answer_type))


@EVERY
def test_the_command_takes_what_is_asked(asked: Question) -> None:
    taken = {each.name: each for each in commands.question_command(asked.function.__module__.rpartition(".")[2]).params}
    for each in asked.parameters:
        assert isinstance(taken[each.name], Option) != (
            each.argument.positional or (each.is_required and not each.argument.option)
        )


@EVERY
def test_the_field_takes_what_is_asked_and_costs_the_price(asked: Question) -> None:
    query = _schema().query_type
    assert query is not None
    if not asked.field:
        assert asked.name not in query.fields
        return
    field = query.fields[asked.field]
    assert len(field.args) == len(asked.parameters)
    assert [each.description for each in field.args.values()] == [each.description for each in asked.parameters]
    required = [(name, each) for name, each in zip(field.args, asked.parameters, strict=True) if each.is_required]
    given = ", ".join(f"{name}: {_value(each.value_type)}" for name, each in required)
    given = given and f"({given})"
    assert _cost(f"{{ {asked.field}{given} {{ definition }} }}") == asked.cost + 1
    down = f'{{ whatIf(down: ["x"]) {{ {asked.field}{given} {{ definition }} }} }}'
    assert _cost(down) == 2 * asked.cost + 2


def _value(value_type: type) -> str:
    if issubclass(value_type, tuple):
        return '["x"]'
    return '"x"' if issubclass(value_type, str) else "1"


def test_what_scans_or_writes_declares_the_price_of_a_scan() -> None:
    """Counts and sums of lists in the tables, lists that are found whole, and changes."""
    whole = _schema()
    assert whole.query_type
    assert whole.mutation_type
    scans = {name: field for name, field in whole.mutation_type.fields.items() if name != "cancelSweep"}
    for name, field in whole.query_type.fields.items():
        listed = get_named_type(field.type)
        if isinstance(listed, GraphQLObjectType) and listed.name.endswith("Connection"):
            parts = listed.fields
            found_whole = "aggregates" not in parts
            scans |= (
                {name: field} if found_whole else {f"{name}.{of}": parts[of] for of in ("totalCount", "aggregates")}
            )
    cheap = {name for name, field in scans.items() if _declared(field) < SCAN_COST}
    assert (cheap, {"drift.totalCount", "incidents", "allocate", "chips.totalCount"} - scans.keys()) == (set(), set())


def _declared(field: GraphQLField) -> int:
    return int(field.extensions["strawberry-definition"].metadata.get("price", 0))


def _cost(text: str) -> int:
    (operation,) = parse(text).definitions
    assert isinstance(operation, OperationDefinitionNode)
    return query_cost.compute_cost(_schema(), operation, {}, VariableValues({}, {})).value


def test_lists_of_a_known_length_are_fields_of_the_schema() -> None:
    for name, field in query_cost._LIST_LENGTHS:
        assert field in _schema().get_type(name).fields, (name, field)  # type: ignore[union-attr] # an object type


def test_a_document_of_many_questions_is_refused() -> None:
    with pytest.raises(CostLimitError, match="p0"):
        query_cost.Cost(ROUTED_COST * 30, ("p0",)).check(100_000)


@EVERY
def test_the_method_of_a_fleet_takes_what_is_asked(asked: Question) -> None:
    method = inspect.signature(getattr(Fleet, asked.name))
    means = {name for name, each in asked.signature.parameters.items() if each.kind is each.KEYWORD_ONLY}
    assert [*method.parameters][1:] == [
        *(each.name for each in asked.parameters),
        *sorted(means, key=[*method.parameters].index),
    ]
    for each in asked.parameters:
        default = method.parameters[each.name].default
        assert each.is_required == (default is inspect.Parameter.empty)
        assert each.is_required or each.coerce(default) == each.default


def test_the_reference_page_is_made_from_the_declarations() -> None:
    page = (ROOT / "docs" / "reference" / "questions.md").read_text(encoding="utf-8")
    assert page == __main__.render_page(), "run python -m trninv.placement.questions > docs/reference/questions.md"


def test_values_are_read_in_the_forms_of_the_parameters() -> None:
    values = find("memory_pool").coerce_values("a/d0", min_bandwidth="64 GB/s")
    assert values == {
        "scope": "a/d0",
        "max_hops": None,
        "min_bandwidth": Bandwidth(64 * 10**9),
        "via": LinkSelection.SCALE_UP,
    }
    assert find("path").coerce_values("a", "b", "bandwidth", avoid="c")["avoid"] == ("c",)
    for wrong, error in (
        ({"k": 0}, InvalidArgumentError),
        ({"k": 101}, InvalidArgumentError),
        ({"by": "luck"}, InvalidArgumentError),
    ):
        with pytest.raises(error):
            find("path").coerce_values("a", "b", **wrong)
    with pytest.raises(InvalidArgumentError):
        find("memory_pool").coerce_values("a", -1)
    with pytest.raises(UnitError):
        find("memory_placement").coerce_values("a", "64 GB/s")
    with pytest.raises(InvalidArgumentError):
        find("memory_placement").coerce_values("a", 0)


def test_a_declaration_is_a_plain_function() -> None:
    @question(cost=ROUTED_COST, examples=("shout a",))
    def shout_out(
        _reader: object, of: Annotated[str, Argument("Whom.")], loud: Annotated[bool, Argument("How.")] = True
    ) -> Answer:
        """Shout."""
        raise AssertionError(of, loud)

    assert (shout_out.command, shout_out.field, shout_out.name) == ("shout-out", "shoutOut", "shout_out")
    assert shout_out.coerce_values("x") == {"of": "x", "loud": True}


@EVERY
def test_a_question_that_reads_the_clock_says_so(
    asked: Question, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str
) -> None:
    (tmp_path / "rates.toml").write_text("[chip]\nmtbf_hours = 10000\nmttr_hours = 10\n")
    monkeypatch.chdir(tmp_path)
    example = asked.examples[0].replace(
        "--from 2026-11-22T02:00:00Z", "--from 0"
    )  # before the history of these clusters
    answers = set()
    for hours in (1, 2):
        with monkeypatch.context() as patch:
            _set_clock(patch, dt.datetime.now(dt.UTC) + dt.timedelta(hours=hours))
            status, answer, error = run(*shlex.split(example), "--format", "json", database=url)
        assert status == 0, error
        answers.add(answer)
    assert (len(answers) == 2) == asked.reads_clock


@pytest.fixture(scope="module")
def url(databases: Databases) -> str:
    """A database with a job, and a reservation that ends between the two times of the clock."""
    url, now = databases.seeded("sqlite"), dt.datetime.now(dt.UTC)
    begin, end = ((now + dt.timedelta(minutes=minutes)).isoformat() for minutes in (30, 90))
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        allocate(connection, "train-70b", ["u-trn2x64/d0/s1"], who="tests")
        reserve(connection, "soon", ["u-trn2x64/d0/s0"], from_=begin, until=end, who="tests")
    return url


def _set_clock(patch: pytest.MonkeyPatch, time: dt.datetime) -> None:
    """Let every module of trninv read one time from now on."""

    class _Kind(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, dt.datetime)

    class Stopped(dt.datetime, metaclass=_Kind):
        @classmethod
        def now(cls, tz: Any = None) -> dt.datetime:  # type: ignore[override] # every caller passes UTC
            return time.astimezone(tz)

    for name, module in list(sys.modules.items()):
        if name.startswith("trninv.") and getattr(module, "datetime", None) is dt.datetime:
            patch.setattr(module, "datetime", Stopped)

"""Who and why are as long for one change as for another, on the command line, in GraphQL and in Python."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

import trninv
from conftest import Databases, Run, services
from trninv.database.engine import temporary_engine
from trninv.errors import InvalidArgumentError
from trninv.graphql.document_request import Request
from trninv.inventory.state.author import MAX_LENGTH, check_author

pytestmark = pytest.mark.slow_on_postgresql

U = "u-trn2x64/d0"
_COMMANDS = [
    ("set", f"{U}/s0/c0", "down", "--why", "x"),
    ("allocate", "a", f"{U}/s1"),
    ("release", "a"),
    ("cordon", f"{U}/s2", "--why", "x"),
    ("uncordon", f"{U}/s2"),
    ("bind", f"{U}/s3", "node-a"),
    ("unbind", f"{U}/s3"),
]
"""Each change that somebody makes, in an order in which they are possible."""
_MUTATIONS = [
    f'setState(input: {{ addresses: ["{U}/s0/c0"], state: DOWN, why: "x", who: $who }}) {{ clientMutationId }}',
    f'allocate(input: {{ job: "a", places: ["{U}/s1"], who: $who }}) {{ clientMutationId }}',
    'release(input: { job: "a", who: $who }) { clientMutationId }',
    f'cordon(input: {{ servers: ["{U}/s2"], why: "x", who: $who }}) {{ clientMutationId }}',
    f'uncordon(input: {{ servers: ["{U}/s2"], who: $who }}) {{ clientMutationId }}',
    f'bind(input: {{ slot: "{U}/s3", instance: "i-0a", who: $who }}) {{ clientMutationId }}',
    f'unbind(input: {{ slot: "{U}/s3", who: $who }}) {{ clientMutationId }}',
]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    made = databases.seeded(request.param)
    yield made
    databases.drop(made)


def _whos(url: str) -> set[str]:
    tables = ("state_event", "job", "cordon", "binding")
    with temporary_engine(url) as engine, engine.connect() as connection:
        return {who for table in tables for who in connection.scalars(text(f"SELECT who FROM {table}"))}


def test_commands_have_one_limit(url: str, run: Run) -> None:
    for command in _COMMANDS:
        status, _, error = run(*command, "--who", "w" * (MAX_LENGTH + 1), database=url)
        assert (status, "who: write 1 to 1,000 characters" in error) == (2, True), (command, error)
        status, _, error = run(*command, "--who", "w" * MAX_LENGTH, database=url)
        assert status == 0, (command, error)
    assert _whos(url) == {"w" * MAX_LENGTH}


def test_reasons_have_the_same(url: str, run: Run) -> None:
    for command in (each[:-1] if "--why" in each else (*each, "--why") for each in _COMMANDS if "bind" not in each[0]):
        status, _, error = run(*command, "y" * (MAX_LENGTH + 1), "--who", "me", database=url)
        assert (status, "why: write 1 to 1,000 characters" in error) == (2, True), (command, error)
        assert run(*command, "y" * MAX_LENGTH, "--who", "me", database=url)[0] == 0


def test_mutations_have_the_same(url: str) -> None:
    with trninv.open(url) as fleet:
        api = services(fleet)["compiled"]

        def run(mutation: str, who: str) -> Any:
            request = Request(f"mutation ($who: String) {{ {mutation} }}", {"who": who})
            return json.loads(asyncio.run(api.run(request)).body)

        for mutation in _MUTATIONS:
            (error,) = run(mutation, "w" * (MAX_LENGTH + 1))["errors"]
            assert (error["extensions"]["code"], error["message"]) == (
                "BAD_ARGUMENT",
                "who: write 1 to 1,000 characters",
            )
            assert "errors" not in run(mutation, "w" * MAX_LENGTH), mutation
    assert _whos(url) == {"w" * MAX_LENGTH}


@pytest.mark.parametrize("who", ["", " ", "w" * (MAX_LENGTH + 1), "\0"])
def test_what_can_not_be_kept_is_refused(who: str) -> None:
    for given in ((who,), ("me", who)):
        with pytest.raises(InvalidArgumentError):
            check_author(*given)

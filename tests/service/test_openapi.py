"""/openapi.json: made from the routes, valid, and true of what the service answers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from conftest import Databases
from examples import ROOT
from serving import serving
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.access import bearer_tokens
from trninv.service.api_route import ApiRoute
from trninv.service.application import ROUTE_MODULES, create_app
from trninv.service.openapi import describe_routes
from trninv.settings import Settings

PAGE = ROOT / "docs/reference/openapi.json"
_ROUTES = [route for module in ROUTE_MODULES for route in module.ROUTES]


def _application(url: str) -> Starlette:
    return create_app(url, Settings(database_url=url, log="off", request_seconds=20))


def test_every_route_is_described_but_graphql_and_the_pages() -> None:
    others = {route.path for route in _ROUTES if isinstance(route, Route | Mount) and not isinstance(route, ApiRoute)}
    assert others == {"/", "/assets", "/docs", "/graphql", "/mcp"}
    assert describe_routes(_ROUTES)["paths"].keys() == {route.path for route in _ROUTES} - others


def test_the_file_in_the_reference_is_current() -> None:
    assert json.loads(PAGE.read_text()) == describe_routes(_ROUTES), "run: ./run generate"


def test_the_service_serves_the_description(lite: str) -> None:
    with TestClient(_application(lite), base_url="http://127.0.0.1") as client:
        assert client.get("/openapi.json").json() == json.loads(PAGE.read_text())


def test_each_schema_is_a_schema_and_each_example_keeps_to_it() -> None:
    for path, methods in describe_routes(_ROUTES)["paths"].items():
        for operation in methods.values():
            shapes = [(one["schema"], one.get("example")) for one in operation["parameters"]]
            shapes += [
                (one["schema"], one["example"]) for one in operation.get("requestBody", {}).get("content", {}).values()
            ]
            for schema, example in shapes:
                Draft202012Validator.check_schema(schema)
                assert example is None or Draft202012Validator(schema).is_valid(example), path
            named = {f"{{{one['name']}}}" for one in operation["parameters"] if one["in"] == "path"}
            assert named == {piece for piece in path.split("/") if piece.startswith("{")}


@pytest.mark.parametrize("route", [route for route in _ROUTES if isinstance(route, ApiRoute)], ids=lambda one: one.path)
def test_a_declared_parameter_is_known_and_any_other_is_refused(lite: str, route: ApiRoute) -> None:
    path = route.path.replace("{cluster}", "u-trn2x64").replace("{name}", "nothing")
    with TestClient(_application(lite), base_url="http://127.0.0.1") as client:
        for parameter in route.declaration.parameters:
            if parameter.place == "query" and path != "/changes":  # which would answer without end
                answer = client.request(route.method, path, params={parameter.name: "?"}, json={})
                assert "no parameter" not in answer.text
        if not route.declaration.takes_any_parameter:
            answer = client.request(route.method, path, params={"colour": "red"}, json={})
            assert (answer.status_code, "no parameter 'colour'" in answer.text) == (400, True)


@pytest.fixture(scope="module")
def guarded(databases: Databases) -> Iterator[tuple[str, str]]:
    """The address of a service that asks for tokens, and one that may do anything."""
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        token = bearer_tokens.create_token(connection, "tests", "admin", None)
    with serving(url, TRNINV_AUTH="tokens", TRNINV_LOG="off") as address:
        yield address, token


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(describe_routes(_ROUTES)["paths"]))
def test_schemathesis_finds_no_answer_that_the_description_lacks(guarded: tuple[str, str], path: str) -> None:
    import schemathesis  # noqa: PLC0415 # it is slow to import
    from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: PLC0415 # as above

    address, token = guarded
    document = describe_routes(_ROUTES)
    document["paths"] = {path: document["paths"][path]}
    described = schemathesis.openapi.from_dict(document)
    described_operations: Any = described.get_all_operations()
    (operation,) = (result.ok() for result in described_operations)

    @settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None, derandomize=True, database=None)
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        if path == "/changes":  # there is no such event: the answer ends
            case.query = {**(case.query or {}), "lastEventId": "999999999"}
            case.headers = {}
        case.call_and_validate(
            base_url=address,
            headers={"Authorization": f"Bearer {token}"},
            timeout=300,
            excluded_checks=[positive_data_acceptance],  # no schema knows which addresses and times there are
        )

    check()

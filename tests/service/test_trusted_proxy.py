"""A proxy that signs people in names them in a header, which counts only from its own address."""

from ipaddress import ip_network
from typing import Any

import pytest
from starlette.testclient import TestClient

from conftest import Databases
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.access import bearer_tokens
from trninv.service.application import create_app
from trninv.settings import Settings

VIEWER = {"query": "{ viewer { name scope } }"}
ANN = {"X-Forwarded-Email": "ann@example.com", "X-Forwarded-Groups": "staff, sre"}


@pytest.fixture(scope="module")
def url(databases: Databases) -> str:
    return databases.seeded("sqlite")


def ask(url: str, peer: str, headers: Any, **settings: Any) -> tuple[int, dict[str, Any]]:
    """Ask who one is, from an address; the status, and the viewer or the error."""
    chosen: dict[str, Any] = {
        "proxy_header": "X-Forwarded-Email",
        "proxy_addresses": (ip_network("10.0.0.5"), ip_network("fd00::/64")),
        "group_scopes": (("owners", "admin"), ("sre", "operate"), ("*", "read")),
        **settings,
    }
    app = create_app(url, Settings(url, log="off", auth="tokens", **chosen))
    with TestClient(app, base_url="http://127.0.0.1", client=(peer, 50_000)) as client:
        answer = client.post("/graphql", json=VIEWER, headers=headers)
    body = answer.json()
    return answer.status_code, body["errors"][0] if "errors" in body else body["data"]["viewer"]


@pytest.mark.parametrize("peer", ["10.0.0.5", "fd00::1", "fd00::ffff:ffff:ffff:ffff"])
def test_the_proxy_names_a_person(url: str, peer: str) -> None:
    assert ask(url, peer, ANN) == (200, {"name": "ann@example.com", "scope": "OPERATE"})


@pytest.mark.parametrize("peer", ["10.0.0.4", "10.0.0.6", "127.0.0.1", "fd00:0:0:1::1", "::1", "testclient", ""])
def test_anybody_else_who_sends_the_header_is_refused(url: str, peer: str) -> None:
    status, error = ask(url, peer, ANN)
    assert (status, error["extensions"]["code"]) == (401, "UNAUTHENTICATED")
    assert error["message"].startswith("the header X-Forwarded-Email is accepted only from the addresses in")


def test_a_valid_token_does_not_make_a_spoofed_header_count(url: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        token = {"Authorization": f"Bearer {bearer_tokens.create_token(connection, 'grafana', 'read', None)}"}
    assert ask(url, "10.0.0.4", {**ANN, **token})[0] == 401
    assert ask(url, "10.0.0.4", token) == (200, {"name": "grafana", "scope": "READ"})
    assert ask(url, "10.0.0.5", token) == (200, {"name": "grafana", "scope": "READ"})


def test_another_header_does_not_change_where_a_request_comes_from(url: str) -> None:
    spoofed = {**ANN, "X-Forwarded-For": "10.0.0.5", "Forwarded": "for=10.0.0.5", "X-Real-IP": "10.0.0.5"}
    assert ask(url, "127.0.0.1", spoofed)[0] == 401
    assert ask(url, "10.0.0.9", spoofed)[0] == 401
    assert ask(url, "10.0.0.5", {**ANN, "X-Forwarded-For": "192.0.2.1"})[0] == 200
    assert (
        ask(url, "127.0.0.1", {**ANN, "X-Forwarded-For": "192.0.2.1"}, proxy_addresses=(ip_network("127.0.0.1"),))[0]
        == 200
    )


def test_it_is_off_by_default(url: str) -> None:
    status, error = ask(url, "10.0.0.5", ANN, proxy_header="", proxy_addresses=())
    assert (status, error["extensions"]["code"]) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    ("headers", "status", "message"),
    [
        ([("X-Forwarded-Email", "ann"), ("X-Forwarded-Email", "bob")], 401, "occurs twice"),
        ({"X-Forwarded-Email": ""}, 401, "no usable name"),
        ({"X-Forwarded-Email": " "}, 401, "no usable name"),
        ({"X-Forwarded-Email": "a" * 255}, 401, "no usable name"),
        ({}, 401, "no valid Authorization header"),
    ],
)
def test_a_header_that_names_nobody_is_refused(url: str, headers: Any, status: int, message: str) -> None:
    answered, error = ask(url, "10.0.0.5", headers)
    assert (answered, message in error["message"]) == (status, True)


def test_groups_come_in_one_header_or_several(url: str) -> None:
    several = [("X-Forwarded-Email", "ann"), ("X-Forwarded-Groups", "a,b"), ("X-Forwarded-Groups", "owners")]
    assert ask(url, "10.0.0.5", several)[1]["scope"] == "ADMIN"
    assert ask(url, "10.0.0.5", {"X-Forwarded-Email": "ann"})[1]["scope"] == "READ"
    assert ask(url, "10.0.0.5", {"X-Forwarded-Email": "ann", "X-Groups": "sre"}, proxy_groups_header="X-Groups") == (
        200,
        {"name": "ann", "scope": "OPERATE"},
    )
    status, error = ask(url, "10.0.0.5", {"X-Forwarded-Email": "ann"}, group_scopes=(("sre", "operate"),))
    assert (status, error["extensions"]["code"]) == (403, "FORBIDDEN")


def test_a_name_is_utf_8(url: str) -> None:
    assert ask(url, "10.0.0.5", {"X-Forwarded-Email": "zoë".encode()})[1]["name"] == "zoë"

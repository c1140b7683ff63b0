"""A person signs in with an OpenID token; the tests have an issuer of their own, with keys, a clock and a server."""

import asyncio
import base64
import hmac
import json
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from sqlalchemy import select
from starlette.testclient import TestClient

from conftest import Databases
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import ForbiddenError, UnauthenticatedError
from trninv.inventory.access import bearer_tokens
from trninv.inventory.access.bearer_tokens import Principal
from trninv.service import json_web_keys
from trninv.service.application import create_app
from trninv.service.json_web_keys import MAX_AGE, MAX_STALE, MIN_INTERVAL, JsonWebKeys, load_key_set, parse_key_set
from trninv.service.openid import LEEWAY_SECONDS, MAX_TOKEN, OpenIdVerifier
from trninv.settings import Settings

_LONG = 10**6
"""Seconds that no run of the tests takes."""
ISSUER, AUDIENCE = "https://login.example", "trninv"
_RSA, _OTHER_RSA = (rsa.generate_private_key(65537, 2048) for _ in range(2))
_WEAK_RSA = rsa.generate_private_key(65537, 1024)  # noqa: S505 # to be refused
_EC, _ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
_ALGORITHMS: dict[str, Any] = {
    "RSA": jwt.algorithms.RSAAlgorithm,
    "EC": jwt.algorithms.ECAlgorithm,
    "OKP": jwt.algorithms.OKPAlgorithm,
}
SETTINGS = Settings(
    "sqlite://",
    log="off",
    auth="tokens",
    oidc_issuer=ISSUER,
    oidc_audience=("other", AUDIENCE),
    oidc_jwks="unused",
    group_scopes=(("owners", "admin"), ("sre", "operate"), ("*", "read")),
)


def public(kind: str, key: Any, key_id: str, **more: str) -> dict[str, Any]:
    jwk: dict[str, Any] = json.loads(_ALGORITHMS[kind].to_jwk(key.public_key()))
    return {**{name: value for name, value in jwk.items() if name != "key_ops"}, "kid": key_id, **more}


KEYS = [public("RSA", _RSA, "r"), public("EC", _EC, "e", use="sig"), public("OKP", _ED, "o", alg="EdDSA")]


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    everything = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "248289",
        "email": "ann@example.com",
        "groups": ["sre", "staff"],
        "iat": now,
        "exp": now + _LONG,
        **changes,
    }
    return {name: value for name, value in everything.items() if value is not ...}


def token(key: Any = _RSA, key_id: Any = "r", algorithm: Any = "RS256", **changes: Any) -> str:
    headers = {} if key_id is None else {"kid": key_id}
    return jwt.encode(claims(**changes), key, algorithm, headers=headers)


class Issuer:
    """Publishes keys, and counts how often they are read; the clock goes on by hand."""

    def __init__(self, keys: list[dict[str, Any]]) -> None:
        self.keys, self.reads, self.now, self.failures = keys, 0, 0.0, list[Exception]()
        self.error: Exception | None = None
        self.store = JsonWebKeys("", self.failures.append, self._load, lambda: self.now)

    def _load(self, _location: str) -> bytes:
        self.reads += 1
        if self.error:
            raise self.error
        return json.dumps({"keys": self.keys}).encode()

    async def find(self, text: str, settings: Settings = SETTINGS) -> Principal:
        return await OpenIdVerifier(settings, self.store).find_person(text)


def find(text: str, settings: Settings = SETTINGS, keys: list[dict[str, Any]] = KEYS) -> Principal:
    return asyncio.run(Issuer(keys).find(text, settings))


@pytest.mark.parametrize(
    "text",
    [
        token(),
        token(algorithm="PS512"),
        token(_EC, "e", "ES256"),
        token(_ED, "o", "EdDSA"),
        token(aud=["x", AUDIENCE]),
        token(email_verified=True),
        token(exp=int(time.time()) + 10**9),
    ],
)
def test_a_valid_token_names_a_person(text: str) -> None:
    assert find(text) == Principal("ann@example.com", "operate")


def _unsigned(header: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, body))
    return b".".join(parts).decode()


def _hmac_with_the_public_key() -> str:
    """The classic: a verifier that takes the algorithm from the token checks an HMAC with the public key's text."""
    secret = _RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    text = _unsigned({"alg": "HS256", "kid": "r", "typ": "JWT"}, claims())
    signature = hmac.digest(secret, text.encode(), sha256)
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


_PAST = int(time.time()) - 3600


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (token(_OTHER_RSA), "its signature is wrong"),
        (token()[:-8] + "AAAAAAAA", "its signature is wrong"),
        (f"{_unsigned({'alg': 'none', 'kid': 'r'}, claims())}.", "its algorithm does not fit"),
        (f"{_unsigned({'alg': 'None'}, claims())}.", "not publish"),
        (_hmac_with_the_public_key(), "its algorithm does not fit"),
        (token(_EC, "r", "ES256"), "its algorithm does not fit"),
        (token(_RSA, "o", "RS256"), "its algorithm does not fit"),
        (token(iat=_PAST, exp=_PAST + 60), "it has expired"),
        (token(nbf=int(time.time()) + _LONG), "it is not valid yet"),
        (token(iat=int(time.time()) + _LONG), "it is not valid yet"),
        (token(aud="another"), "for another audience"),
        (token(aud=["another", "one"]), "for another audience"),
        (token(iss="https://login.example.evil"), "another issuer"),
        (token(iss=f"{ISSUER}/"), "another issuer"),
        (token(exp=...), "lacks one of"),
        (token(aud=...), "lacks one of"),
        (token(iss=...), "lacks one of"),
        (token(exp="soon"), "malformed"),
        (token(key_id="unknown"), "does not publish"),
        (token(key_id=None), "does not publish"),
        (token(email_verified=False), "not verified"),
        (token(email_verified="false"), "not verified"),
        (token(email=...), "no usable name"),
        (token(email=["ann"]), "no usable name"),
        (token(email=" "), "no usable name"),
        (token(email="a" * 255), "no usable name"),
        (token(email="ann\x00"), "no usable name"),
        (token(email="ann\u202egro"), "unprintable"),
        (token(padding="x" * MAX_TOKEN), "longer than 16,384"),
        ("a.b.c", "malformed"),
        ("..", "malformed"),
        ("a", "malformed"),
        (f"{_unsigned({'alg': 'RS256', 'kid': ['r']}, claims())}.AA", "malformed"),
        (f"{_unsigned({'alg': 'RS256', 'kid': 'r', 'crit': ['x'], 'x': 1}, claims())}.AA", "OpenID token is not valid"),
    ],
)
def test_everything_else_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UnauthenticatedError, match=reason):
        find(text)


@pytest.mark.parametrize("offset", [-1, 1])
def test_clocks_may_differ_by_a_little(offset: int) -> None:
    now = int(time.time())
    name, near, far = ("exp", now - 1, now - 600) if offset < 0 else ("nbf", now + 1, now + 600)
    assert LEEWAY_SECONDS < 600
    assert find(token(**{name: near})).name == "ann@example.com"
    with pytest.raises(UnauthenticatedError):
        find(token(**{name: far}))


@pytest.mark.parametrize(
    ("groups", "scope"),
    [
        (["sre", "owners"], "admin"),
        ("sre", "operate"),
        (["staff"], "read"),
        (..., "read"),
        ([1, {}], "read"),
        ({}, "read"),
    ],
)
def test_groups_give_scopes_in_the_order_of_the_setting(groups: Any, scope: str) -> None:
    assert find(token(groups=groups)).scope == scope


def test_without_a_group_that_counts_a_person_is_nobody() -> None:
    settings = Settings(**{**_fields(SETTINGS), "group_scopes": (("owners", "admin"),)})
    with pytest.raises(ForbiddenError, match=r"none of the groups of ann@example\.com has a scope"):
        find(token(), settings)


def test_other_claims_may_have_name_and_groups() -> None:
    settings = Settings(**{**_fields(SETTINGS), "oidc_name": "sub", "oidc_groups": "https://example/roles"})
    text = token(**{"https://example/roles": ["owners"], "email_verified": False})
    assert find(text, settings) == Principal("248289", "admin")


def _fields(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in Settings.__annotations__}


def test_keys_that_verify_nothing_are_skipped() -> None:
    secret = {"kty": "oct", "k": "c2VjcmV0", "kid": "s"}
    unusable = [
        secret,
        public("RSA", _OTHER_RSA, "encrypts", use="enc"),
        public("RSA", _OTHER_RSA, "odd", alg="RSA-OAEP"),
        public("RSA", _WEAK_RSA, "weak"),
        {"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"},
        {"kty": "EC", "kid": "curve", "crv": "P-0", "x": "AA", "y": "AA"},
        "text",
    ]
    assert set(parse_key_set(json.dumps({"keys": [*unusable, *KEYS]}).encode())) == {"r", "e", "o"}
    for body in (b"", b"[]", b"{}", b'{"keys": {}}', json.dumps({"keys": unusable}).encode(), b" " * 1_000_001):
        with pytest.raises(ValueError, match=r"\w"):
            parse_key_set(body)


def test_without_a_key_id_the_only_key_is_meant() -> None:
    assert find(token(key_id=None), keys=[public("RSA", _RSA, "r")]).name == "ann@example.com"


def test_rotated_keys_are_found_and_old_ones_go() -> None:
    issuer = Issuer([public("RSA", _RSA, "old")])
    old, new = token(key_id="old"), token(_OTHER_RSA, "new")

    async def run() -> None:
        assert (await issuer.find(old)).name == "ann@example.com"
        issuer.keys.append(public("RSA", _OTHER_RSA, "new"))
        issuer.now = MIN_INTERVAL
        assert (await issuer.find(new)).name == "ann@example.com"
        assert issuer.reads == 2
        del issuer.keys[0]
        issuer.now += MAX_AGE
        assert (await issuer.find(new)).name == "ann@example.com"
        with pytest.raises(UnauthenticatedError, match="does not publish"):
            await issuer.find(old)

    asyncio.run(run())


def test_unknown_keys_do_not_make_it_ask_again_and_again() -> None:
    issuer = Issuer(KEYS)

    async def attack() -> None:
        texts = [token(key_id=f"unknown{number}") for number in range(30)]
        answers = await asyncio.gather(*map(issuer.find, texts), return_exceptions=True)
        assert all(isinstance(answer, UnauthenticatedError) for answer in answers)
        assert (await issuer.find(token())).name == "ann@example.com", "others are not refused with them"

    async def run() -> None:
        await attack()
        assert issuer.reads == 1
        issuer.now = MIN_INTERVAL - 0.001
        await attack()
        assert issuer.reads == 1
        issuer.now = MIN_INTERVAL
        await attack()
        assert issuer.reads == 2

    asyncio.run(run())


@pytest.mark.parametrize("error", [OSError("no route"), ValueError("no keys")])
def test_an_issuer_that_is_away_is_not_missed_for_a_day(error: Exception) -> None:
    issuer = Issuer(KEYS)
    text = token(exp=int(time.time()) + _LONG)

    async def run() -> None:
        await issuer.find(text)
        issuer.error = error
        issuer.now = MAX_STALE - 0.001
        assert (await issuer.find(text)).name == "ann@example.com"
        assert issuer.failures == [error]
        issuer.now = MAX_STALE
        with pytest.raises(UnauthenticatedError, match="does not publish"):
            await issuer.find(text)
        issuer.error = None
        issuer.now += MIN_INTERVAL
        assert (await issuer.find(text)).name == "ann@example.com"

    asyncio.run(run())


class _Published(BaseHTTPRequestHandler):
    """Serves the keys at /keys, and redirects from elsewhere."""

    def do_GET(self) -> None:
        body = json.dumps({"keys": KEYS}).encode()
        self.send_response(200 if self.path == "/keys" else 302)
        self.send_header("Location", "/keys")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def published() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Published) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_keys_come_from_a_url_or_a_file(published: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keys.json").write_text(json.dumps({"keys": KEYS}))
    assert set(parse_key_set(load_key_set(f"{published}/keys"))) == {"r", "e", "o"}
    assert set(parse_key_set(load_key_set(str(tmp_path / "keys.json")))) == {"r", "e", "o"}
    with pytest.raises(OSError, match="302"):
        load_key_set(f"{published}/elsewhere")
    monkeypatch.setattr(json_web_keys, "MAX_BYTES", 100)
    assert len(load_key_set(f"{published}/keys")) == 101


def test_a_person_asks_and_changes_under_their_name(databases: Databases, published: str) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        machine = bearer_tokens.create_token(connection, "grafana", "read", None)
    settings = Settings(**{**_fields(SETTINGS), "database_url": url, "oidc_jwks": f"{published}/keys"})
    viewer = {"query": "{ viewer { name scope scopes } }"}
    change = """mutation { setState(input: {addresses: ["u-trn2x64/d0/s0/c0"], state: DOWN, why: "loose"}) {
        clientMutationId } }"""
    with TestClient(create_app(url, settings), base_url="http://127.0.0.1") as client:

        def ask(text: str, body: Mapping[str, str]) -> Any:
            return client.post("/graphql", json=body, headers={"Authorization": f"Bearer {text}"})

        person = {"name": "ann@example.com", "scope": "OPERATE", "scopes": ["READ", "OPERATE"]}
        assert ask(token(), viewer).json()["data"] == {"viewer": person}
        assert ask(machine, viewer).json()["data"]["viewer"]["name"] == "grafana"
        assert ask(token(_OTHER_RSA), viewer).status_code == 401
        assert ask(token(groups=["staff"]), {"query": change}).json()["errors"][0]["extensions"]["code"] == "FORBIDDEN"
        assert "errors" not in ask(token(), {"query": change}).json()
    with temporary_engine(url) as engine, read_transaction(engine) as connection:
        events = set(connection.execute(select(TABLES["state_event"].c.who, TABLES["state_event"].c.source)))
    assert events == {("ann@example.com", "api")}

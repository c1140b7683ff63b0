"""An EC2 instance gets a token for its identity document, once, and nobody else does."""

import base64
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asn1crypto import cms
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import pkcs7
from printed import neuron_ls
from sqlalchemy import update
from starlette.testclient import TestClient

from conftest import BACKENDS, Databases
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.errors import ForbiddenError, TrninvError, UnauthenticatedError, UsageError
from trninv.inventory.access import bearer_tokens
from trninv.inventory.access.identity_document import MAX_LENGTH, IdentityDocumentVerifier
from trninv.inventory.schema.listing import select_things
from trninv.inventory.schema.things import THINGS
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

ACCOUNT, INSTANCE = "123456789012", "i-0123456789abcdef0"
DOCUMENT = {
    "accountId": ACCOUNT,
    "architecture": "x86_64",
    "imageId": "ami-0",
    "instanceId": INSTANCE,
    "instanceType": "trn2.48xlarge",
    "pendingTime": "2026-01-01T00:00:00Z",
    "privateIp": "10.0.0.1",
    "region": "us-east-1",
    "version": "2017-09-30",
}
_KEY, _OTHER_KEY = (rsa.generate_private_key(65537, 2048) for _ in range(2))


def certificate(key: Any, serial: int = 7, days: int = 1) -> x509.Certificate:
    """A certificate that is valid from two days ago on for a time."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "AWS stand-in")])
    begin = datetime.now(UTC) - timedelta(days=2)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(serial).not_valid_before(begin).not_valid_after(begin + timedelta(days=2 + days))
    return builder.sign(key, hashes.SHA256())


_CERTIFICATE = certificate(_KEY)


def signed(
    content: bytes | dict[str, Any] = DOCUMENT,
    key: Any = _KEY,
    signer: x509.Certificate = _CERTIFICATE,
    digest: Any = None,
    options: tuple[pkcs7.PKCS7Options, ...] = (),
) -> bytes:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    builder = pkcs7.PKCS7SignatureBuilder().set_data(data).add_signer(signer, key, digest or hashes.SHA256())
    chosen = [pkcs7.PKCS7Options.Binary, pkcs7.PKCS7Options.NoCerts, *options]
    return builder.sign(serialization.Encoding.DER, chosen)


def as_aws_sends_it(message: bytes) -> str:
    """Base64 of the message as BER with indefinite lengths, in which the content is in pieces."""
    info = cms.ContentInfo.load(message)
    data = info["content"]

    def indefinite(tag: int, *parts: bytes) -> bytes:
        return bytes([tag, 0x80]) + b"".join(parts) + b"\0\0"

    def octets(piece: bytes) -> bytes:
        return b"\x04\x82" + len(piece).to_bytes(2, "big") + piece

    content = data["encap_content_info"]["content"].native
    pieces = [octets(content[start : start + 100]) for start in range(0, len(content), 100)]
    encapsulated = indefinite(
        0x30,
        data["encap_content_info"]["content_type"].dump(),
        indefinite(0xA0, indefinite(0x24, *pieces)),
    )
    inner = indefinite(
        0x30, data["version"].dump(), data["digest_algorithms"].dump(), encapsulated, data["signer_infos"].dump()
    )
    outer = indefinite(0x30, info["content_type"].dump(), indefinite(0xA0, inner))
    return base64.encodebytes(outer).decode()


def encoded(message: bytes) -> str:
    return base64.b64encode(message).decode()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("certificates") / "aws.pem"
    others = [certificate(_OTHER_KEY, serial=8), certificate(_OTHER_KEY, serial=9, days=-1), _CERTIFICATE]
    file.write_bytes(b"".join(each.public_bytes(serialization.Encoding.PEM) for each in others))
    return file


@pytest.fixture(scope="module")
def verifier(certificates: Path) -> IdentityDocumentVerifier:
    return IdentityDocumentVerifier(certificates, [ACCOUNT])


@pytest.mark.parametrize(
    "text",
    [
        encoded(signed()),
        f"-----BEGIN PKCS7-----\n{as_aws_sends_it(signed())}-----END PKCS7-----\n",
        as_aws_sends_it(signed()),
        encoded(signed(digest=hashes.SHA512())),
        encoded(signed(options=(pkcs7.PKCS7Options.NoAttributes,))),
    ],
    ids=["DER", "armored", "BER", "SHA-512", "without attributes"],
)
def test_what_is_signed_is_taken(verifier: IdentityDocumentVerifier, text: str) -> None:
    document = verifier.verify(text)
    assert (document.instance, document.account, document.region) == (INSTANCE, ACCOUNT, "us-east-1")
    assert document.pending_time == datetime(2026, 1, 1, tzinfo=UTC)


_CHANGED = signed().replace(INSTANCE.encode(), b"i-0123456789abcdef1")
_EC_KEY = ec.generate_private_key(ec.SECP256R1())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (encoded(_CHANGED), "does not match"),
        (
            encoded(signed(options=(pkcs7.PKCS7Options.NoAttributes,)).replace(b"10.0.0.1", b"10.0.0.2")),
            "not signed by",
        ),
        (encoded(signed(key=_OTHER_KEY, signer=certificate(_OTHER_KEY))), "not signed by"),
        (encoded(signed(key=_OTHER_KEY, signer=certificate(_OTHER_KEY, serial=9))), "not signed by"),
        (encoded(signed(key=_EC_KEY, signer=certificate(_EC_KEY))), "not an EC2 instance identity document"),
        (encoded(signed(options=(pkcs7.PKCS7Options.DetachedSignature,))), "not an EC2 instance identity document"),
        (encoded(_CERTIFICATE.public_bytes(serialization.Encoding.DER)), "not an EC2 instance identity document"),
        (encoded(signed(b"[1]")), "not an EC2 instance identity document"),
        (encoded(signed(b"[" * 5_000)), "not an EC2 instance identity document"),
        (encoded(signed({**DOCUMENT, "instanceId": "i-0a/../x"})), "not an EC2 instance identity document"),
        (encoded(signed({**DOCUMENT, "instanceId": ["i-0123456789abcdef0"]})), "not an EC2"),
        (encoded(signed({**DOCUMENT, "pendingTime": "2026-01-01T00:00:00"})), "not an EC2"),
        (encoded(signed({"accountId": ACCOUNT})), "not an EC2"),
        (encoded(b"\x30\x80" * 6_000), "not an EC2"),
        ("", "not an EC2"),
        ("%%%", "not an EC2"),
        ("A" * (MAX_LENGTH + 1), "longer than 16,384"),
    ],
)
def test_what_is_not_signed_as_it_is_is_refused(verifier: IdentityDocumentVerifier, text: str, message: str) -> None:
    with pytest.raises(UnauthenticatedError, match=message):
        verifier.verify(text)


def test_sha_1_is_refused(verifier: IdentityDocumentVerifier) -> None:
    info = cms.ContentInfo.load(signed())
    info["content"]["signer_infos"][0]["digest_algorithm"]["algorithm"] = "sha1"
    with pytest.raises(UnauthenticatedError):
        verifier.verify(encoded(info.dump(force=True)))


def test_two_signers_are_refused(verifier: IdentityDocumentVerifier) -> None:
    builder = pkcs7.PKCS7SignatureBuilder().set_data(json.dumps(DOCUMENT).encode())
    for signer in (_CERTIFICATE, certificate(_KEY, serial=8)):
        builder = builder.add_signer(signer, _KEY, hashes.SHA256())
    with pytest.raises(UnauthenticatedError):
        verifier.verify(encoded(builder.sign(serialization.Encoding.DER, [pkcs7.PKCS7Options.Binary])))


def test_a_document_of_another_account_is_refused(verifier: IdentityDocumentVerifier) -> None:
    with pytest.raises(ForbiddenError, match="of account 210987654321"):
        verifier.verify(encoded(signed({**DOCUMENT, "accountId": "210987654321"})))


def test_a_damaged_message_is_refused_or_says_the_same(verifier: IdentityDocumentVerifier) -> None:
    draw, message = random.Random(7), signed()
    for _ in range(400):
        damaged = bytearray(message)
        for _ in range(draw.randint(1, 3)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        try:
            document = verifier.verify(encoded(bytes(damaged)))
        except TrninvError:
            continue
        assert document == verifier.verify(encoded(message)), "only what is not signed was damaged"


def test_the_file_must_have_certificates(tmp_path: Path) -> None:
    for content in (b"", b"no PEM", certificate(_EC_KEY).public_bytes(serialization.Encoding.PEM)):
        (tmp_path / "aws.pem").write_bytes(content)
        with pytest.raises(UsageError, match="no PEM certificate with an RSA key"):
            IdentityDocumentVerifier(tmp_path / "aws.pem", [ACCOUNT])


Enroll = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    url = databases.migrated(request.param)
    yield url
    databases.drop(url)


@pytest.fixture
def client(url: str, certificates: Path) -> Iterator[TestClient]:
    settings = Settings(url, log="off", auth="tokens", enroll_certificates=certificates, enroll_accounts=(ACCOUNT,))
    with TestClient(create_app(url, settings), base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def enroll(client: TestClient) -> Enroll:
    """Send a document, perhaps with a token; the status, and the answer or its error."""

    def send(token: str = "", **changes: Any) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = client.post("/enroll", content=encoded(signed({**DOCUMENT, **changes})), headers=headers)
        body = answer.json()
        return answer.status_code, body["errors"][0]["extensions"] | body["errors"][0] if "errors" in body else body

    return send


def test_an_enrolled_instance_reports_of_itself_alone(client: TestClient, enroll: Enroll, url: str) -> None:
    status, answer = enroll()
    assert (status, answer["name"], answer["scope"], answer["lifetime"]) == (201, INSTANCE, "observe", "30d")
    headers = {"Authorization": f"Bearer {answer['token']}"}
    for instance, wanted in ((INSTANCE, 202), ("i-0b", 403)):
        observation = {"host": "n0", "neuron_ls": neuron_ls(instance), "sysfs": {}}
        assert client.post("/observations", json=observation, headers=headers).status_code == wanted
    with temporary_engine(url) as engine, read_transaction(engine) as connection:
        (event,) = connection.execute(select_things(THINGS["token_event"])).all()
    assert (event.action, event.who, event.name) == ("enroll", INSTANCE, INSTANCE)
    assert event.detail == f"account {ACCOUNT}, region us-east-1"


def test_a_document_counts_once(enroll: Enroll) -> None:
    _, first = enroll()
    status, error = enroll()
    assert (status, error["code"]) == (409, "CONFLICT")
    assert "send it in the header Authorization" in error["message"]
    status, second = enroll(first["token"])
    assert (status, second["token"] != first["token"]) == (201, True)
    assert enroll(pendingTime="2036-01-01T00:00:00Z")[0] == 201, "it was started again"
    assert enroll("trninv_x")[0] == 401


def test_another_instance_s_token_proves_nothing(enroll: Enroll, url: str) -> None:
    enroll()
    _, other = enroll(instanceId="i-0123456789abcdef1")
    assert enroll(other["token"])[0] == 409
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        admin = bearer_tokens.create_token(connection, INSTANCE, "admin", None)
        reader = bearer_tokens.create_token(connection, INSTANCE, "read", None)
    assert enroll(admin)[0] == 409
    assert enroll(reader)[0] == 403


def test_an_expired_token_is_replaced_and_a_revoked_one_is_not(enroll: Enroll, url: str) -> None:
    enroll()
    with temporary_engine(url) as engine:
        with write_transaction(engine) as connection:
            connection.execute(update(TABLES["token"]).values(expires="2026-01-02T00:00:00.000000+00:00"))
        assert enroll()[0] == 201
        with write_transaction(engine) as connection:
            bearer_tokens.revoke_token(connection, INSTANCE)
        for changes in ({}, {"pendingTime": "2036-01-01T00:00:00Z"}):
            status, error = enroll(**changes)
            assert (status, "was revoked: an administrator can run" in error["message"]) == (409, True)
        with write_transaction(engine) as connection:
            token = bearer_tokens.create_token(connection, INSTANCE, "observe", None)
    assert enroll(token)[0] == 201


def test_the_limit_of_the_first_document_is_its_instant(enroll: Enroll, url: str) -> None:
    enroll()
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        connection.execute(update(TABLES["token"]).values(created="2026-01-01T00:00:00.000000+00:00"))
    assert enroll()[0] == 409
    assert enroll(pendingTime="2026-01-01T00:00:00.000001Z")[0] == 201


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_what_is_no_document_is_refused(client: TestClient) -> None:
    for body, status in ((b"\xff", 401), (b"{}", 401), (b"A" * 20_000, 401), (b"A" * 2_000_000, 413)):
        assert client.post("/enroll", content=body).status_code == status
    assert client.get("/enroll").status_code == 405


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_it_is_off_by_default(url: str) -> None:
    settings = Settings(url, log="off", auth="tokens")
    with TestClient(create_app(url, settings), base_url="http://127.0.0.1") as client:
        answer = client.post("/enroll", content=encoded(signed()))
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (404, "NOT_FOUND")

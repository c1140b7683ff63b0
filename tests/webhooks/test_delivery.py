"""A single delivery: signature, answers, and the addresses that are refused."""

import base64
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from flaky_receiver import SECRET_TEXT, FlakyReceiver, flaky_receiver

from trninv.errors import DeliveryError
from trninv.units import current_timestamp
from trninv.webhooks import delivery
from trninv.webhooks.delivery import deliver, is_allowed
from trninv.webhooks.message import Message, sign
from trninv.webhooks.receiver import BodyFormat, Receiver, parse_receivers


@pytest.fixture
def flaky() -> Iterator[FlakyReceiver]:
    with flaky_receiver() as receiver:
        yield receiver


def receiver_of(flaky: FlakyReceiver, more: str = "") -> Receiver:
    (receiver,) = parse_receivers(flaky.file(selections="checks: {}", more=more), "f", {"PAGER": SECRET_TEXT})
    return receiver


def test_the_signature_is_that_of_the_specification() -> None:
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")  # its own example
    signature = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b'{"test": 2432232314}')
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_message_is_signed_and_accepted(flaky: FlakyReceiver) -> None:
    message = Message.create("test", [1], current_timestamp(), "hello", {"a": 1})
    deliver(receiver_of(flaky), message.id, message.body(BodyFormat.JSON))
    assert flaky.unsigned == 0
    assert flaky.attempts == [(message.id, 204)]
    assert flaky.accepted[0]["id"] == message.id
    assert flaky.accepted[0]["data"] == {"a": 1}


def test_the_id_is_that_of_the_same_thing_only() -> None:
    first, again, other = (Message.create("a", [key], time, "", {}) for key, time in ((1, "x"), (1, "y"), (2, "x")))
    assert first.id == again.id != other.id != Message.create("b", [2], "x", "", {}).id


def test_a_text_for_slack_mentions_and_links_nothing() -> None:
    message = Message.create("a", [], "", "<!channel> & <http://x|y>\x1b[2J", {})
    assert message.body(BodyFormat.SLACK) == (b'{"text":"&lt;!channel&gt; &amp; &lt;http://x|y&gt;\\\\u001b[2J"}')


@pytest.mark.parametrize(
    ("status", "is_final"),
    [
        (301, True),
        (307, True),
        (400, True),
        (404, True),
        (410, True),
        (408, False),
        (429, False),
        (500, False),
        (0, False),
    ],
)
def test_an_answer_says_whether_another_attempt_may_succeed(flaky: FlakyReceiver, status: int, is_final: bool) -> None:
    flaky.script, flaky.headers = [status], {"Location": flaky.url}
    with pytest.raises(DeliveryError) as failed:
        deliver(receiver_of(flaky), "a", b"{}")
    assert failed.value.is_final is is_final
    assert "/hook" not in str(failed.value)
    assert len(flaky.attempts) == 1  # a redirect is not followed


@pytest.mark.parametrize(("value", "least", "most"), [("7", 7, 7), ("soon", 0, 0), ("-1", 0, 0), ("date", 50, 60)])
def test_retry_after_is_a_number_or_a_date(flaky: FlakyReceiver, value: str, least: int, most: int) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(minutes=1), usegmt=True)
    flaky.script, flaky.headers = [503], {"Retry-After": date if value == "date" else value}
    with pytest.raises(DeliveryError) as failed:
        deliver(receiver_of(flaky), "a", b"{}")
    assert least <= failed.value.retry_after <= most


PRIVATE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",  # noqa: S104
    "255.255.255.255", "::", "::1", "fe80::1", "fd00::1", "fec0::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
    "2002:7f00:1::", "fd00:ec2::254",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_no_private_address_is_allowed(address: str) -> None:
    assert not is_allowed(ip_address(address), [])


def test_public_addresses_and_allowed_networks_are_allowed() -> None:
    assert all(is_allowed(ip_address(address), []) for address in ("8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8"))
    assert is_allowed(ip_address("10.1.2.3"), [ip_network("10.0.0.0/8")])
    assert is_allowed(ip_address("::ffff:10.1.2.3"), [ip_network("10.0.0.0/8")])
    assert not is_allowed(ip_address("10.1.2.3"), [ip_network("10.2.0.0/16")])


def test_a_name_is_refused_by_the_address_that_it_has_when_it_is_connected(
    flaky: FlakyReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that first resolves to a public and then to a private address (DNS rebinding) reaches neither."""
    connected = []
    monkeypatch.setattr(socket, "create_connection", lambda address, _: connected.append(address))
    answers = iter([["10.0.0.5"], ["10.0.0.5", "fd00::1"]])
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda *_, **__: [(0, 0, 0, "", (address, 80)) for address in next(answers)],
    )
    for _ in range(2):
        with pytest.raises(DeliveryError, match=r"has the address 10.0.0.5, which is not public") as failed:
            deliver(receiver_of(flaky), "a", b"{}")
        assert failed.value.is_final
    assert connected == []


def test_only_the_public_one_of_several_addresses_is_connected(
    flaky: FlakyReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected = []

    def connect(address: tuple[str, int], _: float) -> socket.socket:
        connected.append(address[0])
        raise ConnectionRefusedError(111, "Connection refused")

    infos = [(0, 0, 0, "", (address, 80)) for address in ("10.0.0.5", "8.8.8.8", "169.254.169.254")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: infos)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(DeliveryError, match="Connection refused") as failed:
        deliver(receiver_of(flaky), "a", b"{}")
    assert connected == ["8.8.8.8"]
    assert not failed.value.is_final


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of localhost, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(signed.public_bytes(Encoding.PEM) + private)
    return file


@pytest.mark.parametrize(
    ("host", "trusted", "message"),
    [
        ("localhost", True, None),
        ("localhost", False, "certificate is not valid: self-signed certificate"),
        ("127.0.0.1", True, "certificate is not valid: IP address mismatch"),
    ],
)
def test_a_certificate_must_be_valid_for_the_name(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, host: str, trusted: bool, message: str | None
) -> None:
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with flaky_receiver(certificate=certificate) as flaky:
        raw = flaky.file(selections="checks: {}").replace(b"http://127.0.0.1", f"https://{host}".encode())
        (receiver,) = parse_receivers(raw, "f", {"PAGER": SECRET_TEXT})
        if message is None:
            deliver(receiver, "a", b"{}")
        else:
            with pytest.raises(DeliveryError, match=message):
                deliver(receiver, "a", b"{}")
    assert len(flaky.accepted) == (message is None)


def test_a_receiver_that_drips_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "_TOTAL_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        flaky = FlakyReceiver(port=listener.getsockname()[1])
        start = time.monotonic()
        with pytest.raises(DeliveryError, match=r"no answer of 127\.0\.0\.1"):
            deliver(receiver_of(flaky), "a", b"{}")
        assert time.monotonic() - start < 5

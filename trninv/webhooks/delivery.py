"""Post a message to a receiver: only to public addresses and allowed networks, and without following redirects."""

import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Timer
from typing import Final

import trninv
from trninv.errors import DeliveryError
from trninv.webhooks.message import sign
from trninv.webhooks.receiver import Receiver

_TIMEOUT_SECONDS: Final = 10.0
"""Time limit of connecting to an address, and of each wait for data."""
_TOTAL_SECONDS: Final = 30.0
"""Time limit of a request on an open connection."""
_RETRIED_STATUSES: Final = frozenset({408, 409, 425, 429})
"""Refusals by the receiver (400 to 499) after which the same request may succeed."""
_NAT64: Final = ip_network("64:ff9b::/96")


def deliver(receiver: Receiver, message_id: str, body: bytes) -> None:
    """Post a body to a receiver once.

    Raises
    ------
    DeliveryError
        The receiver did not accept it. The message doesn't repeat the URL, which may be a secret.

    """
    host = receiver.url.hostname or ""
    try:
        connection = _connect(receiver, host)
    except (OSError, UnicodeError) as error:
        raise DeliveryError(f"can't connect to {host}: {_reason(error)}") from None
    timer = Timer(_TOTAL_SECONDS, _interrupt, [connection.sock])
    timer.daemon = True
    timer.start()
    try:
        path = (receiver.url.path or "/") + (f"?{receiver.url.query}" if receiver.url.query else "")
        connection.request("POST", path, body, _headers(receiver, message_id, body))
        with connection.getresponse() as response:
            status, retry_after = response.status, _seconds(response.getheader("Retry-After"))
    except (OSError, HTTPException) as error:
        raise DeliveryError(f"no answer of {host}: {_reason(error)}") from None
    finally:
        timer.cancel()
        connection.close()
    _check_status(host, status, retry_after)


def _check_status(host: str, status: int, retry_after: float) -> None:
    if 200 <= status < 300:  # noqa: PLR2004 # HTTP's ranges
        return
    if 300 <= status < 400:  # noqa: PLR2004
        raise DeliveryError(f"{host} responded with {status}; redirects are not followed", is_final=True)
    is_refusal = 400 <= status < 500  # noqa: PLR2004
    raise DeliveryError(
        f"{host} responded with {status}",
        is_final=is_refusal and status not in _RETRIED_STATUSES,
        retry_after=retry_after,
    )


def _headers(receiver: Receiver, message_id: str, body: bytes) -> dict[str, str]:
    timestamp = int(time.time())
    headers = {
        "Host": receiver.url.netloc,
        "User-Agent": f"trninv/{trninv.__version__}",
        "Content-Type": "application/json",
        "Connection": "close",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
    }
    if receiver.secret:
        headers["webhook-signature"] = sign(receiver.secret, message_id, timestamp, body)
    return headers


def _connect(receiver: Receiver, host: str) -> HTTPConnection:
    """Open a connection to one of the addresses that the host's name resolves to, if one is allowed."""
    is_encrypted = receiver.url.scheme == "https"
    port = receiver.url.port or (443 if is_encrypted else 80)
    addresses = [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    last_error: OSError | None = None
    for address in _allowed_addresses(host, addresses, receiver.networks):
        try:
            connected = socket.create_connection((address, port), _TIMEOUT_SECONDS)
        except OSError as error:
            last_error = error
            continue
        try:
            if is_encrypted:
                connected = ssl.create_default_context().wrap_socket(connected, server_hostname=host)
        except BaseException:
            connected.close()
            raise
        connection = HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
        connection.sock = connected
        return connection
    raise last_error or OSError("it has no address")


def _allowed_addresses(
    host: str, addresses: Iterable[str], networks: Iterable[IPv4Network | IPv6Network]
) -> Iterator[str]:
    """Yield the addresses that messages may be sent to.

    Raises
    ------
    DeliveryError
        None may be.

    """
    allowed = list(networks)
    refused = dict[str, None]()
    is_any = False
    for address in dict.fromkeys(addresses):
        if is_allowed(ip_address(address), allowed):
            is_any = True
            yield address
        else:
            refused[address] = None
    if refused and not is_any:
        raise DeliveryError(
            f"{host} has the address {next(iter(refused))}, which is not public; if it may get messages, "
            "add its network to allow_networks",
            is_final=True,
        )


def is_allowed(address: IPv4Address | IPv6Address, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Return whether messages may be sent to an address: a public one, or one in a network."""
    embedded = _embedded_address(address)
    return any(embedded in network for network in networks) or (
        embedded.is_global and not embedded.is_multicast and not getattr(embedded, "is_site_local", False)
    )


def _embedded_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that packets to an IPv6 address are passed on to, or else the address itself."""
    if isinstance(address, IPv6Address):
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address.sixtofour or (address.teredo or (address,))[-1]
    return address


def _interrupt(connected: socket.socket) -> None:
    """End a request that takes too long; its thread then gets an error."""
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {_TIMEOUT_SECONDS:.0f} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {error.verify_message}"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).strip("'\"")


def _seconds(value: str | None) -> float:
    """Return the seconds of the header Retry-After, which has a number or a date; 0 without a valid one."""
    if value is None:
        return 0.0
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0

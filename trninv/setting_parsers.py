"""Parse the values of environment variables that are settings."""

import re
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_network
from math import inf
from pathlib import Path

from trninv.errors import UsageError

LEAST_OBSERVATIONS = 100
"""How many of a machine's newest observations are always kept: the minimum of `Settings.observations`."""
_MAX_DIGITS = 18
_PERSON_SCOPES = ("read", "sql", "operate", "admin")


def parse_seconds(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a number of seconds above 0")
    return value


def parse_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS and int(text) > 0):
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a whole number above 0")
    return int(text)


def parse_observations(name: str, text: str) -> int:
    if (value := parse_number(name, text)) < LEAST_OBSERVATIONS:
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is less than the minimum of {LEAST_OBSERVATIONS}")
    return value


def parse_words(_name: str, text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(","))


def parse_switch(name: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is neither 0 nor 1")
    return text == "1"


def parse_directory(name: str, text: str) -> Path:
    if not Path(text).is_dir():
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a directory")
    return Path(text)


def parse_postgresql_url(name: str, text: str) -> str:
    if not text.startswith("postgresql"):  # the message omits the URL, which may hold a password
        raise UsageError(f"TRNINV_{name.upper()} is not a PostgreSQL URL")
    return text


def parse_choice(*choices: str) -> Callable[[str, str], str]:
    def parse(name: str, text: str) -> str:
        if text not in choices:
            raise UsageError(f"TRNINV_{name.upper()}={text!r} is not {' or '.join(choices)}")
        return text

    return parse


def parse_text(_name: str, text: str) -> str:
    return text


def parse_file(name: str, text: str) -> Path:
    if not Path(text).is_file():
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a file")
    return Path(text)


def parse_path(_name: str, text: str) -> Path:
    return Path(text)


def parse_key_location(name: str, text: str) -> str:
    host = re.match(r"http://(localhost|127\.0\.0\.1|\[::1\])([:/]|$)", text)
    if text.startswith("https://") or host:
        return text
    if "://" in text:
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is neither an https:// URL nor a file")
    return str(parse_file(name, text))


def parse_group_scopes(name: str, text: str) -> tuple[tuple[str, str], ...]:
    pairs = [tuple(part.strip() for part in word.rpartition("=")[::2]) for word in text.split(",")]
    if not all(group and scope in _PERSON_SCOPES for group, scope in pairs):
        scopes = f"{', '.join(_PERSON_SCOPES[:-1])} or {_PERSON_SCOPES[-1]}"
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not GROUP=SCOPE,… with the scopes {scopes}")
    return tuple((group, scope) for group, scope in pairs)


def parse_header_name(name: str, text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]+", text):
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not the name of a header")
    return text


def parse_networks(name: str, text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(ip_network(word) for word in parse_words(name, text))
    except ValueError:
        raise UsageError(
            f"TRNINV_{name.upper()}={text!r} is not a list of addresses or networks, such as 10.0.0.5,fd00::/64"
        ) from None


def parse_accounts(name: str, text: str) -> tuple[str, ...]:
    accounts = parse_words(name, text)
    if not all(re.fullmatch(r"[0-9]{12}", account) for account in accounts):
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a list of AWS accounts of 12 digits")
    return accounts


def parse_lifetime(name: str, text: str) -> str:
    if not re.fullmatch(r"0*[1-9][0-9]{0,3}[dh]", text):
        raise UsageError(f"TRNINV_{name.upper()}={text!r} is not a number of days or hours, such as 30d or 12h")
    return text

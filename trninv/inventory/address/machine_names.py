"""Resolve instance ids and host names to slots."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, or_, select

from trninv.database.tables import TABLES
from trninv.errors import AddressError, UnknownAddressError, suggestion

_BINDING, _OBSERVED_SERVER = TABLES["binding"], TABLES["observed_server"]
_MAX_NAME: Final = 253
_MAX_SHOWN: Final = 3
_PREFIX_LENGTH: Final = 4
_INSTANCE = re.compile(r"m?i-[0-9a-z]{1,64}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)


def is_instance_id(name: str) -> bool:
    """Return whether a name has the form of an instance id."""
    return bool(_INSTANCE.fullmatch(name))


def is_host_name(name: str, instance: str | None = None) -> bool:
    """Return whether a name has the form of a host name.

    A name that is an instance id is accepted only as the host name of that same instance.
    """
    return bool(len(name) <= _MAX_NAME and _HOST.fullmatch(name)) and (name == instance or not is_instance_id(name))


def unique_full_names(hosts: Iterable[str]) -> dict[str, str]:
    """Map short host names to full ones, where a short name belongs to one host only."""
    by_short = defaultdict[str, set[str]](set)
    for host in hosts:
        by_short[host.partition(".")[0]].add(host)
    return {short: next(iter(names)) for short, names in by_short.items() if len(names) == 1}


def split_link(text: str) -> list[str]:
    """Return the two ends of a link A--B, or the text itself if it is no link.

    Host names may contain "--", cluster names may not: the separator is searched for after the first slash.
    """
    starts_with_name = text.lstrip().startswith("@")
    position = text.find("--", max(text.find("/"), 0)) if not starts_with_name or "/" in text else -1
    return [text] if position < 0 else [text[:position], text[position + 2 :]]


def replace_machine_name(connection: Connection, text: str) -> str:
    """Replace a leading @name by the address of its slot; return other texts unchanged.

    Raises
    ------
    AddressError
        The name is not valid for an instance or a host, or several hosts match it.
    UnknownAddressError
        Nothing of that name is bound to a slot.
    """
    if not text.lstrip().startswith("@"):
        return text
    name, slash, rest = text.strip()[1:].partition("/")
    if not (is_instance_id(name.lower()) or is_host_name(name)):
        raise AddressError(
            f"{text[:_MAX_NAME]!r} names no instance or host: write @i-…, @hostname or @hostname/c5; a host's name has "
            "letters, digits, '.', '_' and '-'"
        )
    return f"{_slot_address(connection, name)}{slash}{rest}"


def _slot_address(connection: Connection, name: str) -> str:
    """Return the address of the slot to which a name is bound; a host's domain suffix may be omitted."""
    binding, is_open = _BINDING.c, _BINDING.c.ended_at.is_(None)
    exactly = select(binding.address).where(is_open)
    for spelling in dict.fromkeys((name, name.lower())):
        for column in (binding.instance, binding.host):  # instance ids first: a host may be named like one
            if address := connection.scalar(exactly.where(column == spelling)):
                return str(address)
    longer = (binding.host > f"{name}.") & (binding.host < f"{name}/")
    hosts = connection.execute(
        select(binding.host, binding.address).where(is_open, longer).order_by(binding.host).limit(_MAX_SHOWN)
    ).all()
    if len(hosts) == 1:
        return str(hosts[0].address)
    if hosts:
        raise AddressError(f"@{name} is several hosts: {', '.join(f'@{row.host}' for row in hosts)}, …: write one out")
    raise UnknownAddressError(_suggestion(connection, name))


def _suggestion(connection: Connection, name: str) -> str:
    is_observed = (
        select(_OBSERVED_SERVER.c.id)
        .where(or_(_OBSERVED_SERVER.c.instance == name.lower(), _OBSERVED_SERVER.c.host == name))
        .limit(1)
    )
    if connection.scalar(is_observed) is not None:
        return f"@{name} was seen, but stands in no slot: trninv bind SLOT {name}"
    prefix, names = name[:_PREFIX_LENGTH], list[str]()
    for column in (_BINDING.c.instance, _BINDING.c.host):
        like = column.startswith(prefix, autoescape=True)
        names += connection.scalars(select(column).where(_BINDING.c.ended_at.is_(None), like).limit(1_000))
    hint = suggestion(name, names) if names else "trninv bindings lists those that are"
    return f"no instance or host {name} is bound to a slot: {hint}"

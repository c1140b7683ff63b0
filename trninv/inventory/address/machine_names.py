"""Replace @INSTANCE and @HOST in addresses by the address of the server to which they are bound, called their slot."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, or_, select

from trninv.database.tables import TABLES
from trninv.errors import AddressError, UnknownAddressError, suggestion

_BINDING, _OBSERVED_SERVER = TABLES["binding"], TABLES["observed_server"]
_MAX_NAME_LENGTH: Final = 253
_MAX_SHOWN: Final = 3
"""The maximum number of hosts that a message lists."""
_PREFIX_LENGTH: Final = 4
"""The number of leading characters that a suggested name shares with the unknown one."""
_INSTANCE_ID = re.compile(r"m?i-[0-9a-z]{1,64}", re.ASCII)
_HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)


def is_instance_id(name: str) -> bool:
    """Return whether a name has the form of an instance id."""
    return bool(_INSTANCE_ID.fullmatch(name))


def is_host_name(name: str, instance: str | None = None) -> bool:
    """Return whether a name has the form of a host name.

    A name that is an instance id is accepted only as the host name of that same instance.
    """
    return bool(len(name) <= _MAX_NAME_LENGTH and _HOST_NAME.fullmatch(name)) and (
        name == instance or not is_instance_id(name)
    )


def unique_full_names(hosts: Iterable[str]) -> dict[str, str]:
    """Map short host names to full ones, where a short name belongs to one host only."""
    by_short = defaultdict[str, set[str]](set)
    for host in hosts:
        by_short[host.partition(".")[0]].add(host)
    return {short: next(iter(names)) for short, names in by_short.items() if len(names) == 1}


def split_link(text: str) -> list[str]:
    """Return the two ends of a link A--B, or only the text itself if it is not a link.

    Host names may contain "--", cluster names may not. The separator is therefore searched for after the first slash.
    In a text without a slash it may be anywhere, except that an @name alone is never a link.
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
            f"{text[:_MAX_NAME_LENGTH]!r} is not the name of an instance or host: write @i-…, @hostname or "
            "@hostname/c5; a host's name has letters, digits, '.', '_' and '-'"
        )
    return f"{_slot_address(connection, name)}{slash}{rest}"


def _slot_address(connection: Connection, name: str) -> str:
    """Return the address of the slot to which an instance or host is bound; a host's DNS suffix may be omitted."""
    binding, is_open = _BINDING.c, _BINDING.c.ended_at.is_(None)
    bound_address = select(binding.address).where(is_open)
    for spelling in dict.fromkeys((name, name.lower())):  # as written first
        for column in (binding.instance, binding.host):  # instance ids first: a host may be named like one
            if address := connection.scalar(bound_address.where(column == spelling)):
                return str(address)
    # "/" follows "." in sort order
    has_domain_suffix = (binding.host > f"{name}.") & (binding.host < f"{name}/")
    hosts = connection.execute(
        select(binding.host, binding.address)
        .where(is_open, has_domain_suffix)
        .order_by(binding.host)
        .limit(_MAX_SHOWN + 1)
    ).all()
    if len(hosts) == 1:
        return str(hosts[0].address)
    if hosts:
        listed = ", ".join(f"@{row.host}" for row in hosts[:_MAX_SHOWN]) + (", …" if len(hosts) > _MAX_SHOWN else "")
        raise AddressError(f"@{name} matches several hosts: {listed}; write one in full")
    raise UnknownAddressError(_suggestion(connection, name))


def _suggestion(connection: Connection, name: str) -> str:
    is_observed = (
        select(_OBSERVED_SERVER.c.id)
        .where(or_(_OBSERVED_SERVER.c.instance == name.lower(), _OBSERVED_SERVER.c.host == name))
        .limit(1)
    )
    if connection.scalar(is_observed) is not None:
        return f"@{name} was observed but is bound to no slot: run trninv bind SLOT {name}"
    prefix, names = name[:_PREFIX_LENGTH], list[str]()
    for column in (_BINDING.c.instance, _BINDING.c.host):
        has_prefix = column.startswith(prefix, autoescape=True)
        names += connection.scalars(select(column).where(_BINDING.c.ended_at.is_(None), has_prefix).limit(1_000))
    hint = suggestion(name, names) if names else "trninv bindings lists those that are"
    return f"no instance or host {name} is bound to a slot: {hint}"

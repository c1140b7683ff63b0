"""Generate host names for servers from a template, for exported files and for matching observed hosts to slots.

A slot is a server's place in the design, to which a host may be bound.
"""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from trninv.errors import NotExpressibleError, UsageError

DEFAULT_TEMPLATE: Final = "{cluster}-d{domain}-s{server}"
"""The default template of host names."""

_PLACEHOLDER = re.compile(r"\{(cluster|domain|server)(?::0(\d))?\}", re.ASCII)
_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_MAX_LENGTH = 253
"""The maximum length of a host name in DNS, and of a template."""


class ServerAddress(NamedTuple):
    """A server's address in parts: its cluster's slug, its domain's ordinal and its own."""

    cluster: str
    domain: int
    server: int

    def __str__(self) -> str:
        return f"{self.cluster}/d{self.domain}/s{self.server}"


def is_dns_name(name: str) -> bool:
    """Return whether a scheduler's file or command can name a host so."""
    return bool(_NAME.fullmatch(name)) and len(name) <= _MAX_LENGTH


def hostnames(
    servers: Sequence[ServerAddress], template: str = DEFAULT_TEMPLATE, bound: Sequence[str | None] = ()
) -> list[str]:
    """Return a host name for each server, in order: the bound host's, or else the filled template.

    Parameters
    ----------
    bound
        The name of the host bound to each server's slot, or None.

    Raises
    ------
    UsageError
        The template has an unknown placeholder, or two servers would have the same name.
    NotExpressibleError
        A name is not a valid host name, so it can't be written to a scheduler's files.
    """
    names = [host or name for host, name in zip_longest(bound, template_names(servers, template))]
    server_by_name: dict[str, ServerAddress] = {}
    for name, server in zip(names, servers, strict=True):
        if not is_dns_name(name):
            raise NotExpressibleError(
                f"{name[:_MAX_LENGTH]!r} can't name a machine: lower-case letters, digits, '-' and '.' make a host "
                "name; give another --hostname, such as 'node-d{domain}-s{server}', "
                "or bind the instance without its host"
            )
        if (other := server_by_name.setdefault(name, server)) is not server:
            bound_too = ", or a bound host's name," if any(bound) else ""
            raise UsageError(
                f"--hostname {template!r}{bound_too} calls {other} and {server} both {name}: "
                "use placeholders that tell them apart"
            )
    return names


def template_names(servers: Sequence[ServerAddress], template: str) -> list[str]:
    """Fill the template for each server, whether or not the result is a valid host name.

    Raises
    ------
    UsageError
        The template is too long or has an unknown placeholder.
    """
    if len(template) > _MAX_LENGTH:  # it is filled for each server of the fleet
        raise UsageError(f"--hostname {template[:40]!r}…: use at most {_MAX_LENGTH} characters")
    if "{" in _PLACEHOLDER.sub("", template) or "}" in _PLACEHOLDER.sub("", template):
        raise UsageError(
            f"--hostname {template!r}: unknown placeholder: use {{cluster}}, {{domain}}, {{server}} or, "
            "with leading zeros, {server:03}"
        )
    return [_fill_template(template, server) for server in servers]


def _fill_template(template: str, server: ServerAddress) -> str:
    values = server._asdict()
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]).rjust(int(match[2] or 0), "0"), template)

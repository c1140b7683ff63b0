"""What Kubernetes formats have in common: labels of our own, and what they may hold."""

import re
from typing import Final

from trninv.errors import NotExpressibleError
from trninv.exporters.source import Server

PREFIX: Final = "trninv.dev"
HOSTNAME: Final = "kubernetes.io/hostname"
_VALUE: Final = re.compile(r"[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?", re.ASCII)
_LONGEST_NAME: Final = 253


def label(value: str) -> str:
    """A value of a label.

    Raises
    ------
    NotExpressibleError

    """
    if not _VALUE.fullmatch(value):
        raise NotExpressibleError(
            f"{value} can't be a label in Kubernetes, which has 63 characters at most, the first and last no sign"
        )
    return value


def object_name(name: str) -> str:
    """The name of an object.

    Raises
    ------
    NotExpressibleError

    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise NotExpressibleError(f"{name} can't name an object of Kubernetes, which has letters, digits, '-' and '.'")
    return name


def levels(server: Server) -> dict[str, str]:
    """Label and value of each level of what a server lies in, the widest first."""
    tiers = {f"{PREFIX}/network-node-layer-{tier}": name for tier, name in enumerate(server.network, start=1)}
    return {key: label(value) for key, value in (tiers | {f"{PREFIX}/domain": server.domain}).items()}

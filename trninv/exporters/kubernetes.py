"""Share labels and the checks of their values and of names among the Kubernetes formats."""

import re
from typing import Final

from trninv.errors import NotExpressibleError
from trninv.exporters.source import ExportedServer

LABEL_PREFIX: Final = "trninv.dev"
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)
_OBJECT_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?", re.ASCII)
_MAX_OBJECT_NAME_LENGTH: Final = 253


def check_label(value: str) -> str:
    """Return a label's value if it is valid.

    Raises
    ------
    NotExpressibleError

    """
    if not _LABEL_VALUE.fullmatch(value):
        raise NotExpressibleError(
            f"{value} can't be a label in Kubernetes, which has 63 characters at most, the first and last no sign"
        )
    return value


def check_object_name(name: str) -> str:
    """Return an object's name if it is valid.

    Raises
    ------
    NotExpressibleError

    """
    if not _OBJECT_NAME.fullmatch(name) or len(name) > _MAX_OBJECT_NAME_LENGTH:
        raise NotExpressibleError(f"{name} can't name an object of Kubernetes, which has letters, digits, '-' and '.'")
    return name


def topology_labels(server: ExportedServer) -> dict[str, str]:
    """Return the labels for the network nodes above a server and its domain, the widest first."""
    tiers = {f"{LABEL_PREFIX}/network-node-layer-{tier}": name for tier, name in enumerate(server.network, start=1)}
    return {key: check_label(value) for key, value in (tiers | {f"{LABEL_PREFIX}/domain": server.domain}).items()}

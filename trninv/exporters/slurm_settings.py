"""Write the lines of Slurm's .conf files, and read them back as Slurm does, since no library reads them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from trninv.exporters.serialization import Syntax
from trninv.hostlist import expand, fold

_HOST_LISTS: Final = frozenset(["NodeName", "Nodes", "Switches"])
"""Settings of Slurm that are lists of hosts."""
_PLAIN: Final = re.compile(r"[-\w.:,/]+", re.ASCII)
_SETTING: Final = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')


def _setting_line(settings: Mapping[str, object]) -> Iterator[str]:
    """Yield one line of KEY=VALUE pairs; a list is written as a host list, such as n[0-3]."""
    yield " ".join(
        f"{key}={fold(value) if isinstance(value, list) else _quote(str(value))}" for key, value in settings.items()
    )


def _setting_texts(settings: Mapping[str, object]) -> Iterator[dict[str, Any]]:
    """Yield the settings as they are read back: every value but a list is a text."""
    yield {key: value if isinstance(value, list) else str(value) for key, value in settings.items()}


def _quote(text: str) -> str:
    """Return a text, in quotes if necessary, with # and backslashes escaped, since Slurm reads both even in quotes."""
    return text if _PLAIN.fullmatch(text) else '"{}"'.format(re.sub(r"([\\#])", r"\\\1", text))


def _read_settings(file: Iterable[str]) -> Iterator[dict[str, Any]]:
    for settings in parse_settings(file):
        yield {key: expand(value) if key in _HOST_LISTS else value for key, value in settings.items()}


def parse_settings(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the KEY=VALUE pairs of each line that has any, as Slurm's parse_config.c reads them."""
    for line in lines:
        bare = re.sub(r"\\(.)|#.*", lambda match: match[1] or "", line)
        if pairs := _SETTING.findall(bare):
            yield {key: quoted or plain for key, quoted, plain in pairs}


def _command_line(settings: Mapping[str, object]) -> Iterator[str]:
    yield from (f"scontrol create {line}" for line in _setting_line(settings))


RESERVATIONS: Final = Syntax(write=_command_line, read=_read_settings, flatten=_setting_texts)
"""The syntax of a shell script whose commands create reservations, each with a map of settings."""
SETTINGS: Final = Syntax(write=_setting_line, read=_read_settings, flatten=_setting_texts)
"""The syntax of Slurm's .conf files: each line is a map of settings, in which a list is a list of hosts."""

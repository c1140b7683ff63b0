"""Write the parts of the reference pages that follow from declarations: ``python tests/reference_pages.py``.

A part stands between ``<!-- NAME: written by ./run generate -->`` and ``<!-- end of NAME -->``; people write the rest.
"""

import contextlib
import inspect
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from prometheus_client.metrics import MetricWrapperBase
from sqlalchemy import Table

from trninv.checks.check_report import CheckReport
from trninv.cli.main import _build_command_list, main, trninv
from trninv.database.finding_rules import FINDING_RULES, SEVERITIES, SEVERITY_MEANINGS
from trninv.database.tables import TABLES
from trninv.errors import TrninvError
from trninv.reports.views import VIEWS
from trninv.reports.views.view_descriptions import COMMON_COLUMNS, describe_view
from trninv.service.check_metrics import CheckMetrics
from trninv.service.error_responses import _ERROR_BY_STATUS, _STATUS_BY_ERROR
from trninv.service.fleet_metrics import _COUNTERS, _FAMILIES
from trninv.service.telemetry import ServiceMetrics
from trninv.settings import Settings

REFERENCE = Path(__file__).parents[1] / "docs/reference"
_PART = re.compile(r"(<!-- (\w+): written by \./run generate -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
_SHARED_OPTION = re.compile(
    r"^  (?:-[vq], )?(--(?:down|derate|at|with|without|explain|quiet)|--format(?= \[table\|json\] )) .*\n"
    r"(?: {8,}.*\n)*",
    re.MULTILINE,
)
_OPTIONS = "\nOptions:\n"
_HELP_OPTION = re.compile(r"^  -h, --help .*\n", re.MULTILINE)
_SECTION = re.compile(r"\n\n(?:Attributes|Parameters|Raises)\n")


def render(page: Path) -> str:
    """Return a page with its parts as they follow from the declarations now."""
    parts, text = PARTS[page.stem], page.read_text()
    assert sorted(name for _, name, _ in _PART.findall(text)) == sorted(parts), page
    return _PART.sub(lambda part: part[1] + "\n" + "\n".join(parts[part[2]]()) + "\n\n" + part[3], text)


def _table(*header: str, rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _help(*words: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _name_shared_options(text: str) -> str:
    """Return a command's help with only the names of the options that the page explains once."""
    description, heading, options = text.partition(_OPTIONS)
    names = ", ".join(_SHARED_OPTION.findall(options))
    options = _HELP_OPTION.sub(f"  Shared options: {names}\n" if names else "", _SHARED_OPTION.sub("", options))
    return re.sub(r"\nOptions:\n(?=\n|$)", "", f"{description}{heading}{options}")


def _shared_options(text: str) -> Iterator[tuple[str, str]]:
    """Yield the options of a command's help that the page explains once, with their meanings."""
    for match in _SHARED_OPTION.finditer(text.partition(_OPTIONS)[2]):
        option, meaning = _split_option(match[0])
        assert meaning, option
        yield option, meaning


def _split_option(text: str) -> tuple[str, str]:
    """Return an option and its meaning from its lines in a help."""
    option, *words = re.split(r"\s{2,}", text.strip())
    return option, " ".join(words)


def _command_names() -> Iterator[tuple[str, list[str]]]:
    """Yield each group of commands with the words of its commands."""
    context = click.Context(trninv)
    for group, names in _build_command_list().groups.items():
        commands = []
        for name in names:
            command = trninv.get_command(context, name)
            below = command.list_commands(click.Context(command)) if isinstance(command, click.Group) else []
            commands += [name, *(f"{name} {each}" for each in below)]
        yield group, commands


def _commands() -> Iterator[str]:
    texts = {command: _help(*command.split()) for _, commands in _command_names() for command in commands}
    shared = {option for text in texts.values() for option in _shared_options(text)}
    assert len(shared) == len(dict(shared)), "an option that the page explains once has two meanings"
    yield f"```text\n{_name_shared_options(_help())}```\n"
    yield "These options mean the same in every command that has them:\n"
    for option, meaning in sorted(shared, key=lambda pair: pair[0].removeprefix("-v, ").removeprefix("-q, ")):
        yield f"- `{option}`: {meaning}"
    yield "- `-h`: Show this message and exit."
    for group, commands in _command_names():
        yield f"\n## {group}"
        yield from (
            f"\n### trninv {command}\n\n```text\n{_name_shared_options(texts[command])}```" for command in commands
        )


def _errors() -> Iterator[str]:
    rows = (_error_row(kind) for kind in list_errors(TrninvError) if kind is not TrninvError)
    return _table("code", "exit", "HTTP", "when", "what to do", "Python", rows=rows)


def list_errors(root: type[TrninvError]) -> list[type[TrninvError]]:
    """Return a class of errors and those below it, in the order of their declaration."""
    return [root, *(found for kind in root.__subclasses__() for found in list_errors(kind))]


def _error_row(kind: type[TrninvError]) -> tuple[str, ...]:
    statuses = [
        *(status for status, error in _ERROR_BY_STATUS.items() if kind is error),
        *(status for error, status in _STATUS_BY_ERROR.items() if issubclass(kind, error)),
    ]
    when = " ".join(_SECTION.split(inspect.getdoc(kind) or "")[0].split())
    status = str(statuses[0]) if statuses else ""
    return f"`{kind.code}`", str(kind.exit_status), status, when, kind.remedy, f"`{kind.__name__}`"


def _rules() -> Iterator[str]:
    yield from (f"- **{severity}**: {SEVERITY_MEANINGS[severity]}" for severity in reversed(SEVERITIES))
    yield ""
    rows = (
        (f"`{name}`", rule.severity, rule.description, rule.compared, rule.reference)
        for name, rule in FINDING_RULES.items()
    )
    yield from _table("rule", "severity", "what it finds", "compares", "with", rows=rows)


def _metrics(rows: Iterable[tuple[str, str, Iterable[str], str]]) -> Iterator[str]:
    shown = (
        (f"`{name}`", kind, ", ".join(f"`{label}`" for label in labels), text) for name, kind, labels, text in rows
    )
    return _table("metric", "type", "labels", "meaning", rows=shown)


def _fleet_metrics() -> Iterator[str]:
    return _metrics(
        (f"{name}_total", "counter", labels, text) if name in _COUNTERS else (name, "gauge", labels, text)
        for name, (text, labels) in _FAMILIES.items()
    )


def _check_metrics() -> Iterator[str]:
    families = CheckMetrics(CheckReport(0.0, 0.0, [])).collect()
    return _metrics((family.name, family.type, family._labelnames, family.documentation) for family in families)


def _service_metrics() -> Iterator[str]:
    metrics = [metric for metric in vars(ServiceMetrics()).values() if isinstance(metric, MetricWrapperBase)]
    return _metrics(
        (
            f"{metric._name}_total" if metric._type == "counter" else metric._name,
            str(metric._type),
            metric._labelnames,
            metric._documentation,
        )
        for metric in metrics
    )


def _settings() -> Iterator[str]:
    rows = (
        (f"`TRNINV_{each.name.upper()}`", _default(each), each.metadata["values"], each.metadata["meaning"])
        for each in fields(Settings)
    )
    return _table("variable", "default", "values", "what it sets", rows=rows)


def _default(setting: Field[Any]) -> str:
    match setting.default:
        case _ if setting.metadata["default_text"]:
            return str(setting.metadata["default_text"])
        case None | () | "":
            return "unset"
        case bool() | float() as number:
            return f"{number:g}"
        case value:
            assert value is not MISSING, setting.name
            return str(value)


def _views() -> Iterator[str]:
    yield from _table("column", "meaning", rows=((f"`{name}`", text) for name, text in COMMON_COLUMNS.items()))
    for name in VIEWS:
        view = describe_view(name)
        common = f" Columns as above: {', '.join(f'`{column}`' for column in view.common)}." if view.common else ""
        yield f"\n### {name}\n\n{view.row}{common}\n"
        if view.columns:
            rows = ((f"`{names.replace(', ', '`, `')}`", text) for names, text in view.columns.items())
            yield from _table("column", "meaning", rows=rows)
            yield ""
        yield f"```sql\n{view.example}\n```"


_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "hardware": (
        *(
            "cluster",
            "domain",
            "rack",
            "server",
            "tray",
            "node",
            "chip",
            "switch",
            "nic",
            "network_node",
            "core",
            "link",
        ),
        "part_count",
    ),
    "history": ("state_event", "event_seal", "history_start", "history_archive", "seal_restart", "_change"),
    "observations": (
        *("observation", "observed_server", "observed_chip", "observed_link", "measurement", "binding", "finding"),
        "comparison",
    ),
    "jobs": ("job", "allocation", "cordon", "reservation", "reserved_chip", "domain_allocated"),
    "tokens": ("principal", "token", "_token_digest", "token_event"),
    "sweeps": ("sweep",),
    "discovery": ("discovery",),
    "webhooks": ("webhook_receiver", "webhook_dead_letter"),
    "notes": ("incident_note",),
    "documents": (
        *("source", "fact", "chip_model", "server_model", "domain_model", "link_model", "switch_model"),
        "legal_set",
    ),
}
"""Tables by part of schema.md."""


def _tables(names: Iterable[str]) -> Iterator[str]:
    assert sorted(name for part in _TABLES.values() for name in part) == sorted(TABLES)
    rows = ((f"`{name}`", TABLES[name].info["row"], _columns(TABLES[name])) for name in names)
    return _table("table", "a row is", "columns", rows=rows)


def _columns(table: Table) -> str:
    meanings = dict(table.info["columns"])
    names = [column.name for column in table.columns if column.name != "id"]
    shown = [f"`{name}` ({meaning})" if (meaning := meanings.pop(name, "")) else f"`{name}`" for name in names]
    assert not meanings, (table.name, meanings)
    return ", ".join(shown)


PARTS: Final[Mapping[str, Mapping[str, Callable[[], Iterator[str]]]]] = {
    "cli": {"commands": _commands},
    "drift": {"rules": _rules},
    "errors": {"errors": _errors},
    "metrics": {"fleet": _fleet_metrics, "checks": _check_metrics, "service": _service_metrics},
    "schema": {part: partial(_tables, names) for part, names in _TABLES.items()},
    "settings": {"settings": _settings},
    "sql": {"views": _views},
}
"""What writes each part, by page and name."""
PAGES: Final = [REFERENCE / f"{name}.md" for name in PARTS]

if __name__ == "__main__":
    for page in PAGES:
        page.write_text(render(page))

"""The commands to kill: all of them write, and each starts with a copy of a template database."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seen import below, instance

_CHIPS = [f"two/d0/s0/c{chip}" for chip in range(8)]
_LINKS = ["one/d0/s0/c0--one/d0/s0/c1", "two/d0/s0/c8--two/d0/s0/c9"]
_REASON = ("--who", "faults", "--why", "a test by kills")

TEMPLATES = {
    "empty": (),
    "few": (("migrate",), ("seed", "trn1.2xlarge", "--name", "few")),
    "used": (
        ("migrate",),
        ("seed", "trn1", "--name", "one"),
        ("seed", "trn2", "--name", "two"),
        ("set", "one/d0/s0", "two/d0/s0/c3", *_LINKS, "maintenance", *_REASON),
        ("token", "create", "grafana"),
    ),
}
TEMPLATES["seen"] = (*TEMPLATES["few"], ("import", "ec2", "{files}/instances.json", "{files}/topology.json"))
TEMPLATES["adopted"] = (
    *TEMPLATES["seen"],
    ("adopt", "prod"),
    ("seed", "trn1.2xlarge", "--name", "after"),
    ("allocate", "job", "prod/d0", "--who", "faults"),
)
_MORE = ("import", "ec2", "{files}/more-instances.json", "{files}/more-topology.json")
TEMPLATES["more"] = (*TEMPLATES["adopted"], _MORE)
"""Template databases by name, each as the commands that create it."""
FORMER = "former"
"""Another template database, of the schema version that the first one replaces."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A command to kill.

    Attributes
    ----------
    template
        Name of the template database.
    words
        Its arguments, with {database}, {source} (another database, of the other kind), {directory} and {files}.
    between
        Arguments of a command that does only the first step, if the operation does that in a separate transaction.
    newest
        Whether the database then has the newest schema version, which `trninv verify` needs.

    """

    name: str
    template: str
    words: tuple[str, ...]
    between: tuple[str, ...] = ()
    newest: bool = True


OPERATIONS = (
    Operation("set", "used", ("set", "one/d0/s0/c3", *_CHIPS, "down", *_REASON)),
    Operation("set, a server up again", "used", ("set", "one/d0/s0", *_LINKS, "up", *_REASON)),
    Operation("seed", "used", ("seed", "u-trn2x64", "--domains", "2", "--name", "lab")),
    Operation("unseed", "used", ("unseed", "two", "--yes")),
    Operation("migrate, from nothing", "empty", ("migrate",)),
    Operation("migrate, from the version before the first", FORMER, ("migrate",)),
    Operation("migrate, to no tables", "used", ("migrate", "--to", "base", "--yes"), newest=False),
    Operation("token create", "used", ("token", "create", "backup")),
    Operation("token revoke", "used", ("token", "revoke", "grafana")),
    Operation("copy", "empty", ("copy", "{source}", "{database}"), between=("migrate",)),
    Operation("copy --replace", "few", ("copy", "{source}", "{database}", "--replace")),
    Operation("import", "adopted", _MORE),
    Operation("adopt", "seen", ("adopt", "prod")),
    Operation("adopt, a cluster grows", "more", ("adopt", "prod")),
    Operation("drift --apply", "more", ("drift", "--apply")),
    Operation("export", "used", ("export", "{directory}", "--format", "csv")),
)


def write(directory: Path) -> None:
    """Write the files to import: a fleet, and the same fleet with one instance removed and others added."""
    initial = [
        *(instance(number, "trn2u.48xlarge", "cb-0") for number in range(2)),
        *(_plain(number) for number in range(10, 13)),
    ]
    grown = [*initial[:-1], instance(2, "trn2u.48xlarge", "cb-0"), *(_plain(number) for number in range(20, 24))]
    for name, fleet in (("", initial), ("more-", grown)):
        topology = [below(machine, "nn-0", "nn-1", "nn-2" if machine in initial else "nn-3") for machine in fleet]
        _write(directory / f"{name}instances.json", {"Reservations": [{"Instances": fleet}]})
        _write(directory / f"{name}topology.json", {"Instances": topology})


def _plain(number: int) -> dict[str, Any]:
    return instance(number, "trn2.48xlarge")


def _write(file: Path, page: object) -> None:
    file.write_text(json.dumps(page))

"""Addresses that are half written."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from sqlalchemy import Engine

import trninv
from conftest import SYSTEMS
from trninv.cli.main import trninv as command
from trninv.database.engine import read_transaction, write_transaction
from trninv.database.tables import TOKEN_SCOPES
from trninv.inventory.address.completion import complete_address
from trninv.inventory.state.bindings import ProposedBinding, bind, resolve_slot

FOLLOWS = {
    "u-": ["u-trn2x64"],
    "u-trn2x64/": [*(f"u-trn2x64/d{at}" for at in range(1)), *(f"u-trn2x64/r{at}" for at in range(2))],
    "u-trn2x64/d0/s1/c1": [f"u-trn2x64/d0/s1/c{at}" for at in (1, *range(10, 16))],
    "u-trn2x64/d0/s1/c3/nc": [f"u-trn2x64/d0/s1/c3/nc{at}" for at in range(8)],
    "trn3-gen2/d0/sw3": [f"trn3-gen2/d0/sw{at}" for at in (3, *range(30, 38))],
    "trn1.2xlarge/d0/s0/c0--": ["trn1.2xlarge/d0/s0/c0--trn1.2xlarge/d0/s0/efa0"],
    "trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c1": [
        f"trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c{at}" for at in (1, 12)
    ],
    "none/d0/": [],
    "u-trn2x64/d0/s0--": [],
    "trn3-gen2/d0/sw03": [],
    "trn3-gen2/d0/sw1": [f"trn3-gen2/d0/sw{at}" for at in (1, *range(10, 20))],
    "u-trn2x64/x/": [],
    "%": [],
    "@n": ["@node-a", "@node-b"],
    "@node-a/c1": [f"@node-a/c{at}" for at in (1, *range(10, 16))],
    "@i-": ["@i-0a"],
}


def test_what_may_follow(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        slots = [("trn1.32xlarge/d0/s0", "i-0a", "node-a"), ("u-trn2x64/d0/s0", None, "node-b")]
        for slot, instance, host in slots:
            found = resolve_slot(connection, slot)
            bind(connection, [ProposedBinding(found.id, slot, instance, host, "pin", "certain")], who="tester")
    with read_transaction(engine) as connection:
        assert {written: complete_address(connection, written) for written in FOLLOWS} == FOLLOWS


def test_a_shell_is_offered_the_next_level(lite: str) -> None:
    shell = ShellComplete(command, {}, "trninv", "_TRNINV_COMPLETE")

    def offered(*words: str, written: str) -> list[str]:
        return [item.value for item in shell.get_completions(["--database", lite, *words], written)]

    assert offered("path", written="u-") == ["u-trn2x64", "u-trn2x64/"]
    assert offered("show", written="trn1.2xlarge/d0/s0/c0/nc") == [f"trn1.2xlarge/d0/s0/c0/nc{at}" for at in range(2)]
    assert offered("draw", written="") == sorted(system.slug for system in SYSTEMS)
    assert offered("path", "u-trn2x64/d0", "--down", written="u-trn2x64/d0/s3/c1")[0] == "u-trn2x64/d0/s3/c1"
    assert [item.value for item in shell.get_completions(["--database", "sqlite:////no/where", "show"], "u")] == []


# what is typed; the words that an interactive bash makes of it; what is to replace the last of them, and an @ before it
TYPED = [
    ("show u-trn2x64/d0/s0/c1", "show u-trn2x64/d0/s0/c1", [f"u-trn2x64/d0/s0/c{at}" for at in (1, *range(10, 16))]),
    ("--database=sqlite:FILE show @", "--database = sqlite : FILE show @", ["@node-b", "@i-0a"]),
    ("show @node-b/c1", "show @ node-b/c1", [f"@node-b/c{at}" for at in (1, *range(10, 16))]),
    ("token create --name a:b --scope ", "token create --name a : b --scope ''", [*TOKEN_SCOPES]),
    ("--database=sqlite:F", "--database = sqlite : F", []),
]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes_with_what_the_command_prints(lite: str, tmp_path: Path) -> None:
    file = shutil.copy(lite.removeprefix("sqlite:///"), tmp_path / "bound.db")
    with trninv.open(f"sqlite:///{file}") as fleet:
        fleet.bind("u-trn2x64/d0/s0", "node-b", who="tests")
        fleet.bind("trn1.32xlarge/d0/s0", "i-0a", who="tests")
    program = tmp_path / "trninv"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m trninv "$@"\n')
    program.chmod(0o755)
    script = f"PATH={tmp_path}:$PATH; source <(trninv completion bash)"
    for line, words, _ in TYPED:
        script += f"; COMP_LINE='trninv {line}'; COMP_WORDS=(trninv {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))"
        script += '; _trninv_completion trninv; echo "${COMPREPLY[@]}"'
    environment = {
        "PYTHONPATH": ":".join(sys.path),
        "PATH": "/usr/bin:/bin",
        "TRNINV_DATABASE_URL": f"sqlite:///{file}",
    }
    done = subprocess.run(
        ["bash", "-c", script.replace("FILE", f"///{file}")],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert [line.split() for line in done.stdout.splitlines()] == [found for _, _, found in TYPED]
    assert done.stderr == ""

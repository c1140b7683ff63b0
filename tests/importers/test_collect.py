"""A machine tells of itself, and `import` reads it: with a neuron-ls and a /sys that are made up."""

import json
import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from printed import SYSFS, neuron_ls

from trninv.errors import NotFoundError
from trninv.importers.collect import collect
from trninv.importers.kinds import READERS
from trninv.importers.observed import Server
from trninv.importers.reading import Source
from trninv.importers.value import Faults


def neuron_ls_that(prints: str, folder: Path, monkeypatch: pytest.MonkeyPatch, status: int = 0) -> None:
    folder.mkdir()
    (folder / "printed").write_text(prints)
    program = folder / "neuron-ls"
    program.write_text(f"#!/bin/sh\n/bin/cat {folder}/printed\necho 'no neuron device found' >&2\nexit {status}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for line in SYSFS.splitlines()[1:]:
        path, _, value = line.replace("=", ":").partition(":")
        file = tmp_path / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
    return tmp_path


def test_what_is_collected_is_read(machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    neuron_ls_that(json.dumps(neuron_ls()), tmp_path / "bin", monkeypatch)
    line = json.dumps(collect(machine)).encode()
    assert b"secret" not in line
    faults = Faults()
    (ours,) = READERS["neuron-ls"](Source(BytesIO(line), "stdin", faults))
    assert isinstance(ours, Server)
    assert (ours.instance, ours.host) == ("i-0a", os.uname().nodename)
    assert (ours.ultraserver, ours.position) == ("00000000000000ab", 2)
    assert len(ours.chips) == 16
    assert [(chip.serial, chip.ecc_uncorrected) for chip in ours.chips[:2]] == [("9ff5434815c8bd80", 3), (None, None)]
    assert faults.told == []


@pytest.mark.parametrize("prints", ["", "[1]", "banner"])
def test_without_a_device_it_says_what_neuron_ls_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prints: str
) -> None:
    neuron_ls_that(prints, tmp_path / "bin", monkeypatch, 1)
    with pytest.raises(NotFoundError, match=r"neuron-ls found no device: no neuron device found"):
        collect(tmp_path)


def test_where_there_is_no_neuron_ls_it_says_what_to_do(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "trninv", "collect"],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("trninv: neuron-ls is not on PATH: install aws-neuronx-tools")

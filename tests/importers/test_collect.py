"""A machine tells of itself, and `import` reads it: with a neuron-ls and a /sys that are made up."""

import json
import os
import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from printed import SYSFS, neuron_ls, neuron_ls_object

from trninv.errors import NotFoundError
from trninv.importers.collector import collect
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import ImportErrors
from trninv.importers.records import ObservedServer
from trninv.importers.source_register import all_sources


def neuron_ls_that(prints: str, folder: Path, monkeypatch: pytest.MonkeyPatch, status: int = 0) -> None:
    folder.mkdir()
    (folder / "printed").write_text(prints)
    program = folder / "neuron-ls"
    program.write_text(f"#!/bin/sh\n/bin/cat {folder}/printed\necho 'no neuron device found' >&2\nexit {status}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def neuron_ls_of_options(folder: Path, monkeypatch: pytest.MonkeyPatch, **printed: str) -> None:
    """A program that prints what there is for its first option, and otherwise says that it does not know it."""
    folder.mkdir()
    for option, prints in printed.items():
        (folder / f"--{option.replace('_', '-')}").write_text(prints)
    program = folder / "neuron-ls"
    refusal = 'echo "unknown option $1" >&2; exit 2'
    program.write_text(f'#!/bin/sh\n[ -f "{folder}/$1" ] && exec /bin/cat "{folder}/$1"\n{refusal}\n')
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
    faults = ImportErrors()
    (ours,) = all_sources()["neuron-ls"].read(InputFile(BytesIO(line), "stdin", faults))
    assert isinstance(ours, ObservedServer)
    assert (ours.instance, ours.host) == ("i-0a", os.uname().nodename)
    assert (ours.ultraserver, ours.position) == ("00000000000000ab", 2)
    assert len(ours.chips) == 16
    assert [(chip.serial, chip.ecc_uncorrected) for chip in ours.chips[:2]] == [("9ff5434815c8bd80", 3), (None, None)]
    assert faults.messages == []


@pytest.mark.parametrize("option", ["json_output", "output_format"])
@pytest.mark.parametrize("printed", [neuron_ls(), neuron_ls_object(processes=[{"command": "--token=secret"}])])
def test_either_option_for_json_is_asked_for(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, printed: object
) -> None:
    neuron_ls_of_options(tmp_path / "bin", monkeypatch, **{option: json.dumps(printed)})
    line = json.dumps(collect(machine)).encode()
    assert b"secret" not in line
    (ours,) = all_sources()["neuron-ls"].read(InputFile(BytesIO(line), "stdin", ImportErrors()))
    assert isinstance(ours, ObservedServer)
    assert (ours.instance, ours.instance_type, ours.logical_cores) == ("i-0a", "trn2u.48xlarge", 2)
    assert [chip.cores for chip in ours.chips] == [8] * 16
    assert ours.unknown_keys == (() if isinstance(printed, list) else ("processes", "ultraserver"))


def test_a_neuron_ls_that_knows_neither_option_is_quoted_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neuron_ls_of_options(tmp_path / "bin", monkeypatch)
    said = "neuron-ls --json-output: unknown option --json-output; "
    said += "neuron-ls --output-format json: unknown option --output-format"
    with pytest.raises(NotFoundError, match=f"neuron-ls found no devices: {said}$"):
        collect(tmp_path)


@pytest.mark.parametrize(
    ("prints", "why"),
    [
        ('[{"bdf": "a", "bdf": "b"}]', "its output has the key 'bdf' twice in one object"),
        ('[{"memory_size": NaN}]', "its output has NaN, which is not JSON"),
        ("[]", "its output lists no devices"),
        ('{"error": "none"}', "its output lists no devices"),
        ("\xff", "its output is not JSON: expecting value"),
    ],
)
def test_what_neuron_ls_prints_is_read_as_import_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prints: str, why: str
) -> None:
    neuron_ls_of_options(tmp_path / "bin", monkeypatch, json_output=prints, output_format=prints)
    with pytest.raises(NotFoundError, match=re.escape(why)):
        collect(tmp_path)


@pytest.mark.parametrize("prints", ["", "[1]", "banner"])
def test_without_a_device_it_says_what_neuron_ls_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prints: str
) -> None:
    neuron_ls_that(prints, tmp_path / "bin", monkeypatch, 1)
    with pytest.raises(NotFoundError, match=r"neuron-ls found no devices: no neuron device found"):
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
    assert ran.stderr.startswith("trninv: neuron-ls is not on PATH; install aws-neuronx-tools")

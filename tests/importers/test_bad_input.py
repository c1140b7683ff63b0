"""Cases of bad input that the other files here don't have; THREAT_MODEL.md lists them all."""

import io
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from printed import instances, listed, neuron_ls, node, slurm, slurm_node, text

from conftest import Databases
from trninv.database.engine import temporary_engine, write_transaction
from trninv.importers import json_value
from trninv.importers.ingestion import ImportFile, import_files
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import ImportErrors
from trninv.importers.source_register import all_sources


def _faults(kind: str, content: bytes) -> list[str]:
    faults = ImportErrors()
    list(all_sources()[kind].read(InputFile(BytesIO(content), "f", faults)))
    return faults.messages


@pytest.mark.parametrize("length", [4_096, 4_097])
def test_a_text_is_as_long_as_a_text_may_be(length: int) -> None:
    faults = _faults("slurm", text(slurm(slurm_node() | {"reason": "x" * length})))
    assert [fault.rpartition("not ")[2] for fault in faults] == ["text of up to 4,096 characters"] * (length > 4_096)


def test_a_list_has_as_many_items_as_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_value, "MAX_ITEMS", 3)
    nodes = [slurm_node(f"h{number}") for number in range(4)]
    assert _faults("slurm", text(slurm(*nodes[:3]))) == []
    assert _faults("slurm", text(slurm(*nodes))) == ["f:1.nodes: has 4 items; at most 3 are read"]


def test_as_many_faults_are_told_as_anybody_reads() -> None:
    assert len(_faults("ec2", text({"Instances": [{}] * 2_000}))) == 1_000


def _tar() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as packed:
        packed.addfile(tarfile.TarInfo("../../out.json"))
    return made.getvalue()


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("neuron-ls", b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'),
        ("neuron-ls", _tar()),
        ("neuron-ls", b"PK\x03\x04" + b"\0" * 26),
        ("kubernetes", b"kind: Node\nmetadata:\n  <<: {name: x}\n"),
    ],
    ids=["XML", "tar", "zip", "a merge key"],
)
def test_what_is_neither_json_nor_plain_yaml_is_refused(kind: str, content: bytes) -> None:
    assert _faults(kind, content)


def test_no_secret_is_kept(databases: Databases) -> None:
    """Of command lines, tags, annotations, environments and configurations nothing is read, whoever prints them."""
    secret = "hunter2-of-somebody"  # noqa: S105 # it is none
    pod: dict[str, Any] = node()
    pod["metadata"] |= {"annotations": {"token": secret}}
    pod["spec"] |= {"env": [{"name": "TOKEN", "value": secret}], "kubeconfig": secret}
    printed: dict[str, Any] = {
        "neuron-ls": [{**each, "neuron_processes": [{"command": secret}]} for each in neuron_ls("i-0a")],
        "ec2": instances("i-0a"),
        "kubernetes": listed(pod),
        "slurm": slurm(slurm_node() | {"extra": secret, "comment": secret}),
    }
    printed["ec2"]["Reservations"][0]["Instances"][0] |= {"Tags": [{"Key": secret, "Value": secret}], "KeyName": secret}
    url = databases.migrated("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for kind, document in printed.items():
            assert import_files(connection, kind, [ImportFile(f"{kind}.json", BytesIO(text(document)))])
    files = Path(str(connection.engine.url.database)).parent.iterdir()
    assert not [file for file in files if file.is_file() and secret.encode() in file.read_bytes()]

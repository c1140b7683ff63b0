"""The collector's unit, timer and DaemonSet: systemd reads them, and they start a command that there is."""

import configparser
import copy
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import programs
from examples import ROOT
from trninv.cli.import_commands import collect
from trninv.importers.collection_schedule import parse_duration

SYSTEMD, KUBERNETES = ROOT / "deploy/systemd", ROOT / "deploy/kubernetes"


def unit(name: str) -> dict[str, dict[str, str]]:
    """Return the settings of a unit, without those that it sets twice."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # keeps upper case, as documented
    parser.read_string((SYSTEMD / name).read_text())
    return {section: dict(parser[section]) for section in parser.sections()}


def parsed(arguments: list[str]) -> dict[str, Any]:
    """Return the options that `trninv collect` reads from a command line."""
    command = copy.copy(collect)  # click keeps the help option of its first context, which is not the program's here
    return command.make_context("collect", arguments, resilient_parsing=False).params


def test_the_unit_starts_a_collection_that_ends_before_the_next() -> None:
    program, command, *arguments = shlex.split(unit("trninv-collector.service")["Service"]["ExecStart"])
    assert (Path(program).name, command) == ("trninv", "collect")
    options = parsed(arguments)
    assert options["service"] == "${TRNINV_COLLECT_TO}"
    assert options["every"] is None
    timer = unit("trninv-collector.timer")["Timer"]
    assert timer["OnCalendar"] == "*:0/5"
    assert (timer["RandomizedDelaySec"], timer["FixedRandomDelay"]) == ("5min", "yes")
    assert parse_duration(options["retry_for"], "") < 300


def test_systemd_reads_the_units(tmp_path: Path) -> None:
    programs.require("systemd-analyze", packages="systemd")
    for file in SYSTEMD.glob("trninv-collector.*"):
        text = file.read_text().replace("ExecStart=/opt/trninv/bin/trninv", "ExecStart=/bin/true")
        (tmp_path / file.name).write_text(text)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    command = ["systemd-analyze", "verify", "--man=no", *map(str, files)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert [line for line in process.stderr.splitlines() if "trninv-collector" in line] == []
    assert process.returncode == 0


def test_the_daemon_set_reports_for_its_node() -> None:
    daemon_set = yaml.safe_load((KUBERNETES / "collector-daemonset.yaml").read_text())
    template = daemon_set["spec"]["template"]
    assert template["metadata"]["labels"].items() >= daemon_set["spec"]["selector"]["matchLabels"].items()
    (container,) = template["spec"]["containers"]
    assert container["command"] == ["trninv", "collect"]
    options = parsed(container["args"])
    assert (options["every"], options["spread"], options["host"]) == ("5m", True, "$(NODE_NAME)")
    environment = {variable["name"]: variable for variable in container["env"]}
    assert environment["NODE_NAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume["hostPath"]["path"] for volume in template["spec"]["volumes"]}
    assert mounts == volumes
    assert environment["TRNINV_TOKEN_FILE"]["value"].startswith(f"{volumes['token']}/")


@pytest.mark.parametrize("arguments", [["--to"], ["--too", "x"]])
def test_an_option_that_there_is_not_is_noticed(arguments: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parsed(arguments)

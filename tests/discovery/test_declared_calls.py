"""Permissions in deploy/discovery are the declared calls, and none of them writes."""

import json
import re

import pytest
import yaml
from click.testing import CliRunner

from examples import ROOT
from trninv.cli.main import trninv
from trninv.discovery.permissions import render_files
from trninv.discovery.provider import all_providers

_READS = re.compile(
    r"(ec2:Describe|sagemaker:List|sts:GetCallerIdentity|sts:AssumeRole|list |watch |scontrol show |sinfo |GET )"
)
CALLS = [call for provider in all_providers().values() for call in provider.api_calls()]


@pytest.mark.parametrize("name", render_files())
def test_files_are_what_the_declaration_writes(name: str) -> None:
    assert (ROOT / "deploy/discovery" / name).read_text() == render_files()[name]


def test_the_policy_and_the_role_have_all_calls_and_no_other() -> None:
    policy = json.loads((ROOT / "deploy/discovery/iam-policy.json").read_text())
    actions = [statement["Action"] for statement in policy["Statement"]]
    assert {*actions[0], actions[1]} == {call.name for call in CALLS if call.provider == "aws"}
    role = yaml.safe_load((ROOT / "deploy/discovery/cluster-role.yaml").read_text())
    allowed = {
        f"{verb} {'.'.join(filter(None, (name, *rule['apiGroups'])))}"
        for rule in role["rules"]
        for verb in rule["verbs"]
        for name in rule["resources"]
    }
    assert allowed == {call.name for call in CALLS if call.provider == "kubernetes"}


@pytest.mark.parametrize("call", [call.name for call in CALLS])
def test_every_call_only_reads(call: str) -> None:
    assert _READS.match(call)


def test_the_command_prints_the_calls() -> None:
    printed = CliRunner().invoke(trninv, ["discover", "aws", "slurm", "--calls", "--format", "json"])
    names = [call["name"] for call in json.loads(printed.output)]
    assert names == [call.name for call in CALLS if call.provider in ("aws", "slurm")]

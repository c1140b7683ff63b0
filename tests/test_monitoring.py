"""Alerts and dashboard: what they ask about is told, and promtool and Prometheus read and run them."""

import json
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from hearing import change, served
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import insert
from starlette.testclient import TestClient

import programs
from conftest import Databases, wear
from examples import ROOT
from trninv.checks.check_report import CheckReport, CheckStatus, write_report
from trninv.checks.evaluation import Verdict
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.finding_rules import FINDING_RULES
from trninv.database.tables import TABLES
from trninv.errors import TrninvError
from trninv.service.application import create_app
from trninv.settings import Settings

MONITORING = ROOT / "monitoring"
ALERTS, TESTS = (yaml.safe_load((MONITORING / name).read_text()) for name in ("alerts.yml", "alerts-test.yml"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
BOARD = json.loads((MONITORING / "dashboard.json").read_text())
QUERIES = [
    (panel["title"], target["expr"].replace("$cluster", ".*").replace("$__rate_interval", "5m"))
    for panel in BOARD["panels"]
    for target in panel["targets"]
]
_NAME = re.compile(r"\btrninv_\w+")
_SERIES = re.compile(r"(\w+)\{(.*)\}")
_OF_PROMETHEUS = {"job", "instance"}


@pytest.fixture(scope="module")
def damaged(databases: Databases) -> str:
    """URL of a database in which not everything is up, and of which machines have reported."""
    url = databases.seeded("sqlite")
    wear(url)
    seen = {
        "id": 1,
        "at": "2026-11-22T02:00:00+00:00",
        "source": "ec2",
        "name": "a.json",
        "sha256": "0",
        "is_whole": True,
    }
    times = {"taken_at": seen["at"], "seen_at": seen["at"]}
    found = {"id": 1, "rule": "instance-gone", "severity": "high", "first_seen": seen["at"], "last_seen": seen["at"]}
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        connection.execute(insert(TABLES["observation"]).values(**seen, **times, servers=1, chips=0))
        connection.execute(insert(TABLES["finding"]).values(**found))
        pulled = {"id": 1, "target": "slurm", "started_at": seen["at"], "read_at": seen["at"], "every_seconds": 300}
        connection.execute(insert(TABLES["discovery"]).values(**pulled))
        receiver = {
            "id": 1,
            "name": "pager",
            "last_event": 0,
            "incidents": "{}",
            "checks": "{}",
        }
        connection.execute(insert(TABLES["webhook_receiver"]).values(**receiver, sent=3, failed=1))
    return url


@pytest.fixture(scope="module")
def told(damaged: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Labels by the names of what /metrics tells."""
    results = tmp_path_factory.mktemp("checks") / "results.json"
    status = CheckStatus("a", 1, "hops", Verdict.PASSED, "1 hop", "at most 2 hops", "", "hops", 1, 1, None, 2)
    write_report(results, CheckReport(1.0, 0.5, [status]))
    made = create_app(damaged, Settings(damaged, check_results=results))
    made.state.shared.metrics.reads.labels("primary")  # without TRNINV_READ_URL nothing is counted
    with TestClient(made, base_url="http://localhost") as client:
        client.post("/graphql", json={"query": "{ nope }"})
        families = list(text_string_to_metric_families(client.get("/metrics").text))
    found: dict[str, set[str]] = {}
    for sample in (sample for family in families for sample in family.samples):
        if not sample.name.endswith("_created"):
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_what_alerts_and_dashboard_ask_about_is_told(told: dict[str, set[str]]) -> None:
    asked = [rule["expr"] for rule in RULES] + [query for _, query in QUERIES]
    assert all(_NAME.search(query) or "up{" in query for query in asked)
    assert {name for query in asked for name in _NAME.findall(query)} <= told.keys()
    variables = [each["query"]["query"] for each in BOARD["templating"]["list"] if each["type"] == "query"]
    assert variables == ["label_values(trninv_parts, cluster)"]


def test_alerts_are_tested_with_labels_and_codes_that_there_are(told: dict[str, set[str]]) -> None:
    for each in (series["series"] for test in TESTS["tests"] for series in test["input_series"]):
        ((name, labels),) = _SERIES.findall(each)
        given = set(re.findall(r"(\w+)=", labels)) - _OF_PROMETHEUS
        assert name == "up" or given <= told[name], each
    of_tests = (MONITORING / "alerts-test.yml").read_text()
    assert [rule["alert"] for rule in RULES if rule["alert"] not in of_tests] == []
    codes = {code for rule in RULES for code in re.findall(r'code="(\w+)"', rule["expr"])}
    assert codes <= _codes(TrninvError)


def test_an_alert_names_each_finding_that_drift_applies_and_another_the_rest() -> None:
    text = "\n".join(rule["expr"] for rule in RULES)
    (excluded,) = re.findall(r'rule!~"(.*?)"', text)
    named = {name for names in re.findall(r'rule=~?"(.*?)"', text) for name in names.split("|")}
    assert named == set(excluded.split("|"))
    assert {FINDING_RULES[name].severity for name in named} == {"high"}
    states = (ROOT / "docs/reference/drift.md").read_text().partition("\n## States\n")[2]
    assert named == set(re.findall(r"^\| `(.*?)`", states, re.MULTILINE))


def _codes(kind: type[TrninvError]) -> set[str]:
    return {kind.code}.union(*map(_codes, kind.__subclasses__()))


def test_every_metric_is_on_its_page(told: dict[str, set[str]]) -> None:
    page = (ROOT / "docs/reference/metrics.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| \w+ \|([^|]*)\|", page, re.MULTILINE))
    families = {re.sub(r"_(bucket|count|sum)$", "", name): labels - {"le"} for name, labels in told.items()}
    assert {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows.items()} == families


def test_panels_have_room_and_names_of_their_own() -> None:
    taken = [
        (at["x"] + dx, at["y"] + dy)
        for at in (panel["gridPos"] for panel in BOARD["panels"])
        for dx in range(at["w"])
        for dy in range(at["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24
    assert len({panel[key] for panel in BOARD["panels"] for key in ("id", "title")}) == 2 * len(BOARD["panels"])


def _promtool(*words: str, given: str = "") -> str:
    programs.require("promtool", packages="prometheus")
    command = ["promtool", *words]
    done = subprocess.run(command, cwd=MONITORING, input=given, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_alerts_come_when_they_should() -> None:
    assert f"{len(RULES)} rules found" in _promtool("check", "rules", "alerts.yml")
    assert "SUCCESS" in _promtool("test", "rules", "alerts-test.yml")


@pytest.mark.slow
def test_the_dashboard_shows_something_everywhere(damaged: str, tmp_path: Path) -> None:
    with served(damaged) as service:
        for document in ("{nope}", "{clusters{totalCount}}"):
            with urllib.request.urlopen(f"{service}/graphql?query={document}", timeout=20):
                pass
        with urllib.request.urlopen(f"{service}/metrics", timeout=20) as answer:
            _promtool("check", "metrics", given=answer.read().decode())
        with _prometheus(service, tmp_path) as ask, temporary_engine(damaged) as engine:
            _until(lambda: ask("trninv_ready"))
            change(engine, "u-trn2x64/d0/s0/c9")
            _until(lambda: ask('trninv_changes_total{kind="chip"} > 0'))
            empty = [title for title, query in QUERIES if not ask(query)]
            assert empty == []
            (firing,) = ask('trninv_parts_unhealthy{cluster="u-trn2x64", kind="chip", state="down"}')
            assert firing["value"][1] == "2"


Ask = Callable[[str], list[dict[str, Any]]]
"""Runs a query."""


@contextmanager
def _prometheus(service: str, directory: Path) -> Iterator[Ask]:
    """Debian's Prometheus, which asks a service every second."""
    programs.require("prometheus", packages="prometheus")
    scraped = {"job_name": "trninv", "static_configs": [{"targets": [service.removeprefix("http://")]}]}
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config = {"global": every, "rule_files": [str(MONITORING / "alerts.yml")], "scrape_configs": [scraped]}
    (directory / "prometheus.yml").write_text(json.dumps(config))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        at = f"127.0.0.1:{free.getsockname()[1]}"
    words = (f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data")
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(["prometheus", *words, f"--web.listen-address={at}"], stderr=log)

    def ask(query: str) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"http://{at}/api/v1/query?query={quote(query)}", timeout=20) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return found

    try:
        yield ask
    finally:
        process.terminate()
        process.wait(30)


def _until(ask: Callable[[], object]) -> None:
    """Wait for something to be there."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with suppress(urllib.error.URLError):  # it begins, or can't answer yet
            if ask():
                return
        time.sleep(0.2)
    pytest.fail("it did not come within a minute")

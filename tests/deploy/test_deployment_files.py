"""deploy/: what systemd, Kubernetes and the parts of it ask of each other."""

import configparser
import copy
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from every_command import EVERY, parsed

import programs
from examples import ROOT
from release.artifacts import REQUIREMENTS
from trninv.settings import Settings, resource_directory

DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
UNITS = sorted(file for file in (DEPLOY / "systemd").iterdir() if file.suffix in (".service", ".timer"))
_EXPOSURE = 20
"""The highest exposure that systemd-analyze may report, of 100."""


OPTIONAL = ("discover.yaml", "drift-cronjob.yaml")
"""Parts of kustomization.yaml as comments."""
MAINTENANCE = "maintenance.yaml"
"""Applied on its own, when an administrator needs it."""


def _objects() -> list[dict[str, Any]]:
    """What Kustomize applies, with what its comment offers, and the pod for maintenance."""
    files = [*yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"], *OPTIONAL, MAINTENANCE]
    return [one for name in files for one in yaml.safe_load_all((KUBERNETES / name).read_text())]


def _object(kind: str, name: str = "trninv") -> dict[str, Any]:
    (one,) = (one for one in _objects() if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return one


def _pods() -> Iterator[dict[str, Any]]:
    for one in _objects():
        if one["kind"] in ("Deployment", "Job"):
            yield one["spec"]["template"]
        elif one["kind"] == "CronJob":
            yield one["spec"]["jobTemplate"]["spec"]["template"]
        elif one["kind"] == "Pod":
            yield one


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The units, with programs that are installed here."""
    directory = tmp_path_factory.mktemp("systemd")
    for file in UNITS:
        text = re.sub(r"(?<=^ExecStart=)\S+", "/bin/true", file.read_text(), flags=re.MULTILINE)
        (directory / file.name).write_text(text)
    return [directory / file.name for file in UNITS]


def test_systemd_finds_no_fault_in_the_units(units: list[Path]) -> None:
    programs.require("systemd-analyze", packages="systemd")
    for unit in units:
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False
        )
        own = [line for line in done.stderr.splitlines() if unit.stem.rstrip("@") in line]
        assert own == [], done.stderr


@pytest.mark.parametrize("unit", [file for file in UNITS if file.suffix == ".service"], ids=lambda file: file.name)
def test_systemd_rates_each_service_as_hardened(unit: Path) -> None:
    programs.require("systemd-analyze", packages="systemd")
    words = ["systemd-analyze", "security", "--offline=yes", f"--threshold={_EXPOSURE}", "--no-pager", str(unit)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-200:]


def test_each_timer_has_its_service() -> None:
    names = {file.name for file in UNITS}
    assert {f"{file.stem}.service" for file in UNITS if file.suffix == ".timer"} <= names


def test_every_setting_that_the_files_name_exists() -> None:
    settings = {f"TRNINV_{name.upper()}" for name in Settings.__annotations__} | {"TRNINV_TOKEN"}
    for file in (file for file in DEPLOY.rglob("*") if file.is_file() and "collector" not in file.name):
        assert set(re.findall(r"\bTRNINV_[A-Z_]+\b", file.read_text())) <= settings, file


def test_kubernetes_knows_every_field() -> None:
    import kubernetes_validate  # noqa: PLC0415 # only where it is used

    native = [one for one in _objects() if one["kind"] != "ServiceMonitor"]  # that is the Prometheus operator's
    for one in native:
        kubernetes_validate.validate(one, kubernetes_validate.latest_version(), strict=True)
    assert {"Deployment", "Service", "Ingress", "NetworkPolicy", "Job", "CronJob"} <= {one["kind"] for one in native}


def test_each_file_of_kubernetes_is_applied_or_says_how() -> None:
    files = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    alone = {"kustomization.yaml", "collector-daemonset.yaml", "prometheusrule.yaml", MAINTENANCE, *OPTIONAL}
    assert {*files, *alone} == {file.name for file in KUBERNETES.iterdir()}
    assert all(f"# - {name}" in (KUBERNETES / "kustomization.yaml").read_text() for name in OPTIONAL)


def test_kubernetes_images_name_one_release() -> None:
    (image,) = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["images"]
    collector = yaml.safe_load((KUBERNETES / "collector-daemonset.yaml").read_text())
    (container,) = collector["spec"]["template"]["spec"]["containers"]
    assert image["newTag"] != "latest"
    _, maintenance = _object("Pod", "trninv-maintenance")["spec"]["containers"]
    for one in (container, maintenance):
        assert one["image"] == f"{image['newName']}:{image['newTag']}"
    images = {one["image"] for pod in _pods() if "name" not in pod["metadata"] for one in pod["spec"]["containers"]}
    assert images == {image["name"]}


def test_discovery_has_the_rights_that_it_needs() -> None:
    role = yaml.safe_load((DEPLOY / "discovery/cluster-role.yaml").read_text())
    binding, account = _object("ClusterRoleBinding", "trninv-discover"), _object("ServiceAccount", "trninv-discover")
    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (role["kind"], role["metadata"]["name"])
    (subject,) = binding["subjects"]
    namespace = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["namespace"]
    assert (subject["name"], subject["namespace"]) == (account["metadata"]["name"], namespace)
    (pod,) = (pod for pod in _pods() if pod["spec"].get("serviceAccountName"))
    assert pod["spec"]["serviceAccountName"] == account["metadata"]["name"]
    assert pod["spec"]["containers"][0]["args"][:2] == ["discover", "kubernetes"]


def test_every_pod_is_in_the_network_policy() -> None:
    (expression,) = _object("NetworkPolicy")["spec"]["podSelector"]["matchExpressions"]
    assert set(expression["values"]) == {pod["metadata"]["labels"]["app.kubernetes.io/name"] for pod in _pods()}


def test_a_backup_dumps_before_it_verifies_and_keeps_older_dumps_of_a_history_that_does_not() -> None:
    unit = (DEPLOY / "systemd/trninv-backup.service").read_text()
    assert re.findall("^ExecStart=.*?(pg_dump|verify|-delete)", unit, re.MULTILINE) == ["pg_dump", "verify", "-delete"]
    pod = _object("CronJob", "trninv-backup")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (dump,), (verify,) = pod["initContainers"], pod["containers"]
    assert re.findall("pg_dump|-delete", dump["command"][-1]) == ["pg_dump"]
    assert re.findall("verify|&&|-delete", verify["command"][-1]) == ["verify", "&&", "-delete"]


def test_maintenance_reads_the_dumps_with_the_programs_that_wrote_them() -> None:
    backup = _object("CronJob", "trninv-backup")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    maintenance = _object("Pod", "trninv-maintenance")["spec"]
    assert maintenance["containers"][0]["image"] == backup["initContainers"][0]["image"]
    assert maintenance["volumes"] == backup["volumes"]
    for container in maintenance["containers"]:
        (mount,) = (one for one in container["volumeMounts"] if one["name"] == "backup")
        assert mount == {"name": "backup", "mountPath": "/backup", "readOnly": True}


def test_what_failed_is_set_down_on_a_schedule() -> None:
    unit = (DEPLOY / "systemd/trninv-drift.service").read_text()
    pod = _object("CronJob", "trninv-drift")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (command,) = re.findall("^ExecStart=/opt/trninv/bin/trninv drift (.*)$", unit, re.MULTILINE)
    assert pod["containers"][0]["args"] == ["drift", *shlex.split(command)]
    drift = copy.copy(EVERY["drift",])  # click keeps the help option of its first context
    parsed(drift, shlex.split(command))
    assert "--apply" in shlex.split(command)


def test_the_service_does_not_log_in_as_the_owner() -> None:
    owners = set()
    for pod in _pods():
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])):
            (source,) = container["envFrom"]
            if source["secretRef"]["name"] != "trninv":
                assert source["secretRef"]["name"] == "trninv-owner"
                owners.add(pod["metadata"].get("name") or pod["metadata"]["labels"]["app.kubernetes.io/name"])
    assert owners == {"trninv-migrate", "trninv-backup", "trninv-maintenance"}
    page = (ROOT / "docs/how-to/deploy.md").read_text()
    for name in ("trninv", "trninv-owner", "trninv-files"):
        assert f" create secret generic {name} " in page


def test_the_page_makes_a_prometheus_rule_of_the_alerts() -> None:
    (command,) = re.findall(r"<\((sed .*)\)$", (ROOT / "docs/how-to/deploy.md").read_text(), re.MULTILINE)
    done = subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, text=True, check=True)
    rule = yaml.safe_load(done.stdout)
    assert (rule["apiVersion"], rule["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert rule["spec"] == yaml.safe_load((ROOT / "monitoring/alerts.yml").read_text())


def test_the_objects_select_each_other() -> None:
    service, deployment = _object("Service"), _object("Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for selector in (service["spec"]["selector"], deployment["spec"]["selector"]["matchLabels"]):
        assert selector.items() <= labels.items()
    assert _object("ServiceMonitor")["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (port,) = service["spec"]["ports"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert port["targetPort"] in {one["name"] for one in container["ports"]}
    assert _object("ServiceMonitor")["spec"]["endpoints"][0]["port"] == port["name"]
    path = _object("Ingress")["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    assert (path["name"], path["port"]["name"]) == (service["metadata"]["name"], port["name"])


def test_no_pod_runs_as_root_or_writes_to_its_image() -> None:
    for pod in _pods():
        assert pod["spec"]["securityContext"]["runAsUser"] > 0
        assert pod["spec"].get("automountServiceAccountToken", True) is ("serviceAccountName" in pod["spec"])
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])):
            context = container["securityContext"]
            assert (context["readOnlyRootFilesystem"], context["capabilities"]) == (True, {"drop": ["ALL"]})


def test_the_user_of_the_image_is_that_of_the_pods() -> None:
    user = re.search(r"^USER (\d+):\1$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    assert user
    assert {str(pod["spec"]["securityContext"]["runAsUser"]) for pod in _pods()} == {user[1]}


def test_compose_starts_the_service_after_database_and_migration() -> None:
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = composed["services"]
    for one in services.values():
        assert set(one.get("depends_on", {})) <= set(services)
        assert {volume.partition(":")[0] for volume in one.get("volumes", [])} <= set(composed["volumes"])
    assert services["migrate"]["depends_on"]["database"]["condition"] == "service_healthy"
    assert services["service"]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert services["service"]["read_only"]
    assert all(str(port).startswith("127.0.0.1:") for port in services["service"]["ports"])
    file = Path(services["migrate"]["build"]["dockerfile"])
    assert (DEPLOY / services["migrate"]["build"]["context"] / file).is_file()


@pytest.mark.slow
def test_compose_reads_its_file(tmp_path: Path) -> None:
    """Debian's docker-compose has the schema of before ``name``, which other versions take for the project's name."""
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert composed.pop("name") == "trninv"
    file = tmp_path / "compose.yaml"
    file.write_text(yaml.safe_dump(composed))
    words = ["docker-compose", "--file", str(file), "--project-directory", str(DEPLOY), "config", "--quiet"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    password = {"POSTGRES_PASSWORD": "x"}
    done = subprocess.run(words, env=environment | password, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "POSTGRES_PASSWORD" in done.stderr) == (1, True)


@pytest.mark.slow
def test_nginx_reads_its_configuration(tmp_path: Path) -> None:
    """As Debian sets it up; deploy/rolling-restart is tested on its own."""
    text = (DEPLOY / "nginx" / "trninv.conf").read_text().replace("/etc/nginx/conf.d", str(tmp_path))
    for name in ("/etc/ssl/trninv.pem", "/etc/ssl/private/trninv.key"):
        text = text.replace(name, str(tmp_path / Path(name).name))
    words = ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-subj", "/CN=trninv.example"]
    files = ["-out", str(tmp_path / "trninv.pem"), "-keyout", str(tmp_path / "trninv.key")]
    subprocess.run([*words, *files], check=True, capture_output=True)
    (tmp_path / "trninv-upstream.inc").write_text("server 127.0.0.1:8001 max_fails=0;\n")
    (tmp_path / "trninv.conf").write_text(text)
    main = f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ include {tmp_path}/trninv.conf; }}"
    (tmp_path / "nginx.conf").write_text(main)
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    done = subprocess.run([nginx, "-t", "-c", tmp_path / "nginx.conf"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_alerts_dashboard_and_deployment_are_found_in_a_checkout_and_in_the_wheel() -> None:
    """tests/test_wheel.py looks into the wheel."""
    for name in ("monitoring/alerts.yml", "monitoring/dashboard.json", "deploy/rolling-restart"):
        assert (resource_directory() / name).is_file()


def test_the_image_installs_what_a_release_has() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert f"ARG REQUIREMENTS={REQUIREMENTS[0]}\n" in text
    assert f"COPY {' '.join(REQUIREMENTS)} ./\n" in text
    assert "--require-hashes --requirement ${REQUIREMENTS}\n" in text


def test_units_and_image_agree_on_where_trninv_is() -> None:
    assert "COPY --from=build /opt/trninv /opt/trninv" in (DEPLOY / "Containerfile").read_text()
    for file in (one for one in UNITS if one.suffix == ".service"):
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str  # type: ignore[assignment,method-assign] # as configparser documents it
        unit.read_string(file.read_text())
        assert "/opt/trninv/bin/trninv" in file.read_text()
        assert unit["Service"]["NoNewPrivileges"] == "yes"

"""docs/how-to/deploy.md: its commands are run as they stand, in a copy of this machine's root that is thrown away.

The copy is an overlay, in a mount and process namespace of its own. A small program stands for systemctl, because
nothing here runs systemd: it verifies the units with systemd-analyze and starts what their ExecStart lines name.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Databases, Run
from examples import ROOT
from release import artifacts
from trninv.history.archive.archive_directory import open_directory

PAGE = (ROOT / "docs/how-to/deploy.md").read_text()
_VERSIONS = sorted(set(re.findall(r"trninv-(\d+\.\d+\.\d+)", PAGE)))
"""The releases that the page installs and upgrades to."""
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NOT_RUN = {
    "podman": "needs an image registry and a kernel with containers; test_image.py builds and runs the image, and "
    "test_deployment_files.py has docker-compose read compose.yaml",
    "kubectl": "needs a cluster; test_deployment_files.py has kubernetes-validate check the objects",
}
"""Programs of the page that no test runs, with the reason and what is tested instead."""
_RUN = {
    *(
        "apt-get",
        "as_trninv",
        "as_trninv()",
        "cp",
        "curl",
        "deploy/rolling-restart",
        "ln",
        "mkdir",
        "nginx",
        *(f"/opt/trninv-{version}/bin/pip" for version in _VERSIONS),
        "printf",
        "python3",
        "runuser",
    ),
    *("sha256sum", "systemctl", "tar", "useradd"),
}
_IN_NAMESPACE = """
set -eu
space=$1
mount -t tmpfs -o size=4g tmpfs "$space"
mkdir "$space/upper" "$space/work" "$space/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$space/upper,workdir=$space/work" "$space/root"
cd "$space/root"
mount -t proc proc proc
mount --rbind /dev dev
for directory in run tmp; do mount -t tmpfs -o mode=1777 tmpfs "$directory"; done
cp "$2" tmp/script
cp -r "$3" tmp/release
exec chroot . /bin/bash -eu /tmp/script
"""
_PREPARE = """
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
export DEBIAN_FRONTEND=noninteractive DRAIN=1
echo 'APT::Get::Assume-Yes "true";' > /etc/apt/apt.conf.d/99yes
cat > /usr/local/bin/systemctl <<'END'
#!/bin/sh
# Stands for systemctl, where no systemd runs
set -eu
units=/etc/systemd/system
as_trninv() {
    # shellcheck disable=SC2046
    exec setpriv --reuid trninv --regid trninv --init-groups env $(cat /etc/trninv/service.env) "$@"
}
begin() {
    case $1 in
        *.timer) systemd-analyze verify --man=no "$units/$1" ;;
        trninv@*)
            program=$(sed -n 's/^ExecStart=//p' "$units/trninv@.service" | sed "s/%i/${1#trninv@}/")
            cd /var/lib/trninv
            (as_trninv TRNINV_AUTH=tokens HOME=/var/lib/trninv $program) < /dev/null > "/run/$1.log" 2>&1 &
            echo $! > "/run/$1.pid"
            ;;
        *)
            directory=/var/lib/$(sed -n 's/^StateDirectory=//p' "$units/$1")
            install -d -o trninv -g trninv -m 0700 "$directory"
            sed -n 's/^ExecStart=//p' "$units/$1" | sed 's#%S#/var/lib#g; s/%%/%/g' > "/run/$1.sh"
            (as_trninv /bin/sh -eu "/run/$1.sh")
            ;;
    esac
}
case "$*" in
    daemon-reload) systemd-analyze verify --man=no "$units"/trninv*.service "$units"/trninv*.timer ;;
    "reload nginx") if [ -s /run/nginx.pid ]; then nginx -s reload; else nginx; fi ;;
    "enable --now "*) shift 2; for unit in "$@"; do begin "$unit"; done ;;
    "start "*) begin "$2" ;;
    "restart "*)
        kill "$(cat "/run/$2.pid")"
        while kill -0 "$(cat "/run/$2.pid")" 2>/dev/null; do sleep 0.1; done
        begin "$2"
        ;;
    *) echo "unexpected: systemctl $*" >&2; exit 1 ;;
esac
END
chmod +x /usr/local/bin/systemctl
printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d # packages start nothing
chmod +x /usr/sbin/policy-rc.d
# what the page leaves to the reader: a name, a certificate, the packages' own services
echo '127.0.0.1 trninv.example' >> /etc/hosts
openssl req -x509 -nodes -newkey rsa:2048 -subj /CN=trninv.example -addext subjectAltName=DNS:trninv.example \\
    -out /etc/ssl/trninv.pem -keyout /etc/ssl/private/trninv.key 2>/dev/null
mkdir -p /etc/trninv /etc/prometheus /run/postgresql
"""
_SETTLE = """
cat > /etc/trninv/service.env <<'END'
{environment}END
chmod 0700 /root
mkdir /root/release # which the user trninv cannot read
cd /root/release
cp {root}/requirements.txt {root}/requirements-service.txt /tmp/release/*.whl .
tar --create --gzip --file {container} --directory {root} deploy monitoring
sha256sum ./* > SHA256SUMS
echo "$(printf 0%.0s $(seq 64))  a-file-that-was-not-downloaded" >> SHA256SUMS
created_user() {{
    install -d -o trninv -g trninv -m 0700 /var/lib/trninv
    install -d -o postgres /run/postgresql
    pg_ctlcluster 15 main start 2>/dev/null || pg_createcluster --start 15 main
}}
wait_for() {{ for second in $(seq 120); do if "$@"; then return; fi; sleep 1; done; "$@"; }}
"""
_AFTER = {
    "useradd": "created_user",
    "systemctl enable --now trninv@8001": "for port in 8001 8002; do "
    "wait_for curl --fail --silent --output /dev/null http://127.0.0.1:$port/readyz; done",
    "systemctl reload": "sleep 1; export CURL_CA_BUNDLE=/etc/ssl/trninv.pem",
    "curl": "unset CURL_CA_BUNDLE",
}
"""What has to happen after some commands, by their first words, before the next can run."""
_FINISH = """
trninv() { as_trninv trninv "$@"; }
ask() { curl --silent --cacert /etc/ssl/trninv.pem "https://trninv.example$1"; }
ask /readyz | grep -F '"ok"'
ask /chips/u-trn2x64 | grep -F UNAUTHENTICATED
token=$(trninv token create asks --scope sql | grep -Eo 'trninv_[A-Za-z0-9_-]{43}')
curl --silent --cacert /etc/ssl/trninv.pem --header "Authorization: Bearer $token" \\
    --header 'Content-Type: application/json' --data '{"sql": "SELECT count(*) AS n FROM v_chip"}' \\
    https://trninv.example/sql | grep -F '"n":64'
curl --silent --cacert /etc/ssl/trninv.pem --header "Authorization: Bearer $token" \\
    https://trninv.example/reports/capacity.csv | grep -F u-trn2x64,
as_trninv $(sed -n 's/^ExecStart=//p' /etc/systemd/system/trninv-drift.service)
pg_restore --list /var/lib/trninv-backup/fleet-*.dump | grep -c 'TABLE DATA'
trninv verify
trninv token list
echo finished
"""


def _commands() -> Iterator[str]:
    for block in _BLOCK.findall(PAGE):
        yield from re.split(r"\n(?![ )])", block.rstrip())  # a function has several lines


def test_the_page_runs_nothing_that_is_not_known_here() -> None:
    assert {shlex.split(line)[0] for line in _commands()} == {*_RUN, *_NOT_RUN}


def test_the_files_that_it_copies_exist() -> None:
    for line in _commands():
        for word in shlex.split(line)[1:]:
            file = re.sub(r"^trninv-[\d.]+/", "", word)
            if re.match(r"(deploy|monitoring)/", file) and not file.endswith("/.env"):
                assert any(ROOT.glob(file.rstrip("/)"))), file


def test_an_image_is_built_from_a_whole_checkout() -> None:
    """What *Get a release* unpacks is not enough for it."""
    (directory,) = re.findall(r"^tar --extract --file \S+ --directory (\S+)$", PAGE, re.MULTILINE)
    builds = [shlex.split(line) for line in _commands() if line.startswith("podman build")]
    assert [(words[-1], words[words.index("--file") + 1]) for words in builds] == [
        (directory, f"{directory}/deploy/Containerfile")
    ] * 2


def _script() -> str:
    (environment,) = re.findall(r"^```ini\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (container,) = set(re.findall(r"trninv-[\d.]+-container\.tar\.gz", PAGE))
    lines = [_PREPARE, _SETTLE.format(environment=environment, root=ROOT, container=container)]
    for line in _commands():
        if shlex.split(line)[0] in _NOT_RUN:
            continue
        # tests/history/test_archive_elsewhere.py archives to an object store
        lines += [f"echo {shlex.quote(f'+ {line}')}", line.replace("s3://bucket", "/var/lib/trninv")]
        lines += [after for start, after in _AFTER.items() if line.startswith(start)]
    return "\n".join([*lines, _FINISH])


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["postgresql"])
def test_its_commands_lead_to_a_fleet(backend: str, run: Run, databases: Databases, tmp_path: Path) -> None:
    url, tokens = databases.empty(backend), list[str]()
    for words in map(shlex.split, _commands()):
        if words[0] != "as_trninv":
            continue
        assert Path(words[1]).name == "trninv"
        arguments = [str(tmp_path) if word.startswith("s3://") else word for word in words[2:]]
        status, out, error = run(*arguments, database=url)
        assert status == 0, (words, error)
        tokens += re.findall(r"trninv_[\w-]{43}", out)
    assert len(tokens) == 3
    assert run("migrate", "--check", database=url)[0] == 0
    assert "u-trn2x64" in run("status", database=url)[1]
    assert run("verify", database=url)[0] == 0
    names = run("token", "list", database=url)[1]
    assert all(name in names for name in ("me", "ip-10-0-0-1", "prometheus"))
    assert open_directory(tmp_path).read("manifest.ndjson") is not None


@pytest.mark.slow
@pytest.mark.skipif(
    "TRNINV_TEST_IMAGE" not in os.environ,
    reason="./run ci image runs it, because it installs everything again; it needs root, PostgreSQL, nginx and systemd",
)
def test_every_command_of_the_page_is_run(tmp_path: Path) -> None:
    source, packages = artifacts.copy_commit(tmp_path / "source"), tmp_path / "dist"
    for version in _VERSIONS:
        (source / "trninv/__init__.py").write_text(
            re.sub('(?<=__version__ = ").*(?=")', version, (source / "trninv/__init__.py").read_text())
        )
        artifacts.build_packages(source, packages)
    script, space = tmp_path / "script", tmp_path / "space"
    space.mkdir()
    script.write_text(_script())
    # all processes end with the first one of their namespace
    words: list[str | Path] = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "bash",
        "-c",
        _IN_NAMESPACE,
        "sh",
        space,
        script,
        packages,
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert done.stdout.endswith("finished\n")
    for line in _commands():
        assert (f"+ {line}\n" in done.stdout) == (shlex.split(line)[0] not in _NOT_RUN)
    assert "u-trn2x64" in done.stdout
    assert len(set(re.findall(r"trninv_[\w-]{43}", done.stdout))) == 3

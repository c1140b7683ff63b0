"""Real roles of PostgreSQL with no more rights than they need; whatever is missing is refused.

The server belongs to these tests, since roles belong to a server.
"""

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson
import psycopg
import pytest
from starlette.testclient import TestClient

import postgres
from conftest import Run
from trninv.checks.measures import MEASURES
from trninv.cli import grant_command
from trninv.database import bulk_load
from trninv.database.stored_changes import STORED
from trninv.reports import grants
from trninv.service.application import create_app
from trninv.setting_parsers import LEAST_OBSERVATIONS
from trninv.settings import Settings

pytestmark = pytest.mark.slow  # a server of its own to start

_U = "u-trn2x64/d0"
_SET = (
    'mutation { setState(input: {addresses: ["u-trn2x64/d0/s0/c0"], state: DOWN, who: "x", why: "y"}) '
    "{ changes { after } } }"
)
_NEURON_LS = [{"neuron_device": 0, "bdf": "00:1e.0", "nc_count": 2, "memory_size": 103079215104, "connected_to": []}]


class Site:
    """A server, with new names for roles and databases."""

    def __init__(self, server: postgres.Server) -> None:
        self._server, self._numbers = server, itertools.count()

    def run(self, statements: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run statements as an administrator."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            result = connection.execute(statements.encode())
            return result.fetchall() if result.description else []

    def url(self, database: str, user: str = "trninv", schema: str = "") -> str:
        url = self._server.url.format(database).replace("trninv@", f"{user}@")
        quoted = f'"{schema}"'.replace('"', "%22")
        return f"{url}&options=-csearch_path%3D{quoted}" if schema else url

    def role(self, kind: str, rights: str = "") -> str:
        name = f"{kind}_{next(self._numbers)}"
        self.run(f"CREATE ROLE {name} LOGIN {rights}")
        return name

    def database(self, rest: str = "") -> str:
        name = f"d{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} {rest}")
        return name


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as directory:
        server = postgres.Server(Path(directory))
        server.make()
        server.start()
        try:
            yield Site(server)
        finally:
            server.stop()


def _tables(site: Site, database: str) -> int:
    query = "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'v') AND relnamespace::regnamespace::text "
    ((count,),) = site.run(f"{query} NOT IN ('pg_catalog', 'information_schema')", database)
    return int(str(count))


def _printed_statements(error: str) -> str:
    return "\n".join(line for line in error.splitlines() if line.startswith("  "))


def test_an_owner_who_may_not_create_roles_is_told_what_an_administrator_runs(site: Site, run: Run) -> None:
    for role in grants.ROLES:
        site.run(
            f"DO $$ BEGIN IF to_regrole('{role.name}') IS NOT NULL THEN "
            f"ALTER ROLE {role.name} RENAME TO former_{role.name}; END IF; END $$"
        )
    owner = site.role("owner")
    url = site.url(site.database(f"OWNER {owner}"), owner)
    status, out, error = run("migrate", database=url)
    assert (status, "is at schema version" in out) == (0, True)
    assert _printed_statements(error).split("\n") == [
        "  CREATE ROLE trninv_read NOLOGIN;",
        f"  GRANT trninv_read TO {owner};",
    ]
    status, _, error = run("sql", "SELECT count(*) FROM v_chip", database=url)
    assert (status, "run trninv grant as the owner" in error) == (2, True)
    status, _, error = run("grant", database=url)
    statements = _printed_statements(error)
    assert (status, statements.count("CREATE ROLE")) == (1, 3)
    site.run(statements)
    while run("grant", database=url)[0] == 1:  # the service's membership can be granted once there is that role
        statements = _printed_statements(run("grant", database=url)[2])
        assert statements == "  GRANT trninv_read TO trninv_service;"
        site.run(statements)
    status, out, error = run("grant", database=url)
    assert (status, "have what they need" in out, error) == (0, True, "")
    status, out, _ = run("sql", "SELECT count(*) AS n FROM v_chip", database=url)
    assert (status, out.split()[-1]) == (0, "0")
    assert run("migrate", database=url)[2] == ""


def test_ctrl_c_after_the_commit_says_that_grants_are_stored(
    site: Site, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = site.url(site.database())
    assert run("migrate", database=url)[0] == 0

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(STORED, "count", 0)
    monkeypatch.setattr(grant_command, "redacted_url", interrupt)
    assert run("grant", database=url) == (130, "", "\ninterrupted: the change was already stored\n")


def test_grant_on_sqlite_is_a_usage_error(run: Run, lite: str) -> None:
    status, _, error = run("grant", database=lite)
    assert (status, "has no roles" in error) == (2, True)


def test_an_owner_of_one_schema_is_enough_for_everything(site: Site, run: Run, tmp_path: Path) -> None:
    owner, database = site.role("owner"), site.database()
    site.run(f"CREATE SCHEMA fleet AUTHORIZATION {owner}", database)
    url = site.url(database, owner, "fleet")
    status, _, error = run("migrate", database=url)
    missing = f"CREATE SCHEMA IF NOT EXISTS fleet_past AUTHORIZATION {owner}"
    assert (status, missing in error, _tables(site, database)) == (1, True, 0)
    site.run(missing, database)
    status, _, error = run("migrate", database=url)
    assert status == 0
    if error:
        site.run(_printed_statements(error))
        run("grant", database=url)
    (tmp_path / "observed.json").write_bytes(orjson.dumps(_NEURON_LS))
    for arguments in (
        ["seed", "u-trn2x64"],
        ["set", f"{_U}/s0/c0", "down", "--why", "x"],
        ["path", f"{_U}/s0/c1", f"{_U}/s1/c1"],
        ["path", f"{_U}/s0/c0", f"{_U}/s1/c1", "--at", "0"],
        ["report", "unhealthy"],
        ["report", "unhealthy", "--at", "0"],
        ["sql", "SELECT count(*) FROM v_chip"],
        ["sql", "SELECT count(*) FROM v_chip", "--at", "0"],
        ["allocate", "job-1", f"{_U}/s1", "--why", "x"],
        ["release", "job-1", "--why", "x"],
        ["cordon", f"{_U}/s2", "--why", "x"],
        ["import", "neuron-ls", "--trust-host-names", str(tmp_path / "observed.json")],
        ["token", "create", "t"],
        ["export", str(tmp_path / "out"), "--format", "csv"],
        ["verify"],
        ["migrate", "--check"],
        ["migrate", "--to", "base", "--yes"],
        ["migrate"],
        ["seed", "trn1.2xlarge"],
        ["verify"],
        ["status"],
    ):
        status, out, error = run(*arguments, database=url)
        assert status == 0, (arguments, out, error)
    assert site.run("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace", database) == [(0,)]
    assert site.run("SELECT nspname FROM pg_namespace WHERE nspname LIKE '%past%'", database) == [("fleet_past",)]


def test_two_installations_in_one_database_do_not_see_each_other(site: Site, run: Run) -> None:
    owner, database = site.role("owner"), site.database()
    site.run(f"GRANT CREATE ON DATABASE {database} TO {owner}")
    systems = {"fleet": "u-trn2x64", "Fleet-2": "trn1.32xlarge"}
    urls = {schema: site.url(database, owner, schema) for schema in systems}
    for schema, system in systems.items():
        site.run(f'CREATE SCHEMA "{schema}" AUTHORIZATION {owner}', database)
        assert run("migrate", database=urls[schema])[0] == 0
        assert run("seed", system, database=urls[schema])[0] == 0
    if refused := _printed_statements(run("grant", database=urls["fleet"])[2]):
        site.run(refused)
    for schema in systems:
        run("grant", database=urls[schema])

    def clusters(schema: str) -> list[str]:
        query = "SELECT slug, (SELECT count(*) FROM node WHERE state <> 'up') AS n FROM cluster"
        lines = [run("sql", query, *at, "--format", "csv", database=urls[schema])[1] for at in ([], ["--at", "0"])]
        return [line.split()[-1] for line in lines]

    assert run("set", f"{_U}/s0/c0", "down", "--why", "x", database=urls["fleet"])[0] == 0
    assert clusters("fleet") == ["u-trn2x64,1", "u-trn2x64,0"]
    assert clusters("Fleet-2") == ["trn1.32xlarge,0", "trn1.32xlarge,0"]
    assert run("migrate", "--to", "base", "--yes", database=urls["fleet"])[0] == 0
    assert clusters("Fleet-2") == ["trn1.32xlarge,0", "trn1.32xlarge,0"]
    assert run("migrate", "--check", database=urls["Fleet-2"])[0] == 0
    assert run("copy", urls["Fleet-2"], urls["fleet"])[0] == 0
    assert clusters("fleet") == ["trn1.32xlarge,0", "trn1.32xlarge,0"]


def test_a_migration_leaves_other_schemas_of_the_search_path_alone(site: Site, run: Run) -> None:
    database = site.database()
    assert run("migrate", database=site.url(database))[0] == 0
    assert run("seed", "trn1.32xlarge", database=site.url(database))[0] == 0
    site.run("CREATE SCHEMA fleet", database)
    url = site.url(database, schema="fleet").replace("%22fleet%22", "fleet,public")
    for target in ("head", "base", "head"):
        assert run("migrate", "--to", target, "--yes", database=url)[0] == 0
    assert run("migrate", "--check", database=site.url(database))[0] == 0
    assert run("verify", database=site.url(database))[0] == 0


@pytest.mark.parametrize(
    ("prepare", "schema", "says"),
    [
        ("SELECT 1", "", "CREATE SCHEMA IF NOT EXISTS public_past AUTHORIZATION"),
        ("SELECT 1", "", "GRANT CREATE, USAGE ON SCHEMA public TO"),
        ("SELECT 1", "missing", "no schema of the search path"),
        (f"CREATE SCHEMA {'s' * 59} AUTHORIZATION trninv", "s" * 59, "has more than 58 bytes"),
    ],
)
def test_missing_rights_are_refused_before_anything_is_written(
    site: Site, run: Run, prepare: str, schema: str, says: str
) -> None:
    database, owner = site.database(), site.role("owner")
    site.run(prepare, database)
    if "AUTHORIZATION" in prepare:
        owner = "trninv"
    status, _, error = run("migrate", database=site.url(database, owner, schema))
    assert (status, says in " ".join(error.split())) == (1, True), error
    assert _tables(site, database) == 0


def test_another_encoding_is_refused_before_anything_is_written(site: Site, run: Run) -> None:
    database = site.database("ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    status, _, error = run("migrate", database=site.url(database))
    assert (status, "has the encoding SQL_ASCII, and trninv needs UTF8" in error) == (1, True)
    assert _tables(site, database) == 0


class Roles:
    """A database with a system, and a login in each role."""

    def __init__(self, site: Site, run: Run) -> None:
        owner = site.role("owner", "CREATEROLE")
        self.database = site.database(f"OWNER {owner}")
        self.owner = site.url(self.database, owner)
        assert run("migrate", database=self.owner)[0] == 0
        if (status := run("grant", database=self.owner))[0]:
            site.run(_printed_statements(status[2]))
            run("grant", database=self.owner)
        assert run("seed", "u-trn2x64", database=self.owner)[0] == 0
        self.logins = {
            role.name: site.url(self.database, site.role("login", f"IN ROLE {role.name}")) for role in grants.ROLES
        } | {"nobody": site.url(self.database, site.role("login"))}


@pytest.fixture
def roles(site: Site, run: Run) -> Roles:
    return Roles(site, run)


_REFUSED = {
    "nobody": ["SELECT * FROM cluster", "SELECT * FROM v_chip", "CREATE TABLE x (id int)"],
    "trninv_read": [
        "INSERT INTO rack (id) VALUES (1)",
        "UPDATE node SET state = 'down'",
        "DELETE FROM cluster",
        "TRUNCATE cluster",
        "CREATE TABLE x (id int)",
        "CREATE TABLE public_past.x (id int)",
        *(f"SELECT * FROM {name}" for name in ("token", "_token_digest", "_change")),
    ],
    "trninv_collector": [
        "UPDATE node SET state = 'down'",
        "INSERT INTO state_event (id) VALUES (1)",
        "INSERT INTO binding (id) VALUES (1)",
        "DELETE FROM cluster",
        "UPDATE alembic_version SET version_num = 'x'",
        "CREATE TABLE x (id int)",
        *(f"SELECT * FROM {name}" for name in ("token", "_token_digest", "_change")),
    ],
    "trninv_service": [
        "CREATE TABLE x (id int)",
        "DROP TABLE node",
        "DROP VIEW v_chip",
        "DROP SCHEMA public_past CASCADE",
        "TRUNCATE state_event",
        "ALTER TABLE node DISABLE TRIGGER USER",
        "ALTER TABLE node ADD COLUMN x int",
        "CREATE OR REPLACE FUNCTION keep_own_state() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
        "UPDATE alembic_version SET version_num = 'x'",
        "CREATE ROLE x",
        "ALTER TABLE node OWNER TO CURRENT_USER",
    ],
}
"""Statements that each role may not run."""


def test_the_role_of_the_service_checks_the_fleet_and_that_for_sql_does_not(
    roles: Roles, run: Run, tmp_path: Path
) -> None:
    examples = (f"{name}: {example}" for name, measure in MEASURES.items() for example in measure.examples)
    checks = tmp_path / "checks.yaml"
    checks.write_text("checks:\n" + "".join(f"- {example}\n" for example in examples))
    for at in ([], ["--at", "0"]):
        status, out, error = run("check", str(checks), *at, database=roles.logins["trninv_service"])
        assert (status, f"{len(MEASURES)} of {len(MEASURES)} passed" in out) == (0, True), out + error
    status, out, error = run("check", str(checks), database=roles.logins["trninv_read"])
    assert (status, out, "permission denied" in error) == (1, "", True)


def test_each_role_is_refused_what_it_may_not_do(roles: Roles) -> None:
    for role, statements in _REFUSED.items():
        for statement in statements:
            with psycopg.connect(roles.logins[role]) as connection:
                try:
                    connection.execute(statement.encode())
                except psycopg.errors.InsufficientPrivilege:
                    connection.rollback()
                    continue
            pytest.fail(f"{role} may run {statement}")


def test_the_service_needs_no_more_than_its_role(
    roles: Roles, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_load, "MIN_ROWS", 1)  # as a cluster so large that an owner would drop its indexes
    (tmp_path / "observed.json").write_bytes(orjson.dumps(_NEURON_LS))
    url = roles.logins["trninv_service"]
    for arguments in (
        ["set", f"{_U}/s0/c0", "down", "--why", "x"],
        ["allocate", "job-1", f"{_U}/s1", "--why", "x"],
        ["release", "job-1", "--why", "x"],
        ["cordon", f"{_U}/s2", "--why", "x"],
        ["uncordon", f"{_U}/s2", "--why", "x"],
        ["import", "neuron-ls", "--trust-host-names", str(tmp_path / "observed.json")],
        ["token", "create", "t"],
        ["token", "revoke", "t"],
        ["drift"],
        ["path", f"{_U}/s0/c0", f"{_U}/s1/c1", "--at", "0"],
        ["sql", "SELECT count(*) FROM v_chip"],
        ["report", "unhealthy", "--at", "0"],
        ["seed", "trn1.32xlarge", "--name", "lab"],
        ["unseed", "lab", "--yes"],
        ["verify"],
        ["incidents"],
    ):
        status, out, error = run(*arguments, database=url)
        assert status == 0 or arguments == ["drift"], (arguments, out, error)
        assert "permission denied" not in error
    status, _, error = run("migrate", "--to", "base", "--yes", database=url)
    assert (status, "the tables belong to owner_" in error) == (1, True), error
    settings = Settings(url, log="off", allowed_hosts=("testserver",), sql_url=roles.logins["trninv_read"])
    with TestClient(create_app(url, settings), raise_server_exceptions=False) as client:
        assert client.get("/readyz").json() == {"status": "ok"}
        assert "errors" not in client.post("/graphql", json={"query": _SET}).json()
        assert client.post("/sql", json={"sql": "SELECT count(*) AS n FROM v_chip"}).json()["rows"] == [{"n": 64}]
        assert client.get("/reports/capacity.json").status_code == 200


def test_a_collector_imports_observations_and_changes_nothing_else(roles: Roles, run: Run, tmp_path: Path) -> None:
    """It may not lock the inventory, so it removes no superseded observations; the service's next import does."""
    files = [tmp_path / str(number) / "node.json" for number in range(LEAST_OBSERVATIONS + 3)]
    for number, file in enumerate(files):
        file.parent.mkdir()
        file.write_bytes(orjson.dumps([_NEURON_LS[0] | {"memory_size": number}]))

    def stored(role: str, *new: Path) -> int:
        status, _, error = run("import", "neuron-ls", "--trust-host-names", *map(str, new), database=roles.logins[role])
        assert status == 0, error
        return int(run("sql", "SELECT count(*) AS n FROM observation", database=roles.owner)[1].split()[-1])

    url = roles.logins["trninv_collector"]
    assert stored("trninv_collector", *files[:-1]) == len(files) - 1
    assert stored("trninv_collector", files[0]) == len(files) - 1  # its content is known
    assert stored("trninv_service", files[-1]) == LEAST_OBSERVATIONS
    status, _, error = run("set", f"{_U}/s0/c0", "down", "--why", "x", database=url)
    assert (status, "permission denied" in error) == (1, True)


def test_grants_are_repeated_by_migrations(site: Site, roles: Roles, run: Run) -> None:
    site.run("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM trninv_service, trninv_read", roles.database)
    status, _, error = run("token", "list", database=roles.logins["trninv_service"])
    assert (status, "permission denied" in error) == (1, True)
    assert run("grant", database=roles.owner)[0] == 0
    assert run("token", "list", database=roles.logins["trninv_service"])[0] == 0

"""Pictures for the explorer's pages: what they take, when they change, and who may see them."""

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from conftest import BACKENDS, Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.drawing.svg import resolve_tokens
from trninv.inventory.access import bearer_tokens
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.release import release
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

SVG = "{http://www.w3.org/2000/svg}"
PICTURES = ["fabric?scope=lab", "jobs?scope=u-trn2x64/d0", "rack?scope=u-trn2x64/r0", "timeline?scope=u-trn2x64"]
SERVER = "u-trn2x64/d0/s1"


@pytest.fixture(scope="module", params=BACKENDS)
def url(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    url = databases.seeded(request.param)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(3), name="lab")
    change(url, "down", "fan & <b>")
    yield url
    databases.drop(url)


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[TestClient]:
    made = create_app(url, Settings(database_url=url, log="off", allowed_hosts=("127.0.0.1",)))
    with TestClient(made, base_url="http://127.0.0.1") as opened:
        yield opened


def change(url: str, state: str, why: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, [SERVER], Condition.from_user(state, None), why=why, who="tests")


def parsed(response: Response) -> ET.Element:
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "image/svg+xml"
    return ET.fromstring(response.text)  # noqa: S314 # our own picture


def says(response: Response) -> str:
    return str(response.json()["errors"][0]["message"])


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_is_of_the_page_and_as_wide_as_it_wants(client: TestClient, picture: str) -> None:
    for width in (320, 1200):
        root = parsed(client.get(f"/pictures/{picture}&width={width}"))
        assert root.get("class") == "picture"
        assert root.get("width") == str(width) or "jobs" in picture  # whose layout has a width of its own
        assert root.get("aria-label")
        assert [link.get("href", "")[:2] for link in root.iter(f"{SVG}a")].count("#/") > 0
        assert all(link.findtext(f"{SVG}title") for link in root.iter(f"{SVG}a"))
    text = client.get(f"/pictures/{picture}").text
    assert "var(--ink)" in text
    assert "style=" not in text
    assert "var(" not in resolve_tokens(text)


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_is_sent_again_once_something_changed(client: TestClient, url: str, picture: str) -> None:
    first = client.get(f"/pictures/{picture}")
    copy = {"If-None-Match": first.headers["etag"]}
    assert client.get(f"/pictures/{picture}", headers=copy).status_code in (304, 200)  # the minute may have ended
    assert client.get(f"/pictures/{picture}&width=400", headers=copy).status_code == 200
    assert parsed(client.get(f"/pictures/{picture}&at=1")) is not None
    change(url, "maintenance", "swap")
    assert client.get(f"/pictures/{picture}", headers=copy).status_code == 200
    change(url, "down", "fan & <b>")


def test_a_constant_outage_is_one_bar_in_a_timeline(client: TestClient) -> None:
    root = parsed(client.get("/pictures/timeline?scope=u-trn2x64&hours=24"))
    bars = [
        bar for bar in root.iter(f"{SVG}rect") if bar.get("fill") == "var(--down)" and float(bar.get("width", 0)) > 0
    ]
    runs = [
        group.findtext(f"{SVG}title", "").split(": ", 1)[1]
        for group in root.iter(f"{SVG}g")
        if group.get("shape-rendering")
    ]
    assert bars
    assert all(a != b for a, b in itertools.pairwise(runs))
    assert all(float(bar.get("x", 0)).is_integer() for bar in bars)


def test_a_timeline_has_what_its_cursor_needs(client: TestClient) -> None:
    for scope in ("scope=u-trn2x64&", ""):  # of one cluster, and of all
        root = parsed(client.get(f"/pictures/timeline?{scope}hours=24"))
        whole = parsed(client.get(f"/pictures/timeline?{scope}"))
        assert root.get("data-since") == whole.get("data-since")  # nothing is drawn before the history
        assert [" since " in "".join(each.itertext()) for each in (root, whole)] == [True, False]
        assert max(map(int, root.get("data-counts", "").split())) == 33
        texts = [text.text for text in root.iter(f"{SVG}text")]
        assert {"0", "33", "UTC", "2 changes of parts close together, the worst"} <= set(texts)  # both ends of the axis
        assert re.search(
            r"At most 33 parts at once.*Each bar is (less than 1 s|\d+ (s|min|h|d)[^:]*):", " ".join(map(str, texts))
        )
        changes = root.get("data-changes", "").split()
        assert root.get("data-since", "") < changes[0] <= changes[-1] <= root.get("data-until", "")
        *_, mark = root.iter(f"{SVG}a")
        assert mark.get("href") == f"#/?asof={changes[-1]}"
    assert "fan &amp; &lt;b&gt;" in client.get("/pictures/timeline?scope=u-trn2x64/d0/s1/c5").text or len(changes) > 1


def test_jobs_have_the_same_letters_everywhere_and_links_by_name(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        allocate(connection, "first", ["trn2-16.48xlarge/d0"], who="tests")
        allocate(connection, "a & b?", ["u-trn2x64/d0/s0/c0"], who="tests")
        allocate(connection, "ended", ["u-trn2x64/d0/s3"], who="tests")
        allocate(connection, "large", ["u-trn2x64/d0/s2"], who="tests")
        release(connection, "ended", who="tests")
    made = create_app(url, Settings(database_url=url, log="off", allowed_hosts=("127.0.0.1",)))
    with TestClient(made, base_url="http://127.0.0.1") as client:
        root = parsed(client.get("/pictures/jobs?scope=u-trn2x64/d0"))
        racks = [parsed(client.get(f"/pictures/rack?scope=u-trn2x64/r{rack}")) for rack in range(2)]
        allocations = client.get("/chips/u-trn2x64/jobs").json()
    assert root.get("aria-label") == "u-trn2x64/d0: B a & b?: 1, C large: 16; 47 free chips"
    assert [(job["name"], job["ordinal"]) for job in allocations["jobs"]] == [("large", 2), ("a & b?", 1)]
    letters = [[text.text for text in rack.iter(f"{SVG}text") if text.text in {"A", "B", "C"}] for rack in racks]
    assert letters == [["B"], ["C"] * 8]
    jobs = {link.get("data-job"): link.get("href") for link in root.iter(f"{SVG}a") if link.get("class") == "job"}
    assert list(jobs) == ["a & b?", "large"]
    assert jobs["a & b?"] == "#/jobs?in=u-trn2x64/d0&sel=a+%26+b%3F"
    chips = {link.get("data-address"): link.get("data-job") for link in root.iter(f"{SVG}a")}
    assert (chips["u-trn2x64/d0/s0/c0"], chips["u-trn2x64/d0/s2/c7"]) == ("a & b?", "large")
    assert chips["u-trn2x64/d0/s1/c0"] is None


def test_a_cluster_without_a_fabric_says_so(client: TestClient) -> None:
    root = parsed(client.get("/pictures/fabric?scope=u-trn2x64"))
    assert [text.text for text in root.iter(f"{SVG}text")] == ["u-trn2x64 has no fabric: it is a single domain"]


def test_without_clusters_there_is_no_history(databases: Databases) -> None:
    url = databases.migrated("sqlite")
    made = create_app(url, Settings(database_url=url, log="off", allowed_hosts=("127.0.0.1",)))
    with TestClient(made, base_url="http://127.0.0.1") as client:
        root = parsed(client.get("/pictures/timeline?hours=24"))
    assert next(text.text for text in root.iter(f"{SVG}text")) == "No history is recorded."


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("circle", 404, "no picture 'circle'"),
        ("timeline?scope=nowhere", 404, "no cluster nowhere"),
        ("fabric", 400, "the parameter scope is missing"),
        ("fabric?scope=lab/d0", 400, "lab/d0 is a domain; name a cluster"),
        ("jobs", 400, "the parameter scope is missing"),
        ("jobs?scope=u-trn2x64/r0/s0", 400, "u-trn2x64/r0"),
        ("rack", 400, "the parameter scope is missing"),
        ("rack?scope=u-trn2x64/d0", 400, "u-trn2x64/d0 is a domain; name a rack, such as u-trn2x64/r0"),
        ("timeline?width=239", 400, "width '239' is not an integer from 240 to 4,000"),
        ("timeline?width=4001", 400, "width '4001' is not an integer"),
        ("timeline?hours=0", 400, "hours '0' is not an integer from 1 to"),
        ("timeline?hours=1e3", 400, "hours '1e3' is not an integer"),
        ("timeline?high=3", 400, "no parameter 'high'"),
        ("timeline?at=2999-01-01T00:00:00Z", 400, "2999"),
    ],
)
def test_what_is_no_picture_is_refused(client: TestClient, path: str, status: int, message: str) -> None:
    response = client.get(f"/pictures/{path}")
    assert (response.status_code, message in says(response)) == (status, True), response.text


def test_a_picture_needs_a_token_that_may_read(url: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        tokens = {scope: bearer_tokens.create_token(connection, scope, scope, None) for scope in ("observe", "read")}
    made = create_app(url, Settings(database_url=url, log="off", auth="tokens", allowed_hosts=("127.0.0.1",)))
    with TestClient(made, base_url="http://127.0.0.1") as client:
        for picture in PICTURES:
            assert client.get(f"/pictures/{picture}").status_code == 401
            for scope, status in {"observe": 403, "read": 200}.items():
                response = client.get(f"/pictures/{picture}", headers={"Authorization": f"Bearer {tokens[scope]}"})
                assert response.status_code == status
                assert ("<svg" in response.text) == (scope == "read")

"""Jobs in GraphQL: mutations with their payloads, the list, and who may."""

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy import text
from tampering import tamper

import trninv
from conftest import services
from trninv.graphql.document_request import Request

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"
HOLD = (
    "mutation ($i: AllocateInput!) { allocate(input: $i) { job { name chips firstServer endedAt who pinned "
    "} clientMutationId } }"
)
RELEASE = 'mutation { release(input: {job: "a"}) { job { chips endedAt } } }'


def _asked(api: Any, document: str, *, scope: str = "admin", who: str = "", **variables: object) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(asyncio.run(api.run(Request(document, variables), who=who, scope=scope)).body)
    return answer


def test_a_job_is_held_listed_and_released(seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        api = services(fleet)["compiled"]
        given = {"job": "a", "places": [f"{ULTRA}/s0"], "spares": [f"{ULTRA}/s1"], "clientMutationId": "7"}
        held = _asked(api, HOLD, who="ci", i=given)["data"]["allocate"]
        expected = {
            "name": "a",
            "chips": 32,
            "firstServer": f"{ULTRA}/s0",
            "endedAt": None,
            "who": "ci",
            "pinned": False,
        }
        assert held == {"job": expected, "clientMutationId": "7"}
        assert _asked(api, HOLD, who="ci", i=given)["data"]["allocate"] == held
        conflict = _asked(api, HOLD, who="ci", i={"job": "b", "places": [f"{ULTRA}/s0/c3"]})["errors"][0]
        assert conflict["extensions"]["code"] == "CONFLICT"
        assert "u-trn2x64/d0/s0/c3 is allocated to job a" in conflict["message"]
        listed = "{ jobs { totalCount nodes { name externalId servers } } }"
        assert _asked(api, listed)["data"]["jobs"]["nodes"] == [{"name": "a", "externalId": "a", "servers": 2}]
        where = '{ jobs(scope: "%s") { totalCount } }'
        assert [_asked(api, where % f"{ULTRA}/s{at}")["data"]["jobs"]["totalCount"] for at in range(3)] == [1, 1, 0]
        assert _asked(api, RELEASE)["data"]["release"]["job"]["endedAt"]
        assert _asked(api, listed)["data"]["jobs"]["totalCount"] == 0
        assert _asked(api, "{ jobs(includeEnded: true) { totalCount } }")["data"]["jobs"]["totalCount"] == 1


def test_servers_are_closed_and_opened(seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        api = services(fleet)["executed"]
        given = f'{{servers: ["{ULTRA}/s3"], why: "fw", who: "me"}}'
        close = f"mutation {{ cordon(input: {given}) {{ cordons {{ server why }} }} }}"
        assert _asked(api, close)["data"]["cordon"]["cordons"] == [{"server": f"{ULTRA}/s3", "why": "fw"}]
        fits = f'{{ placements(scope: "{ULTRA}", servers: 1) {{ positions free placements {{ places }} }} }}'
        assert _asked(api, fits)["data"]["placements"]["positions"] == 3
        opened = f'mutation {{ uncordon(input: {{servers: ["{ULTRA}"]}}) {{ cordons {{ server endedAt }} }} }}'
        assert len(_asked(api, opened)["data"]["uncordon"]["cordons"]) == 1
        assert _asked(api, fits)["data"]["placements"]["free"] == 64


@pytest.mark.parametrize("document", [RELEASE, "mutation { uncordon(input: {servers: []}) { clientMutationId } }"])
def test_who_may_only_read_holds_nothing(seeded: str, document: str) -> None:
    with trninv.open(seeded) as fleet:
        answer = _asked(services(fleet)["compiled"], document, scope="read")
        assert answer["errors"][0]["extensions"]["code"] == "FORBIDDEN"
        with fleet.connect() as connection:
            assert connection.scalar(text("SELECT count(*) FROM job")) == 0


def test_a_token_speaks_for_its_holder_alone(seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        given = {"job": "a", "places": [f"{ULTRA}/s0"], "who": "somebody"}
        answer = _asked(services(fleet)["compiled"], HOLD, who="ci", i=given)
        assert answer["errors"][0]["extensions"]["code"] == "FORBIDDEN"


MOVE = "mutation ($i: MoveJobsInput!) { moveJobs(input: $i) { jobs { name firstServer chips who } clientMutationId } }"


@pytest.mark.parametrize("way", ["compiled", "executed"])
def test_a_plan_is_carried_out(seeded: str, way: str) -> None:
    with trninv.open(seeded) as fleet:
        api = services(fleet)[way]
        for at in range(4):
            fleet.allocate(f"a{at}", [f"{ULTRA}/s{at}/c{chip}" for chip in range(4)], who="me")
        asked = f'{{ makeRoom(scope: "{ULTRA}", servers: 2) {{ scope revision moves {{ job destination }} }} }}'
        plan = _asked(api, asked)["data"]["makeRoom"] | {"who": "her"}
        assert [move["job"] for move in plan["moves"]] == ["a0", "a1"]
        assert _asked(api, MOVE, i=plan, scope="read")["errors"][0]["extensions"]["code"] == "FORBIDDEN"
        stale = _asked(api, MOVE, i=plan | {"revision": "0"})["errors"][0]
        assert stale["extensions"]["code"] == "STALE_PLAN"
        for to in ([f"{ULTRA}/s3/c8"], [f"trn1.32xlarge/d0/s0/c{chip}" for chip in range(4)]):
            more = plan | {"moves": [plan["moves"][0], {"job": "a1", "destination": to}]}
            refused = _asked(api, MOVE, i=more)["errors"][0]
            assert (refused["extensions"]["code"], "must keep its 4 chips" in refused["message"]) == ("CONFLICT", True)
        twice = [plan["moves"][0], {"job": "a0", "destination": [f"{ULTRA}/s3/c{chip}" for chip in range(8, 12)]}]
        assert "moves twice" in _asked(api, MOVE, i=plan | {"moves": twice})["errors"][0]["message"]
        moved = _asked(api, MOVE, i=plan | {"clientMutationId": "9"})["data"]["moveJobs"]
        assert [(job["name"], job["chips"], job["who"]) for job in moved["jobs"]] == [("a0", 4, "me"), ("a1", 4, "me")]
        assert {job["firstServer"] for job in moved["jobs"]} <= {f"{ULTRA}/s2", f"{ULTRA}/s3"}
        assert moved["clientMutationId"] == "9"
        again = _asked(api, MOVE, i=plan)["errors"][0]
        assert again["extensions"]["code"] == "STALE_PLAN"


@pytest.mark.parametrize("way", ["compiled", "executed"])
def test_a_chip_says_which_job_holds_it(seeded: str, way: str) -> None:
    with trninv.open(seeded) as fleet:
        api = services(fleet)[way]
        for at, name in enumerate(["gone", "a", "b"]):
            fleet.allocate(name, [f"{ULTRA}/s0/c{at}"], who="me")
        fleet.release("gone")
        tamper(fleet.engine, "UPDATE job SET system = 'slurm', external_id = '7' WHERE name = 'b'", "job")
        of = f'{{ chips(filter: {{server: {{eq: "{ULTRA}/s0"}}}}, first: 4) {{ nodes {{ job }} }} }}'
        found = _asked(api, of)["data"]["chips"]["nodes"]
        assert [chip["job"] for chip in found] == [None, "a", "slurm:7", None]
        where = '{ chips(filter: {job: {eq: "slurm:7"}}) { totalCount nodes { address } } }'
        assert _asked(api, where)["data"]["chips"] == {"totalCount": 1, "nodes": [{"address": f"{ULTRA}/s0/c2"}]}

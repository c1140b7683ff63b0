"""Notes on incidents: who may write what, where they are shown, and that they stay."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, insert, text
from sqlalchemy.exc import DBAPIError

import trninv
from conftest import BACKENDS, Databases, Run, both_ways
from trninv.database.engine import temporary_engine
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, TrninvError
from trninv.inventory.state.author import MAX_LENGTH
from trninv.inventory.transfer import copy_database
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql

U = "u-trn2x64/d0"


@pytest.fixture(params=BACKENDS)
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    """A server down, which is incident 1."""
    with trninv.open(databases.seeded(request.param)) as opened:
        opened.set_state(f"{U}/s2", "down", who="tests", why="power supply")
        yield opened


def url_of(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def test_a_note_is_shown_with_its_incident_and_stays_when_that_closes(fleet: Fleet, run: Run) -> None:
    url = url_of(fleet.engine)
    assert run("note", "1", "spare ordered", "--who", "kim", database=url) == (0, "noted on incident 1\n", "")
    fleet.note_incident("1", "it’s here ✓", who="ann")
    (incident,) = fleet.incidents()
    assert [(note.who, note.text, note.source) for note in incident.notes] == [
        ("kim", "spare ordered", "command"),
        ("ann", "it’s here ✓", "command"),
    ]
    _, out, _ = run("incidents", "--impact", database=url)
    assert f"note {incident.notes[0].written_at} kim: spare ordered" in out
    fleet.set_state(f"{U}/s2", "up", who="tests", why="replaced")
    assert fleet.incidents() == []
    fleet.note_incident("1", "afterwards", who="ann")
    ask = both_ways(fleet)
    data = ask('{ incidentNotes(filter: { incident: { eq: "1" } }) { nodes { who text source } } }')["data"]
    assert [node["text"] for node in data["incidentNotes"]["nodes"]] == ["spare ordered", "it’s here ✓", "afterwards"]


def test_a_mutation_writes_one_and_a_service_without_one_needs_a_name(fleet: Fleet) -> None:
    ask = both_ways(fleet)
    document = (
        'mutation { noteIncident(input: { incident: "1", text: "hot", who: "kim" }) { note { who source text } } }'
    )
    answer = ask(document.replace("noteIncident(input: {", "noteIncident(input: { dryRun: true,"))
    assert answer["data"]["noteIncident"]["note"] == {"who": "kim", "source": "api", "text": "hot"}
    assert fleet.incidents()[0].notes == ()
    answer = ask(document.replace(', who: "kim"', ""))
    assert "who is missing" in answer["errors"][0]["message"]


_OTHER = ("", "0", "2", "01", "1 ", "+1", "\uff11", "-1", "9" * 30, str(2**31), f"{U}/s2", "x' OR 1=1 --", "\0")
_UNPRINTABLE = ("", "  ", "a\nb", "a\x00b", "\x1b[2J", "\ud800", "x" * (MAX_LENGTH + 1))


def test_there_must_be_such_an_incident_and_a_text_for_one_line(fleet: Fleet) -> None:
    for incident in _OTHER:
        with pytest.raises(TrninvError, match="no incident"):
            fleet.note_incident(incident, "x", who="tests")
    with pytest.raises(InvalidArgumentError, match=f"^no incident '{U}/s2': the incident there is 1$"):
        fleet.note_incident(f"{U}/s2", "x", who="tests")
    for written in _UNPRINTABLE:
        with pytest.raises(InvalidArgumentError, match="text: write 1 to 1,000 printable"):
            fleet.note_incident("1", written, who="tests")
    assert fleet.note_incident("1", "x" * MAX_LENGTH, who="tests").text == "x" * MAX_LENGTH


def test_an_incident_without_a_known_change_has_its_address(fleet: Fleet) -> None:
    with fleet.engine.begin() as connection:
        last = connection.scalar(text("SELECT max(id) FROM state_event"))
        archived = "INSERT INTO history_archive VALUES (:last, 'x', 'x', 'x', 'x', 'x')"
        connection.execute(text(archived), {"last": last})  # only archived events may be deleted
        connection.execute(text("DELETE FROM state_event"))
    (incident,) = fleet.incidents()
    assert incident.id == f"{U}/s2"
    fleet.note_incident(incident.id, "x", who="tests")
    assert [note.text for note in fleet.incidents()[0].notes] == ["x"]


def test_a_number_of_a_recovery_is_no_incident(fleet: Fleet) -> None:
    fleet.set_state(f"{U}/s2", "up", who="tests", why="x")
    with fleet.connect() as connection:
        number = connection.scalar(text("SELECT max(batch) FROM state_event"))
    with pytest.raises(InvalidArgumentError, match="no incident"):
        fleet.note_incident(str(number), "x", who="tests")


def test_at_an_earlier_time_later_notes_are_hidden(fleet: Fleet) -> None:
    note = fleet.note_incident("1", "first", who="tests")
    fleet.note_incident("1", "second", who="tests")
    written = datetime.fromisoformat(note.written_at).astimezone(UTC)
    for offset, count in ((0, 1), (-1, 0)):
        past = fleet.at(written + timedelta(microseconds=offset))
        assert [len(incident.notes) for incident in past.incidents()] == [count]


def test_plain_sql_cannot_change_one(fleet: Fleet) -> None:
    fleet.note_incident("1", "x", who="tests")
    for statement in ("UPDATE incident_note SET text = 'y'", "DELETE FROM incident_note"):
        with pytest.raises(DBAPIError, match="incident_note is append only"), fleet.engine.begin() as connection:
            connection.execute(text(statement))
    values = {"incident": "1", "written_at": "2026-01-01T00:00:00+00:00", "who": "tests", "source": "sql"}
    with pytest.raises(DBAPIError, match="write at most 1,000"), fleet.engine.begin() as connection:
        connection.execute(insert(TABLES["incident_note"]).values(id=9, text="x" * 1_001, **values))


def test_a_copy_has_the_notes(fleet: Fleet, databases: Databases) -> None:
    fleet.note_incident("1", "x", who="tests")
    with (
        temporary_engine(databases.migrated("sqlite")) as target,
        fleet.connect() as source,
        target.begin() as connection,
    ):
        copy_database(source, connection)
    with trninv.open(url_of(target)) as copied:
        assert [note.text for note in copied.incidents()[0].notes] == ["x"]

"""trninv docs and trninv help: pages of the documentation on the command line, without a database."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from terminals import on_a_terminal

from conftest import Run
from examples import ROOT
from trninv.cli import documentation_pages
from trninv.cli.documentation_pages import DocumentationPage, find_page, read_pages, search_pages
from trninv.cli.help_command import print_page

NOWHERE = "sqlite:////nonexistent/fleet.db"


def docs(run: Run, *words: str) -> tuple[int, str, str]:
    return run("docs", *words, database=NOWHERE)


def names(out: str) -> list[str]:
    return [line.split()[0] for line in out.splitlines()[2:]]


@pytest.mark.parametrize("name", ["how-to/deploy", "deploy", "Deploy.md", "docs/how-to/deploy.md"])
def test_a_page_is_printed_as_it_is_into_a_pipe(run: Run, name: str) -> None:
    status, out, error = docs(run, name)
    assert (status, out, error) == (0, (ROOT / "docs/how-to/deploy.md").read_text(), "")
    assert run("help", name, database=NOWHERE)[:2] == (status, out)


def test_pages_at_the_top_and_the_index_are_pages_too(run: Run) -> None:
    for name, file in (("changelog", "CHANGELOG.md"), ("docs", "docs/README.md"), ("readme", "README.md")):
        assert docs(run, name)[1] == (ROOT / file).read_text()


def test_help_of_a_command_comes_before_a_page_of_that_name(run: Run) -> None:
    assert find_page(read_pages(), "discover")
    assert run("help", "discover")[1].startswith("Usage: trninv discover")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a", "a"), ("A/", "a"), ("x/a", "x/a"), ("b", "x/b"), ("c", None), ("d", "decisions/d"), ("", None), ("x", None)],
)
def test_a_page_is_found_by_its_path_or_a_last_part_that_is_its_own(name: str, expected: str | None) -> None:
    found = find_page(pages("a", "x/a", "x/b", "decisions/b", "x/c", "y/c", "decisions/d"), name)
    assert (found and found.name) == expected


def test_a_word_that_names_a_page_can_be_searched(run: Run) -> None:
    assert docs(run, "deploy")[1].startswith("# ")
    assert "how-to/deploy" in names(docs(run, "deploy", "--search")[1])


def test_words_find_the_pages_that_have_all_of_them(run: Run) -> None:
    status, out, _ = docs(run, "webhook", "signature")
    assert status == 0
    assert names(out)[0] in {"how-to/send-webhooks", "reference/webhooks"}
    assert {"how-to/send-webhooks", "reference/webhooks"} <= {*names(out)}
    assert all(len(line) < 220 for line in out.splitlines())
    assert names(docs(run, "SIGNATURE", "webhook")[1]) == names(out)
    assert docs(run, "webhook signature") == (status, out, "")
    assert out.splitlines()[0].split() == ["page", "section", "what"]


def test_a_heading_with_all_words_comes_first_and_no_finds_without(run: Run) -> None:
    for words in (("no", "network"), ("without", "network"), ("without a network",)):
        lines = docs(run, *words)[1].splitlines()
        assert lines[2].split()[:4] == ["how-to/deploy", "Without", "a", "network"]


def test_a_heading_is_found_by_its_word_and_by_a_question(run: Run) -> None:
    lines = docs(run, "replace")[1].splitlines()
    assert lines[2].split()[:4] == ["placement", "Replace", "lost", "servers"]
    for question in ("where can my job run", "Where can my job run?", "how do I replace the lost servers of a job"):
        assert {"placement", "incident"} & set(names(docs(run, question)[1])[:2])
    assert docs(run, "where", "is", "it")[0] == 0  # nothing else to search for


def test_below_a_page_others_with_its_word_are_named(lite: str) -> None:
    printed = " ".join(on_a_terminal(lite, "docs", "cypher", size=(300, 2_000)).split())
    assert "other pages: how-to/ask-in-cypher, " in printed
    assert printed.endswith("; trninv docs cypher --search lists all")


def test_no_word_lists_every_page(run: Run) -> None:
    assert sorted(names(docs(run)[1])) == sorted(page.name for page in read_pages())


@pytest.mark.parametrize("words", [("nonexistentword",), (r"a\b(", "x" * 5_000), ("~~~~",), ("--", "--weeb")])
def test_what_no_page_has_is_not_found(run: Run, words: Sequence[str]) -> None:
    status, out, error = docs(run, *words)
    assert (status, out) == (1, "")
    assert "no page has" in error
    assert len(error) < 300


def test_a_page_on_a_terminal_is_rendered(lite: str) -> None:
    printed = on_a_terminal(lite, "docs", "add-a-report", size=(80, 500))
    assert "Add a report" in printed
    assert "# Add a report" not in printed
    assert "\x1b[" in printed


def pages(*page_names: str, **texts: str) -> list[DocumentationPage]:
    return [DocumentationPage(name, text) for name, text in (dict.fromkeys(page_names, "") | texts).items()]


def test_titles_count_most_then_headings_and_code_counts_as_presence_alone() -> None:
    found = search_pages(
        pages(
            body="# A\n\nlink link link link\n",
            heading="# B\n\n## Link\n\nlink\n",
            title="# Link\n\nnothing\n",
            code="# C\n\n```sh\nlink\n```\n",
            part="# D\n\nblink\n",
        ),
        ["link"],
    )
    assert [match.page.name for match in found] == ["title", "heading", "body", "code"]
    assert (found[1].section, found[1].excerpt) == ("Link", "Link")
    assert (found[0].section, found[2].section) == ("", "")


def test_an_excerpt_is_of_the_section_that_has_the_word_most(run: Run) -> None:
    (found,) = search_pages(pages(a="# A\n\nlink\n\n## B\n\na link\n\n## C\n\none link, two links\n"), ["link"])
    assert (found.section, found.excerpt) == ("C", "one link, two links")
    for word, section in (("reservation", "Reserve chips for later"), ("drain", "Take a server out of service")):
        rows = json.loads(docs(run, word, "--format", "json")[1])
        assert [row["section"] for row in rows if row["page"] == "placement"] == [section]


def test_an_excerpt_begins_shortly_before_the_first_word() -> None:
    text = f"# A\n\n{'before ' * 40}**needle** `pin` [after](b.md) {'behind ' * 40}\n\n| row | pin |\n| --- | --- |\n"
    (found,) = search_pages(pages(a=text), ["pin", "needle"])
    assert re.match("… (before ){4,6}needle pin after behind ", found.excerpt)
    assert len(found.excerpt) <= 162
    (found,) = search_pages(pages(a=text), ["row"])
    assert found.excerpt == "row | pin"


def test_decisions_and_the_changelog_come_later() -> None:
    found = search_pages(pages(**{"CHANGELOG": "link", "decisions/x": "link " * 9, "z": "link"}), ["link"])
    assert [match.page.name for match in found] == ["z", "CHANGELOG", "decisions/x"]


def test_json_has_the_pages_and_the_text(run: Run) -> None:
    found = json.loads(docs(run, "webhook", "signature", "--format", "json")[1])
    assert {"how-to/send-webhooks", "reference/webhooks"} <= {row["page"] for row in found}
    page = json.loads(docs(run, "deploy", "--format", "json")[1])
    assert (page["page"], page["text"]) == ("how-to/deploy", (ROOT / "docs/how-to/deploy.md").read_text())


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    urls = list[str]()
    monkeypatch.setattr(click, "launch", urls.append)
    return urls


def test_web_opens_the_file(run: Run, launched: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(documentation_pages, "site_directory", lambda: tmp_path)
    assert "run ./run docs" in docs(run, "deploy", "--web")[2]
    (tmp_path / "how-to").mkdir()
    file = tmp_path / "how-to/deploy.html"
    file.touch()
    assert docs(run, "deploy", "--web")[:2] == (0, f"{file.as_uri()}\n")
    assert launched == [file.as_uri()]


def test_web_opens_the_page_of_a_service(capfd: pytest.CaptureFixture[str], launched: list[str]) -> None:
    from trninv.cli.main import main  # noqa: PLC0415 # only where it is used

    for words, path in ((["changelog"], "changelog.html"), ([], "")):
        with pytest.raises(SystemExit):
            main(["--service", "https://fleet.example/", "docs", *words, "--web"])
        assert launched[-1] == f"https://fleet.example/docs/{path}" == capfd.readouterr().out.strip()


def test_web_needs_a_page(run: Run, launched: list[str]) -> None:
    assert docs(run, "no", "page", "--web")[0] == 1
    assert launched == []


def test_every_page_has_a_path_of_the_site() -> None:
    from documentation import built_site  # noqa: PLC0415 # builds the site

    built_site()
    for page in read_pages():
        assert documentation_pages.site_file(page).is_file(), page.name


def test_a_page_goes_through_a_pager_if_it_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    paged = list[str]()
    monkeypatch.setattr(click, "echo_via_pager", paged.append)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_page(DocumentationPage("x", "# X\n\n" + "line\n\n" * 500))
    assert len(paged) == 1

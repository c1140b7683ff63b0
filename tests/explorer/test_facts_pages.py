"""Sources and disagreements: documented numbers, what each source states, and which one is used."""

import re

import pytest
from playwright.sync_api import expect

from browsing import Open


@pytest.mark.slow
def test_a_number_shows_its_source_and_leads_to_the_disagreement(opened: Open) -> None:
    page = opened("#/sources")
    row = page.locator("tr", has=page.get_by_role("rowheader", name="HBM, GiB", exact=True)).first
    row.get_by_role("button", name="96", exact=True).focus()
    expect(page.get_by_role("tooltip").filter(visible=True)).to_contain_text("Amazon EC2 Trn2 architecture")
    # as in the report of capacity: other chips' sources only print another unit
    expect(row.locator("a.mark")).to_have_count(1)
    row.locator("a.mark").click()
    expect(page.locator(".wanted h3")).to_have_text("Trainium2 HBM")
    wanted = page.locator(".wanted summary")
    expect(wanted).to_contain_text("Amazon EC2 Trn2 architecture")
    expect(wanted.locator(".difference").first).to_have_text(re.compile(r"^[+−][\d,.]+ %$"))
    page.get_by_role("searchbox", name="Filter").fill("trainium1 hbm")
    expect(page.locator(".disagreements h3").first).to_contain_text("Trainium1")


@pytest.mark.slow
def test_the_name_of_a_column_ends_where_its_numbers_do(opened: Open) -> None:
    page = opened("#/sources", width=390, height=844)
    right = "cell => cell.querySelector('.mark').getBoundingClientRect().x"
    marks = f"all => all.map({right})"
    heads = page.locator(".numbers thead th:not(:first-child)").evaluate_all(marks)
    assert heads == page.locator(".numbers tbody tr:not(.topic)").first.locator("td").evaluate_all(marks)


@pytest.mark.slow
def test_documented_numbers_of_one_kind_are_together_in_the_unit_of_their_sources(opened: Open) -> None:
    page = opened("#/sources")
    names = page.locator(".numbers tbody th[scope=row]").all_inner_texts()
    assert names[0] == "HBM, GiB"
    compute = names[names.index("BF16 compute, TFLOPS") :]
    assert all("compute" in name for name in compute[: compute.index("Cores")])
    assert "INT8 compute, TOPS" in compute  # which no source gives in TFLOPS


@pytest.mark.slow
def test_what_is_not_used_is_first_then_the_largest_disagreement(opened: Open) -> None:
    page = opened("#/disagreements")
    told = page.locator(".disagreements details").evaluate_all(
        "all => all.map(one => [...one.querySelectorAll('.difference')].map(each => each.textContent))"
    )
    sizes = [max(float(re.sub("[^0-9.]", "", text) or 0) for text in [*texts, "0"]) for texts in told]
    names = page.locator(".disagreements h3").all_inner_texts()
    expect(page.locator(".disagreements details").first.locator(".computed")).to_be_visible()
    ranked = [size for size, name in zip(sizes, names, strict=True) if not re.search("UltraCluster|Rainier", name)][2:]
    assert ranked == sorted(ranked, reverse=True)
    assert ranked[0] > 100


@pytest.mark.slow
def test_a_note_on_several_numbers_is_read_once_and_a_source_is_named_with_its_publisher(opened: Open) -> None:
    page = opened("#/disagreements")
    notes = page.locator(".disagreements .reason").all_inner_texts()
    own = [note for note in notes if not note.startswith("As for ")]
    assert len(own) == len(set(own)) < len(notes)
    expect(page.locator(".disagreements .others", has_text="SemiAnalysis: ").first).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_a_row_says_which_value_is_right(opened: Open, width: int) -> None:
    page = opened("#/disagreements")
    page.set_viewport_size({"width": width, "height": 900})
    notes = page.locator(".disagreements summary .reason")
    assert notes.evaluate_all("all => all.every(note => note.clientHeight || note.offsetHeight)")
    assert notes.evaluate_all("all => all.every(note => note.scrollHeight <= note.clientHeight)")
    row = page.locator("[id='u-trn2x64 efa_bandwidth'] summary")
    expect(row.locator(".used")).to_have_text(re.compile("^1,600 GB/s computed, the sum of its NICs$"))
    expect(row.locator(".other .value")).to_have_text(["400 GB/s"])
    expect(row.locator(".other .difference")).to_have_text(["−75 %"])
    expect(row).to_contain_text("the inventory holds 64 NICs of 200 Gbps.")
    links = page.locator("[id='trainium3 neuronlink_bandwidth'] summary")
    expect(links.locator(".used")).to_have_text(re.compile("^704 GB/s computed, the sum of its links$"))
    expect(links.locator(".other .value").first).to_have_text("1,024 GB/s")
    expect(page.locator(".disagreements .computed")).to_have_count(2)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 1280])
def test_names_of_sources_are_read_to_their_ends_where_they_differ(opened: Open, width: int) -> None:
    page = opened("#/disagreements")
    page.set_viewport_size({"width": width, "height": 900})
    row = page.locator("[id='trn1.32xlarge neuronlink_bandwidth'] summary")
    expect(row.locator(".source")).to_contain_text(["(Neuron SDK 2.32)", "(revision of 2023-05-26)"])
    assert row.locator(".source").evaluate_all("all => all.every(name => name.scrollHeight <= name.clientHeight)")


@pytest.mark.slow
def test_a_number_that_is_not_used_says_what_is_beside_it(opened: Open) -> None:
    page = opened("#/sources")
    row = page.locator("tr", has=page.get_by_role("rowheader", name="NeuronLink bandwidth, GB/s", exact=True)).first
    expect(row.locator(".computed")).to_contain_text(["used: 704, sum of links"])
    expect(page.locator("main .computed")).to_have_count(1)
    page = opened("#/sources/ultraservers")
    expect(page.locator("main .computed")).to_contain_text(["used: 1,600, sum of NICs"])


@pytest.mark.slow
def test_documents_are_listed_the_newest_first_and_lead_to_their_numbers(opened: Open) -> None:
    page = opened("#/sources/documents")
    dates = page.locator(".documents .date").all_inner_texts()
    dated = [date for date in dates if date != "undated"]
    assert dated == sorted(dated, reverse=True)
    assert dates == dated + ["undated"] * (len(dates) - len(dated))
    row = page.locator(".documents tr", has_text="Amazon EC2 Trn3 Architecture").first
    used = int(row.locator("td.number").first.inner_text())
    row.get_by_role("link").click()
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("Amazon EC2 Trn3 Architecture")
    assert page.locator(".fact").count() >= used > 3

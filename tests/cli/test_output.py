"""Tables for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tabulate import tabulate

from trninv.cli.output import print_table

CELL = st.one_of(st.none(), st.integers(), st.text("aö …-1", max_size=9))


@given(st.data())
def test_a_table_is_that_of_tabulate(data: st.DataObject) -> None:
    headers = data.draw(st.lists(st.from_regex("[a-z]{1,6}", fullmatch=True), min_size=1, max_size=4))
    lines = data.draw(st.lists(st.tuples(*[CELL] * len(headers)), max_size=5))
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("click.echo", printed.append)
        print_table(headers, lines)
    cells = [["" if cell is None else str(cell) for cell in line] for line in lines]
    wanted = tabulate(cells, headers=headers, tablefmt="simple", disable_numparse=True)
    assert printed == [line.rstrip() for line in wanted.split("\n")]

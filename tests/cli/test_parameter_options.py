"""Examples of help that are too long are wrapped so that they can be pasted into a shell."""

import shlex

import pytest

from trninv.cli.parameter_options import help_text

_LONG = 'set u-trn2x64/d0/s1/c5 u-trn2x64/d0/s1/c6 u-trn2x64/d0/s1/c7 u-trn2x64/d0/s1/c8 down --why "HBM errors"'


@pytest.mark.parametrize(
    ("example", "line_break"),
    [
        (_LONG, " \\\n    u-trn2x64/d0/s1/c8 down"),
        (_LONG.replace(" u-trn2x64/d0/s1/c6", ""), ' \\\n    --why "HBM errors"'),
        ('release a --why "done"', ""),
        (f'release a --why "{"one two " * 12}"', ' \\\n    --why "one two'),
        (f'release "{"one two " * 12}"', ' \\\n    "one two'),
        ("x" * 100, " \\\n    x"),
    ],
)
def test_a_long_example_stays_the_same_command(example: str, line_break: str) -> None:
    lines = help_text("Do.", [example]).partition("\b\n")[2]
    assert line_break in lines
    assert shlex.split(lines.replace("\\\n", " ")) == ["trninv", *shlex.split(example)]
    assert ("\\" in lines) == bool(line_break)

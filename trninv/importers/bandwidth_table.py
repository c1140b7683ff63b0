"""Read measured transfers: CSV with the columns from, to, bytes and seconds."""

import csv
from collections.abc import Iterator
from typing import Final

from trninv.importers.input_file import InputFile
from trninv.importers.json_value import MAX_ITEMS, MAX_NAME
from trninv.importers.measured_run import TransferTiming, check_timing
from trninv.importers.nccom_test import as_positive_number

_COLUMNS: Final = ("from", "to", "bytes", "seconds")


def read_transfers(source: InputFile) -> Iterator[TransferTiming]:
    """Yield the transfers of one file; note errors with their lines."""
    lines = source.text_lines()
    header = [name.strip().lower() for name in next(lines, (0, ""))[1].removeprefix("\ufeff").split(",")]
    if sorted(header) != sorted(_COLUMNS):
        source.add_error(f"begins with {', '.join(header)[:80]!r}; the first line must be {','.join(_COLUMNS)}", 1)
        return
    for count, (number, line) in enumerate(lines):
        if count == MAX_ITEMS:
            source.add_error(f"has more than {MAX_ITEMS:,} transfers; import it in parts", number)
            return
        values = next(csv.reader([line]), [])
        if len(values) != len(header):
            source.add_error(f"has {len(values)} values, not {len(header)}", number)
            continue
        row = dict(zip(header, map(str.strip, values), strict=True))
        value = source.wrap(row, number)
        ends = [value.get(name).as_name() for name in ("from", "to")]
        size = value.get("bytes").as_digits(2**62)
        seconds = as_positive_number(value.get("seconds").with_raw(_to_float(row["seconds"])))
        if not all(ends) or size is None:
            value.add_error(f"needs from and to, of up to {MAX_NAME} characters, and whole bytes")
        elif seconds is not None and check_timing(value, size, nanoseconds := round(min(seconds, 10**7) * 10**9)):
            yield TransferTiming(value.where, str(ends[0]), str(ends[1]), size, nanoseconds)


def _to_float(text: str) -> float | str:
    try:
        return float(text) if text.isascii() and "_" not in text else text
    except ValueError:
        return text

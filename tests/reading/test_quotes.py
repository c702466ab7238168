"""A quote that is never closed costs its line, and no other row."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swoop.reading import quotes
from swoop.reading.files import find_files
from swoop.reading.quotes import WholeRows
from swoop.reading.tables import read_batches, read_sample

VALUES = st.lists(st.tuples(st.text('a",\n\r é', max_size=8), st.text('b"\n;', max_size=5)), max_size=12)


def read(data: bytes, block: int, **options: Any) -> tuple[bytes, list[str]]:
    refused: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quotes, "READ", block)
        whole = WholeRows(
            io.BytesIO(data), **{"separator": ",", "width": 2, "longest": 1 << 20, "refuse": refused.append, **options}
        )
        return io.BufferedReader(whole).read(), refused


@given(VALUES, st.integers(1, 40), st.sampled_from(["\n", "\r\n"]), st.sampled_from([",", ";", "|"]))
def test_what_is_written_well_stays_as_it_is(rows: Any, block: int, end: str, separator: str) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, lineterminator=end).writerows(rows)
    data = file.getvalue().encode()
    assert read(data, block, separator=separator) == (data, [])


@pytest.mark.parametrize("block", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    ("data", "refused"),
    [
        ('1,a\n2,"b\n3,c\n4,d\n', ['2,"b']),
        ('1,"a"\n2,"b\n3,"c"\n4,"d"\n', ['2,"b']),
        ('1,a\r\n2,"b\r\n3,c\r\n', ['2,"b']),
        ('"1,a\n2,b\n"3",c\n', ['"1,a']),
        ('1,"a\n2,"b\n3,c', ['1,"a', '2,"b']),
        ('"x\ny",a\n2,"b\n3,c\n', ['2,"b']),
        ('1,"a"\n2,5" and 6"\n3,"c\nd"\n4,"say ""hi"""\n', []),  # all of which are values
        ('1,"several\nlines with "quotes" in them"\n2,b\n', []),  # badly written, but no row is lost
        ('1,"several\nlines, of which one looks\nlike a row"\n2,b\n', []),
        ('"several\nlines, of which one looks\nlike a row",1\n2,b\n', []),
        ('1,a\n2,"b\n\n3,c\n4,d "e" f\n5,g\n', ['2,"b']),
        ('1,a\n2,"b\nshort\n3,c\n4,"d"\n', ['2,"b']),
        ('1,a\n2,"b\n3,the "x" of y\n', ['2,"b']),
        ('1,a\n2,"b\n3,c\rd\n4,"d"\n', ['2,"b']),
        ('1,a\n2,"b\n', []),
        ('1,a\n2,"b', []),
    ],
)
def test_lines_of_quotes_that_are_not_closed_are_left_out(data: str, refused: list[str], block: int) -> None:
    rest = data
    for line in refused:
        begin = rest.index(line)
        rest = rest[:begin] + rest[rest.index("\n", begin) + 1 :]
    assert read(data.encode(), block) == (rest.encode(), refused)


def test_a_row_of_several_lines_is_not_swallowed() -> None:
    data = 'a|b|c|"say ""x""\nd|e|"f\nsecond"|g\n'
    for block in (1, 5, 1000):
        assert read(data.encode(), block, separator="|", width=4) == (b'd|e|"f\nsecond"|g\n', ['a|b|c|"say ""x""'])


def test_a_value_that_is_too_long_is_not_believed() -> None:
    data = '1,"' + "a\n" * 100 + '"\n2,b\n'
    assert read(data.encode(), 10)[1] == []
    assert read(data.encode(), 10, longest=50)[1][0] == '1,"a'


def test_all_rows_are_read_or_told_of(tmp_path: Any) -> None:
    lines = [f'{n},{n},"word {n}"' for n in range(100)]
    lines[50] = '50,50,"word 50'
    (tmp_path / "rows.csv").write_text("id,time,text\n" + "\n".join(lines) + "\n")
    files = find_files([str(tmp_path / "rows.csv")])
    batches = list(read_batches(files, read_sample(files).schema))
    assert sum(len(batch.rows) for batch in batches) == 100
    assert [reason for batch in batches for reason in batch.reasons.to_pylist() if reason] == [
        'row: a quote is not closed "50,50,"word 50"'
    ]

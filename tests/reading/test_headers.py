"""Whether a CSV file has a header."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swoop.reading.headers import column_names, has_header


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["id,created_at,text", "1,2024-05-01,Hello"], True),
        (["InvoiceNo,StockCode,InvoiceDate", "536365,85123A,12/1/2010 8:26"], True),
        ([",a,b", "0,x,y", "1,z,w"], True),
        (["name,colour", "Ann,red", "Bob,blue"], True),
        (["name,size", "Ann,3", "Bob,4.5"], True),
        (["name,size", "Ann,", "Bob,4.5"], True),
        (["text"], True),
        (["1,2024-05-01,Hello", "2,2024-05-02,Bye"], False),
        (["Ann,3", "Bob,4"], False),
        (["spam,Win a prize", "ham,See you", "spam,Cheap watches"], False),
        (["Mon Apr 06 22:19:45 +0000 2009,switchfoot", "Mon Apr 06 22:19:49 +0000 2009,other"], False),
        (["a,a", "1,2"], False),
        (["a,,b", "1,2,3"], False),
        (["What a long sentence this is - surely not a name,x", "And another one,y"], False),
        (["http://x.org/1,x", "http://x.org/2,y"], False),
        (["$3,x", "$4,y"], False),
        ([""], False),
        ([], False),
    ],
)  # fmt: skip
def test_headers(rows: list[str], expected: bool) -> None:
    assert has_header([row.split(",") for row in rows]) is expected


@given(st.lists(st.lists(st.text(max_size=9), max_size=4), max_size=4))
def test_any_rows_are_judged(rows: list[list[str]]) -> None:
    assert has_header(rows) in (True, False)


@given(st.lists(st.tuples(st.integers(), st.dates().map(str), st.text()), min_size=1))
def test_values_are_no_header(rows: list[tuple[int, str, str]]) -> None:
    cells = [list(map(str, row)) for row in rows]
    assert not has_header(cells)
    assert has_header([["a", "b", "c"], *cells])


def test_names() -> None:
    assert column_names(2) == ["column1", "column2"]

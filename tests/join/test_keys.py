"""Histories by keys: the rows of each key are a history of their own, and results say of which."""

from __future__ import annotations

import datetime as dt
import warnings
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swoop
from swoop import oracle
from swoop.errors import InvalidArgument, InvalidData, UnusableRows
from swoop.oracle import Record
from swoop.stays import Stay
from tests.support.histories import reachable
from tests.support.history_cases import FORMS, TENANTS, Case, cases, plain_row, run
from tests.support.slices import stays_of


@settings(max_examples=100)
@given(data=st.data())
def test_keys_are_histories_of_their_own(data: st.DataObject) -> None:
    """Equal to brute force, and to a history of the rows of each key alone, whatever cuts the time."""
    case = data.draw(cases())
    form, options = data.draw(st.sampled_from(list(FORMS))), {"copies": data.draw(st.sampled_from(["each", "once"]))}
    slices, threads = data.draw(st.none() | st.integers(1, 8)), data.draw(st.sampled_from([1, 2, 3]))
    found = run(case, FORMS[form](case.table, 4), slices=slices, threads=threads, by=["tenant", "class"], **options)
    rows = found.to_arrow()
    assert rows.column_names == ["tenant", "class", "newer", "older", "similarity", "overlap", "enter", "leave"]
    stays, plain = list(found), [plain_row(row) for row in rows.to_pylist()]
    assert [stay.by for stay in stays] == [row[:2] for row in plain]
    assert len({(stay.key, stay.enter) for stay in stays}) == len(stays)
    for key in TENANTS:
        own = replace(case, records=[record for record, of in zip(case.records, case.keys, strict=True) if of == key])
        assert [stay._replace(by=()) for stay in stays if stay.by == key] == alone(own, key, **options)
        expected = stays_of(own.records, **case.options, **options, two_streams=case.stream is not None)
        assert sorted([row[2:] for row in plain if row[:2] == key], key=repr) == expected
    assert [stay.by for stay in stays] == [key for key in TENANTS for stay in stays if stay.by == key]


def alone(case: Case, key: tuple[Any, ...], **options: Any) -> list[Stay]:
    """The stays of the rows of a key alone."""
    is_own = [(row["tenant"], row["class"]) == key for row in case.table.select(["tenant", "class"]).to_pylist()]
    case = replace(case, unusable=sum(is_own) - len(case.records))
    return list(run(case, case.table.filter(pa.array(is_own, pa.bool_())), slices=1, **options))


@settings(max_examples=100)
@given(data=st.data())
def test_families_of_keys_are_those_of_each_key_alone(data: st.DataObject) -> None:
    """Equal to brute force, and to a history of the rows of each key alone, whatever cuts the time."""
    case = data.draw(cases(streams=1))
    similarity, window = case.options["similarity"], data.draw(st.sampled_from([case.options["window"], None, swoop.last(3)]))
    options = {"min_similarity": data.draw(reachable(similarity)), "window": window, "similarity": similarity}

    def families_of(table: pa.Table, **more: Any) -> swoop.FamilyHistory:
        is_timed = pa.types.is_timestamp(table["at"].type) and isinstance(window, int)
        given = {**options, "window": dt.timedelta(hours=window) if is_timed else window, "tokens": case.tokens, **more}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnusableRows)
            return swoop.families_history(table, id="name.of", time="at", keep="more", **given)

    slices, threads = data.draw(st.none() | st.integers(1, 8)), data.draw(st.sampled_from([1, 2, 3]))
    found = families_of(case.table, slices=slices, threads=threads, by=["tenant", "class"])
    rows, labels = found.to_arrow().to_pylist(), [tuple(row.values()) for row in found.rows().to_pylist()]
    assert found.rows().column_names == ["tenant", "class", "id", "time", "family"]
    assert [(*family.by, family.id, family.total) for family in found] == [
        (row["tenant"], row["class"], row["id"], row["total"]) for row in rows
    ]
    assert [row[2] for row in labels] == [record.id for record in case.records]
    assert [family.by for family in found] == [key for key in TENANTS for family in found if family.by == key]
    for key in TENANTS:
        own = [family for family in found if family.by == key]
        is_own = [(row["tenant"], row["class"]) == key for row in case.table.select(["tenant", "class"]).to_pylist()]
        alone = families_of(case.table.filter(pa.array(is_own, pa.bool_())), slices=1)
        assert [replace(family, by=()) for family in own] == list(alone)
        assert [family.record for family in own] == [family.record for family in alone]
        assert [row[2:] for row in labels if row[:2] == key] == [tuple(row.values()) for row in alone.rows().to_pylist()]
        plain = [Record(r.tokens, r.time) for r, of in zip(case.records, case.keys, strict=True) if of == key]
        ids = [record.id for record, of in zip(case.records, case.keys, strict=True) if of == key]
        changes = oracle.family_changes(plain, **options)
        born, merged = ({change.family for change in changes if change.kind == kind} for kind in ("born", "merged"))
        assert [family.id for family in own] == [ids[first] for first in sorted(born - merged)]
        valid = sorted(oracle.families(plain, **options), key=lambda family: family.id)
        assert [(f.id, f.size, f.total, f.representative) for f in own if f.size] == [
            (ids[f.id], f.size, f.total, ids[f.representative]) for f in valid
        ]


def test_a_key_of_families_has_a_name_of_its_own() -> None:
    rows = {"id": [1, 2], "time": [1, 2], "tokens": [["a"], ["a"]], "first": ["x", "x"]}
    for name in ("family", "Size", "representative_first"):
        with pytest.raises(InvalidArgument, match=f"by='{name}' has the name of another column of the result"):
            swoop.families_history(rows, 0.5, 9, by=name, keep="first")
    (family,) = found = swoop.families_history(rows, 0.5, 9, by="first")
    assert (family.by, found.rows().column_names) == (("x",), ["first", "id", "time", "family"])
    empty = pa.table(rows).slice(0, 0)
    assert swoop.families_history(empty, 0.5, 9, by="first").to_arrow().column_names[:2] == ["first", "id"]


def test_keys_of_any_type() -> None:
    rows = {"id": [1, 2, 3, 4], "time": [1, 2, 3, 4], "tokens": [["a"]] * 4}
    for values in (
        pa.array([dt.date(2024, 1, 2), None] * 2),
        pa.array(["x", "y"] * 2, pa.string_view()),
        pa.array(["x", "y"] * 2).dictionary_encode(),
        pd.Series([True, False] * 2),
        [b"x", b"y"] * 2,
    ):
        found = swoop.history({**rows, "of": values}, 1, 9, by="of", keep="id")
        assert {(*stay.by, stay.pair.newer, stay.pair.older) for stay in found} == {
            (pa.array(values)[place].as_py(), place + 3, place + 1) for place in (0, 1)
        }
        assert found.to_arrow().column_names[:3] == ["of", "newer", "older"]
    assert len(swoop.history({**rows, "of": [1, 2, 3, 4]}, 1, 9, by="of")) == 0
    unreadable = pa.array([b"\xff", b"\xfe"] * 2).view(pa.string())  # not UTF-8, and yet different
    found = swoop.history({**rows, "of": unreadable}, 1, 9, by="of")
    assert sorted((stay.pair.newer, stay.pair.older) for stay in found) == [(3, 1), (4, 2)]
    assert {stay.by for stay in found} == {("\ufffd",)}
    empty = pa.table({**rows, "of": pa.array(["x"] * 4)}).slice(0, 0)
    assert swoop.history(empty, 1, 9, by="of").to_arrow().column_names[0] == "of"
    with pytest.raises(InvalidData, match="column 'of' has type double; keys are strings, bytes, integers, dates or the like"):
        swoop.history({**rows, "of": [1.5] * 4}, 1, 9, by="of")

"""The data sets of the paper: what is a set, what is its time, and that files may be large, broken or hostile.

Tests of swoop.paper.xml_files, swoop.paper.mails.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from swoop.errors import InvalidArgument, InvalidData, InvalidFile
from swoop.paper import loaders, mails, xml_files
from swoop.paper.loaders import LOADERS, dblp, enron, event_log, flickr, to_data_set, tweets
from swoop.spark import rejected

DBLP = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE dblp SYSTEM "dblp.dtd">
<dblp>
<article mdate="2017-05-28" key="journals/x/1">
<author>J&uuml;rgen M\xfcller 0001</author><author>Jos&eacute; Ruiz</author>
<title>H<sub>2</sub>O &amp; <i>more</i>: a &nosuchname; <b>b<sup>2</sup></b>.</title><year>2017</year>
</article>
<www key="homepages/1" mdate="yesterday"><author>Nobody</author><title>Home Page</title></www>
<book mdate="2018-01-01"><title>No key</title></book>
<phdthesis mdate="2018-01-02" key="empty"><editor>An Editor</editor></phdthesis>
</dblp>
"""
LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE dblp [<!ENTITY a0 "ha">{}]>
<dblp><article mdate="2017-05-28" key="&a9;"><author>&a9;</author><title>t</title></article></dblp>
""".format("".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)))
EXTERNAL = """<!DOCTYPE dblp [<!ENTITY secret SYSTEM "file://{}">]>
<dblp><article mdate="2017-05-28" key="1"><title>&secret;</title></article></dblp>
"""
XES = """<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1.0" xmlns="http://www.xes-standard.org/">
<global scope="event"><string key="concept:name" value="none"/></global>
<trace><string key="concept:name" value="order 1"/>
<event><date key="time:timestamp" value="2024-05-01T12:02:00.000+02:00"/><string key="concept:name" value="pay"/></event>
<event><string key="concept:name" value="buy"><string key="concept:name" value="inner"/></string>
<date key="time:timestamp" value="2024-05-01T12:00:00.000+02:00"/></event>
<event><string key="concept:name" value="ship"/><date key="time:timestamp" value="2024-05-01T12:03:00.000+02:00"/></event>
</trace>
<trace><event><string key="concept:name" value="buy"/><date key="time:timestamp" value="2024-05-01T12:00:00Z"/></event></trace>
<trace><string key="concept:name" value="order 3"/><event><string key="concept:name" value="buy"/></event>
<event><string key="concept:name" value="pay"/><date key="time:timestamp" value="2024-05-01T12:00:00Z"/></event></trace>
<trace><string key="concept:name" value="order 4"/></trace>
</log>
"""
MAIL = b"""Message-ID: <1.JavaMail.evans@thyme>
Date: Mon, 14 May 2001 16:39:00 -0700 (PDT)
From: phillip.allen@enron.com
Subject: =?utf-8?q?Caf=C3=A9?= forecast
Content-Type: text/plain; charset=us-ascii

Here is our forecast \x92
"""
PARTS = b"""Message-ID: <2>
Date: no day at all
Content-Type: multipart/alternative; boundary=xx

--xx
Content-Type: text/plain; charset=no-such-charset
Content-Transfer-Encoding: base64

Z29vZCBtb3JuaW5n
--xx
Content-Type: text/html

<p>tags</p>
--xx
Content-Type: image/png
Content-Transfer-Encoding: base64

aGlkZGVu
--xx--
"""
UTC = dt.UTC


def put(path: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    """A file, packed if its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode(encoding) if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def rows_of(sets: DataFrame) -> list[dict[str, Any]]:
    assert sets.columns[:3] == ["id", "time", "tokens"]
    table = sets.toArrow()
    return sorted(table.to_pylist(), key=lambda row: str(row["id"]))


def at(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=UTC)


def test_dblp(spark: SparkSession, tmp_path: Path) -> None:
    path = put(tmp_path / "dblp.xml.gz", DBLP, "latin-1")
    sets = dblp(spark, path).cache()
    book, empty, home, article = rows_of(sets)
    assert article == {
        "id": "journals/x/1",
        "time": at(2017, 5, 28),
        "tokens": ["jürgen", "müller", "0001", "josé", "ruiz", "h2o", "more", "a", "nosuchname", "b2"],
        "text": "Jürgen Müller 0001 José Ruiz H2O & more: a &nosuchname; b2.",
    }
    assert home["time"] is None
    assert home["tokens"] == ["nobody", "home", "page"]
    assert (book["id"], book["text"]) == (None, "No key")
    assert (empty["text"], empty["tokens"]) == (None, None)
    assert rejected(sets).count() == 3
    with pytest.warns(UserWarning, match="3 rows of dblp are unusable"):
        data_set = to_data_set("dblp", sets)
    assert data_set.sets() == [list(range(10))]
    assert data_set.times.tolist() == [1_495_929_600_000_000]
    sets.unpersist()


def parsed(path: Path, kind: Any = xml_files.Publications) -> list[tuple[str | None, ...]]:
    return list(xml_files.parse(str(path), kind))


def test_entities_are_neither_expanded_nor_fetched(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = put(tmp_path / "secret", "the password")
    with pytest.raises(InvalidFile, match="declares the entity 'a0'.* remove the declarations"):
        dblp(spark, put(tmp_path / "laughs.xml", LAUGHS))
    external = put(tmp_path / "external.xml", EXTERNAL.format(secret))
    dtd = put(
        tmp_path / "dtd.xml", f'<!DOCTYPE dblp SYSTEM "file://{secret}"><dblp><a key="1"><title>&x; &uuml;</title></a></dblp>'
    )
    parameter = put(tmp_path / "p.xml", f'<!DOCTYPE dblp [<!ENTITY % p SYSTEM "file://{secret}"> %p;]><dblp/>')
    after = put(tmp_path / "after.xml", '<!DOCTYPE dblp [%p;<!ENTITY x "boom">]><dblp><a key="1"><title>&x;</title></a></dblp>')
    opened: list[str] = []
    open_bytes = xml_files.open_bytes
    monkeypatch.setattr(xml_files, "open_bytes", lambda path: opened.append(path) or open_bytes(path))
    for path in (external, parameter):
        with pytest.raises(InvalidFile, match="declares the entity"):
            parsed(path)
    assert parsed(dtd) == [("1", None, "&x; ü")]
    assert parsed(after) == [("1", None, "&x;")]
    assert opened == [str(path) for path in (external, parameter, dtd, after)]


def test_named_characters_need_no_doctype(tmp_path: Path) -> None:
    path = put(tmp_path / "x.xml", '<dblp><article key="1"><title>&Eacute;t&eacute; &#233; &lt;3</title></article></dblp>')
    assert parsed(path) == [("1", None, "Été é <3")]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("<html><body/></html>", "its root is <html>, not <dblp>"),
        ("", "is not complete XML: no element found"),
        ("<dblp><article>", "is not complete XML: .*truncated"),
        ("<dblp><article></dblp>", "is not complete XML: mismatched tag: line 1"),
        ("<dblp>" + "<a>" * 200, "nested more than 100 deep"),
    ],
)
def test_broken_xml(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(InvalidFile, match=says):
        parsed(put(tmp_path / "x.xml", content))


def test_broken_gzip(tmp_path: Path) -> None:
    path = put(tmp_path / "x.xml.gz", DBLP, "latin-1")
    whole = path.read_bytes()
    for data in (whole[:-20], whole[:-6] + b"xxxxxx", whole[:30] + b"\xff" * 50 + whole[80:], b"not packed at all"):
        path.write_bytes(data)
        with pytest.raises(InvalidFile, match="not a complete gzip file|not complete XML"):
            parsed(path)
    path.write_bytes(whole + gzip.compress(b"\n"))  # gzip files may be put one after the other
    assert len(parsed(path)) == 4


def test_wrong_files_are_told_by_the_loaders(spark: SparkSession, tmp_path: Path) -> None:
    for load in LOADERS.values():
        with pytest.raises(InvalidArgument, match="there is no file or folder '.*nowhere.xml'"):
            load(spark, f"{tmp_path}/nowhere.xml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidArgument, match="no file in the folder"):
        dblp(spark, tmp_path / "empty")
    with pytest.raises(InvalidFile, match="its root is <log>, not <dblp>"):
        dblp(spark, put(tmp_path / "log.xml", XES))
    with pytest.raises(InvalidFile, match="has a DOCTYPE"):
        event_log(spark, put(tmp_path / "log.xes", "<!DOCTYPE log>" + XES.partition("?>")[2]))
    with pytest.raises(InvalidData, match="no column 'case' for case; its columns are 'id', 'name', 'when'"):
        event_log(spark, put(tmp_path / "events.csv", "id,name,when\n"))
    with pytest.raises(InvalidData, match="no column 'message'"):
        enron(spark, put(tmp_path / "mails.csv", "file,text\n"))
    with pytest.raises(InvalidFile, match="has no lines"):
        flickr(spark, put(tmp_path / "photos", ""))


def test_a_file_that_breaks_off_later(spark: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    records = "".join(f'<a key="{n}" mdate="2020-01-01"><title>{rng.bytes(30).hex()}</title></a>' for n in range(10_000))
    path = put(tmp_path / "dblp.xml.gz", f"<dblp>{records}</dblp>")
    path.write_bytes(path.read_bytes()[:-1000])
    sets = dblp(spark, path)
    with pytest.raises(InvalidFile, match="dblp.xml.gz is not a complete gzip file: .*truncated"):
        to_data_set("dblp", sets)
    with pytest.raises(PySparkException, match="dblp.xml.gz is not a complete gzip file"):
        sets.select("time").count()  # whatever is read of them
    path = put(tmp_path / "tweets.json.gz", '{"id": 1, "text": "good morning"}\n' * 10_000)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InvalidFile, match="file:.*/tweets.json.gz is truncated"):
        to_data_set("tweet", tweets(spark, path))


def test_memory_is_that_of_a_batch(tmp_path: Path) -> None:
    record = '<article mdate="2020-01-01" key="journals/x/{}"><author>{}</author><title>{}</title></article>\n'
    path = tmp_path / "large.xml.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write("<dblp>\n")
        for n in range(50_000):
            file.write(record.format(n, "Some Author " * 10, "a title of many words " * 10))
        file.write("</dblp>\n")
    tracemalloc.start()
    try:
        sizes = [
            batch.num_rows
            for batch in loaders._batches(("id", "day", "text"), xml_files.parse(str(path), xml_files.Publications))
        ]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sizes == [loaders.BATCH] * 10
    assert peak < 8_000_000  # of 21 MB


def test_mails_in_folders(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "maildir" / "allen-p" / "inbox" / "1.", MAIL)
    put(tmp_path / "maildir" / "allen-p" / "2.", PARTS)
    put(tmp_path / "maildir" / "bass-e" / "3.", b"Date: Mon, 14 May 2001 23:39:00 -0000\nSubject: =?nonsense?q?x?=\n\n")
    put(tmp_path / "maildir" / "bass-e" / "4.", b"\xff\xfe\x00 no mail")
    first, second, third, fourth = rows_of(enron(spark, tmp_path / "maildir"))
    assert first["id"] == "<1.JavaMail.evans@thyme>"
    assert first["time"] == third["time"] == at(2001, 5, 14, 23, 39)
    assert first["tokens"] == ["café", "forecast", "here", "is", "our"]
    assert (second["id"], second["time"], second["text"]) == ("<2>", None, "good morning")
    assert third["id"].endswith("maildir/bass-e/3.")
    assert third["tokens"] == ["nonsense", "q", "x"]
    assert fourth["id"].endswith("4.")
    assert fourth["time"] is None


@pytest.mark.parametrize("charset", [b"charset=idna", b"charset=no-such-charset", b"charset=rot13", b"charset*=utf-8''x%00y"])
def test_a_mail_with_a_wrong_charset_is_read(charset: bytes) -> None:
    mail = MAIL.replace(b"charset=us-ascii", charset)
    assert mails.read_mail("file", mail)[2] == "Café forecast\nHere is our forecast \ufffd\n"


def test_mails_within_each_other() -> None:
    assert mails.read_mail("file", b"Content-Type: message/rfc822\n\n" * 5000) == ("file", None, None)


def test_mails_in_a_csv_file(spark: SparkSession, tmp_path: Path) -> None:
    message = 'Message-ID: <1>\nDate: Mon, 14 May 2001 16:39:00 -0700\nSubject: he said\n\n"buy, now"\n\nand more'
    quoted = message.replace('"', '""')
    path = put(tmp_path / "emails.csv.gz", f'"file","message"\n"a/1.","{quoted}"\n"a/2.",\n')
    first, second = rows_of(enron(spark, path))
    assert first == {
        "id": "<1>",
        "time": at(2001, 5, 14, 23, 39),
        "tokens": ["he", "said", "buy", "now", "and", "more"],
        "text": 'he said\n"buy, now"\n\nand more',
    }
    assert second == {"id": "a/2.", "time": None, "tokens": None, "text": None}


def test_tweets(spark: SparkSession, tmp_path: Path) -> None:
    classic = {"id": 1050118621198921728, "id_str": "1050118621198921728", "created_at": "Wed Oct 10 20:19:24 +0000 2018"}
    lines: list[Any] = [
        {**classic, "text": "cut …", "full_text": "To make room, see https://t.co/a"},
        {**classic, "id_str": "2", "text": "cut …", "extended_tweet": {"full_text": "Long one"}},
        {"id": 3333333333333333333, "created_at": "Sat Feb 04 01:00:00 +0100 2017", "text": "plain"},
        {"id": "4", "created_at": "2021-01-06T18:40:40.000Z", "text": "Second format"},
        {"data": {"id": "5", "created_at": "2021-01-06T18:40:40.000Z", "text": "wrapped"}},
        {"id": "6", "created_at": "soon", "text": "when?"},
        {"delete": {"status": {"id": 7}}},
    ]
    put(tmp_path / "all" / "hour" / "1.json.gz", "\n".join(map(json.dumps, lines)))
    put(tmp_path / "all" / "2.json", '{"id": "8", "text": "bro\n')
    first, second, third, fourth, fifth, sixth, *nulls = rows_of(tweets(spark, tmp_path / "all"))
    assert (first["id"], first["time"]) == ("1050118621198921728", at(2018, 10, 10, 20, 19, 24))
    assert first["tokens"] == ["to", "make", "room", "see", "https://t.co/a"]
    assert second["text"] == "Long one"
    assert (third["id"], third["time"]) == ("3333333333333333333", at(2017, 2, 4))
    assert fourth == {"id": "4", "time": at(2021, 1, 6, 18, 40, 40), "tokens": ["second", "format"], "text": "Second format"}
    assert fifth["tokens"] == ["wrapped"]
    assert (sixth["time"], sixth["tokens"]) == (None, ["when"])
    assert len(nulls) == 2
    assert {value for row in nulls for value in row.values()} == {None}


def test_flickr(spark: SparkSession, tmp_path: Path) -> None:
    tabs = put(tmp_path / "photos.tsv", "11\tEiffel Tower\tparis,france\n12\t\t\n\tno id\n13\n")
    nobody, first, second, third = sorted(rows_of(flickr(spark, tabs)), key=lambda row: row["id"] or "")
    assert (nobody["id"], nobody["tokens"]) == (None, ["no", "id"])
    assert (first["id"], first["tokens"]) == ("11", ["eiffel", "tower", "paris", "france"])
    assert second["tokens"] == third["tokens"] == []
    assert at(1970, 1, 1) <= first["time"] < at(1970, 1, 1, 2, 46, 40)
    assert first["time"] != second["time"]
    named = put(tmp_path / "photos.csv.gz", 'tags,photo.id,title\n"a ""b"", c",11,tower\n')
    (by_name,) = rows_of(flickr(spark, named, id="photo.id", text=["title", "tags"]))
    assert by_name["tokens"] == ["tower", "a", "b", "c"]
    assert by_name["time"] == first["time"]  # of the id and the seed alone
    (by_place, _, _, _) = rows_of(flickr(spark, tabs, id=0, text=2, seed=8))
    assert (by_place["id"], by_place["tokens"]) == ("11", ["paris", "france"])
    assert by_place["time"] != first["time"]
    with pytest.raises(InvalidData, match="has 3 columns .* and no column 7; choose"):
        flickr(spark, tabs, text=7)
    with pytest.raises(InvalidData, match=r"no column 'x' for text \('x'\)"):
        flickr(spark, named, id="photo.id", text="x")
    for wrong in ({"id": -1}, {"id": "a", "text": 1}):
        with pytest.raises(InvalidArgument, match="positions from 0, or names"):
            flickr(spark, tabs, **wrong)  # type: ignore[arg-type]


def test_event_logs(spark: SparkSession, tmp_path: Path) -> None:
    unnamed, first, third, fourth = rows_of(event_log(spark, put(tmp_path / "log.xes.gz", XES)))
    assert first == {"id": "order 1", "time": at(2024, 5, 1, 10, 3), "tokens": ["buy→pay", "pay→ship"]}
    assert unnamed["id"].endswith("log.xes.gz#2")
    assert (unnamed["time"], unnamed["tokens"]) == (at(2024, 5, 1, 12), [])
    assert third["time"] is fourth["time"] is None
    lines = (
        "Case ID;what;when\n1;b;02/01/2024 12:00\n1;a;01/01/2024 12:00\n2;a;01/01/2024 12:00\n2;b;soon\n3;;01/01/2024 12:00\n"
    )
    sets = event_log(
        spark,
        put(tmp_path / "log.csv", lines),
        case="Case ID",
        activity="what",
        time="when",
        separator=";",
        format="dd/MM/yyyy HH:mm",
    )
    one, two, three = rows_of(sets)
    assert one == {"id": "1", "time": at(2024, 1, 2, 12), "tokens": ["a→b"]}
    assert two["time"] is three["time"] is None
    assert {row.reason for row in rejected(sets).collect()} == {"the time is null"}


def test_data_sets(spark: SparkSession) -> None:
    second = dt.timedelta(seconds=1)
    rows: list[Any] = [
        ("b", at(2024, 1, 1), ["x", "y"]),
        ("a", at(2024, 1, 1), ["y", "z", "y"]),
        ("c", at(2024, 1, 1) - second, ["z"]),
        ("e", at(2024, 1, 1) + second, []),
        ("d", at(2024, 1, 1) + second, ["w", "x"]),
        ("f", None, ["w"]),
        (None, at(2024, 1, 1), ["w"]),
        ("g", at(2024, 1, 1), [None]),
    ]
    sets = spark.createDataFrame(rows, "id string, time timestamp, tokens array<string>").repartition(3)
    with pytest.warns(UserWarning, match="3 rows of mine are unusable and left out"):
        data_set = to_data_set("mine", sets)
    assert data_set.name == "mine"
    assert data_set.sets() == [[0], [1, 0], [2, 1], [3, 2], []]
    assert (data_set.times - data_set.times[0]).tolist() == [0, 1_000_000, 1_000_000, 2_000_000, 2_000_000]
    assert {column.dtype for column in (data_set.times, data_set.offsets, data_set.tokens)} == {np.dtype(np.int64)}
    with pytest.raises(InvalidData, match="all 2 rows of mine are unusable"):
        to_data_set("mine", sets.filter("time is null or id is null"))
    with pytest.raises(InvalidData, match="no column 'tokens'"):
        to_data_set("mine", sets.drop("tokens"))

"""XML files as rows, parsed incrementally and safely: publications of DBLP, event logs in XES. Independent of Spark."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from html.entities import name2codepoint
from typing import Any
from xml.parsers import expat

from pyarrow import fs

from swoop.errors import InvalidFile
from swoop.paper.mails import Row

CHUNK = 1 << 18  # bytes that are parsed together
DEEPEST = 100  # nested elements; the files that are read here need six


class Publications:
    """The rows of DBLP: each child of the root, with its authors and titles."""

    root, columns, doctype = "dblp", ("id", "day", "text"), True

    def __init__(self, path: str) -> None:
        self.rows: list[Row] = []
        self._parts: list[str] | None = None  # of an author or a title

    def start(self, above: list[str], tag: str, attributes: dict[str, str]) -> None:
        if len(above) == 1:
            self._id, self._day = attributes.get("key"), attributes.get("mdate")
            self._fields: dict[str, list[str]] = {"author": [], "title": []}
        elif len(above) == 2 and tag in self._fields:
            self._parts = []

    def text(self, text: str) -> None:
        if self._parts is not None:
            self._parts.append(text)

    def end(self, above: list[str], tag: str) -> None:
        if len(above) == 2 and self._parts is not None:
            self._fields[tag].append(" ".join("".join(self._parts).split()))
            self._parts = None
        elif len(above) == 1:
            texts = [*self._fields["author"], *self._fields["title"]]
            self.rows.append((self._id, self._day, " ".join(texts) if texts else None))


class Events:
    """The rows of XES: each event, with the name of its trace; a trace without events is a row of its own."""

    root, columns, doctype = "log", ("case", "activity", "time"), False

    def __init__(self, path: str) -> None:
        self.rows: list[Row] = []
        self._path, self._traces = path, 0

    def start(self, above: list[str], tag: str, attributes: dict[str, str]) -> None:
        if above == ["log"] and tag == "trace":
            self._traces += 1
            self._case = f"{self._path}#{self._traces}"  # a name is not compulsory
            self._events: list[dict[str, str | None]] = []
        elif above == ["log", "trace"] and tag == "event":
            self._events.append({})
        elif above == ["log", "trace"] and attributes.get("key") == "concept:name":
            self._case = attributes.get("value", self._case)
        elif above == ["log", "trace", "event"] and attributes.get("key") in ("concept:name", "time:timestamp"):
            self._events[-1][attributes["key"]] = attributes.get("value")

    def text(self, text: str) -> None:
        """Everything is in attributes."""

    def end(self, above: list[str], tag: str) -> None:
        if above == ["log"] and tag == "trace":
            for event in self._events or [{}]:
                self.rows.append((self._case, event.get("concept:name"), event.get("time:timestamp")))


Kind = type[Publications] | type[Events]


def parse(path: str, kind: Kind) -> Iterator[Row]:
    """The rows of an XML file, as soon as they are parsed.

    A declared entity may expand to gigabytes or refer to a local file. So a file that declares one is refused, and no other
    file is ever opened. With ``doctype``, an undeclared entity is a character of HTML, or else stays as it is.
    """
    handler, above = kind(path), list[str]()
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if not above and tag != kind.root:
            raise InvalidFile(f"{path} is another kind of XML: its root is <{tag}>, not <{kind.root}>")
        if len(above) >= DEEPEST:
            raise InvalidFile(f"{path} has elements nested more than {DEEPEST} deep, in line {parser.CurrentLineNumber}")
        handler.start(above, tag, attributes)
        above.append(tag)

    def end(tag: str) -> None:
        handler.end(above, above.pop())

    def skipped(name: str, of_the_doctype: bool) -> None:
        if not of_the_doctype:
            handler.text(chr(name2codepoint[name]) if name in name2codepoint else f"&{name};")

    def declared(name: str, *_: object) -> None:
        raise InvalidFile(
            f"{path} declares the entity {name!r}, which is not safe to read; remove the declarations of its DOCTYPE"
        )

    def has_doctype(name: str, *_: object) -> None:
        raise InvalidFile(f"{path} has a DOCTYPE ({name!r}), but such files must not have one; remove it")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, handler.text
    parser.EntityDeclHandler = declared
    if kind.doctype:
        parser.SkippedEntityHandler = skipped
        parser.UseForeignDTD(True)  # names may be unknown even where there is no DOCTYPE
    else:
        parser.StartDoctypeDeclHandler = has_doctype
    try:
        with _opened(path) as file:
            while chunk := file.read(CHUNK):
                parser.Parse(chunk)
                yield from handler.rows
                handler.rows.clear()
            parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise InvalidFile(f"{path} is not complete XML: {error}; it may be truncated, so download it again") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidFile(f"{path} is not a complete gzip file: {error}; it may be truncated, so download it again") from None


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """A file, decompressed."""
    with open_bytes(path) as file:
        if path.endswith(".gz"):
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked
        else:
            yield file


def open_bytes(path: str) -> Any:
    """The bytes of a file, packed as they are, as a stream."""
    if path.startswith("file:"):  # Hadoop writes file:/folder where others write file:///folder
        path = "/" + path.removeprefix("file:").lstrip("/")
    elif "://" not in path:
        path = os.path.abspath(path)
    system, where = fs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    return system.open_input_stream(where, compression=None)

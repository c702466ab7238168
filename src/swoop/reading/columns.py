"""Inferring which column is which: by name, else by type, and only where that is unambiguous."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from swoop.errors import InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["timestamp", "integer", "number", "string", "array", "other"]
Kinds = dict[str, Kind]

# Names as people write them, without case and punctuation; see plain(). Where order matters, better ones come first.
IDS = (
    *("id", "idstr", "uuid", "guid", "key", "tweetid", "statusid", "postid", "messageid", "docid", "documentid"),
    *("articleid", "commentid", "reviewid", "submissionid", "recordid", "rowid", "eventid", "ticketid", "caseid"),
    *("invoiceno", "invoiceid", "invoicenumber", "invoice", "orderid", "orderno", "ordernumber", "transactionid"),
    *("transactionno", "transaction", "receiptid", "receiptno", "basketid", "billno", "billid", "cartid"),
    *("sessionid",),
)
OTHERS_IDS = (  # whose ids stand in many rows
    *("user", "author", "customer", "client", "member", "account", "owner", "sender", "parent", "conversation"),
    *("thread", "inreplyto", "product", "item", "category", "store", "shop", "country", "channel", "subreddit"),
    *("subject", "place", "link", "quoted", "retweeted"),
)
TIMES = (
    *("time", "ts", "timestamp", "date", "datetime", "when", "epoch", "eventtime", "eventdate", "eventtimestamp"),
    *("utctime", "created", "createdat", "createdutc", "createdtime", "createddate", "creationdate"),
    *("creationtime", "datecreated", "published", "publishedat", "publishdate", "publishtime", "publicationdate"),
    *("pubdate", "datepublished", "posted", "postedat", "postedon", "postdate", "dateposted", "sent", "sentat"),
    *("datesent", "received", "receivedat", "invoicedate", "orderdate", "ordertime", "orderedat"),
    *("orderpurchasetimestamp", "purchasedate", "purchasedat", "transactiondate", "transactiontime", "reviewdate"),
    *("reviewtime", "unixreviewtime", "commentdate", "tweetcreated", "unixtime"),
)
LATER_TIMES = (
    *("day", "month", "year", "updated", "updatedat", "updatedate", "modified", "modifiedat", "lastmodified"),
    *("lastupdated",),
)
TEXTS = (
    *("text", "fulltext", "title", "headline", "headlines", "headlinetext", "body", "bodytext", "message"),
    *("messagetext", "content", "post", "posttext", "tweet", "tweettext", "selftext", "description", "comment"),
    *("commenttext", "review", "reviewtext", "abstract", "subject", "articletext", "sentence", "question"),
    *("caption", "transcript", "lyrics", "memo"),
)
TOKENS = (
    *("tokens", "tokenids", "items", "itemids", "itemset", "words", "basket", "goods", "products", "productids"),
    *("terms", "cart", "skus", "shingles", "ngrams", "ingredients"),
)
ITEMS = (  # what a group consists of, one per row
    *("stockcode", "sku", "itemid", "productid", "item", "product", "itemcode", "productcode", "asin", "isbn"),
    *("itemno", "articleno", "itemname", "productname", "itemdescription", "productdescription", "description"),
    *("activity", "event", "page", "track", "movieid", "bookid", "songid", "token", "word", "term", "tag"),
    *("ingredient",),
)
BETTER = {"text": "fulltext", "created": "createdutc", "reviewtime": "unixreviewtime"}  # where both are there

_TIME_ENDING = re.compile(r"[ _./-](at|on|time|date|ts|utc|timestamp|datetime)$|[a-z](Time|Date|At|Timestamp|DateTime)$")
_ID_ENDING = re.compile(r"[ _./-](id|ID|Id)$|[a-z](Id|ID)$")


@dataclass(frozen=True)
class Columns:
    """The columns of an input. The words of several ``text`` columns count together; with ``tokens`` they are only shown.

    With ``group_by``, the rows that have the same value there are one set; ``tokens`` is then the column of their items, one in
    each row. ``keep``: columns that results show.
    """

    id: str | None = None
    time: str | None = None
    text: tuple[str, ...] = ()
    tokens: str | None = None
    stream: str | None = None
    group_by: str | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    keep: tuple[str, ...] = ()

    @property
    def used(self) -> list[str]:
        """The columns that are read, each once."""
        return list(dict.fromkeys([*(name for _, name in self.named()), *self.keep]))

    def named(self) -> list[tuple[str, str]]:
        """Option and column name, for each column that is set."""
        options = [("--group-by", self.group_by), ("--id", self.id if self.group_by is None else None), ("--time", self.time)]
        options += [("--tokens", self.tokens), ("--stream", self.stream), *(("--text", name) for name in self.text)]
        return [(option, name) for option, name in options if name is not None]


def plain(name: str) -> str:
    """A name as names are compared: without case, spaces and punctuation.

    >>> plain("Invoice No"), plain("invoice_no"), plain("Date/Time")
    ('invoiceno', 'invoiceno', 'datetime')
    """
    return re.sub(r"[\s_./-]", "", name).lower()


def kinds_of(schema: pa.Schema) -> Kinds:
    """What each column can be used for. The fields of structs are there too, with their path as name: ``"meta.text"``.

    >>> import pyarrow as pa
    >>> kinds_of(pa.schema({"id": pa.int64(), "meta": pa.struct({"text": pa.string()})}))
    {'id': 'integer', 'meta': 'other', 'meta.text': 'string'}
    """
    kinds: Kinds = {column.name: _kind(column.type) for column in schema}
    for column in schema:
        for name, kind in _nested(column.name, column.type):
            kinds.setdefault(name, kind)
    return kinds


def _nested(name: str, type: Any) -> Iterable[tuple[str, Kind]]:
    from pyarrow import types

    if types.is_struct(type):
        for part in type:
            path = f"{name}.{part.name}"
            yield path, _kind(part.type)
            yield from _nested(path, part.type)


def _kind(type: Any) -> Kind:
    from pyarrow import types  # not with the module: the help of the command line is quick

    if types.is_dictionary(type):
        return _kind(type.value_type)
    if types.is_timestamp(type) or types.is_date(type):
        return "timestamp"
    if types.is_integer(type):
        return "integer"
    if types.is_floating(type) or types.is_decimal(type):
        return "number"
    if types.is_string(type) or types.is_large_string(type) or types.is_string_view(type):
        return "string"
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)
    return "array" if any(is_list(type) for is_list in lists) and _is_token(type.value_type) else "other"


def _is_token(type: Any) -> bool:
    from pyarrow import types

    binary = types.is_binary(type) or types.is_large_binary(type) or types.is_fixed_size_binary(type)
    return binary or _kind(type) in ("string", "integer")


def path_of(name: str, columns: Collection[str]) -> tuple[str, ...]:
    """Where a column is: a name that no column has is the path of a nested field.

    >>> path_of("meta.text", ["meta"]), path_of("meta.text", ["meta", "meta.text"])
    (('meta', 'text'), ('meta.text',))
    """
    if name in columns:
        return (name,)
    parts = name.split(".")
    starts = (".".join(parts[:n]) for n in range(len(parts) - 1, 0, -1))
    start = next((start for start in starts if start in columns), parts[0])
    return (start, *name[len(start) + 1 :].split("."))


def infer(named: Columns, kinds: Kinds) -> Columns:
    """The columns that were named, which are checked, with the others inferred. ``notes`` say what was inferred.

    >>> infer(Columns(), {"id": "integer", "ts": "timestamp", "headline": "string"}).notes
    ("using 'id' as id", "using 'ts' as time", "using 'headline' as text")
    """
    chosen = named if named.group_by is None else replace(named, id=named.group_by)
    if chosen.id is None:
        chosen = _with(chosen, "id", _infer_id(_free(chosen, kinds)))
        if chosen.id is None:
            why = "no id column found: using row numbers from 0 as ids" + _of_fractions(_free(chosen, kinds))
            chosen = replace(chosen, notes=(*chosen.notes, why))
    if chosen.time is None:
        chosen = _with(chosen, "time", _infer_time(_free(chosen, kinds), kinds))
    if chosen.tokens is None and not chosen.text:
        chosen = _infer_content(chosen, kinds) if chosen.group_by is None else _infer_item(chosen, kinds)
    return chosen


def check_named(named: Columns, kinds: Kinds) -> None:
    """Refuse columns that were named, but do not exist or have the wrong type."""
    if named.group_by is not None and named.id not in (None, named.group_by):
        raise InvalidArgument(f"with --group-by {named.group_by}, that column is the id of a set; leave out --id {named.id}")
    for option, name in named.named():
        check(option, name, kinds, grouped=named.group_by is not None)
    _check_keep(named, kinds)


MADE = ("id", "time", "text", "tokens", "stream", "reason", "items", "line", "given_id", "given_time", "row")
"""Names of columns of sets, whatever those of the input are called."""


def _check_keep(named: Columns, kinds: Kinds) -> None:
    """Refuse columns that cannot be kept."""
    for place, name in enumerate(named.keep):
        check("--keep", name, kinds)
        if name.lower() in (other.lower() for other in named.keep[:place]):
            raise InvalidArgument(f"--keep names the column {name!r} twice")
    if named.keep and named.group_by is not None:
        raise InvalidArgument(
            "with --group-by, a set is made of several rows, and no columns of them are kept; leave out --keep"
        )


def check_kept(columns: Columns) -> None:
    """Refuse to keep columns that sets have under the same name, made of others: one that is read as it is may be kept."""
    text = columns.text[0] if len(columns.text) == 1 else None
    read = {columns.id: "id", columns.time: "time", text: "text", columns.tokens: "tokens", columns.stream: "stream"}
    for name in columns.keep:
        if name.lower() in MADE and read.get(name) != name:
            raise InvalidArgument(
                f"the column {name!r} cannot be kept, because sets have a column of this name that is made of another one; "
                "rename it first"
            )


def check(option: str, name: str, kinds: Kinds, grouped: bool = False) -> None:
    """Refuse a column that does not exist or has the wrong type."""
    if name not in kinds:
        near = get_close_matches(name, kinds, n=1, cutoff=0.6)
        same = [known for known in kinds if plain(known) == plain(name)]
        hint = f". Did you mean {(same or near)[0]!r}?" if same or near else ""
        raise InvalidArgument(f"there is no column {name!r} for {option}; columns: {_top_level(kinds)}{hint}")
    if option == "--tokens" and kinds[name] != "array" and not (grouped and kinds[name] in ("string", "integer")):
        if grouped:
            raise InvalidArgument(f"column {name!r} has no strings or integers, so it cannot be the items of --group-by")
        raise InvalidArgument(
            f"column {name!r} is not an array, so it cannot be --tokens; for text, use --text {quote(name)}; if each row has "
            "one token of a set, name the set with --group-by"
        )
    fields = [field for field in kinds if _parent(field, kinds) == name]
    if fields:
        raise InvalidArgument(f"column {name!r} has fields; name one of them with {option}: {_list(fields)}")
    if option in ("--id", "--time", "--stream") and kinds[name] == "array":
        raise InvalidArgument(f"column {name!r} is an array, so it cannot be {option}")
    if option == "--text" and kinds[name] == "array":
        raise InvalidArgument(f"column {name!r} is an array, so it cannot be --text; use --tokens {quote(name)}")
    if option == "--group-by" and kinds[name] == "array":
        raise InvalidArgument(
            f"column {name!r} is an array, so it cannot be --group-by; its rows are sets already: use --tokens {quote(name)}"
        )


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _top_level(kinds: Kinds) -> str:
    return _list(name for name in kinds if _parent(name, kinds) is None)


def _parent(name: str, kinds: Kinds) -> str | None:
    """The struct that a field is in; None for a column."""
    parent = name.rpartition(".")[0]
    return parent if kinds.get(parent) == "other" else None


def _free(chosen: Columns, kinds: Kinds) -> Kinds:
    taken = {name for _, name in chosen.named()}
    return {name: kind for name, kind in kinds.items() if name not in taken}


def _levels(free: Kinds) -> tuple[Kinds, Kinds]:
    """The columns, and the fields of columns that are structs. What is nested deeper is not guessed."""
    columns = {name: kind for name, kind in free.items() if _parent(name, free) is None}
    return columns, {name: kind for name, kind in free.items() if _parent(name, free) in columns}


def _field(name: str, free: Kinds) -> str:
    parent = _parent(name, free)
    return name if parent is None else name[len(parent) + 1 :]


def _with(chosen: Columns, role: str, name: str | None) -> Columns:
    if name is None:
        return chosen
    notes = (*chosen.notes, f"using {name!r} as {role}")
    if role == "text":
        return replace(chosen, text=(name,), notes=notes)
    if role == "tokens":
        return replace(chosen, tokens=name, notes=notes)
    return replace(chosen, id=name, notes=notes) if role == "id" else replace(chosen, time=name, notes=notes)


def _by_name(names: Sequence[str], free: Kinds, level: Kinds, fits: Callable[[Kind], bool]) -> list[str]:
    found = {name: plain(_field(name, free)) for name, kind in level.items() if fits(kind)}
    return [name for name, known in found.items() if known in names and BETTER.get(known) not in found.values()]


def _first_by_name(names: Sequence[str], free: Kinds, level: Kinds, fits: Callable[[Kind], bool]) -> str | None:
    """The column with the best name. Of several that differ in punctuation only, the shortest."""
    for known in names:
        found = sorted(_by_name((known,), free, level, fits), key=len)
        if found and (len(found) == 1 or len(found[0]) < len(found[1])):
            return found[0]
    return None


def _infer_id(free: Kinds) -> str | None:
    columns, nested = _levels(free)

    def fits(kind: Kind) -> bool:
        return kind in ("integer", "string")

    ending = [name for name, kind in columns.items() if fits(kind) and _ID_ENDING.search(name) and not _is_others(name)]
    own = {name: kind for name, kind in nested.items() if not _is_others(name)}
    only = ending[0] if len(ending) == 1 else None
    return _first_by_name(IDS, free, columns, fits) or only or _first_by_name(IDS[:4], free, own, fits)


def _of_fractions(free: Kinds) -> str:
    """A word about a column that would be the id if its type were another one."""
    name = _first_by_name(IDS, free, _levels(free)[0], lambda kind: kind == "number")
    return "" if name is None else f" ({name!r} has the type of fractions; --id {quote(name)} uses it where they are whole)"


def _is_others(name: str) -> bool:
    """Whether a name is that of the id of something that many rows may have in common."""
    return plain(name).startswith(OTHERS_IDS)


def _infer_time(free: Kinds, kinds: Kinds) -> str:
    columns, nested = _levels(free)

    def fits(kind: Kind) -> bool:
        return kind in ("timestamp", "integer", "number", "string")

    typed = [name for name, kind in columns.items() if kind == "timestamp"]
    ending = [name for name, kind in columns.items() if fits(kind) and _TIME_ENDING.search(name)]
    several = (
        _by_name(TIMES, free, columns, fits)
        or typed
        or _by_name(LATER_TIMES, free, columns, fits)
        or ending
        or _by_name(TIMES, free, nested, fits)
    )
    for names in (several, [name for name in several if kinds[name] == "timestamp"]):
        if len(names) == 1:
            return names[0]
    if several:
        raise InvalidArgument(f"each of {_list(several)} could be the time; choose one with --time")
    raise InvalidArgument(f"no column looks like the time; name it with --time. Columns: {_top_level(kinds)}")


def _infer_content(chosen: Columns, kinds: Kinds) -> Columns:
    """The tokens column if there is one, and text columns."""
    free = _free(chosen, kinds)
    columns, nested = _levels(free)
    arrays = [name for name, kind in columns.items() if kind == "array"]
    strings = [name for name, kind in columns.items() if kind == "string"]
    texts = _by_name(TEXTS, free, columns, lambda kind: kind == "string")
    named = _by_name(TOKENS, free, columns, lambda kind: kind == "array")
    for names in (named, [] if texts else arrays):
        if len(names) == 1:
            chosen = _with(chosen, "tokens", names[0])
            if len(texts) == 1:
                chosen = replace(chosen, text=(texts[0],), notes=(*chosen.notes, f"showing {texts[0]!r}"))
            return chosen
    for names in (texts, [] if arrays else strings):
        if len(names) == 1:
            return _with(chosen, "text", names[0])
    several = texts or arrays or strings
    if not several:
        tokens = _by_name(TOKENS, free, nested, lambda kind: kind == "array")
        several = tokens or _by_name(TEXTS, free, nested, lambda kind: kind == "string")
        if len(several) == 1:
            return _with(chosen, "tokens" if tokens else "text", several[0])
    if several:
        options = " ".join(f"--text {quote(name)}" for name in several[:2])
        both = f"; {options} uses the words of both" if kinds[several[0]] == "string" else ""
        raise InvalidArgument(f"each of {_list(several)} could be compared; choose with --text or --tokens{both}")
    raise InvalidArgument(
        f"no column looks like text or tokens; name one with --text or --tokens. Columns: {_top_level(kinds)}"
    )


def _infer_item(chosen: Columns, kinds: Kinds) -> Columns:
    """The column of the items that are grouped."""
    free = _free(chosen, kinds)
    columns, nested = _levels(free)

    def fits(kind: Kind) -> bool:
        return kind in ("string", "integer")

    item = _first_by_name(ITEMS, free, columns, fits) or _first_by_name(ITEMS, free, nested, fits)
    strings = [name for name, kind in columns.items() if kind == "string"]
    if item is None and len(strings) == 1:
        item = strings[0]
    if item is None:
        raise InvalidArgument(
            f"no column looks like the items that {chosen.group_by!r} groups; name it with --tokens. "
            f"Columns: {_top_level(kinds)}"
        )
    return _with(chosen, "tokens", item)

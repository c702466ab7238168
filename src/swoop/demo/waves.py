"""What a run has seen: its largest families, as they were when they were largest, and the texts of its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from swoop.marking import Content, contents
from swoop.results import Family, FamilyList, Id, Pair

LARGE = 5  # posts that make a wave
LOOKED = 200  # posts of a wave whose texts are compared
NAMED = 20  # families whose texts are noted
KNOWN = 20_000  # texts that are remembered


class HasFamilies(Protocol):
    """The handle of a stream of families."""

    def families(self, n: int | None = None, order: Any = "size") -> FamilyList: ...

    def examples(self, family: Any, n: int = 3) -> list[tuple[Any, Any, str | None]]: ...


class HasPairs(Protocol):
    """The handle of a stream of pairs."""

    def topk(self) -> Sequence[Pair]: ...

    def texts(self, pair: Pair, /) -> tuple[str | None, str | None]: ...


@dataclass(frozen=True)
class Wave:
    """A large family, and its different texts, the most frequent first."""

    family: Family
    contents: list[Content]


class Waves:
    """Remembers waves. Look often enough, and none is missed."""

    def __init__(self) -> None:
        self._largest: dict[Id, Wave] = {}

    def look(self, source: HasFamilies) -> None:
        """Note the families that are larger than ever."""
        for family in source.families(5):
            known = self._largest.get(family.id)
            if family.size >= LARGE and (known is None or family.size > known.family.size):
                self._largest[family.id] = Wave(family, contents(source.examples(family, LOOKED)))

    def largest(self, most: int = 5) -> list[Wave]:
        """The largest first."""
        return sorted(self._largest.values(), key=lambda wave: -wave.family.size)[:most]


class Texts:
    """Remembers the texts of records, by which people know them later; of very many, the last."""

    def __init__(self) -> None:
        self._known: dict[Id, str] = {}

    def look(self, pairs: HasPairs, families: HasFamilies) -> None:
        """Note the texts of what is there now. That of a family is its newest."""
        for pair in pairs.topk():
            self._note((pair.newer, pair.older), pairs.texts(pair))
        for family in families.families(NAMED):
            self._note((family.id,), [text for _, _, text in families.examples(family, 1)])

    def _note(self, names: Sequence[Id], texts: Sequence[str | None]) -> None:
        for name, text in zip(names, texts, strict=False):
            if text is not None:
                self._known.setdefault(name, text)
        while len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]

    def of(self, name: Id) -> str | None:
        """The text of a record, or of a family; None if it was not there when somebody looked."""
        return self._known.get(name)

"""The largest families that a run has seen, as they were when they were largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from swoop.marking import Content, contents
from swoop.results import Family, FamilyList, Id

LARGE = 5  # posts that make a wave
LOOKED = 200  # posts of a wave whose texts are compared


class HasFamilies(Protocol):
    """The handle of a stream of families."""

    def families(self, n: int | None = None, order: Any = "size") -> FamilyList: ...

    def examples(self, family: Any, n: int = 3) -> list[tuple[Any, Any, str | None]]: ...


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

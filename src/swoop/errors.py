"""The errors that Swoop raises. Each message says what was wrong, what was given and what to do."""

from __future__ import annotations


class SwoopError(Exception):
    """Base of all errors of this package."""


class InvalidArgument(SwoopError, ValueError):
    """An argument has a value that cannot be used."""


class InvalidType(SwoopError, TypeError):
    """An argument is of the wrong type."""


class InvalidTime(InvalidArgument):
    """A time that is missing, goes backwards, or does not go with the times or the window given before."""


class InvalidData(InvalidArgument):
    """A column or a row of a bulk cannot be used; nothing of the bulk was inserted."""


class IllBehavedSimilarity(InvalidArgument):
    """A user-defined similarity breaks a property that the algorithm relies on."""


class NotInWindow(SwoopError, LookupError):
    """A set was asked for that is not in the window (any more)."""


class InvalidFile(SwoopError, ValueError):
    """A saved join is truncated, damaged, made by a newer version, or not a saved join at all."""


class CapacityExceeded(SwoopError, MemoryError):
    """The window holds more than the engine can address."""


class UnusableRows(UserWarning):
    """Rows of a history cannot be used and are left out: ``count`` of them."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"{count} rows cannot be used and are left out; swoop.spark.rejected(sets, ...) gives them and says why"
        )
        self.count = count


class InternalError(SwoopError, RuntimeError):
    """Something that must not happen has happened inside Swoop: a defect, which is better reported than passed on."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}. This is a defect of Swoop, not of your data: please report it, with the stream if you can")

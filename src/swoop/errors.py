"""The errors that Swoop raises. Each message says what was wrong, what was given, and what to do about it."""

from __future__ import annotations

import json
import sys


class SwoopError(Exception):
    """Base class of all errors that Swoop raises."""


class InvalidArgument(SwoopError, ValueError):
    """The value of an argument is not allowed."""


class InvalidType(SwoopError, TypeError):
    """The type of an argument is not allowed."""


class InvalidTime(InvalidArgument):
    """A time is missing, goes backwards, or does not match the window or the times so far."""


class InvalidData(InvalidArgument):
    """A column or a row of a batch cannot be used; no rows were inserted."""


class IllBehavedSimilarity(InvalidArgument):
    """A user-defined similarity breaks a property that the algorithm relies on."""


class NotInWindow(SwoopError, LookupError):
    """The requested set is not, or no longer, in the window."""


class InvalidFile(SwoopError, ValueError):
    """A file is truncated, damaged, written by a newer version, or not of the expected kind."""


class CapacityExceeded(SwoopError, MemoryError):
    """The window would hold more than the engine can address, or more pairs than ``max_pairs``.

    In a batch, the rows before the one for which there is no room have arrived; ``arrived`` says how many. That row and those
    after it have not. ``max_pairs`` is how many pairs there may be, if these are what would be too many; otherwise it is None.
    """

    arrived: int = 0
    max_pairs: int | None = None


def too_many_pairs(count: int, most: int, when: str) -> CapacityExceeded:
    """The error if all pairs above a threshold are requested, and there would be more than ``max_pairs``."""
    error = CapacityExceeded(
        f"{when} there would be {count:,} pairs, more than max_pairs={most:,}. Use a higher min_similarity, a shorter window "
        'or a larger max_pairs; or, if many sets are equal or alike, copies="once" or swoop.Families'
    )
    error.max_pairs = most
    return error


class UnusableRows(UserWarning):
    """``count`` rows of a history are unusable and left out; ``details`` says why."""

    def __init__(self, count: int, details: str) -> None:
        super().__init__(f"{count} rows are unusable and left out; {details}")
        self.count = count


class InternalError(SwoopError, RuntimeError):
    """Swoop has detected a defect of its own, and stops rather than return a wrong result."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}. This is a defect in Swoop, not in your data: please report it, with the stream if you can")


def error_to_json(error: SwoopError) -> bytes:
    """An error as data: what goes through Spark as an exception arrives as text only.

    >>> error = error_from_json(error_to_json(too_many_pairs(6, 3, "with it")))
    >>> type(error).__name__, error.max_pairs
    ('CapacityExceeded', 3)
    """
    return json.dumps({"error": type(error).__name__, "message": str(error), "fields": vars(error)}, default=str).encode()


def error_from_json(data: bytes) -> SwoopError:
    """The error that :func:`error_to_json` has written."""
    read = json.loads(data)
    kind: type[SwoopError] = getattr(sys.modules[__name__], read["error"], SwoopError)
    error = SwoopError.__new__(kind, read["message"])  # without the constructor: the message is complete
    vars(error).update(read["fields"])
    return error

"""The errors that Swoop raises. Each message says what was wrong, what was given, and what to do about it."""

from __future__ import annotations


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
    after it have not.
    """

    arrived: int = 0


TOO_MANY_PAIRS = "pairs, more than max_pairs="
"""What the message of that error has, wherever it comes from."""


def too_many_pairs(count: int, most: int, when: str) -> CapacityExceeded:
    """The error if all pairs above a threshold are requested, and there would be more than ``max_pairs``."""
    return CapacityExceeded(
        f"{when} there would be {count:,} {TOO_MANY_PAIRS}{most:,}. Use a higher min_similarity, a shorter window "
        'or a larger max_pairs; or, if many sets are equal or alike, copies="once" or swoop.Families'
    )


class UnusableRows(UserWarning):
    """``count`` rows of a history are unusable and left out; ``details`` says why."""

    def __init__(self, count: int, details: str) -> None:
        super().__init__(f"{count} rows are unusable and left out; {details}")
        self.count = count


class InternalError(SwoopError, RuntimeError):
    """Swoop has detected a defect of its own, and stops rather than return a wrong result."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}. This is a defect in Swoop, not in your data: please report it, with the stream if you can")

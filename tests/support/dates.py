"""Times as people write them, rightly and wrongly."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable

from swoop.reading.dates import EPOCHS, ISO, MAIL, TWITTER, TimeFormat, read_time, written_as

_LETTERS = "0123456789012345678901234567890-/:., +TZtzAPMamUCGdJFebS\n\x1c\u2028\u0663é"


_PATTERNS: tuple[str, ...] = ("yyyy/MM/dd", "yyyyMMdd", "yyyyMMddHHmmssSSS", "yyyyMMdd'T'HHmmssX", "yyyy-MM", "yyyyMM")
_PATTERNS += ("MMMM d, yyyy h:mm a", "EEE, d MMM yy", "dd/MM/yyyy HH:mm[:ss[.SSS]]", "d MMM, yyyy HH 'o''clock'")
_PATTERNS += ("%d/%m/%Y %H:%M", "%m/%d/%y %I:%M:%S %p", "%b %-d %Y", "%A %d %B %Y %T.%f %z", "100%% %F")
_ORDERS = [f"{a}{mark}{b}{mark}{year}" for a, b in (("dd", "MM"), ("MM", "dd")) for mark in "/.-" for year in ("yyyy", "yy")]
FORMATS = [ISO, MAIL, TWITTER, *EPOCHS.values(), *map(written_as, _ORDERS), *map(written_as, _PATTERNS)]

_OFFSETS = ["", "", "Z", "+00:00", "+02:00", "-0330", " +0545", "+14", " UTC", " GMT", "+24:00", "+12:60", "GMT+0200", "z"]
_CLOCKS = ["", " %H:%M", "T%H:%M:%S", " %H:%M:%S.%f", ", %I:%M %p", "T%H", " %I:%M:%S%p", "T%H%M%S", "%H%M", " %H:%M:%S,%f123"]
_DATES = ["%Y-%m-%d", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y", "%m-%d-%Y", "%Y/%m/%d", "%Y%m%d", "%Y%m", "%Y-%m", "%Y"]
_DATES += ["%B %d, %Y", "%a, %d %b %y", "%b %d %Y", "%d %b, %Y", "%A %d %B %Y"]
_WHOLE = ["%a, %d %b %Y %H:%M:%S +0100", "%d %b %Y %H:%M GMT", "%a %b %d %H:%M:%S +0000 %Y", "%m/%d/%y %I:%M:%S %p"]
_WHOLE += [
    "%Y%m%d%H%M%S%f",
    "%Y%m%dT%H%M%SZ",
    "%d/%m/%Y %H:%M:%S",
    "%B %d, %Y %I:%M %p",
    "100% %Y-%m-%d",
    "%d %b, %Y %H o'clock",
]
_WHOLE += ["%A %d %B %Y %H:%M:%S.%f +0200", "%d/%m/%Y %H:%M", "%Y-%m", "%Y%m"]


def _time(rng: random.Random) -> dt.datetime:
    if rng.random() < 0.2:
        return rng.choice(
            [dt.datetime.min, dt.datetime.max, dt.datetime(1970, 1, 1), dt.datetime(2000, 2, 29), dt.datetime(1900, 3, 1)]
        )
    return dt.datetime(rng.choice([rng.randint(1, 9999), 2024]), 1, 1) + dt.timedelta(rng.randrange(365), rng.random() * 86399)


def _date(rng: random.Random) -> str:
    pattern = rng.choice(_WHOLE) if rng.random() < 0.4 else rng.choice(_DATES) + rng.choice(_CLOCKS) + rng.choice(_OFFSETS)
    if "/" in pattern:
        pattern = pattern.replace("/", rng.choice("/.-")).replace("%Y", rng.choice(["%Y", "%y"]))
    time = _time(rng)
    text = time.strftime(pattern.replace("%Y", f"{time.year:04}").replace("100% ", "100%% "))
    return text.replace("/0", "/").replace(" 0", " ") if rng.random() < 0.3 else text


def _count(rng: random.Random) -> str:
    size = rng.choice([1e3, 2e9, 3e11, 2e12, 3e14, 2e15, 3e17, 2e18, 3e20, 1e25])
    number = rng.uniform(-size, size)
    makers: list[Callable[[], str]] = [
        lambda: str(int(number)),
        lambda: repr(number),
        lambda: f"{number:.{rng.randrange(25)}f}",
        lambda: f"{number:+.{rng.randrange(20)}e}",
        lambda: f"{number / 1e9:E}",
        lambda: f"{rng.choice(['', '-', '+'])}{rng.choice(['', '0', '000'])}.{rng.randrange(10**9)}",
        lambda: f"{rng.randrange(-9, 9)}e{rng.randrange(-99, 99)}",
    ]
    return rng.choice(makers)()


def texts(seed: int, count: int) -> list[str | None]:
    """Dates and counts, a third of them with a mistake, some with blanks around."""
    rng = random.Random(seed)
    made: list[str | None] = [
        None,
        "",
        " ",
        "nan",
        "inf",
        "-",
        ".",
        "e5",
        "0x10",
        "1_000",
        "12 5",
        "0.0",
        "-0",
        "00000000",
        "0" * 30,
    ]
    while len(made) < count:
        text = _date(rng) if rng.random() < 0.7 else _count(rng)
        if rng.random() < 0.3:
            place, letter = rng.randrange(len(text) + 1), rng.choice(_LETTERS)
            text = text[:place] + rng.choice(["", letter]) + text[place + rng.randrange(2) :]
        made.append(rng.choice(["", "", "", " ", "\t", "\n"]) + text + rng.choice(["", "", "", " ", "\r\n", "\u0085"]))
    rng.shuffle(made)
    return made[:count]


def own_texts(format: TimeFormat, seed: int, count: int) -> list[str | None]:
    """Of many texts, those that a format reads, and changes of them by one letter, which it may read or not."""
    rng = random.Random(seed)
    read = [text for text in texts(seed, 20 * count) if text is not None and read_time(text, format) is not None]
    changed: list[str | None] = []
    for text in read:
        place = rng.randrange(len(text) + 1)
        changed.append(text[:place] + rng.choice(["", rng.choice(_LETTERS)]) + text[place + rng.randrange(2) :])
    return [*read[:count], *changed[:count]]

"""``swoop stream --alert``: who is told of what, and what became of it."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from swoop.cli.console import counted, info
from swoop.cli.guard import WrongUsage
from swoop.cli.history import EQUAL
from swoop.errors import InvalidArgument
from swoop.look import ORANGE
from swoop.similarity import Similarity, check_min_similarity

if TYPE_CHECKING:
    from swoop.live.alerts import AlertSettings


def find_alert(target: str | None, least: float | None, per_minute: int | None, families: bool) -> AlertSettings | None:
    """Who is told of what, checked."""
    from swoop.live.alerts import PER_MINUTE, alert

    if target is None:
        if least is not None or per_minute is not None:
            raise WrongUsage(f"{'--alert-limit' if least is None else '--alert-from'} requires --alert")
        return None
    size = None if least is None or not least.is_integer() else int(least)
    if families and least is not None and size is None:
        raise WrongUsage(f"with --families, --alert-from is a number of records, not {least:g}")
    try:
        return alert(
            target.strip() if re.match(r"\s*https?:", target, re.IGNORECASE) else shlex.split(target),
            min_similarity=None if families else least,
            min_size=size if families else None,
            per_minute=PER_MINUTE if per_minute is None else per_minute,
        )
    except ValueError as error:  # also of the quotes in a command
        raise WrongUsage(f"--alert: {error}") from None


def checked_alert(settings: AlertSettings | None, similarity: Similarity, equal: bool) -> AlertSettings | None:
    """The alert of pairs that are shown. Refuses a similarity that none of them can reach."""
    if settings is None:
        return None
    try:
        check_min_similarity(similarity, settings.min_similarity)
    except InvalidArgument as error:
        raise WrongUsage(f"--alert-from: {error}") from None
    if equal:
        return settings
    if settings.min_similarity is not None and settings.min_similarity >= EQUAL[similarity.name]:
        raise WrongUsage(f"--alert-from {settings.min_similarity:g} is of equal sets, and --no-equal leaves out their pairs")
    return replace(settings, below=EQUAL[similarity.name])


def summarise_alerts(handle: Any, before: Any, kept: bool) -> None:
    """Say what became of the alerts of this run, if there were any. ``kept`` is whether another run can deliver the rest."""
    stats = handle.stats
    sent, failed, left_out = (
        getattr(stats, name) - getattr(before, name) for name in ("alerts", "alerts_failed", "alerts_left_out")
    )
    waiting, untold = stats.alerts_waiting, handle.alerts_untold
    if sent or failed or left_out or waiting:
        info(
            f"{counted(sent, 'alert', 'alerts')} delivered, {failed:,} given up, {left_out:,} over the limit, "
            f"{waiting:,} {'not delivered yet' if kept else 'lost'}",
            style=ORANGE if failed or waiting else None,
        )
    if untold:
        info(f"  a message that {untold:,} were given up or over the limit was not delivered", style=ORANGE)
    if (waiting or untold) and kept:
        info("  the next run with this checkpoint tries again", style=ORANGE)
    elif waiting or untold:
        info("  nothing is tried again without --checkpoint DIR; with it, the next run does", style=ORANGE)
    if handle.alert_problem is not None:
        info(f"  the last that failed: {handle.alert_problem}", style=ORANGE)

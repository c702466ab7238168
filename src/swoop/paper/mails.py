"""A mail as a row: its id, when it was sent, its subject and body. Independent of Spark."""

from __future__ import annotations

import datetime as dt
import email
from contextlib import suppress
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime

Row = tuple[str | None, ...]


def read_mail(path: str | None, content: bytes | None) -> Row:
    if content is None:
        return path, None, None
    try:
        mail = email.message_from_bytes(content)
        texts = [part for part in mail.walk() if part.get_content_maintype() == "text"]
    except RecursionError:  # mails nested a thousand deep
        return path, None, None
    subject = _header(mail, "Subject")
    plain = [part for part in texts if part.get_content_subtype() == "plain"] or texts
    text = "\n".join([*([subject] if subject else []), *map(_payload, plain)])
    return _header(mail, "Message-ID") or path, _sent(_header(mail, "Date")), text


def _header(mail: Message, name: str) -> str | None:
    value = mail[name]
    if value is None:
        return None
    with suppress(MessageError, ValueError, LookupError):  # an unknown or wrong encoding: leave it as it is
        value = make_header(decode_header(value))
    return " ".join(_clean(str(value)).split()) or None


def _payload(part: Message) -> str:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    try:
        return _clean(content.decode(part.get_content_charset("utf-8"), "replace"))
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")


def _clean(text: str) -> str:
    """Without the lone surrogates that Python's parser leaves for invalid bytes."""
    return text.encode("utf-8", "replace").decode()


def _sent(date: str | None) -> str | None:
    try:
        sent = parsedate_to_datetime(date or "")
        return (sent.replace(tzinfo=dt.UTC) if sent.tzinfo is None else sent.astimezone(dt.UTC)).isoformat()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None

"""Rows of the database ⇄ values of the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, fields
from datetime import datetime
from enum import StrEnum
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from memoranda.model import models
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.notes import NotedLine
from memoranda.model.sessions import SessionInfo
from memoranda.model.usage import Usage

Row = Sequence[Any]

# What is raised where a value is made of a damaged row.
DAMAGE = (ValueError, TypeError, LookupError, OverflowError, RecursionError)

# How the numbers of a vector are kept.
STORED_FLOAT = "<f2"
# What is kept of a record's meaning.
VECTOR_TABLES = ("vectors", "token_vectors")

EMPTY_LIST = "[]"
EMPTY_OBJECT = "{}"


# Compact JSON with sorted keys, so that equal values are equal text.
dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
_decode = json.JSONDecoder().raw_decode


def load(text: str) -> Any:
    """Return the value of JSON that stands in a column: no spaces are around it.

    Raises:
        ValueError: it is no such JSON; or another of ``DAMAGE``.
    """
    value, end = _decode(text)  # Takes a third of the time of ``json.loads``.
    if end != len(text):
        raise ValueError(f"JSON ends at {end}, and something is behind it")
    return value


# Returns the first value of a row.
first_value = itemgetter(0)


def optional_ms(moment: datetime | None) -> int | None:
    """Return milliseconds since 1970, or nothing for nothing."""
    return None if moment is None else to_ms(moment)


def optional_time(milliseconds: int | None) -> datetime | None:
    """Return the moment of ``milliseconds``, or nothing for nothing."""
    return None if milliseconds is None else from_ms(milliseconds)


class Codec(NamedTuple):
    """How a value of the model is kept in a column."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _objects(kind: Callable[..., Any]) -> Codec:
    return Codec(
        lambda items: dump([astuple(item) for item in items]) if items else EMPTY_LIST,
        lambda text: () if text == EMPTY_LIST else tuple(kind(*each) for each in load(text)),
    )


def choice(kind: type[StrEnum]) -> Codec:
    """Return how a value of an enumeration is kept."""
    return Codec(str, {str(each): each for each in kind}.__getitem__)


TIME = Codec(to_ms, from_ms)


def read_strings(text: str) -> tuple[str, ...]:
    """Return the texts of a JSON list."""
    return () if text == EMPTY_LIST else tuple(load(text))


def read_object(text: str) -> Mapping[str, Any]:
    """Return a JSON object."""
    return models.NO_METADATA if text == EMPTY_OBJECT else MappingProxyType(load(text))


STRINGS = Codec(lambda texts: dump(texts) if texts else EMPTY_LIST, read_strings)
OBJECT = Codec(lambda given: dump(dict(given)) if given else EMPTY_OBJECT, read_object)


def encode_namespace(parts: Sequence[str]) -> str:
    """Return the text under which a namespace is kept: each part as JSON, and a comma after it.

    It is the beginning of the texts of all namespaces below, and of no others: no character of a
    part can end it.
    """
    return "".join(f"{dump(part)}," for part in parts)


def decode_namespace(text: str) -> tuple[str, ...]:
    """Return the parts of a namespace."""
    return tuple(load(f"[{text[:-1]}]")) if text else ()


def decode(codecs: Mapping[str, Codec], values: dict[str, Any]) -> dict[str, Any]:
    """Decode the values of a row, by name, in place; return them. Nothing stays nothing.

    Raises:
        ValueError: the row is damaged; or another of ``DAMAGE``.
    """
    for name, codec in codecs.items():
        try:
            if (value := values[name]) is not None:
                values[name] = codec.read(value)
        except DAMAGE as error:
            raise ValueError(f"{name} cannot be read ({type(error).__name__}: {error})") from error
    return values


class Columns:
    """The columns of the fields of a dataclass: each has the name of its field.

    Args:
        model: the dataclass.
        codecs: how fields are kept that are not kept as they are.
        without: the field that has no column.
        renamed: the columns that have another name than their fields, by field.
    """

    def __init__(
        self, model: type[Any], codecs: dict[str, Codec], without: str = "", **renamed: str
    ) -> None:
        """Look up the fields."""
        self._model = model
        self._fields = tuple(each.name for each in fields(model) if each.name != without)
        self.names = tuple(renamed.get(name, name) for name in self._fields)
        self.codecs = codecs
        self._written = tuple((self._fields.index(name), codecs[name].write) for name in codecs)
        self._get = attrgetter(*self._fields)

    def selected(self, table: str, **others: str) -> str:
        """Return the columns as a query names them; ``others`` has those with another name."""
        return ", ".join(others.get(name, f"{table}.{name}") for name in self.names)

    def row(self, item: object) -> list[Any]:
        """Return the values of a row, in the order of its columns."""
        row = list(self._get(item))
        for place, write in self._written:
            if (value := row[place]) is not None:
                row[place] = write(value)
        return row

    def values(self, item: object) -> dict[str, Any]:
        """Return the values of a row, by column."""
        return dict(zip(self.names, self.row(item), strict=True))

    def encode(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return values of some fields as their columns keep them."""
        return {
            name: None if value is None else self.codecs[name].write(value)
            for name, value in values.items()
        }

    def fields(self, row: Row) -> dict[str, Any]:
        """Return the fields of a row that begins with these columns, by name; may raise so."""
        return decode(self.codecs, dict(zip(self._fields, row, strict=False)))

    def make(self, row: Row) -> Any:
        """Make a value of the model from a row that begins with these columns; may raise so."""
        return self._model(**self.fields(row))


RECORDS = Columns(
    models.Record,
    {
        "kind": choice(models.Kind),
        "event_time": TIME,
        "event_until": TIME,
        "created_at": TIME,
        "valid_until": TIME,
        "confidence": Codec(float, float),
        "last_accessed": TIME,
        "strength_at": TIME,
        "enriched_at": TIME,
        "source_ids": STRINGS,
        "trust": choice(models.Trust),
        "tags": STRINGS,
        "metadata": OBJECT,
        "namespace": Codec(
            lambda parts: encode_namespace(parts) if parts else "", decode_namespace
        ),
    },
    without="user",
    key="item_key",
)
MESSAGES = Columns(
    models.Message,
    {
        "timestamp": TIME,
        "pinned": Codec(int, bool),
        "tool_calls": _objects(models.ToolCall),
        "tool_result": Codec(
            lambda result: dump(astuple(result)), lambda text: models.ToolResult(*load(text))
        ),
        "images": _objects(models.Image),
        "raw": Codec(json.JSONEncoder(ensure_ascii=False).encode, load),
    },
)
CONVERSATIONS = Columns(
    models.ConversationInfo, {"created_at": TIME, "ended_at": TIME}, without="calibration"
)
SPANS = Columns(models.PrunedSpan, {"since": TIME, "until": TIME, "named": Codec(list, tuple)})
# What version 0.2 did not write.
UNSUMMED = {"summary": None, "named": ()}
SPAN_LIST = Codec(
    lambda cuts: dump([SPANS.values(cut) for cut in cuts]),
    lambda text: tuple(
        SPANS.make([(UNSUMMED | stored)[name] for name in SPANS.names]) for stored in load(text)
    ),
)
PRUNINGS = Columns(
    models.Pruning,
    {"at": TIME, "cuts": SPAN_LIST},
    trigger="triggered_by",
    before="tokens_before",
    after="tokens_after",
    cuts="spans",
)
SESSIONS = Columns(SessionInfo, {"first_seen_at": TIME, "consolidated_at": TIME})
USAGE = Columns(Usage, {})
CHANGES = Columns(
    models.Change, {"at": TIME, "action": choice(models.ChangeAction), "detail": OBJECT}
)
RECORD = RECORDS.selected("r")
MESSAGE = MESSAGES.selected("m")
LAST_CLEARED = (
    "(SELECT id FROM messages WHERE user_key = :user AND conversation_key = c.key "
    "AND position BETWEEN 0 AND c.cleared_through ORDER BY position DESC LIMIT 1)"
)
CONVERSATION = CONVERSATIONS.selected(
    "c", cleared_through=LAST_CLEARED, start="c.cleared_through + 1", messages="c.message_count"
)
CONVERSATION += ", c.token_scale, c.token_overhead"
PRUNING = PRUNINGS.selected("p")


def insertion(table: str, columns: Sequence[str], source: str = "VALUES ({})", **own: str) -> str:
    """Return the statement that inserts a row with a parameter of each column's name.

    Args:
        table: where.
        columns: of the row.
        source: what gives the values, which stand for ``{}``.
        own: of some columns the value in SQL, in the place of a parameter.
    """
    given = ", ".join(own.get(name, f":{name}") for name in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) {source.format(given)}"


def record(user: str, row: Row) -> models.Record:
    """Make the record of ``user`` from a row of ``RECORD``'s columns."""
    return models.Record(user=user, **RECORDS.fields(row))


def owned_record(row: Row) -> models.Record:
    """Make a record from a row of its user's name and ``RECORD``'s columns."""
    return record(row[0], row[1:])


def conversation(row: Row) -> models.ConversationInfo:
    """Make a conversation from a row of ``CONVERSATION``'s columns."""
    return models.ConversationInfo(
        **CONVERSATIONS.fields(row), calibration=models.Calibration(*row[-2:])
    )


# The lines of a notes base; version 0.2 wrote a number more in each.
NOTED_LINES = Codec(
    lambda lines: dump([(line.id, line.digest) for line in lines]),
    lambda text: tuple(NotedLine(*line[:2]) for line in load(text)),
)

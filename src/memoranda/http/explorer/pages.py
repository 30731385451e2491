"""A page: values that a template shows, and that its twin gives as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.responses import Response

from memoranda.errors import InvalidInput
from memoranda.http.explorer import charts
from memoranda.http.explorer.server_state import ChatSessions, CountCache
from memoranda.memory import Memory, scope_of, services_of
from memoranda.model.checks import limited, parse_moment
from memoranda.model.models import Scope
from memoranda.model.sessions import describe_counts
from memoranda.model.tokens import ApiToken
from memoranda.rendering.conversations import format_call
from memoranda.rendering.forms import format_json
from memoranda.rendering.memory_stats import format_cost
from memoranda.rendering.plain import escape_controls, one_line, pluralize
from memoranda.services import Services
from memoranda.settings.configure import format_value
from memoranda.text.patterns import compile_pattern

# Rows of a list.
SHOWN = 25
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class PageRequest:
    """What a signed-in person asks for.

    Attributes:
        visitor: their session: who they are, and what they may do.
        memory: theirs.
        fields: name and value of what the address and the form say, in order.
        counts: what was counted lately.
        chats: the chats that are open.
    """

    visitor: ApiToken
    memory: Memory
    fields: Sequence[tuple[str, str]]
    counts: CountCache
    chats: ChatSessions

    @cached_property
    def zone(self) -> tzinfo:
        """The user's time zone."""
        return self.memory.settings.zone

    @property
    def services(self) -> Services:
        """The services of the memory."""
        return services_of(self.memory)

    @property
    def scope(self) -> Scope:
        """Whose memory it is."""
        return scope_of(self.memory)

    def all(self, name: str) -> list[str]:
        """Return every value of a field that is not blank."""
        return [value for each, value in self.fields if each == name and value.strip()]

    def text(self, name: str) -> str | None:
        """Return the last value of a field as it was given; ``None`` where it is blank."""
        return next(reversed(self.all(name)), None)

    def required(self, name: str) -> str:
        """Return the last value of a field.

        Raises:
            InvalidInput: it is missing or blank.
        """
        found = self.text(name)
        if found is None:
            raise InvalidInput(f"{name} is missing")
        return found

    def echo(self, *names: str) -> dict[str, str]:
        """Return the values of fields as a form shows them again."""
        return {name: self.text(name) or "" for name in names}

    def number(self, name: str, default: int, *, least: int = 1) -> int:
        """Return a field as a whole number of at least ``least``.

        Raises:
            InvalidInput: it is none.
        """
        text = self.text(name) or str(default)
        return limited(int(text) if text.isdecimal() else text, name, least)

    def moment(self, name: str, *, end_of_day: bool = False) -> datetime | None:
        """Return a field as a moment; a day stands for its beginning, or for its end.

        Raises:
            InvalidInput: it is neither a date nor a date with a time.
        """
        text = self.text(name)
        if text is None:
            return None
        found = parse_moment(text, name, self.zone)
        is_day = len(text.strip()) == len("2026-01-31")
        return found + timedelta(days=1) if is_day and end_of_day else found


@dataclass(frozen=True, slots=True)
class Page:
    """What a page shows.

    Attributes:
        template: the name of its template.
        values: what the template shows and the twin gives.
        shown: what only the template needs.
        status: the status of the answer.
    """

    template: str
    values: Mapping[str, Any]
    shown: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


class Redirect(NamedTuple):
    """Sends the browser to another page, which says what was done."""

    path: str
    done: str = ""
    fields: Mapping[str, str | Sequence[str]] = NOTHING

    @property
    def address(self) -> str:
        """Where it is sent."""
        return address(self.path, **self.fields, done=self.done)


PageResult = Page | Redirect | Response
Handler = Callable[[PageRequest], PageResult]


def make_environment() -> Environment:
    """Return the templates, with what they write values by."""
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    made.filters |= {
        "address": address,
        "brief": one_line,
        "call": format_call,
        "cost": format_cost,
        "counts": describe_counts,
        "day": partial(_format_time, "%Y-%m-%d"),
        "json": format_json,
        "markdown": render_markdown,
        "moment": partial(_format_time, "%Y-%m-%d %H:%M"),
        "plural": pluralize,
        "value": format_value,
    }
    made.globals |= {"charts": charts}
    return made


def address(path: str, **fields: Any) -> str:
    """Return the address of a page with fields; those that are empty are left out."""
    given = {name: value for name, value in fields.items() if value not in (None, "", ())}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


_MARKDOWN = MarkdownIt("commonmark", {"html": False}).disable("image")
_COMMENT = compile_pattern(r"(?s)<!--.*?-->")


def render_markdown(text: str) -> Markup:
    """Return Markdown as HTML without comments, raw HTML and pictures of other machines."""
    return Markup(_MARKDOWN.render(escape_controls(_COMMENT.sub("", text))))  # noqa: S704 - it escapes what it is given


def _finalize(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        return escape_controls(value)
    return "" if value is None else value


def _format_time(form: str, value: datetime | None, zone: tzinfo) -> Markup | str:
    """Return a moment as HTML for people, which programs read to the second."""
    if value is None:
        return ""
    at = value.astimezone(zone)
    return Markup('<time datetime="{}">{}</time>').format(
        at.isoformat(timespec="seconds"), at.strftime(form)
    )


_TEMPLATES = make_environment()


def render_html(page: Page, block: str | None = None, **around: Any) -> str:
    """Return a page as HTML, or one block of it.

    Args:
        page: the page.
        block: the block that is wanted alone.
        around: what every page needs beside its own values.
    """
    template = _TEMPLATES.get_template(f"{page.template}.html")
    values = {**around, **page.values, **page.shown}
    if block is None or block not in template.blocks:
        return template.render(values)
    return "".join(template.blocks[block](template.new_context(values)))

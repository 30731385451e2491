"""What is wrong with settings, said so that it can be put right: where, what, why, and how."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from memoranda.settings.fields import MASK, fields, groups, suggestion, variable
from memoranda.settings.origins import ARGUMENT, DEFAULT, Origins
from memoranda.settings.places import Place

REMEDY = "memoranda config explain"
"""What helps while the settings are wrong; other commands need them right."""


def explained(error: ValidationError, model: type[BaseModel], origins: Origins) -> str:
    """Return all that ``error`` says about values of ``model``, on one line."""
    told = [_Problem(each, model, origins) for each in error.errors(include_url=False)]
    about = {each.about for each in told}
    text = f"settings: {'; '.join(each.where + each.text for each in told)}"
    if about == {None}:  # Unknown names come with a suggestion each.
        return text
    return f"{text}; see {REMEDY} {about.pop() if len(about) == 1 else ''}".rstrip()


class _Problem:
    """One thing that is wrong: where, what, and which setting or group it is about."""

    def __init__(self, found: Mapping[str, Any], model: type[BaseModel], origins: Origins) -> None:
        self.place: Place = tuple(str(part) for part in found["loc"] if part != "[key]")
        self.name = ".".join(self.place)
        self.about: str | None = None
        self.text = self._told(found, model)
        self.where = self._source(model, origins)

    def _told(self, found: Mapping[str, Any], model: type[BaseModel]) -> str:
        given, kind = found["input"], found["type"]
        message = str(found["msg"]).removeprefix("Value error, ").removeprefix("Input ")
        if kind == "extra_forbidden":
            return f"{self.name} is unknown; {suggestion(model, self.name)}"
        setting = next((each for each in fields(model) if self._is_in(each.place)), None)
        self.about = self.name if setting is None else setting.name
        if kind == "value_error":  # Ours, and they name the value.
            return f"{self.name}: {message}"
        if setting is None:
            return f"{self.name} is a group of settings, and {type(given).__name__} is none"
        shown = MASK if setting.is_secret else given
        return f"{self.name}={shown!r:.200} {message}"

    def _is_in(self, place: Place) -> bool:
        return self.place[: len(place)] == place

    def _source(self, model: type[BaseModel], origins: Origins) -> str:
        places = [self.place]
        if self.name in groups(model):  # Its settings contradict each other.
            inside = [each.place for each in fields(model) if each.place[:-1] == self.place]
            places = [each for each in inside if f"{each[-1]}=" in self.text] or places
        found: dict[str, list[str]] = {}
        for each in places:
            line = origins.line(each)
            found.setdefault(origins.of(each), []).extend([] if line is None else [str(line)])
        told = [
            f"{source}, line {' and '.join(lines)}" if lines else source
            for source, lines in found.items()
            if source not in {ARGUMENT, DEFAULT}
        ]
        return f"{' and '.join(told)}: " if told else ""


def not_json(model: type[BaseModel]) -> str:
    """Return which variable of the environment holds no JSON, though its setting needs it."""
    for place in [*((name,) for name in groups(model)), *_with_names(model)]:
        name = variable(place)
        raw = next((value for each, value in os.environ.items() if each.upper() == name), None)
        if raw is not None and not _is_object(raw):
            inside = next(each for each in fields(model) if each.place[: len(place)] == place)
            single = variable((*place, "name")) if inside.has_names else inside.variable
            return f"settings: {name} is no JSON object; write one, or set such as {single}"
    return f"settings: a variable of the environment is not understood; see {REMEDY}"


def _with_names(model: type[BaseModel]) -> list[Place]:
    return [each.place for each in fields(model) if each.has_names]


def _is_object(raw: str) -> bool:
    try:
        return isinstance(json.loads(raw), dict)
    except ValueError:
        return False

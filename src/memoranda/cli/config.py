"""Commands of the settings: config show, explain, set, unset, path, models pull."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text
from typer import Argument, Option

from memoranda.cli import options
from memoranda.cli.command import CommandGroup, Session, command, make_group, read_words
from memoranda.providers.embedding import model_files
from memoranda.rendering.layout import details, safe_text
from memoranda.settings import configure
from memoranda.settings.configure import Setting, SettingChange, format_value, split_name
from memoranda.settings.fields import groups
from memoranda.settings.settings import DEFAULT, config_path

Name = Annotated[
    str,
    Argument(
        help="Such as conversation.strategy, or tokens.limits.my-model.",
        autocompletion=options.complete(lambda: [each.name for each in configure.list_fields()]),
    ),
]
commands = typer.Typer()


class ConfigGroup(CommandGroup):
    """Show, explain and change the settings."""

    default = "show"


class ModelsGroup(CommandGroup):
    """Get the files of the local embedding model."""


config = make_group(commands, "config", ConfigGroup)
models = make_group(config, "models", ModelsGroup)


@command(config, "show")
def show(session: Session) -> None:
    """Print every setting, its value, and where that comes from.

    Examples:
        memoranda config show
        memoranda config show --json
    """
    found = configure.list_settings(session.settings, **session.given)
    file = config_path()
    state = "" if file.is_file() else "  (there is none yet)"
    line = Text("settings file  ", "dim").append_text(safe_text(f"{file}{state}", "not dim"))
    told = [{"name": each.name, "value": each.value, "source": each.source} for each in found]
    session.show(told, line, *show_settings(found))


@command(config, "explain")
def explain_(
    session: Session,
    name: Annotated[str | None, Argument(help="A setting or a group; else all.")] = None,
) -> None:
    """Say what a setting means, takes and is.

    Examples:
        memoranda config explain
        memoranda config explain conversation
        memoranda config explain conversation.strategy
    """
    if name is None or name in groups():
        fields = configure.list_fields(name)
        told = [{"name": each.name, "meaning": each.summary} for each in fields]
        session.show(told, *_group((each.name, safe_text(each.summary)) for each in fields))
        return
    explanation = configure.explain(name)
    session.show(explanation, show_explanation(explanation))
    if explanation.problem is not None:
        session.warn(explanation.problem)


@command(config, "set")
def set_(
    session: Session,
    name: Name,
    value: Annotated[str, Argument(help="The value; - reads it from standard input.")],
) -> None:
    """Write a setting to the settings file; a wrong value changes nothing.

    The file's other values and its comments stay.

    Examples:
        memoranda config set conversation.strategy hybrid
        memoranda config set tokens.limits.my-model 32000
        memoranda config set embedding.api_key - < key.txt
    """
    done = configure.put(name, read_words([value]))
    what = f"{done.name} = {format_value(done.value)}"
    _report(session, done, what, f"in {done.path}" if done.changed else f"was so in {done.path}")


@command(config, "unset")
def unset_(session: Session, name: Name) -> None:
    """Remove a setting, or a group of them, from the settings file.

    Examples:
        memoranda config unset conversation.strategy
        memoranda config unset embedding
    """
    done = configure.unset(name)
    where = f"{'removed from' if done.changed else 'is not in'} {done.path}"
    _report(session, done, done.name, where)


@command(config, "path")
def path(session: Session) -> None:
    """Print the path of the settings file, which need not exist.

    Examples:
        memoranda config path
    """
    found = config_path()
    session.show({"path": found, "exists": found.is_file()}, safe_text(str(found)))


@command(models, "pull")
def pull(
    session: Session,
    *,
    base_url: Annotated[
        str | None, Option("--from", metavar="URL", help="Another server that has them.")
    ] = None,
) -> None:
    """Download the local embedding model (90 MB), and check that it is genuine.

    Examples:
        memoranda config models pull
        memoranda config models pull --from URL
    """
    with session.progress("downloading") as progress:
        url = base_url or model_files.BASE_URL
        folder = model_files.pull(session.settings.embedding.folder, url, progress)
    session.show({"folder": folder}, safe_text(f"the model is in {folder}"))


def _report(session: Session, done: SettingChange, what: str, where: str) -> None:
    session.show(done, safe_text(what, "bold").append(f"  {where}", "not bold"))
    if done.name.startswith("llm."):
        session.usable_settings  # noqa: B018 - it warns of a model that cannot be used
    if done.overridden_by is not None:
        session.warn(f"{done.overridden_by} is set in the environment, and wins over the file")


def show_settings(found: Iterable[Setting]) -> Iterator[RenderableType]:
    """Yield settings with their values and where these come from, group by group."""
    file = config_path()
    return _group((each.name, _show_value(each, file)) for each in found)


def _show_value(setting: Setting, file: Path) -> Text:
    value = format_value(setting.value)
    if setting.source == DEFAULT:
        return safe_text(value, "dim")
    # The whole path of the file stands above the settings.
    source = file.name if setting.source == str(file) else setting.source
    return safe_text(value, "bold").append(f"  from {source}", "not bold dim")


def _group(rows: Iterable[tuple[str, Text]]) -> Iterator[RenderableType]:
    """Yield names with what is said of each, below the group that they are of."""
    found = [(*split_name(name), text) for name, text in rows]
    for group, about in groups().items():
        inside = [(f"  {name}", text) for of, name, text in found if of == group]
        if inside:
            heading = Text("\n").append(group, "bold cyan").append(f"  {about}", "dim")
            yield Group(heading, details(inside))


def show_explanation(found: Setting) -> RenderableType:
    """Return what a setting means, takes and is."""
    known = found.source
    rows = {
        "value": safe_text(format_value(found.value), "bold") if known else None,
        "from": found.source if known else None,
        "default": format_value(found.default),
        "takes": found.type,
        "environment": found.variable,
    }
    name, meaning = safe_text(found.name, "bold cyan"), safe_text(found.meaning)
    return Group(name, meaning, Text(), details(rows.items()))

"""Commands of the settings: config show, explain, set, unset, path, models pull."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memoranda.cli.command import (
    CommandGroup,
    Session,
    command,
    complete,
    make_group,
    read_argument,
)
from memoranda.providers.embedding import model_files
from memoranda.rendering.layout import details, safe_text
from memoranda.settings import configure
from memoranda.settings.configure import Setting, SettingChange, format_value, split_name
from memoranda.settings.fields import groups
from memoranda.settings.settings import DEFAULT, config_path

# Group, name in it, value or meaning, and source.
Row = tuple[str, str, Text, Text | None]
NAME: dict[str, Any] = {
    "metavar": "NAME",
    "autocompletion": complete(lambda: [each.name for each in configure.list_fields()]),
}

commands = typer.Typer()


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


class ConfigGroup(CommandGroup):
    """Show, explain and change the settings."""


class ModelsGroup(CommandGroup):
    """The files of the local embedding model."""


config = make_group(commands, "config", ConfigGroup, show)
models = make_group(config, "models", ModelsGroup)
command(config, "show")(show)


@command(config, "explain", name={**NAME, "argument": True})
def explain_(session: Session, *, name: str | None = None) -> None:
    """Say what a setting means, takes and is.

    Args:
        name: A setting, or a group of them; otherwise all.

    Examples:
        memoranda config explain
        memoranda config explain conversation
        memoranda config explain conversation.strategy
    """
    if name is None or name in groups():
        found = configure.list_fields(name)
        rows = [(*split_name(each.name), safe_text(each.summary), None) for each in found]
        told = [{"name": each.name, "meaning": each.summary} for each in found]
        session.show(told, *tabulate(rows))
        return
    explanation = configure.explain(name)
    session.show(explanation, show_explanation(explanation))
    if explanation.problem is not None:
        session.warn(explanation.problem)


@command(config, "set", name=NAME, value={"metavar": "VALUE"})
def set_(session: Session, *, name: str, value: str) -> None:
    """Write a setting to the settings file; a wrong value changes nothing.

    The file's other values and its comments stay.

    Args:
        name: Such as conversation.strategy, or tokens.limits.my-model.
        value: The value; - reads it from standard input.

    Examples:
        memoranda config set conversation.strategy hybrid
        memoranda config set tokens.limits.my-model 32000
        memoranda config set embedding.api_key - < key.txt
    """
    done = configure.put(name, read_argument(value))
    what = f"{done.name} = {format_value(done.value)}"
    _report(session, done, what, f"in {done.path}" if done.changed else f"was so in {done.path}")


@command(config, "unset", name=NAME)
def unset_(session: Session, *, name: str) -> None:
    """Remove a setting, or a group of them, from the settings file.

    Args:
        name: Such as conversation.strategy, or tokens.limits.my-model.

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


@command(models, "pull", base_url={"flags": ("--from",), "metavar": "URL"})
def pull(session: Session, *, base_url: str | None = None) -> None:
    """Download the local embedding model (90 MB), and check that it is genuine.

    Args:
        base_url: Another server that has them.

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
    if done.overridden_by is not None:
        session.warn(f"{done.overridden_by} is set in the environment, and wins over the file")


def show_settings(found: Iterable[Setting]) -> Iterator[RenderableType]:
    """Yield settings with their values and where these come from, group by group."""
    file = config_path()
    return tabulate(_setting_row(each, file) for each in found)


def _setting_row(setting: Setting, file: Path) -> Row:
    style = "dim" if setting.source == DEFAULT else "bold"
    # The whole path of the file stands above the table.
    source = file.name if setting.source == str(file) else setting.source
    value = safe_text(format_value(setting.value), style)
    return *split_name(setting.name), value, safe_text(source, "dim")


def tabulate(rows: Iterable[Row]) -> Iterator[RenderableType]:
    """Yield a table for each group, all with columns of the same width."""
    rows = list(rows)
    wide = max(len(name) for _, name, _, _ in rows)
    sources = [source.cell_len for *_, source in rows if source is not None]
    for group, about in groups().items():
        inside = [row for row in rows if row[0] == group]
        made = Table.grid(padding=(0, 2, 0, 0), expand=True)
        made.add_column(width=wide + 2, no_wrap=True)
        made.add_column(ratio=1, overflow="fold")
        if sources:
            made.add_column(width=max(sources), overflow="fold")
        for _, name, value, source in inside:
            made.add_row(f"  {name}", value, *([] if source is None else [source]))
        if inside:
            yield Group(Text("\n").append(group, "bold cyan").append(f"  {about}", "dim"), made)


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

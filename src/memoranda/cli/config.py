"""Commands of the settings: config show, explain, set, unset, path, models pull."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memoranda.cli.command import Session, command, group
from memoranda.cli.output import progress_bar, styled
from memoranda.cli.tables import grid
from memoranda.providers.embedding import files as model_files
from memoranda.settings.configure import (
    GENERAL,
    Explanation,
    Setting,
    SettingChange,
    explain,
    groups,
    list_settings,
    put,
    stray_variables,
    summaries,
    unset,
)
from memoranda.settings.settings import config_path

PANEL = "Look after"
DEFAULT = "default"
STDIN = "-"
NONE = "not set"


def _complete(incomplete: str) -> list[str]:
    return [name for name in summaries() if name.startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Such as conversation.strategy, or tokens.limits.my-model.",
        show_default=False,
        autocompletion=_complete,
    ),
]

commands = typer.Typer()
config = typer.Typer(help="Show, explain and change the settings.")
models = typer.Typer(help="The files of the local embedding model.", no_args_is_help=True)


def show(session: Session) -> None:
    """Print every setting, its value, and where that comes from."""
    found = [_given(setting, session) for setting in list_settings(session.settings)]
    session.show(found, _file_line(), *_grouped(found))
    for stray in stray_variables():
        session.note(stray)


def _given(setting: Setting, session: Session) -> Setting:
    options = {"location": ("--db", session.shared.db), "user": ("--user", session.shared.user)}
    option, value = options.get(setting.name, ("", None))
    return setting if value is None else Setting(name=setting.name, value=value, source=option)


group(config, bare=show)
group(models)
command(config, "show", examples=("memoranda config show", "memoranda config show --json"))(show)


@command(
    config,
    "explain",
    examples=(
        "memoranda config explain",
        "memoranda config explain conversation",
        "memoranda config explain conversation.strategy",
    ),
)
def explain_(
    session: Session,
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A setting, or a group of them; otherwise all.",
            show_default=False,
            autocompletion=_complete,
        ),
    ] = None,
) -> None:
    """Say what a setting means, takes and is, and how to set it."""
    if name is None or name in groups():
        told = summaries(name)
        rows = [{"name": each, "meaning": meaning} for each, meaning in told.items()]
        session.show(rows, *_summed_up(told))
        return
    explanation = explain(name)
    session.show(explanation, _explained(explanation))
    if explanation.problem is not None:
        session.warn(explanation.problem)


@command(
    config,
    "set",
    examples=(
        "memoranda config set conversation.strategy hybrid",
        "memoranda config set tokens.limits.my-model 32000",
        "memoranda config set embedding.api_key - < key.txt",
    ),
)
def set_(
    session: Session,
    *,
    name: Name,
    value: Annotated[
        str,
        typer.Argument(
            metavar="VALUE", help="The value; - reads it from standard input.", show_default=False
        ),
    ],
) -> None:
    """Write a setting to the settings file; a wrong value changes nothing.

    The file's other values and its comments stay.
    """
    done = put(name, sys.stdin.read().removesuffix("\n") if value == STDIN else value)
    what = f"{done.name} = {_written(done.value)}"
    _tell(session, done, what, f"in {done.path}" if done.changed else f"was so in {done.path}")


@command(
    config,
    "unset",
    examples=("memoranda config unset conversation.strategy", "memoranda config unset embedding"),
)
def unset_(session: Session, *, name: Name) -> None:
    """Remove a setting, or a group of them, from the settings file."""
    done = unset(name)
    _tell(
        session, done, done.name, f"{'removed from' if done.changed else 'is not in'} {done.path}"
    )


@command(config, "path", examples=("memoranda config path",))
def path(session: Session) -> None:
    """Print the path of the settings file, which need not exist."""
    found = config_path()
    session.show({"path": found, "exists": found.exists()}, styled(str(found)))


@command(
    models,
    "pull",
    examples=("memoranda config models pull", "memoranda config models pull --from URL"),
)
def pull(
    session: Session,
    *,
    base_url: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="Another server that has them.")
    ] = None,
) -> None:
    """Download the local embedding model (90 MB), and check that it is genuine."""
    with progress_bar("downloading") as progress:
        url = base_url or model_files.BASE_URL
        folder = model_files.pull(session.settings.embedding.folder, url, progress)
    session.show({"folder": folder}, styled(f"the model is in {folder}"))


config.add_typer(models, name="models")
commands.add_typer(config, name="config", rich_help_panel=PANEL)


def _tell(session: Session, done: SettingChange, what: str, where: str) -> None:
    session.show(done, styled(what, "bold").append(f"  {where}", "not bold"))
    if done.exposed:
        session.warn(f"others on this machine may read it: chmod 600 {done.path}")
    if done.overridden_by is not None:
        session.warn(f"{done.overridden_by} is set in the environment, and wins over the file")


def _file_line() -> Text:
    found = config_path()
    state = "" if found.is_file() else "  (there is none yet)"
    return Text("settings file  ", "dim").append_text(styled(f"{found}{state}", "not dim"))


def _grouped(found: Sequence[Setting]) -> Iterable[RenderableType]:
    rows = {name: [] for name in groups()}  # type: dict[str, list[tuple[str, Text, Text]]]
    for setting in found:
        group_name, _, name = setting.name.partition(".")
        if not name:
            group_name, name = GENERAL, setting.name
        is_default = setting.source == DEFAULT
        value = styled(_written(setting.value), "dim" if is_default else "bold")
        rows[group_name].append((name, value, styled(_short(setting.source), "dim")))
    every = [row for inside in rows.values() for row in inside]
    widths = [max(len(row[0]) for row in every), max(len(row[2]) for row in every)]
    for name, about in groups().items():
        made = _columns(widths[0])
        made.add_column(ratio=1, overflow="fold")
        made.add_column(width=widths[1], overflow="fold")
        for row in rows[name]:
            made.add_row(f"  {row[0]}", row[1], row[2])
        yield Group(_heading(name, about), made)


def _summed_up(told: dict[str, str]) -> Iterable[RenderableType]:
    width = max(len(name.partition(".")[2] or name) for name in told)
    for name, about in groups().items():
        inside = {
            each: meaning
            for each, meaning in told.items()
            if (each.partition(".")[0] if "." in each else GENERAL) == name
        }
        if inside:
            made = _columns(width)
            made.add_column(ratio=1, overflow="fold")
            for each, meaning in inside.items():
                made.add_row(f"  {each.partition('.')[2] or each}", styled(meaning))
            yield Group(_heading(name, about), made)


def _columns(width: int) -> Table:
    made = Table.grid(padding=(0, 2, 0, 0), expand=True)
    made.add_column(width=width + 2, no_wrap=True)
    return made


def _heading(name: str, about: str) -> Text:
    return Text("\n").append(name, "bold cyan").append(f"  {about}", "dim")


def _explained(told: Explanation) -> RenderableType:
    line = "" if told.line is None else f", line {told.line}"
    rows: list[tuple[str, RenderableType]] = []
    if told.source is not None:
        rows.append(("value", styled(_written(told.value), "bold")))
        rows.append(("from", f"{told.source}{line}"))
    rows.append(("default", _written(told.default)))
    rows.append(("takes", told.type))
    rows.append(("environment", told.variable))
    rows.append(("to set it", told.example))
    return Group(styled(told.name, "bold cyan"), styled(told.meaning), Text(), grid(rows))


def _written(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool | dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _short(source: str) -> str:
    # Its whole path stands above the table.
    return Path(source).name if source == str(config_path()) else source

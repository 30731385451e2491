"""Commands of the settings: config show, explain, set, unset, models pull."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from memoranda.cli.command import Command, CommandGroup, Session, command, make_group, read_words
from memoranda.errors import ConfigError
from memoranda.providers.embedding import model_files
from memoranda.rendering.layout import Column, details, safe_text, table
from memoranda.settings import configure
from memoranda.settings.configure import SettingChange, format_value
from memoranda.settings.fields import find
from memoranda.settings.sections import EmbeddingSettings
from memoranda.settings.settings import config_path

Name = Annotated[str, Argument(help="Such as conversation.strategy, or tokens.limits.my-model.")]
SETTINGS = (
    Column("setting", "name", "bold cyan"),
    # The whole path of the file stands above the settings.
    Column("from", lambda row, _: Path(row.source).name, "dim"),
    Column("value", lambda row, _: format_value(row.value)),
)
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
    told = [{"name": each.name, "value": each.value, "source": each.source} for each in found]
    missing = "" if file.is_file() else "  (not there; the defaults hold)"
    head = safe_text(f"settings file  {file}{missing}\n")
    session.show(told, head, table(found, SETTINGS, session.view))


@command(config, "explain")
def explain_(session: Session, name: Name) -> None:
    """Say what a setting means, what it takes, and what it is now.

    Examples:
        memoranda config explain conversation.strategy
    """
    found = configure.explain(name)
    rows = {
        "meaning": found.meaning,
        "value": safe_text(format_value(found.value), "bold") if found.source else None,
        "from": found.source,
        "default": format_value(found.default),
        "takes": found.type,
        "environment": found.variable,
    }
    session.show(found, safe_text(found.name, "bold cyan"), details(rows))
    if found.problem is not None:
        session.warn(found.problem)


# As other programs call the two.
config.command("list", cls=Command, hidden=True)(show)
config.command("get", cls=Command, hidden=True)(explain_)


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
    text = read_words([value])
    require_readable(name, text)
    done = configure.put(name, text)
    _report(session, done, f"{done.name} = {format_value(done.value)}", f"in {done.path}")


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


@command(models, "pull")
def pull(session: Session) -> None:
    """Download the local embedding model (91 MB), and check that it is genuine.

    Examples:
        memoranda config models pull
    """
    from memoranda.providers.embedding.minilm import MiniLM  # noqa: PLC0415 - it takes long to load

    MiniLM()  # Without what runs it, the download would help nobody.
    with session.progress("downloading") as progress:
        folder = model_files.pull(session.settings.embedding.folder, progress=progress)
    session.show({"folder": folder}, safe_text(f"the model is in {folder}"))


def require_readable(name: str, text: str) -> None:
    """Refuse a value that is text to the settings, and cannot be used by what reads it.

    Raises:
        ConfigError: its form is unknown.
        MissingExtra, ModelUnavailable: an embedding model is not installed.
    """
    # Who looks at the settings does without them.
    from memoranda.maintenance.schedule import parse_times  # noqa: PLC0415
    from memoranda.providers.llm.spec import parse_spec  # noqa: PLC0415
    from memoranda.providers.opening import open_embedder  # noqa: PLC0415

    try:
        if name == "llm.model":
            parse_spec(text)
        elif name.startswith("schedule.") and find(name)[0].type == "text":
            parse_times(text, UTC)
        elif name == "embedding.model" and not text.startswith("openai:"):
            open_embedder(EmbeddingSettings(model=text))
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error


def _report(session: Session, done: SettingChange, what: str, where: str) -> None:
    session.show(done, safe_text(what, "bold").append(f"  {where}", "not bold"))
    if done.name.startswith("llm."):
        session.usable_settings  # noqa: B018 - it warns of a model that cannot be used
    if done.overridden_by is not None:
        session.warn(f"{done.overridden_by} is set in the environment, and wins over the file")

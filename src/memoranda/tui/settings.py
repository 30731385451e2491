"""The settings: each with its value, where that comes from and what it does; to be changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.text import Text

from memoranda.model.passwords import HIDDEN
from memoranda.rendering.layout import Column, Display, safe_text
from memoranda.rendering.plain import one_line
from memoranda.settings import configure
from memoranda.settings.configure import Setting, format_value
from memoranda.settings.fields import MASK
from memoranda.settings.settings import DEFAULT, config_path
from memoranda.tui.layout import EditScreen, KeyAction
from memoranda.tui.lists import ListPanel, ListSource
from memoranda.tui.runtime import ChatRuntime

VALUE_WIDTH, SOURCE_WIDTH = 26, 16


def settings_source(runtime: ChatRuntime) -> ListSource[Setting]:
    """Return every setting; the one at the cursor can be changed."""

    async def edit(panel: ListPanel[Setting], setting: Setting) -> None:
        if not panel.app.is_busy() and await panel.edit(edit_setting(runtime, setting)):
            await panel.app.reopen_chat()

    return ListSource(
        title="Settings · Enter changes one",
        columns=(
            Column("setting", lambda row, _: safe_text(row.name, _style(row))),
            Column("value", _show_value),
            Column("from", lambda row, _: one_line(format_source(row.source), SOURCE_WIDTH), "dim"),
        ),
        find=lambda words: find_settings(runtime.list_settings(), words),
        describe=lambda row, _: Group(*describe_setting(configure.explain(row.name))),
        actions=(KeyAction("enter", "Change", edit),),
        question="part of a name or of what it does; Enter narrows the list",
        empty="no setting has that in its name or meaning",
    )


def find_settings(settings: Sequence[Setting], words: str) -> list[Setting]:
    """Return the settings about ``words``: of that name first, then those that speak of it.

    Among settings of one name that of the language model comes first: ``model`` is ``llm.model``.
    """
    wanted = words.casefold()

    def rank(each: Setting) -> tuple[int, bool]:
        group, _, name = each.name.rpartition(".")
        return 3 - (wanted == name) - (wanted in name) - (wanted in each.name), group != "llm"

    about = [each for each in settings if wanted in f"{each.name} {each.meaning}".casefold()]
    return sorted(about, key=rank) if wanted else about


def _style(row: Setting) -> str:
    return "" if row.source == DEFAULT else "bold"


def _show_value(row: Setting, _: Display) -> Text:
    return safe_text(one_line(format_value(row.value), VALUE_WIDTH), _style(row))


def edit_setting(runtime: ChatRuntime, setting: Setting) -> EditScreen:
    """Return the dialog in which a setting is changed, for this session or for good."""
    name, value = setting.name, setting.value
    explained = configure.explain(name)

    def change(text: str) -> str:
        runtime.change(name, text)
        return f"{name} holds for this session"

    def save(text: str) -> str:
        runtime.change(name, text)  # What cannot be used is refused before it is in the file.
        done = runtime.save(name, text)
        if done.overridden_by is not None:
            return f"saved, but {done.overridden_by} is set in the environment, and wins"
        return f"{name} is saved in {done.path}"

    def reset(_: str) -> str:
        runtime.reset(name)
        return f"{name} is as it is without a change"

    # What is not shown whole is typed anew.
    is_hidden = value is None or value == MASK or HIDDEN in str(value)
    actions = (
        KeyAction("enter", "This session", change),
        KeyAction("ctrl+s", "Save to the file", save),
        KeyAction("ctrl+r", "Default", reset),
    )
    return EditScreen(
        name,
        Group(*describe_setting(explained)),
        "" if is_hidden else format_value(value),
        actions,
        allowed=explained.allowed or (),
    )


def describe_setting(found: Setting) -> Iterator[Text]:
    """Yield what a setting does, takes, and is where nothing says otherwise."""
    yield safe_text(found.meaning)
    takes = safe_text(f"takes {found.type}", "dim")
    yield takes.append_text(safe_text(f"; default {one_line(format_value(found.default), 60)}"))
    if found.problem is not None:
        yield safe_text(one_line(found.problem), "bold red")


def format_source(source: str) -> str:
    """Return where a value comes from; of the settings file its name alone."""
    return config_path().name if source == str(config_path()) else source

"""The settings: each with its value, where that comes from and what it does; to be changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Button, Input, Static

from memoranda.errors import MemorandaError
from memoranda.model.passwords import HIDDEN
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.plain import one_line
from memoranda.settings import configure
from memoranda.settings.configure import Setting, format_value, split_name
from memoranda.settings.fields import MASK
from memoranda.settings.settings import DEFAULT, config_path
from memoranda.tui.layout import ChatApp, fill_static
from memoranda.tui.lists import ListScreen
from memoranda.tui.runtime import ChatRuntime
from memoranda.tui.threads import run_in_thread

VALUE_WIDTH, SOURCE_WIDTH = 26, 16
SESSION, FILE, RESET = "session", "file", "reset"


class SettingsScreen(ListScreen[Setting]):
    """Lists every setting by section; the one at the cursor can be changed."""

    heading = "Settings · Enter changes one"
    columns = ("section", "setting", "value", "from")
    question = "part of a name or of what it does; Enter narrows the list"
    empty = "no setting has that in its name or meaning"
    app: ChatApp

    def find(self, words: str) -> Sequence[Setting]:
        """Return the settings whose name or meaning has the words in it."""
        wanted = words.casefold()
        return [
            each
            for each in self.runtime.list_settings()
            if wanted in f"{each.name} {each.meaning}".casefold()
        ]

    def key_of(self, row: Setting) -> str:
        """Return the name."""
        return row.name

    def cells(self, row: Setting, view: Display) -> Iterator[Text]:
        """Yield section, name, value and source; the section where it begins."""
        del view
        section, name = split_name(row.name)
        names = list(self.rows)
        before = names[names.index(row.name) - 1] if row.name in names[1:] else None
        begins = before is None or split_name(before)[0] != section
        yield Text(section if begins else "", "bold cyan")
        style = "" if row.source == DEFAULT else "bold"
        yield safe_text(name, style)
        yield safe_text(one_line(format_value(row.value), VALUE_WIDTH), style)
        yield safe_text(one_line(format_source(row.source), SOURCE_WIDTH), "dim")

    def describe(self, row: Setting, view: Display) -> RenderableType:
        """Return what a setting does, takes and is without a change."""
        del view
        return Group(*describe_setting(configure.explain(row.name)))

    def on_data_table_row_selected(self) -> None:
        """Change a setting."""
        self.action_edit()

    @work(group="dialog")
    async def action_edit(self) -> None:
        """Change the setting at the cursor, for this session or in the settings file."""
        row = self.row
        if row is None or self.app.is_busy():
            return
        done = await self.app.push_screen_wait(EditSettingScreen(self.runtime, row))
        if done:
            self.notify(done, markup=False)
            self.reload()
            await self.app.reopen_chat()


class EditSettingScreen(ModalScreen[str]):
    """Asks for the new value of a setting, and says in place what is wrong with it.

    Args:
        runtime: the agent, which goes on with what is changed.
        setting: the setting as it is.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("ctrl+s", f"apply('{FILE}')", "Save to the file", priority=True),
        Binding("ctrl+r", f"apply('{RESET}')", "Back to the default", priority=True),
    ]

    def __init__(self, runtime: ChatRuntime, setting: Setting) -> None:
        """Ask nothing yet."""
        super().__init__()
        self._runtime, self._setting = runtime, setting

    def compose(self) -> ComposeResult:
        """Yield what the setting means, where its value is typed, and what can be done with it."""
        explained, value = configure.explain(self._setting.name), self._setting.value
        suggester = SuggestFromList(explained.allowed) if explained.allowed else None
        # What is not shown whole is typed anew.
        is_hidden = value is None or value == MASK or HIDDEN in str(value)
        shown = "" if is_hidden else format_value(value)
        with Vertical(classes="dialog"):
            yield Static(safe_text(self._setting.name, "bold"))
            yield Static(Group(*describe_setting(explained)))
            yield Input(shown, id="value", suggester=suggester)
            yield Static(id="problem", classes="problem")
            with Horizontal(classes="buttons"):
                yield Button("This session", id=SESSION, compact=True)
                yield Button("Save to file", id=FILE, compact=True)
                yield Button("Default", id=RESET, compact=True)
                yield Button("Cancel", id="cancel", compact=True)
            keys = "Enter: this session · Ctrl+S: file · Ctrl+R: default · Esc: cancel"
            yield Static(Text(keys, "dim"))

    def on_mount(self) -> None:
        """Let the person type."""
        self.query_one(Input).focus()

    def on_input_submitted(self) -> None:
        """Use the value for this session."""
        self.action_apply(SESSION)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Do what the button says."""
        if event.button.id == "cancel":
            self.action_cancel()
        else:
            self.action_apply(event.button.id or SESSION)

    def action_cancel(self) -> None:
        """Leave all as it is."""
        self.dismiss("")

    @work(exclusive=True)
    async def action_apply(self, where: str) -> None:
        """Use the value, or say what is wrong with it."""
        name, text = self._setting.name, self.query_one(Input).value
        change: Callable[[], str] = {
            SESSION: lambda: self._change(name, text),
            FILE: lambda: self._save(name, text),
            RESET: lambda: self._reset(name),
        }[where]
        try:
            done = await run_in_thread(change)
        except (MemorandaError, OSError) as error:
            fill_static(self, "#problem", safe_text(one_line(str(error))))
            return
        self.dismiss(done)

    def _change(self, name: str, text: str) -> str:
        self._runtime.change(name, text)
        return f"{name} holds for this session"

    def _save(self, name: str, text: str) -> str:
        done = self._runtime.save(name, text)
        if done.overridden_by is not None:
            return f"saved, but {done.overridden_by} is set in the environment, and wins"
        return f"{name} is saved in {done.path}"

    def _reset(self, name: str) -> str:
        self._runtime.reset(name)
        return f"{name} is as it is without a change"


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

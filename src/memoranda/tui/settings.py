"""The settings: each with its value, where that comes from and what it does; to be changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import RenderableType

from memoranda.model.passwords import HIDDEN
from memoranda.rendering.layout import Column, safe_text
from memoranda.rendering.plain import one_line
from memoranda.settings.configure import Setting, format_value
from memoranda.settings.fields import MASK
from memoranda.tui.layout import EditScreen
from memoranda.tui.lists import ListPanel, act_on_row

VALUE_WIDTH, SOURCE_WIDTH, DEFAULT_WIDTH = 26, 16, 60


class SettingsPanel(ListPanel[Setting]):
    """Every setting; the one at the cursor can be changed."""

    title = "Settings · Enter changes one"
    question = "part of a name or of what it does; Enter narrows the list"
    empty = "no setting has that in its name or meaning"
    columns = (
        Column("setting", "name"),
        Column("value", lambda row, _: one_line(format_value(row.value), VALUE_WIDTH)),
        # Of the settings file its name alone.
        Column("from", lambda row, _: one_line(Path(row.source).name, SOURCE_WIDTH), "dim"),
    )

    def find(self, words: str) -> Sequence[Setting]:
        """Return the settings about ``words``; those of that name first, of the model before."""
        wanted = words.casefold()
        found = self.runtime.list_settings()
        about = [each for each in found if wanted in f"{each.name} {each.meaning}".casefold()]
        about.sort(key=lambda each: (not each.name.endswith(wanted), each.name != f"llm.{wanted}"))
        return about

    def describe(self, row: Setting) -> RenderableType:
        """Return what a setting does, what it takes, and is where nothing says otherwise."""
        default = one_line(format_value(row.default), DEFAULT_WIDTH)
        return safe_text(f"{row.meaning}\ntakes {row.type}; default {default}")

    @act_on_row
    async def action_choose(self, row: Setting) -> None:
        """Let the person change a setting in the settings file."""
        # What is not shown whole is typed anew.
        is_hidden = row.value is None or row.value == MASK or HIDDEN in str(row.value)
        text = "" if is_hidden else format_value(row.value)
        asked = EditScreen(
            f"{row.name} · Enter saves",
            self.describe(row),
            text,
            lambda text: self.runtime.save(row.name, text),
        )
        if done := await self.app.push_screen_wait(asked):
            wins = f", but {done.overridden_by} is set in the environment, and wins"
            self.report(f"saved in {done.path}{wins if done.overridden_by else ''}")

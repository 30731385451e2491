"""Settings: every value in force, and where it comes from."""

from __future__ import annotations

from memoranda.http.explorer.pages import Page, PageRequest
from memoranda.settings.configure import Setting, list_settings, split_name
from memoranda.settings.fields import groups


def show(request: PageRequest) -> Page:
    """Show the settings by group; those whose name or meaning has the words."""
    words, changed = (request.text("q") or "").casefold(), request.text("changed")
    found: dict[str, list[Setting]] = {name: [] for name in groups()}
    for each in list_settings(request.memory.settings):
        if words in f"{each.name} {each.meaning}".casefold() and not (
            changed and each.source == "default"
        ):
            found[split_name(each.name)[0]].append(each)
    return Page(
        "settings",
        {"query": words, "settings": {name: each for name, each in found.items() if each}},
        {"groups": groups(), "changed": changed},
    )

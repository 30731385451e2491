"""MCP Apps: a page beside an answer, which a host that can shows with what a tool returned.

The page comes whole, with its style and script, and asks no other machine for anything. It shows
what is found or stored, and calls the same tools as a model does.
"""

from __future__ import annotations

from importlib.resources import files

from mcp.server.apps import Apps, ResourceCsp

SEARCH, RECORD = "ui://memoranda/search", "ui://memoranda/record"
TITLES = {SEARCH: "Search of the memory", RECORD: "A memory"}
# The metadata of a tool which names the page that shows what it returns.
PAGES = {
    name: {"ui": {"resourceUri": RECORD}}
    for name in ("store_memory", "correct_fact", "confirm_fact")
} | {"search_memories": {"ui": {"resourceUri": SEARCH}}}


def memory_pages() -> Apps:
    """Return the extension that offers the pages; other clients see tools as ever."""
    here, apps = files(__package__), Apps()
    parts = {
        "/*style*/": files("memoranda.rendering").joinpath("style.css"),
        "/*script*/": here.joinpath("app.js"),
    }
    page = here.joinpath("app.html").read_text("utf-8")
    for place, file in parts.items():
        page = page.replace(place, file.read_text("utf-8"))
    nothing = ResourceCsp(connect_domains=[], resource_domains=[])
    for uri, title in TITLES.items():
        apps.add_html_resource(uri, page, name=title, title=title, csp=nothing, prefers_border=True)
    return apps

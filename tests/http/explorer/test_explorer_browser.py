"""The explorer in a real browser, Debian's Chromium: ``make test-web`` installs what it needs."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from importlib.resources import files
from urllib.parse import urlencode

import anyio
import pytest
from explorer_pages import TALK, addresses, fill
from mcp_clients import over_http
from tables import each_row

CHROMIUM = shutil.which("chromium")
WHY = "there is no browser here: make test-web installs Debian's chromium, and what drives it"
sync_api = pytest.importorskip("playwright.sync_api", reason=WHY)
pytest.importorskip("axe_playwright_python", reason=WHY)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason=WHY)]

SERIOUS = {"serious", "critical"}
LOUD = {"error", "warning"}
EVIL = "\"'><script>window.evil = 1</script><img src=x onerror='window.evil = 1'></textarea>"


@pytest.fixture(scope="module")
def browser():
    """A browser without a window."""
    with sync_api.sync_playwright() as playwright:
        # The sandbox wants another user than root.
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def axe():
    """What looks for what people without eyes or mouse cannot use."""
    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


@pytest.fixture
def opened(browser, served):
    """Open a page of a person who signs in as people do; nothing may go wrong on it."""

    @contextmanager
    def open_page(user="ana", *, width=1280, dark=False):
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
        )
        page, wrong = context.new_page(), []
        page.on("console", lambda told: wrong.append(told.text) if told.type in LOUD else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda sent: wrong.append(sent.url)
                if not sent.url.startswith(served.url) else None)  # fmt: skip
        page.goto(served.url)
        page.get_by_label("Token").fill(served.token(user, "admin"))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{served.url}/")
        yield page
        assert wrong == [], wrong
        context.close()

    return open_page


def visit(page, served, path, fields):
    """Go to a page of the server."""
    page.goto(f"{served.url}{path}?{urlencode(fields)}")


@each_row(("width", "dark"), [(1280, False), (390, True)])
def test_every_page_can_be_used(width, dark, opened, served, axe):
    """No error, no request to another host, nothing wider than the screen, nothing out of reach."""
    with opened(width=width, dark=dark) as page:
        for path, fields in addresses(served.fact).values():
            visit(page, served, path, fields)
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, path
            page.evaluate(axe)
            found = page.evaluate("axe.run()")["violations"]
            serious = [(each["id"], each["nodes"][0]["html"]) for each in found
                       if each["impact"] in SERIOUS]  # fmt: skip
            assert serious == [], path


@each_row("width", [1280, 390])
def test_a_long_name_makes_no_page_wider(width, opened, served):
    """Names without a blank are broken: in headings, and in the first column of tables."""
    name = f"Ana{'verylong' * 25}"
    user = served.memory.as_user("ida")
    user.conversation(name).add("user", f"My name is Ida {name}.")
    user.entities()
    with opened("ida", width=width) as page:
        for path, fields in (
            ("/conversation", {"id": name}),
            ("/conversations", {}),
            ("/entities", {}),
            ("/entity", {"name": f"Ida {name}"}),
        ):
            visit(page, served, path, fields)
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, path
            if path == "/entities":
                table = page.locator(".scroll").first
                assert table.evaluate("(table) => table.scrollWidth - table.clientWidth") <= 0


def test_the_rows_of_a_narrow_page_are_apart(opened, served):
    """Where a row is shown as a block, a line and a gap stand between it and the next."""
    with opened(width=390) as page:
        for path in ("/upkeep", "/doctor", "/settings"):
            page.goto(f"{served.url}{path}")
            row = page.locator(".stacked tbody tr").first
            assert row.evaluate("(row) => getComputedStyle(row).borderBottomWidth") == "1px", path


def test_what_is_stored_is_never_run(opened, served):
    """Whatever was stored, in whatever field, is text."""
    user = served.memory.as_user(f"eve {EVIL}")
    fact = fill(user, EVIL)
    with opened(user.user) as page:
        for path, fields in addresses(fact, TALK + EVIL).values():
            visit(page, served, path, {"q": EVIL, "tag": EVIL, **fields})
            assert page.evaluate("window.evil") is None, path


def test_no_script_reads_the_session(opened):
    """The cookie is for the server alone."""
    with opened() as page:
        assert page.evaluate("document.cookie") == ""


def test_results_come_while_one_types(opened, served):
    """Nothing is sent by hand, and the address is that of what is shown."""
    served.clock.advance(timedelta(days=3))  # So that the timeline has more than a day.
    with opened() as page:
        page.goto(f"{served.url}/search")
        page.get_by_label("A question or words").press_sequentially("vegetarian")
        page.get_by_text("Marta is vegetarian").first.wait_for()
        page.wait_for_url("**/search?q=vegetarian*")
        page.goto(f"{served.url}/timeline")
        page.get_by_role("slider").press("Home")
        page.wait_for_url("**/timeline?day=0*")


def test_a_key_decides(opened, served):
    """In the queue, k keeps the first fact."""
    fact = served.memory.remember("Priya paints boats", origin="consolidation")
    with opened() as page:
        page.goto(f"{served.url}/review")
        page.get_by_text("Priya paints boats").first.wait_for()
        page.keyboard.press("k")
        page.get_by_text("Kept.").wait_for()
    assert served.memory.history(fact.id)[-1].reason == "confirmed"


def test_forms_are_sent(opened, served):
    """A fact is corrected, notes are edited after a look at the effects, and the session ends."""
    fact = served.memory.remember("Hugo repairs clocks")
    with opened() as page:
        page.goto(f"{served.url}/records/{fact.id}")
        page.get_by_text("Correct", exact=True).click()
        page.get_by_label("What it should say").fill("Hugo repairs watches")
        page.get_by_role("button", name="Save the correction").click()
        page.get_by_role("heading", name="Hugo repairs watches").wait_for()
        page.goto(f"{served.url}/notes?edit=yes")
        words = page.get_by_label("MEMORY.md")
        words.fill(words.input_value() + "\n- Lena plays chess\n")
        page.get_by_role("button", name="Show what this does").click()
        page.get_by_role("button", name="Save it").click()
        page.get_by_text("Saved.").wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_text("Signed out.").wait_for()
    held = [each.content for each in served.memory.records(kind="fact")]
    assert {"Hugo repairs watches", "Lena plays chess"} <= {*held}


HOST = """
<iframe sandbox="allow-scripts" width="700" height="400"></iframe>
<script>
  const frame = document.querySelector("iframe");
  const send = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
  window.told = [];
  window.addEventListener("message", async ({ data }) => {
    window.told.push(data.method);
    if (data.method === "ui/initialize") {
      const hostCapabilities = { serverTools: {} }, hostContext = { theme: "dark" };
      const result = { protocolVersion: "2026-01-26", hostCapabilities, hostContext };
      send({ id: data.id, result });
    } else if (data.method === "ui/notifications/initialized") {
      const params = await callTool("search_memories", { query: "violin" });
      send({ method: "ui/notifications/tool-input", params: { arguments: { query: "violin" } } });
      send({ method: "ui/notifications/tool-result", params });
    } else if (data.method === "tools/call") {
      send({ id: data.id, result: await callTool(data.params.name, data.params.arguments) });
    }
  });
</script>
"""


def test_a_host_of_mcp_shows_what_was_found(browser, served):
    """The page of a tool speaks MCP Apps with its host, whole: it sends no request of its own."""
    fact = served.memory.remember(f"Ida plays the violin {EVIL}")
    url, token = f"{served.url}/mcp", served.token()

    def ask(what):
        """Return what a client gets of the server; this thread has a loop of its own."""

        async def main():
            async with over_http(url, token) as client:
                return (await what(client)).model_dump(mode="json", by_alias=True)

        with ThreadPoolExecutor(1) as other:
            return other.submit(anyio.run, main).result()

    tools = {each["name"]: each for each in ask(lambda client: client.list_tools())["tools"]}
    place = tools["search_memories"]["_meta"]["ui"]["resourceUri"]
    (shown,) = ask(lambda client: client.read_resource(place))["contents"]
    assert shown["mimeType"] == "text/html;profile=mcp-app"
    context = browser.new_context()
    page, sent, wrong = context.new_page(), [], []
    page.on("request", lambda request: sent.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.expose_function(
        "callTool", lambda name, given: ask(lambda client: client.call_tool(name, given))
    )
    page.set_content(HOST)
    page.locator("iframe").evaluate("(frame, html) => { frame.srcdoc = html }", shown["text"])
    inside = page.frame_locator("iframe")
    inside.get_by_text("Ida plays the violin").wait_for()
    assert inside.locator("#query").input_value() == "violin"
    dark = "getComputedStyle(document.documentElement).colorScheme"
    assert page.frames[1].evaluate(dark) == "dark"
    inside.get_by_text("Correct …").first.click()
    inside.get_by_label("What it should say").first.fill("Ida plays the viola")
    inside.get_by_role("button", name="Save the correction").first.click()
    inside.locator("p.text", has_text="Ida plays the viola").wait_for()
    inside.locator("#query").fill("viola")
    inside.get_by_role("button", name="Search").click()
    inside.get_by_role("button", name="Forget").first.click()
    inside.locator("p.text", has_text="Ida plays the viola").wait_for(state="detached")
    assert served.memory.history(fact.id)[-1].reason == "forgotten"
    page.wait_for_function("told.includes('ui/notifications/size-changed')")
    assert [each for each in sent if not each.startswith("about:")] == wrong == []
    context.close()


def test_a_chat_answers_in_the_page(opened, served):
    """What is said and what is answered stand in the page, without another load."""
    with opened() as page:
        page.goto(f"{served.url}/chat")
        page.get_by_label("Message").fill("Remember that my kayak is yellow.")
        page.keyboard.press("Enter")
        page.locator(".line.assistant").last.wait_for()
        page.get_by_text("Remembered").first.wait_for()

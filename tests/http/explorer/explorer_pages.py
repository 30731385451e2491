"""What the tests of the explorer share: a memory with something of everything, and its pages."""

from html.parser import HTMLParser

from memoranda.http.explorer.app import PAGES

# Whatever of these is taken for HTML has an attribute that no page of ours has.
EVIL = "\"'><script data-evil>x</script><img src=x onerror=x data-evil> {{ 7777 * 7 }} </textarea>"
TALK = "talk: 1/2.json?a=b"


def fill(memory, mark=""):
    """Give a memory something for every page; ``mark`` stands in each text. Return a fact's id."""
    chat = memory.conversation(TALK + mark, system=f"Be brief. {mark}")
    for number in range(12):
        chat.add("user", f"Marta Keller likes green tea in Lisbon, for the {number}th time. {mark}")
        chat.add("assistant", f"Noted, {number}. {mark}")
    chat.prune(max_tokens=200)
    old = memory.remember(
        f"Marta lives in Porto {mark}",
        tags=["home", *([mark] if mark else [])],
        metadata={"source": mark or "letter", mark or "page": [1]},
        decay_rate=0.01,
    )
    fact = memory.correct(old.id, f"Marta lives in Lisbon {mark}")
    memory.remember(f"Marta is vegetarian {mark}", origin="consolidation")
    memory.remember(f"theme: dark {mark}", kind="item", namespace=("app",), key=f"theme{mark}")
    memory.set_context("mood", f"calm {mark}")
    memory.notes.append_history_rotated(f"A day in the garden. {mark}")
    memory.entities()
    return fact.id


def addresses(id, talk=TALK):
    """Return every page by the pattern of its path: path and fields."""
    fields = {
        "/search": {"q": "Where does Marta live?", "id": id},
        "/conversation": {"id": talk, "budget": "400"},
        "/entity": {"name": "Marta"},
    }
    return {page: (page.format(id=id), fields.get(page, {})) for page in PAGES}


class Elements(HTMLParser):
    """Every element of a page: its name and its attributes."""

    def __init__(self, text):
        """Read a page."""
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Keep an element."""
        self.found.append((tag, dict(attrs)))

    def named(self, tag):
        """Return the attributes of the elements of a name."""
        return [attributes for name, attributes in self.found if name == tag]


def csrf_of(client):
    """Return what the forms of a client carry."""
    fields = Elements(client.get("/search").text).named("input")
    return next(each["value"] for each in fields if each.get("name") == "csrf")


def send(client, path, **fields):
    """Send a form; return the page that comes of it."""
    answer = client.post(path, data={"csrf": csrf_of(client), **fields}, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    return answer

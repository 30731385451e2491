"""Every form of the explorer: what it does, and for whom."""

import json
from datetime import timedelta

import pytest
from explorer_pages import TALK, Elements, csrf_of, send
from http_server import serving
from learning_talks import settled
from tables import each_row

from memoranda.http.explorer.app import FORMS
from memoranda.http.explorer.review import LOOKED_AT


def test_a_record_is_corrected_confirmed_and_forgotten(post, served):
    """Each form does what its verb does, and shows the record."""
    fact = served.memory.remember("The key is under the mat", decay_rate=0.1)
    page = post(f"/records/{fact.id}/correct", content="The key is with Olga")
    now = page.url.path.rpartition("/")[2]
    assert served.memory.get(now).content == "The key is with Olga"
    post(f"/records/{now}/confirm")
    assert served.memory.get(now).decay_rate == 0
    assert "Forgotten" in post(f"/records/{now}/forget").text
    assert not served.memory.search("key", min_score=0, kind="fact", limit=1)[:0]
    assert served.memory.history(now)[-1].reason == "forgotten"


def test_what_goes_is_shown_before_it_is_erased(ana, post, served):
    """The page lists versions and copies; erasing says what went."""
    old = served.memory.remember("My locker at the swimming hall is number 212")
    fact = served.memory.correct(old.id, "My locker at the swimming hall is number 213")
    copy = served.memory.remember(f"So: {fact.content}", role="assistant", trust="agent")
    found = ana.get(f"/records/{fact.id}/erase.json", params={"copies": "yes"}).json()
    assert [each["id"] for each in found["versions"]] == [old.id]
    named = [*found["copies"]["copies"], *found["copies"]["independent"]]
    assert copy.id in [*named, *(each["id"] for each in found["copies"]["places"])]
    assert served.memory.get(fact.id)
    assert "Erased" in post(f"/records/{fact.id}/erase").text
    assert served.memory.get(fact.id) is served.memory.get(old.id) is None


def test_entities_become_one_after_a_second_look(post, served):
    """The first form shows both, the second makes them one; a third takes that back."""
    served.memory.remember_many(["Aoife Byrne called.", "Mrs Byrne-Walsh called."])
    served.memory.entities()
    names = {"name": "Aoife Byrne", "other": "Byrne-Walsh"}
    assert "can be taken back" in post("/entities/merge", **names).text
    assert served.memory.entity("Aoife Byrne").id != served.memory.entity("Byrne-Walsh").id
    page = Elements(post("/entities/merge", confirmed="yes", **names).text)
    assert served.memory.entity("Aoife Byrne").id == served.memory.entity("Byrne-Walsh").id
    boxes = [
        each for each in page.named("input") if each.get("name") == "other" and "value" in each
    ]
    assert [(each["value"], "checked" in each) for each in boxes] == [("Byrne-Walsh", True)]
    post("/entities/split", name="Aoife Byrne", other="Byrne-Walsh")
    assert [each.mention_count for each in map(served.memory.entity, names.values())] == [1, 1]


def test_a_message_is_pinned_and_unpinned(post, served):
    """A pinned message is part of every context."""
    chat = served.memory.stored_conversations.open_existing(TALK)
    first = chat.messages[0].id
    post("/conversation/pin", id=TALK, message=first, pinned="yes")
    assert chat.messages[0].pinned
    post("/conversation/pin", id=TALK, message=first, pinned="")
    assert not chat.messages[0].pinned


def test_notes_say_what_an_edit_does_before_it_is_done(ana, post, served):
    """Added, changed and removed bullets are remembered, corrected and forgotten, as was said."""
    page = Elements(ana.get("/notes?edit=yes").text)
    seen = next(each["value"] for each in page.named("input") if each.get("name") == "seen")
    text = ana.get("/notes.json").json()["text"]
    edited = text.replace("Marta is vegetarian", "Marta is vegan") + "- Olga fixes bicycles\n"
    shown = post("/notes", seen=seen, text=edited).text
    assert ["Marta is vegan" in shown, "Olga fixes bicycles" in shown] == [True, True]
    assert shown.count("effect corrected") == shown.count("effect remembered") == 1
    assert not served.memory.search("bicycles", kind="fact", min_score=0.3)
    post("/notes", seen=seen, text=edited, confirmed="yes")
    assert "Olga fixes bicycles" in [each.content for each in served.memory.records(kind="fact")]
    stale = ana.post("/notes", data={"seen": seen, "text": "", "csrf": csrf_of(ana)})
    assert stale.status_code == 409


@each_row
def test_review_decides(ana, post, served, decision, left):
    """One form a fact: kept it never fades, changed it is corrected, merged the other goes.

    keep   | Ingrid plays the cello badly, Ingrid plays the cello
    change | Ingrid sings
    merge  | Ingrid plays the cello
    forget | Ingrid plays the cello badly
    """
    memory = served.memory
    for each in memory.records(kind="fact"):
        memory.forget(each.id)
    served.clock.advance(timedelta(seconds=1))
    other = memory.remember("Ingrid plays the cello badly", origin="consolidation")
    served.clock.advance(timedelta(seconds=1))
    fact = memory.remember("Ingrid plays the cello", origin="consolidation")
    waiting = ana.get("/review.json").json()["waiting"]
    assert {fact.id, other.id} <= {each["record"]["id"] for each in waiting} | {
        each["other"]["id"] for each in waiting if each["other"]
    }
    named = {"other": other.id} if decision in {"keep", "merge"} else {}
    if decision == "change":
        memory.forget(other.id)
    post("/review", id=fact.id, decision=decision, content="Ingrid sings", **named)
    held = [each.content for each in memory.records(kind="fact")]
    assert sorted(held) == sorted(left.split(", "))
    if decision != "forget":
        assert ana.get("/review.json").json()["count"] == 0


def test_what_waits_is_kept_from_the_queue():
    """A fact that waits for approval says what it would replace, which keeping it ends."""
    with serving(consolidation={"approve": True, "automatic": False}) as served:
        memory = served.memory
        memory.remember("The user lives in Oslo.")
        memory.conversation("s").add("user", "I moved to Lima.")
        served.clock.advance(timedelta(days=1))
        memory.consolidate()
        with served.client(None, Origin=served.url) as ana:
            ana.post("/sign-in", data={"token": served.token()})
            (item,) = ana.get("/review.json").json()["waiting"]
            told = item["record"]["content"], item["replaces"], item["other"]["content"]
            assert told == ("The user lives in Lima.", True, "The user lives in Oslo.")
            assert "wait for your approval" in ana.get("/").text
            assert "waits for approval" in ana.get(f"/records/{item['record']['id']}").text
            send(ana, "/review", id=item["record"]["id"], decision="keep")
        held = [each for each in memory.records(kind="fact") if not each.superseded_by]
        assert [each.content for each in held] == ["The user lives in Lima."]


def test_the_queue_is_no_shorter_for_what_came_from_elsewhere(served, signed_in):
    """What was learned waits also where more facts than are looked at were stored since."""
    memory = served.memory.as_user("gail")
    learned = memory.remember("Gail plays chess", origin="consolidation")
    memory.remember_many([{"content": f"Shelf {n}"} for n in range(LOOKED_AT)])
    with signed_in("gail") as gail:
        waiting = gail.get("/review.json").json()["waiting"]
        assert [each["record"]["id"] for each in waiting] == [learned.id]


def test_many_records_are_exported_and_forgotten(ana, post, served):
    """What the filters mean is counted first; if it is another number meanwhile, nothing goes."""
    served.memory.remember_many([{"content": f"draft {n}", "tags": ["draft"]} for n in range(30)])
    lines = ana.get("/bulk/export", params={"tag": "draft"}).text.splitlines()
    assert len([json.loads(each) for each in lines]) == 30
    assert ana.get("/bulk.json", params={"tag": "draft"}).json()["count"] == 30
    wrong = {"csrf": csrf_of(ana), "tag": "draft", "expected": "29"}
    assert ana.post("/bulk", data=wrong).status_code == 409
    assert ana.post("/bulk", data={**wrong, "tag": "", "expected": "0"}).status_code == 422
    post("/bulk", tag="draft", expected="30")
    assert served.memory.count(tags=["draft"]) == 0


def test_upkeep_shows_its_plan_first(signed_in, served):
    """A plan changes nothing; run, the stage does it."""
    fact = served.memory.remember("It is drizzling", decay_rate=0.5, confidence=0.9)
    served.clock.advance(timedelta(days=20))
    with signed_in() as ana:
        assert fact.id in send(ana, "/upkeep", stage="decay").text
        assert served.memory.get(fact.id).valid_until is None
        send(ana, "/upkeep", stage="decay", confirmed="yes")
    assert served.memory.get(fact.id).valid_until is not None


def test_a_chat_answers_line_by_line(ana, post, served):
    """What is said is answered, from memory alone without a model, and stands in the page."""
    answer = post("/chat", text="Remember that my bicycle is green.")
    lines = [json.loads(each) for each in answer.text.splitlines()]
    assert "answer" in {each["kind"] for each in lines}
    assert "my bicycle is green" in ana.get("/chat").text
    question = post("/chat", text="/clear").text
    assert json.loads(question)["send"].startswith("/clear ")
    settled(served.memory)
    listed = json.loads(post("/chat", text="/help").text)
    assert listed["kind"] == "about"
    assert ["/search: " in listed["text"], "/attach" in listed["text"]] == [True, False]


def test_a_chat_reads_no_file_of_the_server(post, served, tmp_path):
    """A path that a browser sends is one of another machine."""
    (tmp_path / "secret.txt").write_text("the vault opens at noon")
    told = json.loads(post("/chat", text=f"/attach {tmp_path / 'secret.txt'}").text)
    assert told == {"kind": "error", "text": "there is no command /attach here"}
    post("/chat", text="What does the file say?")
    said = served.memory.stored_conversations.open_existing("chat").messages
    assert not [each for each in said if "vault" in each.content]
    settled(served.memory)


@each_row("form", [*FORMS])
def test_no_other_page_sends_a_form(form, ana, served):
    """A form without the token of the session, or from elsewhere, does nothing."""
    path = form.format(id=served.fact)
    before = served.memory.history(served.fact), served.memory.count()
    token = csrf_of(ana)
    for data, headers in (
        ({}, {}),
        ({"csrf": token[:-1] + "x"}, {}),
        ({"csrf": token}, {"Sec-Fetch-Site": "cross-site"}),
        ({"csrf": token}, {"Sec-Fetch-Site": "same-site"}),
        ({"csrf": token}, {"Origin": "https://evil.example"}),
        ({"csrf": token}, {"Origin": "https://app.example.org"}),
    ):
        answer = ana.post(path, data={"content": "evil", **data}, headers=headers)
        assert answer.status_code == 403, answer.text
    assert (served.memory.history(served.fact), served.memory.count()) == before


@each_row("form", [*FORMS])
def test_who_may_only_read_sends_no_form(form, served, signed_in):
    """A token of scope read opens pages without forms, and no form."""
    with signed_in(scope="read") as reader:
        path, token = form.format(id=served.fact), csrf_of(reader)
        answer = reader.post(path, data={"csrf": token, "content": "x"})
        assert (answer.status_code, "scope write" in answer.text) == (403, True)
        if not form.endswith(("merge", "split", "confirm", "forget", "correct", "pin")):
            forms = Elements(reader.get(path).text).named("form")
            assert {each["action"] for each in forms if each.get("method") == "post"} == {
                "/sign-out"
            }


@each_row("form", [*FORMS])
def test_a_form_reaches_no_other_user(form, served, signed_in):
    """Ids of Ana are not there for Ben."""
    with signed_in("ben") as ben:
        data = {"csrf": csrf_of(ben), "id": served.fact, "decision": "forget", "content": "x",
                "name": "Marta", "other": "Marta Keller", "message": "msg_1", "tag": "home",
                "expected": "1", "stage": "decay", "text": "hello", "seen": "x"}  # fmt: skip
        before = served.memory.history(served.fact), served.memory.count()
        ben.post(form.format(id=served.fact), data=data)
        assert (served.memory.history(served.fact), served.memory.count()) == before


@pytest.mark.parametrize(
    "there", ["//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil.example", ""]
)
def test_signing_in_leads_to_this_server(there, served):
    """Whatever the address says, the browser stays here."""
    with served.client(None, Origin=served.url) as client:
        data = {"token": served.token(), "next": there}
        assert client.post("/sign-in", data=data).headers["location"] == "/"


def test_a_session_is_a_cookie_that_no_script_reads(served):
    """The cookie is not the token, ends with it, and is of no use after signing out."""
    token = served.token()
    with served.client(None, Origin=served.url) as client:
        answer = client.post("/sign-in", data={"token": token})
        cookie = answer.headers["set-cookie"]
        assert ["HttpOnly" in cookie, "SameSite=strict" in cookie] == [True, True]
        assert token not in cookie
        assert client.post("/sign-in", data={"token": client.cookies["memoranda_session"]}).is_error
        client.post("/sign-out", data={"csrf": csrf_of(client)})
        client.cookies.set("memoranda_session", cookie.split("=")[1].split(";")[0])
        assert client.get("/search").status_code == 303


@each_row
def test_a_session_ends(served, signed_in, how):
    """With its token, when that is revoked or expires, and after twelve hours.

    revoked
    expired
    """
    with signed_in() as client:
        assert client.get("/search").status_code == 200
        if how == "revoked":
            newest = [each for each in served.tokens.all() if "." not in each.id][-1]
            served.tokens.revoke(newest.id)
        else:
            served.clock.advance(timedelta(hours=13))
        assert client.get("/search").status_code == 303


@each_row
def test_only_who_administers_sees_the_machine(served, signed_in, page, beside):
    """Pages that name its files and servers are for no other scope, nor are links to them.

    /settings | /search
    /doctor   | /
    """
    for scope in ("read", "write"):
        with signed_in(scope=scope) as client, served.client(served.token("ana", scope)) as program:
            assert client.get(page).status_code == 403
            assert program.get(f"{page}.json").status_code == 403
            assert f'href="{page}"' not in client.get(beside).text
    with signed_in(scope="admin") as client:
        assert client.get(page).status_code == 200
        assert f'href="{page}"' in client.get(beside).text

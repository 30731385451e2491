"""What providers give is kept exactly, given back exactly, and sent only where it belongs."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from provider_items import CHAT, RESPONSES, SAMPLES, conversations, item, said, text
from provider_rules import problems_anthropic, problems_openai

from memoranda import Conversation, Memory, Settings
from memoranda.conversation.formats.parse import count_message, is_reasoning
from memoranda.errors import InvalidInput
from memoranda.model.models import Image, Marker
from memoranda.tokens.catalog import Catalog

FORMS = st.sampled_from(sorted(SAMPLES))
GIVEN = FORMS.flatmap(lambda form: st.tuples(st.just(form), conversations(form)))
SEALED = ("signature", "encrypted_content", "launch code")
WINDOW = {"context_limit": 1_000_000, "max_messages": 10_000}


def as_json(value):
    """Return a value as text that tells ``1`` from ``True``."""
    return json.dumps(value, sort_keys=True)


@given(given=GIVEN, data=st.data())
def test_what_was_put_in_comes_out(given, data):
    """Whatever the list of items and however it was split, all and any tail come out the same."""
    form, items = given
    chat, rest = Conversation(**WINDOW), items
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        chat.extend(rest[:size])
        rest = rest[size:]
    assert as_json(chat.dump(form)) == as_json(items)
    last = data.draw(st.integers(1, len(items) + 1))
    assert as_json(chat.dump(form, last=last)) == as_json(items[-last:])


@given(given=GIVEN, other=FORMS, data=st.data())
def test_a_tail_of_another_form_is_the_end_of_the_whole(given, other, data):
    """Also where items are converted, as many as were asked for come, the same as in the whole."""
    chat = Conversation(**WINDOW)
    chat.extend(given[1])
    whole = chat.dump(other)
    last = data.draw(st.integers(1, len(whole) + 1))
    assert chat.dump(other, last=last) == whole[-last:]


def test_reasoning_whose_answer_was_removed_is_not_sent():
    """A thought leads to what it led to, not to what is said instead."""
    chat = Conversation(**WINDOW)
    chat.extend([{"role": "user", "content": "so?"}, *RESPONSES[5]])
    chat.pop()
    chat.extend([RESPONSES[5][1] | {"id": "msg_2"}])
    assert "reasoning" not in sent(chat, "responses")


@pytest.mark.parametrize("form", sorted(SAMPLES))
def test_what_was_put_in_outlives_the_process(form, tmp_path):
    """A reopened memory, its export in another and JSON Lines give the same items back."""
    items = json.loads(as_json([item for group in SAMPLES[form] for item in group]))
    settings = Settings(embedding={"background": False})
    with Memory(tmp_path / "a.db", settings=settings) as memory:
        memory.conversation("talk", **WINDOW).extend(items)
    with Memory(tmp_path / "a.db", settings=settings) as memory:
        chat = memory.conversation("talk")
        assert as_json(chat.dump(form)) == as_json(items)
        assert as_json(chat.dump(form, last=3)) == as_json(items[-3:])
        memory.export(tmp_path / "all.jsonl")
        memory.export(tmp_path / "talk.jsonl", conversation="talk")
    with Memory(tmp_path / "b.db", settings=settings) as memory:
        memory.import_(tmp_path / "all.jsonl")
        assert as_json(memory.conversation("talk").dump(form)) == as_json(items)
    with Memory(tmp_path / "c.db", settings=settings) as memory:
        memory.import_(tmp_path / "talk.jsonl")
        assert as_json(memory.conversation("talk").dump(form)) == as_json(items)


def sent(chat, form, budget=None):
    """Return what a context sends, as text."""
    return as_json(chat.context("so?", form=form, budget=budget).messages)


@given(given=GIVEN, other=FORMS)
@example(given=("openai", CHAT[9]), other="anthropic")
def test_only_its_own_provider_gets_what_it_sealed(given, other):
    """Signatures, encrypted content and reasoning are sent in the form that they came in alone."""
    form, items = given
    chat = Conversation(**WINDOW)
    chat.extend(items)
    text = sent(chat, other) + as_json(chat.dump(other))
    if other != form:
        assert not any(name in text for name in SEALED)


@given(given=GIVEN, budget=st.integers(60, 3_000))
def test_reasoning_stays_with_what_it_led_to(given, budget):
    """Law 2: at any budget a view has both or neither, and no call without its result."""
    form, items = given
    chat = Conversation(**WINDOW, keep_recent=1)
    chat.extend(items)
    entries = chat.context("so?", form=form, budget=100_000) and chat.view(budget).entries
    shown = [entry for entry in entries if not isinstance(entry, Marker)]
    places = {entry.position for entry in shown}
    everything = {message.position: message for message in chat.messages}
    for place, message in everything.items():
        after = everything.get(place + 1)
        if is_reasoning(message) and (after is None or after.role != "assistant"):
            assert place not in places
        elif is_reasoning(message):
            assert (place in places) == (place + 1 in places)
    assert sum(entry.tokens for entry in shown) <= budget or not shown


@given(given=GIVEN, form=FORMS)
def test_every_provider_takes_the_context(given, form):
    """Law 2: whatever was put in, in whatever form, no rule of another provider is broken."""
    chat = Conversation(**WINDOW)
    chat.extend(item for item in given[1] if "brand_new" not in as_json(item))
    context = chat.context("so?", form=form)
    if form == "openai" != given[0]:
        assert problems_openai(context.messages) == []
    if form == "anthropic" != given[0]:
        assert problems_anthropic(context.messages, context.system) == []


def test_what_is_sent_is_counted():
    """Reasoning that goes to the model is in the count of its message."""
    meter = Catalog().meter(None)
    thought = item("thinking", thinking="so " * 300, signature="s" * 4_000)
    bare, thoughtful = Conversation(**WINDOW).extend(
        [said("assistant", text("Yes.")), said("assistant", thought, text("Yes."))]
    )
    assert thoughtful.tokens >= bare.tokens + meter.counter.count("so " * 300) + 1_000
    assert thoughtful.tokens == count_message(meter, thoughtful)


def test_a_file_in_a_result_is_kept_and_no_text():
    """What a tool gave as a file is named, sent to its provider, and counted as a file."""
    pdf = item("document", source=item("base64", data="QUJD" * 4_000))
    result = item("tool_result", tool_use_id="a", content=[pdf])
    use = item("tool_use", id="a", name="f", input={})
    chat = Conversation(**WINDOW)
    _, message = chat.extend([said("assistant", use), said("user", result)])
    assert message.content == "[document]"
    assert 1_000 < message.tokens < 1_100
    assert chat.context("so?", form="anthropic").messages[2]["content"][0].items() >= result.items()
    assert "QUJD" not in sent(chat, "openai")


def test_reasoning_is_never_learned_and_goes_with_its_answer(tmp_path):
    """No record holds a thought or a seal, and erasing the answer erases what led to it."""
    settings = Settings(embedding={"background": False})
    thought, answer = RESPONSES[5]
    with Memory(tmp_path / "a.db", settings=settings) as memory:
        chat = memory.conversation("talk", **WINDOW)
        chat.extend([{"role": "user", "content": "Open it."}, thought])
        chat.extend([answer, {"role": "user", "content": "Thanks."}])
        chat.end()
        found = memory.records()
        assert not any("launch code" in record.content for record in found)
        said = next(item for item in chat.messages if "TEXT" in item.content)
        memory.forget(said.record_id, erase=True)
        assert [item["content"] for item in chat.dump("responses")] == ["Open it.", "Thanks."]
        assert memory.verify() == []
    data = (tmp_path / "a.db").read_bytes()
    assert b"launch code" not in data
    assert b"QUJDQUJD" not in data


def test_objects_of_the_sdks_come_out_as_what_they_send():
    """An object is kept as the JSON that it stands for, without what nobody set."""
    openai = pytest.importorskip("openai.types.responses")
    chat = Conversation()
    call = openai.ResponseFunctionToolCall(
        type="function_call", id="fc_1", call_id="a", name="f", arguments="{}"
    )
    chat.extend([call])
    assert chat.dump("responses") == [call.model_dump(exclude_unset=True)]


def test_only_what_fields_cannot_say_is_kept_beside_them():
    """A plain message has no raw; an item that is not known is one, as it was given."""
    item = {"type": "web_search_call", "id": "w", "status": "completed"}
    plain, strange = Conversation().extend([{"role": "user", "content": "a"}, item])
    assert (plain.raw, strange.raw, strange.content) == (None, item, "")
    assert (strange.role, strange.part) == ("assistant", 0)


@given(items=conversations("responses"))
def test_each_item_of_openai_is_taken_back_alone(items):
    """Where each item is a message, popping gives up exactly the last one."""
    chat = Conversation(**WINDOW)
    chat.extend(items)
    while items:
        assert as_json(chat.dump("responses", last=1)) == as_json(items[-1:])
        chat.pop()
        items = items[:-1]
        assert as_json(chat.dump("responses")) == as_json(items)


def test_who_speaks_is_kept_and_shown(tmp_path):
    """A name outlives the process; chat has a field for it, the other forms show it in the text."""
    settings = Settings(embedding={"background": False})
    given = {"role": "user", "content": "Noon.", "name": "Ana"}
    look = Image("https://x.org/a.png")
    with Memory(tmp_path / "a.db", settings=settings) as memory:
        chat = memory.conversation("talk", **WINDOW)
        chat.extend([given])
        chat.add("user", "Look.", name="Bob Smith", images=[look])
    with Memory(tmp_path / "a.db", settings=settings) as memory:
        chat = memory.conversation("talk")
        assert [each.name for each in chat.messages] == ["Ana", "Bob Smith"]
        assert chat.messages[1].images == (look,)
        assert chat.dump("openai")[0] == given
        assert [each["name"] for each in chat.dump("openai")] == ["Ana", "Bob Smith"]
        context = chat.context(form="openai").messages
        assert [each["name"] for each in context] == ["Ana", "Bob_Smith"]
        assert problems_openai(context) == []
        for form in ("responses", "anthropic"):
            text = sent(chat, form)
            assert "Ana: Noon." in text
            assert "Bob Smith: Look." in text
    assert Conversation().add("user", "x").name is None
    with pytest.raises(InvalidInput, match="name"):
        Conversation().add("user", "x", name=" ")

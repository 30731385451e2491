"""Laws of the provider forms over any view: valid, complete, in order, stable, read back."""

import json
import re

from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from message_samples import marker, message
from provider_rules import problems_anthropic, problems_openai, problems_responses

from memoranda.conversation.formats import anthropic
from memoranda.conversation.formats.anthropic import UNPARSED
from memoranda.conversation.formats.parse import FORMS, parse_messages
from memoranda.conversation.formats.render import render
from memoranda.model.chat import FAILED, OPENING
from memoranda.model.models import Image, Marker, ToolCall, ToolResult

ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
BODIES = st.sampled_from(["", " ", "\n\t", "x", "x \n", "\u2028", "a\nb"]) | ANY
IDS = st.sampled_from(["", "a", "b", "a_2", "a_3", "functions.w:0", "i" * 41, "i" * 65]) | ANY
NAMES = st.sampled_from(["f", "look.up", "", "n" * 65]) | ANY
ARGUMENTS = st.sampled_from(
    [
        "",
        " ",
        "{}",
        '{"a": 1}',
        '{"a": [1.5, null, "é"]}',
        "[1]",
        '"x"',
        "{",
        '{"a": NaN}',
        r'{"a": "\ud800"}',
        '{"unparsed_arguments": 5}',
    ]
)
PDF, NAMED = "data:application/pdf;base64,JVBERi0x", ("[image]", "[PDF]")
IMAGES = st.lists(
    st.builds(
        Image,
        st.sampled_from(["https://x.org/a.png", "data:image/webp;base64,AAAA", PDF]),
        st.just("auto"),
    ),
    max_size=2,
).map(tuple)


@st.composite
def exchanges(draw):
    """Make calls and, in any order, their results."""
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    calls = tuple(ToolCall(known, draw(NAMES), draw(ARGUMENTS)) for known in ids)
    call = message("assistant", draw(BODIES), tool_calls=calls, images=draw(IMAGES))
    results = [
        message(
            "tool",
            draw(BODIES),
            tool_result=ToolResult(known, draw(st.booleans())),
            images=draw(IMAGES),
        )
        for known in draw(st.permutations(ids))
    ]
    return [call, *results]


UNITS = st.lists(
    st.builds(
        lambda role, text, images: [message(role, text, images=images)],
        st.sampled_from(["user", "assistant", "system"]),
        BODIES,
        IMAGES,
    )
    | st.builds(lambda text: [marker(text)], BODIES)
    | exchanges(),
    max_size=8,
)
AROUND = st.fixed_dictionaries(
    {
        "system": st.none() | BODIES,
        "recalled": st.none() | st.just("R"),
        "prompt": st.none() | st.just("so?"),
    }
)


def flat(units):
    """Return the entries of units."""
    return [entry for unit in units for entry in unit]


class Record:
    """What is said, as far as no form may change it: who says what, in which order.

    Texts and pictures that one role gives in a row count as one, since some forms make one
    message of them.
    """

    def __init__(self):
        """Start with nothing said."""
        self.items = []
        self._ids = []

    def say(self, role, text, images=()):
        """Add what somebody says."""
        if not text and not images:
            return
        if not self.items or self.items[-1][0] != role:
            self.items.append((role, [], []))
        self.items[-1][1].extend([text] if text else [])
        self.items[-1][2].extend(image.url for image in images)

    def call(self, calls):
        """Add calls; those that follow each other are of one answer."""
        if self.items[-1:] and self.items[-1][0] == "calls":
            self._ids += [call.id for call in calls]
            self.items[-1][1].extend((fit(call.name), value(call.arguments)) for call in calls)
            return
        self._ids = [call.id for call in calls]
        self.items.append(("calls", [(fit(call.name), value(call.arguments)) for call in calls]))

    def answer(self, result, text, images, *, is_error):
        """Add the result of one of the calls before."""
        asked = self._ids.index(result.call_id)
        urls = [image.url for image in images]
        self.items.append(("result", asked, text, urls, is_error))

    def lines(self):
        """Return it in a form that can be compared."""
        return [
            (item[0], "\n".join(item[1]), item[2]) if len(item) == 3 else item
            for item in self.items
        ]


def fit(name):
    """Return a function's name as it is sent."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"


def value(arguments):
    """Return what arguments mean: a JSON object, or else the text, which Anthropic gets in one."""
    if not arguments.strip():
        return {}
    try:
        found = json.loads(arguments)
    except ValueError:
        return arguments
    if isinstance(found, dict) and UNPARSED in found:
        inside = found[UNPARSED]
        return value(inside) if isinstance(inside, str) else inside
    return found if isinstance(found, dict) and "NaN" not in arguments else arguments


def read_back(messages):
    """Return what is said in messages of a provider's form."""
    record = Record()
    for turn in parse_messages(messages):
        if turn.tool_result is not None:
            result = turn.tool_result
            record.answer(result, turn.content, turn.images, is_error=result.is_error)
            continue
        record.say(turn.role, turn.content, turn.images)
        if turn.tool_calls:
            record.call(turn.tool_calls)
    return record.lines()


def expected(entries, form, *, system, recalled, prompt):
    """Return what is to be said of a view in this form, by the documented rules."""
    record, anthropic = Record(), form == "anthropic"
    body = list(entries)
    if recalled:
        asked = not prompt and body and getattr(body[-1], "role", "") == "user"
        body.insert(len(body) - bool(asked), marker(recalled))
    if form == "openai":
        record.say("system", system)
    for entry in body:
        told(record, entry, form)
    record.say("user", prompt or "")
    return ended(record, anthropic=anthropic)


def told(record, entry, form):
    """Add an entry; a picture for which the form has no room is named."""
    anthropic = form == "anthropic"
    if isinstance(entry, Marker):
        blank = anthropic and not entry.text.strip()
        record.say("user" if anthropic else "system", "" if blank else entry.text)
        return
    failed = anthropic and entry.tool_result is not None and entry.tool_result.is_error
    error = entry.tool_result is not None and entry.tool_result.is_error
    roles = ("user",) if form == "openai" else ("user", "tool")
    images = entry.images if entry.role in roles and not error else ()
    named = [NAMED[image.url == PDF] for image in entry.images if not images]
    text = "\n".join(filter(None, [entry.content, *named]))
    text = "" if anthropic and not text.strip() else text
    if entry.tool_result is not None:
        text = text or FAILED if failed else text
        record.answer(entry.tool_result, text, images, is_error=failed)
        return
    if entry.role != "system" or not anthropic:
        record.say(entry.role, text, images)
    if entry.tool_calls:
        record.call(entry.tool_calls)


def ended(record, *, anthropic):
    """Return the lines, which for Anthropic begin with the user and end without white space."""
    lines = record.lines()
    if anthropic and lines and lines[0][0] != "user":
        lines.insert(0, ("user", OPENING, []))
    if anthropic and lines and lines[-1][0] == "assistant":
        lines[-1] = ("assistant", lines[-1][1].rstrip(), [])
    return lines


def text_block(text):
    """Return a block of text."""
    return {"type": "text", "text": text}


def without_breakpoints(messages):
    """Return messages without their marks for a cache."""
    return [
        each
        | {
            "content": [
                {key: block[key] for key in block if key != "cache_control"}
                for block in each["content"]
            ]
        }
        for each in messages
    ]


def breakpoints(messages):
    """Return of each block with a mark for a cache all that leads to it."""
    blocks = [(each["role"], block) for each in messages for block in each["content"]]
    marked = [place for place, (_, block) in enumerate(blocks) if "cache_control" in block]
    return [blocks[: place + 1] for place in marked]


def words(block):
    """Return a block without white space at the end, which no request may have at its end."""
    return block | {"text": block["text"].rstrip()} if "text" in block else block


def problems(rendered, form):
    """Return what the provider would say against it."""
    match form:
        case "openai":
            return problems_openai(rendered.messages)
        case "responses":
            return problems_responses(rendered.messages)
    if not rendered.messages:
        return []  # Nothing is said at all: there is no request to judge.
    return problems_anthropic(rendered.messages, rendered.system)


@settings(max_examples=examples(60))
@given(units=UNITS, form=st.sampled_from(sorted(FORMS)), around=AROUND)
def test_every_view_is_taken_by_every_provider(units, form, around):
    """Law 2: whatever is in a view, its form breaks no rule of the provider."""
    assert problems(render(flat(units), form=form, **around), form) == []


@settings(max_examples=examples(60))
@given(units=UNITS, form=st.sampled_from(sorted(FORMS)), around=AROUND)
@example(
    units=[[message("assistant", "x \n")], [message("assistant", " ")]],
    form="anthropic",
    around={"system": None, "recalled": None, "prompt": None},
)
def test_what_is_written_reads_back_as_it_was_said(units, form, around):
    """Laws 3 and 14: nothing is lost, changed or out of order but what the form cannot hold."""
    entries = flat(units)
    rendered = render(entries, form=form, **around)
    assert read_back(rendered.messages) == expected(entries, form, **around)


@given(units=UNITS, around=AROUND)
def test_system_texts_are_all_there_and_in_order(units, around):
    """What is no message in a form is in its system text."""
    entries = flat(units)
    head = around["system"] or ""
    assert render(entries, form="openai", **around).system is None
    assert render(entries, form="responses", **around).system == (head or None)
    later = [
        "\n".join(filter(None, [item.content, *(NAMED[image.url == PDF] for image in item.images)]))
        for item in entries
        if getattr(item, "role", "") == "system"
    ]
    texts = [text for text in (head, *later) if text.strip()]
    found = render(entries, form="anthropic", **around).system
    assert found == ([anthropic.CACHED | text_block("\n\n".join(texts))] if texts else None)


@given(units=UNITS, form=st.sampled_from(sorted(FORMS)), more=UNITS)
def test_what_is_added_at_the_end_changes_nothing_before_it(units, form, more):
    """A provider's prompt cache stays warm: an earlier context is the start of a later one."""
    around = {"form": form, "system": "S", "recalled": None, "prompt": None}
    before = render(flat(units), **around).messages
    after = render(flat([*units, *more]), **around).messages
    if form == "anthropic":
        # The last message may still grow by what comes under the same role; breakpoints move on.
        before, after = without_breakpoints(before[:-1]), without_breakpoints(after)
    assert after[: len(before)] == before


@given(units=UNITS, around=AROUND)
def test_breakpoints_are_behind_what_the_next_request_repeats(units, around):
    """Of Anthropic's cache: at the end of system prompt and history, before recall and prompt."""
    entries = flat(units)
    found = breakpoints(render(entries, form="anthropic", **around).messages)
    changing = around["recalled"] and not around["prompt"]
    if changing and entries and getattr(entries[-1], "role", "") == "user":
        entries = entries[:-1]
    alone = render(entries, form="anthropic", **around | dict.fromkeys(around)).messages
    assert found[-1:] == found
    assert [[words(block) for _, block in lead] for lead in found] == [
        [words(block) for _, block in lead] for lead in breakpoints(alone)
    ]

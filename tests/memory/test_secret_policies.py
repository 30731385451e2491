"""The settings ``secrets.*``: what each door does about secrets on the way in and out."""

import json

import pytest

from memoranda import Settings, errors
from memoranda.errors import LLMError
from memoranda.model.reports import RequestOutcome
from memoranda.testing.models import ScriptedLLM

SAID = "The wifi password is sunflower and the desk is blue."
MASKED = "The wifi password is […] and the desk is blue."


@pytest.fixture
def guarded(opened, tmp_path):
    """Open a memory of one file with some ``secrets`` settings."""

    def make(**secrets):
        settings = Settings(embedding={"model": "none"}, secrets=secrets)
        return opened(tmp_path / "m.db", settings=settings, embedder=None)

    return make


def test_a_program_may_store_a_secret_unless_the_settings_say_otherwise(guarded):
    """Kept by default; masked or refused in content, metadata, tags, corrections and contexts."""
    kept = guarded()
    record = kept.remember(SAID, metadata={"pin": "4711"})
    assert kept.get(record.id).content == SAID
    masking = guarded(remember="mask")
    assert masking.remember(f"{SAID} Mask.").content == f"{MASKED} Mask."
    assert masking.remember("A note", metadata={"pin": "4711"}).metadata == {"pin": "[…]"}
    assert masking.set_context("wifi", SAID).content == MASKED
    masked = masking.update(record.id, metadata={"pin": "4711"}, tags={"password: sunflower"})
    assert (masked.metadata, masked.tags) == ({"pin": "[…]"}, ("password: […]",))
    assert masking.update(record.id, tags=None).metadata == {"pin": "[…]"}
    refusing = guarded(remember="refuse")
    for refused in (
        lambda: refusing.remember(SAID),
        lambda: refusing.remember_many(["A plain one", {"content": SAID}]),
        lambda: refusing.remember("Another", metadata={"a": [{"pin": "4711"}]}),
        lambda: refusing.remember("Another", tags={"password: sunflower"}),
        lambda: refusing.update(record.id, metadata={"pin": "4711"}),
        lambda: refusing.update(record.id, tags=iter(["password: sunflower"])),
        lambda: refusing.correct(record.id, f"{SAID} More."),
        lambda: refusing.set_context("wifi", SAID),
    ):
        with pytest.raises(errors.InvalidInput, match=r"seems to hold a .*leave it out"):
            refused()
    assert refusing.count() == kept.count() == 4


def test_an_import_keeps_masks_or_leaves_out_a_secret(guarded, tmp_path):
    """As the setting says of what a program stores; twice is as once, and the report says it."""
    file = tmp_path / "facts.jsonl"
    lines = [{"content": SAID}, {"content": "A note", "tags": ["password: sunflower"]}]
    file.write_text("".join(f"{json.dumps(each)}\n" for each in [*lines, {"content": "Plain"}]))
    stored = {}
    for policy in ("keep", "mask", "refuse"):
        memory = guarded(remember=policy).as_user(policy)
        reports = [memory.import_(file) for _ in range(2)]
        stored[policy] = [(each.content, each.tags) for each in memory.records()]
        assert [each.records for each in reports] == [len(stored[policy]), 0]
        assert bool(reports[0].left_out) == (policy == "refuse")
    assert reports[0].left_out == ("records that hold secrets: 2",)
    assert stored == {
        "keep": [(SAID, ()), ("A note", ("password: sunflower",)), ("Plain", ())],
        "mask": [(MASKED, ()), ("A note", ("password: […]",)), ("Plain", ())],
        "refuse": [("Plain", ())],
    }


def test_tools_refuse_mask_or_keep_a_secret(guarded):
    """As ``secrets.tools`` says; refused by default."""
    assert "leave it out" in guarded().tools().find("store_memory")(content=SAID)
    masking, keeping = guarded(tools="mask"), guarded(tools="keep", recall="keep", search="keep")
    assert MASKED in masking.tools().find("store_memory")(content=SAID)
    assert SAID in keeping.tools().find("store_memory")(content=SAID)
    assert {record.content for record in keeping.records()} == {MASKED, SAID}


def test_nothing_shows_a_secret_unless_the_settings_say_so(guarded):
    """Search, recall, contexts and tools; what is asked for by its id, and items, are whole."""
    masking = guarded()
    record = masking.remember(SAID, tags=["password: sunflower"])
    assert masking.search("wifi desk")[0].record.tags == ("password: […]",)
    masking.remember(SAID, kind="item", key="wifi")
    keeping = guarded(search="keep", recall="keep")

    def shown(memory):
        context = memory.conversation("c").context("Which colour is the desk, and the wifi?")
        return [
            memory.search("wifi desk")[0].record.content,
            memory.recall("wifi desk").text,
            memory.recall("wifi desk").hits[0].record.content,
            str(context.messages),
            memory.tools().find("search_memories")(query="wifi desk"),
        ]

    assert all(MASKED in text and "sunflower" not in text for text in shown(masking))
    assert all(SAID in text for text in shown(keeping))
    assert masking.get(record.id).content == SAID
    assert masking.search("wifi", kind="item")[0].record.content == SAID


def test_no_stage_shows_a_model_a_secret(opened, tmp_path):
    """What consolidation, reflection and enrichment ask holds none, unless the settings say so."""
    for policy, secrets in (("mask", 0), ("keep", 1)):
        model = ScriptedLLM([LLMError("no answer")] * 99)
        settings = Settings(embedding={"model": "none"}, secrets={"recall": policy})
        memory = opened(tmp_path / f"{policy}.db", settings=settings, embedder=None, llm=model)
        chat = memory.conversation("c")
        for text in (SAID, "My card is 4111 1111 1111 1111.", "sk-proj-abcDEF0123456789abcDEF0123"):
            chat.add("user", text)
        memory.remember("I live in Porto, and the PIN of the door is 4711.")
        for stage in (memory.consolidate, memory.enrich, memory.reflect):
            stage()
        asked = "\n".join(each.prompt for each in model.asked)
        assert "desk is blue" in asked
        assert "Porto" in asked
        for secret in ("sunflower", "4111", "abcDEF", "4711"):
            assert (secret in asked) is bool(secrets), (policy, secret)


def test_a_talk_keeps_what_was_said_and_learns_no_secret(guarded):
    """The transcript is canonical; asking to remember a secret is refused, whatever is set."""
    memory = guarded(remember="keep", tools="keep")
    chat, receipts = memory.conversation("c"), []
    chat.on("request", lambda event: receipts.append(event.subject))
    chat.add("user", "Remember that the wifi password is sunflower.")
    (receipt,) = receipts
    assert receipt.outcome is RequestOutcome.REFUSED
    assert "sunflower" not in receipt.line
    assert chat.messages[0].content.endswith("sunflower.")
    memory.consolidate()
    assert memory.records(kind="fact") == []

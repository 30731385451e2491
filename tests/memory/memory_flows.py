"""What a user does with a memory, area by area: each flow returns what the memory said."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

from file_samples import TALK
from file_samples import written as lines
from import_samples import agent, chatgpt, claude, gave, node, person, text, transcript, use, wrote
from import_samples import written as one_value
from learning_talks import talk

from memoranda import AsyncMemory
from memoranda.agent import Agent
from memoranda.model.chat import ChatReply
from memoranda.model.models import ToolCall
from memoranda.model.usage import Usage
from memoranda.testing.models import ScriptedLLM

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
MADE_BY_A_PLACE = ("location", "size", "notes", "purged")
"""Figures that are a place's own."""


def shown(hits):
    """Return what a search found: texts, scores and why."""
    return [(hit.record.content, hit.score, hit.why) for hit in hits]


def writing(memory, clock, folder):
    """Remember, correct, confirm, forget; look at it, now and as it was."""
    del folder
    first = memory.remember(
        "Ana is vegetarian ☕ 日本語も話す", tags=["diet"], metadata={"source": "talk", "n": 1}
    )
    clock.advance(MINUTE)
    many = memory.remember_many(
        [
            "Ana lives in Lisbon with Rex",
            {"content": "Rex is a dog of Ana", "tags": ["pet"], "decay_rate": 0.1},
            {"content": "Ana met Boris in Porto", "kind": "conversation", "session": "s1"},
            {"content": "Ana sailed to Setúbal", "event_time": datetime(2026, 1, 5, tzinfo=UTC)},
        ]
    )
    before = clock.now()
    clock.advance(DAY)
    moved = memory.correct(many[0].id, "Ana lives in Porto with Rex")
    told = [first, many, moved, memory.confirm(many[1].id), memory.forget(many[3].id)]
    memory.set_context("task", "pack the bags")
    told += [memory.set_context("task", "book the boat"), memory.get_context("task")]
    clock.advance(DAY)
    told += [memory.get_context("task")]
    pages, after = [], None
    while page := memory.records(limit=2, after=after):
        pages.append(page)
        after = page[-1].id
    histories = [memory.history(record.id) for record in (first, *many)]
    then = memory.search("Where does Ana live?", as_of=before)
    return [told, pages, histories, shown(then), memory.get(many[0].id), memory.get("fact_none")]


def searching(memory, clock, folder):
    """Search with every filter, recall, and look at entities; for users and agents."""
    del folder
    topics = ("tea", "boats", "lighthouses", "Lisbon", "Marta Prado", "peanuts")
    for number in range(12):
        topic = topics[number % len(topics)]
        memory.remember(
            f"Number {number}: Ana spoke of {topic} and {topics[number * 5 % 6]} with Boris",
            kind=("fact", "episode")[number % 2],
            tags=[topic.split()[0].lower()],
            metadata={"row": number % 3},
            session=f"s{number % 4}",
            role="user",
        )
        clock.advance(timedelta(hours=14))
    when = clock.now() - 3 * DAY
    found = [
        shown(memory.search(query, **how))
        for query, how in (
            ("Which tea does Ana like?", {}),
            ("boats and lighthouses", {"kind": "fact", "limit": 3}),
            ("Marta", {"session": "s2"}),
            ("Marta", {"exclude_session": "s2"}),
            ("peanuts", {"tags": ["peanuts"]}),
            ("peanuts", {"metadata": {"row": 2}}),
            ("Lisbon", {"since": when}),
            ("Lisbon", {"until": when}),
            ("what was said yesterday?", {}),
            ("tea", {"min_score": 0.3}),
            ("お茶", {}),
        )
    ]
    boris = memory.as_user("boris")
    boris.remember("Boris likes tea")
    planner = memory.as_user("ana", agent="planner")
    planner.remember("The planner likes tea")
    found += [shown(each.search("tea", limit=3)) for each in (memory, boris, planner)]
    recalled = [memory.recall("Tell me of Marta and tea", budget=200), boris.recall("tea")]
    merged = memory.merge_entities("Marta Prado", "Boris")
    names = [memory.entities(limit=20), memory.entity("Lisbon"), merged]
    return [found, recalled, names, boris.records(), memory.admin.users(), memory.usage()]


def conversing(memory, clock, folder):
    """Talk, with tools and pins; prune, expand, clear, end; go on where it was left."""
    del folder
    memory.conversation("earlier").add("user", "My favourite tea is jasmine.")
    chat = memory.conversation(
        "trip", system="You plan trips.", max_messages=8, keep_recent=3, strategy="hybrid"
    )
    for number in range(10):
        said = chat.add("user", f"Number {number}: what about tea in Porto?")
        clock.advance(MINUTE)
        if number == 2:
            chat.pin(said.id)
            call = ToolCall("c1", "look_up", '{"q": "tea"}')
            chat.add("assistant", "", tool_calls=[call])
            chat.add("tool", "three shops " * 30, tool_result="c1")
        chat.add("assistant", f"Answer {number}: there is a shop in street {number}.")
        clock.advance(MINUTE)
    chat.prune(max_tokens=150)
    context = chat.context("Which tea do I like?", budget=600)
    view = chat.view(300)
    opened = [chat.expand(marker) for marker in view.markers]
    told = [context, view, opened, chat.stats(), chat.prunings, chat.window(turns=2)]
    again = memory.conversation("trip")
    told += [again.messages, again.by_role("tool"), again.recent(3), again.stats()]
    again.clear()
    again.add("user", "Something else.")
    told += [again.view(), chat.messages, again.end(), memory.conversations(), memory.sessions()]
    return told


def learning(memory, clock, folder):
    """Consolidate what changes, let it fade, expire, reflect; by hand and by the schedule."""
    del folder
    talk(
        memory,
        "before",
        "I live in Porto.",
        "I have a dog named Rex.",
        "My sister Marta lives in Berlin.",
        ("assistant", "Noted."),
    )
    told = [memory.consolidate(dry_run=True), memory.consolidate()]
    clock.advance(10 * DAY)
    talk(
        memory, "after", "I live in Lisbon.", "I'm allergic to peanuts.", "I have a dog named Rex."
    )
    told += [memory.sessions(pending=True), memory.consolidate(), memory.sessions()]
    facts = memory.records(kind="fact", limit=100)
    told += [facts, [memory.history(fact.id) for fact in facts]]
    told += [shown(memory.search("Where does the user live?", kind="fact"))]
    memory.set_context("task", "pack")
    memory.conversation("waiting").add("user", "I work at Acme.")
    clock.advance(20 * DAY)
    told += [memory.decay(dry_run=True), memory.decay(), memory.decay(), memory.expire()]
    told += [memory.enrich(), memory.reflect(), memory.recall("Where do I live?"), memory.audit()]
    upkeep = memory.schedule()
    runs = [upkeep.step()]
    for _ in range(3):
        clock.advance(DAY)
        runs.append(upkeep.step())
    told += [[(run.stage, run.count, run.failed) for run in each] for each in runs]
    clock.advance(300 * DAY)
    told += [memory.maintain(), memory.records(limit=100), memory.stats().records]
    return told


def noting(memory, clock, folder):
    """Keep notes in step with an editor; erase, and find it nowhere in them."""
    del folder
    memory.remember("Ana is vegetarian")
    talk(memory, "one", "I live in Porto.", "The code word is Xylophon.")
    memory.consolidate()
    notes = memory.notes
    file = notes.folder / "MEMORY.md"
    told = [notes.sync(), file.read_text(), notes.read_history()]
    file.write_text(file.read_text().replace("vegetarian", "vegan") + "- Ana sails.\n")
    clock.advance(MINUTE)
    told += [notes.sync(), memory.records(kind="fact")]
    notes.append_history_rotated("Talked of sailing.")
    told += [notes.search("sailing"), notes.history(), notes.context_text()]
    word = next(r for r in memory.records(kind="episode") if "Xylophon" in r.content)
    fact = memory.remember("The user said Xylophon.")
    notes.sync()
    told += [memory.forget(word.id, erase=True), memory.forget(fact.id, erase=True)]
    left = "".join(path.read_text() for path in notes.folder.glob("*.md"))
    assert "Xylophon" not in left
    told += [left, memory.search("Xylophon"), memory.conversation("one").messages]
    return [*told, memory.verify()]


def sources(folder):
    """Write a file of each format that is read; return their paths."""
    folder.mkdir()
    notes = folder / "memory"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("## Food\n- Ana is vegetarian\n- Ana dislikes celery\n")
    (notes / "HISTORY.md").write_text("[2026-07-02 14:30] Talked of lighthouses.\n")
    session = [
        person(0, "Where is the shop?"),
        agent(1, text("I look."), use("t1", "grep", q="shop")),
        person(2, [gave("t1", "in /home/ana/shop")]),
        agent(3, text("It is in your home.")),
    ]
    branch = (node("root", None), node("a", "root", "I live in Lisbon."))
    observed = {"observations": ["lives in Lisbon"]}
    graph = {"type": "entity", "name": "Ana Prado", "entityType": "person"} | observed
    kept = [{"id": "m1", "memory": "Is vegetarian", "user_id": "ana", "metadata": {"a": 1}}]
    chat = [{"role": "user", "content": "Weather in Ghent?"}, {"role": "assistant", "content": "R"}]
    return [
        transcript(folder, session),
        one_value(folder / "chatgpt.json", [chatgpt(*branch, current="a")]),
        one_value(folder / "claude.json", [claude(wrote(0, "human", "A garden, please."))]),
        one_value(folder / "mem0.json", kept),
        lines(folder, "graph.jsonl", graph),
        one_value(folder / "chat.json", chat),
        one_value(folder / "locomo.json", [TALK]),
        notes,
    ]


def importing(memory, clock, folder):
    """Import every foreign format, each twice; export it all."""
    told = []
    for path in sources(folder / "sources"):
        told += [memory.import_(path), memory.import_(path)]
        clock.advance(MINUTE)
    out = folder / "out.jsonl"
    told += [memory.export(out), [json.loads(line) for line in out.read_text().splitlines()]]
    for info in memory.conversations():
        told.append(memory.conversation(info.id).messages)
    return [*told, memory.admin.users(), memory.records(limit=100)]


def looking_after(memory, clock, folder):
    """Figures, verification, rebuilding, new vectors, a purge, the doctor."""
    del folder
    talk(memory, "one", "I live in Porto.", "My sister Marta lives in Berlin.")
    gone = memory.remember("nobody knows this")
    memory.search("Porto")
    memory.forget(gone.id, erase=True)
    figures = memory.stats()
    told = [{n: getattr(figures, n) for n in figures.__slots__ if n not in MADE_BY_A_PLACE}]
    told += [memory.verify(), memory.rebuild(), memory.reembed(), memory.verify()]
    memory.purge()
    arms = {c.name: (c.ok, c.detail) for c in memory.doctor() if "arm" in c.name}
    told += [arms, [c.name for c in memory.doctor() if c.ok is False]]
    clock.advance(DAY)
    return [*told, shown(memory.search("Where does Marta live?"))]


def agents(memory, clock, folder):
    """Use the tools, let an agent talk with a model and without, and do it asynchronously."""
    del folder
    memory.remember("The user lives in Porto.")
    tools = {tool.name: tool for tool in memory.tools()}
    told = [
        tools["store_memory"](content="The user has a dog named Rex."),
        tools["search_memories"](query="Who is Rex?"),
        tools["get_entity_info"](name="Rex"),
    ]
    silent = Agent(memory, session="silent")
    told += [silent.process("Where do I live?"), silent.context("dogs").messages]
    clock.advance(MINUTE)
    told += [silent.process("I am allergic to peanuts."), silent.process("/new")]
    clock.advance(MINUTE)
    call = ToolCall("c1", "search_memories", '{"query": "Rex"}')
    model = ScriptedLLM(
        {ChatReply: [ChatReply("", (call,), Usage()), ChatReply("A dog.", (), Usage())]}
    )
    answer = Agent(memory, session="modelled", llm=model).process("Who is Rex?")
    told += [answer.text, answer.sources, answer.tools, answer.usage]

    async def asynchronously():
        other = AsyncMemory()
        other._memory = memory
        chat = await other.conversation("async")
        await chat.add("user", "I never fly before nine.")
        kept = await other.remember("Rex is brown")
        return [kept, shown(await other.search("Rex")), await other.recall("When do I fly?")]

    told += asyncio.run(asynchronously())
    return [*told, memory.conversations(), memory.records(limit=100)]


FLOWS = (writing, searching, conversing, learning, noting, importing, looking_after, agents)

"""The screens as text at 80x24: what a person sees changes only where that is meant."""

from datetime import timedelta

from goldens import check_golden

TALK = (
    ("user", "I'm vegetarian, and I never fly before nine."),
    ("assistant", "Noted: *vegetarian*, and no flight before nine."),
    ("user", "What is there to see in Porto?"),
    ("assistant", "The old town and the river. " * 30),
    ("user", "And in Lisbon?"),
    ("assistant", "The old town and the river, too. " * 30),
)
SECTIONS = {
    "conversation": {"context_limit": 700, "keep_recent": 2},
    "agent": {"system": "You plan trips."},
}


async def test_the_screens_are_as_they_were(runtimes, sitting, clock):
    """The chat and the tabs of the context overlay are as the golden file has them."""
    runtime = runtimes(**SECTIONS)
    for role, content in TALK:
        runtime.agent.chat.add(role, content)
        clock.advance(timedelta(minutes=5))
    async with sitting(runtime) as person:
        screens = {"chat": person.lines}
        for name, key in (("budget", "f2"), ("messages", "2"), ("confirm", "escape")):
            await person.press(key)
            screens[name] = person.lines
        await person.say("/clear")
        screens["confirm"] = person.lines
    check_golden("tui_screens", screens, {})

"""The interface while the server of its memory is away."""

from postgres_server import control, new_database, restart, running_server

from memoranda import Memory
from memoranda.testing.embedders import HashEmbedder
from memoranda.tui.runtime import ChatRuntime


async def test_the_interface_goes_on_without_its_server(sitting, clock):
    """What is said is shown, and is answered when the server is back."""
    with running_server() as server:
        location = new_database(server)

        def open_memory(settings):
            chosen = settings.with_values(
                schedule={"in_background": False}, storage={"busy_timeout": 8}
            )
            return Memory(location, settings=chosen, embedder=HashEmbedder(), clock=clock)

        runtime = ChatRuntime(open_memory)
        try:
            async with sitting(runtime) as person:
                await person.say("My sister lives in Porto.")
                control(server, "-m", "fast", "stop")
                person.app.screen.focused.load_text("Rita has two cats.")
                await person.pilot.press("enter")
                while "answering" not in person.text:
                    await person.pilot.pause(0.01)
                assert "> Rita has two cats." in person.log
                restart(server)
                await person.settle()
                assert "answering" not in person.text
                assert person.log.count("Noted: ") == 2
        finally:
            runtime.memory.close()

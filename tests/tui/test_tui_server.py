"""The interface while the server of its memory is away."""

from postgres_server import control, new_database, restart, running_server

from memoranda import Memory
from memoranda.testing.embedders import HashEmbedder
from memoranda.tui.chat import PromptArea
from memoranda.tui.runtime import ChatRuntime


async def test_the_interface_goes_on_without_its_server(sitting, clock):
    """What is said is shown, and is answered when the server is back."""
    with running_server() as server:
        location = new_database(server)

        def open_memory(settings):
            return Memory(location, settings=settings, embedder=HashEmbedder(), clock=clock)

        runtime = ChatRuntime(open_memory, arguments={"schedule": {"in_background": False}})
        try:
            async with sitting(runtime) as person:
                await person.say("My sister lives in Porto.")
                control(server, "-m", "fast", "stop")
                person.app.chat.query_one(PromptArea).post_message(
                    PromptArea.Submitted("Rita has two cats.")
                )
                while "> Rita has two cats." not in person.log:
                    await person.pilot.pause(0)
                assert "answering" in person.text
                restart(server)
                await person.settle()
                assert "answering" not in person.text
                assert person.log.count("Noted: ") == 2
        finally:
            runtime.close()

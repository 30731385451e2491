"""What holds for a memory in a file holds for one on a server: the same tests, over HTTP."""

import pytest
import test_conversation_stored
import test_memory_context
import test_memory_filters
import test_memory_searching
import test_memory_writing

LEFT_OUT = {
    "test_every_argument_of_remember_is_in_the_record": "asks for the very object datetime.UTC",
    "test_subscribers_hear_each_verb": "needs on()",
    "test_each_message_is_an_episode_that_later_sessions_find": "needs on()",
    "test_what_is_known_is_returned": "needs on()",
    "test_what_is_not_given_to_update_stays": "needs as_user()",
    "test_a_neighbour_that_may_not_be_seen_is_not_shown": "needs as_user()",
    "test_pages_go_either_way": "asks for Memory's words about an offset",
    "test_what_cannot_be_an_item_is_refused": "asks for Memory's words about a key",
}

for module in (
    test_memory_writing,
    test_memory_searching,
    test_memory_filters,
    test_memory_context,
    test_conversation_stored,
):
    found = vars(module).items()
    globals().update({name: each for name, each in found if name not in LEFT_OUT})

pytestmark = pytest.mark.slow  # Each starts a server.

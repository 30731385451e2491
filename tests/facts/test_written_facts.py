"""Facts as notes and programs write them, in the third person or with nobody named."""

from tables import each_row, each_text

from memoranda.facts.reader import read_written_facts


@each_row
def test_a_note_without_subject_is_of_the_user(note, attribute, value):
    """It states the same as one that names them.

    Lives in Porto | home | Porto
    Works at Brennan Ag. | employer | Brennan Ag
    The user lives in Porto | home | Porto
    """
    (fact,) = read_written_facts(note)
    assert (fact.subject, fact.attribute, fact.value) == ("user", attribute, value)


def test_a_note_is_of_the_speaker_who_is_meant():
    """Where somebody else than the user is meant, the note is theirs."""
    (fact,) = read_written_facts("Lives in Porto", "Caroline")
    assert fact.attribute == "home"
    assert fact.subject == read_written_facts("Caroline lives in Porto", "Caroline")[0].subject


@each_text
def test_a_question_or_a_heading_is_no_note(text):
    """A verb at the beginning alone makes no statement.

    Is it late? | Has the report been sent? | Likes and dislikes
    """
    assert read_written_facts(text) == ()

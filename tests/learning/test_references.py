"""Whom and what words that point at somebody or something stand for."""

from tables import each_row

from memoranda.learning.extraction.references import spell_out
from memoranda.model.models import Mention


def spelled(text: str, *names: str) -> str:
    """Return a text with its pronouns spelled out, where these persons are named."""
    places = [(name, text.index(name)) for name in names]
    return spell_out(text, [Mention(name, "person", at, at + len(name)) for name, at in places])


@each_row
def test_what_points_at_one_is_spelled_out(text, becomes, names):
    """A pronoun, or a word for kin, that can mean one only is replaced by it.

    Mum fell on the ice. | My mum fell on the ice. |
    I joined a gym, it's called Row. | I joined a gym, my gym is called Row. |
    We adopted a dog, she's called Fig. | We adopted a dog, my dog is called Fig. |
    Tips for hay fever? Hay sets mine off. | Tips for hay fever? Hay sets my hay fever off. |
    Lena has moved. She works in Bonn. | Lena has moved. Lena works in Bonn. | Lena
    My aunt is a judge, she lives here. | My aunt is a judge; my aunt lives here. |
    """
    assert spelled(text, *names.split()) == becomes


@each_row
def test_what_may_be_several_stays(text, names):
    """Nothing is replaced where somebody is spoken to, or where two could be meant.

    Mum, are you there? |
    Tom's Mum is here. | Tom
    Lena met Ute. She works in Bonn. | Lena Ute
    My brother is here. She works in Bonn. |
    My boss's son called, he is ill. |
    It's called life. |
    """
    assert spelled(text, *names.split()) == text

"""What a later statement only names ends, or gets another value, whatever it is known of."""

from datetime import UTC, datetime, timedelta

import pytest

from memoranda import Memory
from memoranda.testing.clocks import FrozenClock

AT = datetime(2025, 3, 3, 9, tzinfo=UTC)
# What is said first, what twenty days later, and what of the first still holds.
OVER = [
    ("I smoke about ten a day.", "I quit smoking three weeks ago!"),
    ("I train at IronWorks three times a week.", "I've let the IronWorks membership lapse."),
    ("I work the grill at Bistro Lupo.", "I quit Lupo last night."),
    ("My favourite game is Stardew Valley.", "Stardew is done."),
    ("Our contact at the print shop is Colin.", "Colin has retired."),
    ("My dentist is Dr Halloran.", "Dr Halloran has retired."),
    ("I'm a nurse.", "I retired last Friday!"),
    ("I'm engaged.", "Mia and I broke up."),
    ("I hate jazz.", "I love jazz now."),
    ("I drink black coffee every morning.", "I don't drink coffee anymore, only green tea."),
    ("We're going to Iceland in August.", "Iceland is off, the flights were insane."),
    ("I play the trombone.", "My back said no to the trombone."),
]
KEPT = [
    ("I play squash and the bassoon.", "My knees won't allow squash any more.", "bassoon"),
    ("We keep six alpacas and two donkeys.", "Sold the alpacas at the spring fair.", "donkeys"),
    ("My dentist is Dr Roe.", "My landlord is Tom Fry.", "Roe"),
    ("I play the cello.", "My brother quit the cello.", "cello"),
    ("I work at Lupo.", "My dinner at Lupo is over.", "Lupo"),
    ("I live in Leeds.", "Should I be done with Leeds?", "Leeds"),
    ("My locker is 12.", "My locker code is 3391.", "12"),
    ("My older daughter studies law.", "My younger daughter studies medicine.", "law"),
    ("I drive a Volvo V60.", "I've got a rental Corsa for two days.", "Volvo"),
    ("I drink coffee every morning.", "I don't drink tea, just coffee.", "coffee every"),
]
ANEW = [
    ("We use MATLAB for all our spectra.", "We switched from MATLAB to Julia.", "Julia", "MATLAB"),
    ("Our team lead is Kim.", "Yusuf took over from Kim.", "Yusuf", "Kim"),
    ("My gym is FitFirst.", "I left FitFirst, I go to PureGym now.", "PureGym", "at FitFirst"),
    ("I'm a nurse on the cardiac ward.", "I've moved to the burns ward.", "burns", "cardiac"),
    ("My landlady is called Mrs Orr.", "My new landlord is Mr Finch.", "Finch", "Orr"),
    ("I get up at six every day.", "I get up at seven these days.", "seven", "six"),
    ("I take metoprolol.", "My doctor switched me from metoprolol to ramipril.", "rami", "meto"),
    ("Our rent is 980 euros.", "They've put our rent up, it's 1,060 euros now.", "1,060", "980"),
    ("The code at the shed is 7719.", "New code at the shed: 4402.", "4402", "7719"),
    ("I've got pottery class on Tuesdays.", "My pottery class moved to Fridays.", "Fri", "Tues"),
    ("I'm in flat 12, third floor.", "So it's flat 27 we're in now.", "27", "12"),
    ("My dentist is Dr Whitlock.", "I see Dr Rao for my teeth these days.", "Rao", "Whitlock"),
    ("My phone is a Nokia 3310.", "Upgraded to a Fairphone 5.", "Fairphone", "Nokia"),
    ("I live with two flatmates.", "I live alone now.", "alone", "flatmates"),
    ("I work from home on Fridays.", "I work from home on Mondays now.", "Mondays", "Fridays"),
    ("I weigh 92 kilos.", "down to 88 kilos!", "88", "92"),
    ("My car is a red Fiat Panda.", "The Panda died, got a used Yaris.", "Yaris", "red Fiat"),
    ("My gym is FitX.", "I quit FitX.", "quit", "trains"),
    ("Our wedding is on 6 June.", "We put the wedding off till 9 July.", "9 July", "6 June"),
]


def learn(tmp_path, *days):
    """Return the facts that hold after days on each of which something is said."""
    clock = FrozenClock(AT)
    tmp_path.mkdir(exist_ok=True)
    with Memory(tmp_path / "m.db", user="ana", clock=clock) as memory:
        for number, said in enumerate(days):
            chat = memory.conversation(f"day {number}")
            chat.add("user", said, timestamp=clock.now())
            chat.end()
            memory.consolidate()
            clock.advance(timedelta(days=20))
        known = memory.records(kind="fact")
        return [each.content for each in known if each.superseded_by is None]


@pytest.mark.parametrize(("first", "then"), OVER)
def test_what_is_named_as_over_ends(tmp_path, first, then):
    """The older fact holds no more, though the later one says only its name."""
    [old] = learn(tmp_path / "one", first)
    assert old not in learn(tmp_path / "both", first, then)


@pytest.mark.parametrize(("first", "then", "rest"), KEPT)
def test_the_rest_stays(tmp_path, first, then, rest):
    """Another part of a list, what others gave up, and what is only asked end nothing."""
    held = learn(tmp_path, first, then)
    assert any(rest in each and "no longer" not in each for each in held)


@pytest.mark.parametrize(("first", "then", "new", "old"), ANEW)
def test_a_value_in_the_place_of_a_named_one_is_told_of_the_same(tmp_path, first, then, new, old):
    """What was said of the one is said of the other."""
    held = learn(tmp_path, first, then)
    assert any(new in each for each in held)
    assert not any(old in each for each in held)


def test_a_job_is_over_with_the_place_where_it_is_held(tmp_path):
    """Who leaves Edeka sells nothing there any more."""
    said = ("Ich bin Verkäuferin bei Edeka.", "Ich hab bei Edeka gekündigt.")
    assert not any("Verkäuferin" in each for each in learn(tmp_path / "both", *said))


def test_each_sentence_of_a_message_has_its_own_language(tmp_path):
    """A word that misses an apostrophe in English may be whole in the language beside it."""
    said = "Ich arbeite im Krankenhaus. My dog is called Zorro."
    known = learn(tmp_path / "both", said)
    assert any("Krankenhaus" in each for each in known)
    assert any("Zorro" in each for each in known)

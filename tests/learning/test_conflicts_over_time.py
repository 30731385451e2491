"""Pairs as a life tells them: what happened stays true, what was so may be over."""

from datetime import UTC, datetime, timedelta

from tables import each_row

from memoranda.learning.claims import Category, Relation, Statement
from memoranda.learning.conflicts import RuleJudge
from memoranda.learning.deduplication import says_more
from memoranda.learning.verbs import Aspect, read_aspect

OLD = datetime(2024, 3, 1, tzinfo=UTC)
NEW = OLD + timedelta(days=60)

BOTH_STAY = [
    # Events on other days, of the same and of other sorts.
    (
        "Tara went to a chess meetup on 3 March 2024.",
        "Tara joined a new chess league on 9 May 2024.",
    ),
    (
        "Tara went to a chess congress on 4 May 2024.",
        "Tara joined a new chess league on 9 May 2024.",
    ),
    ("Noah went camping in June 2024.", "Noah went camping in July 2024."),
    ("Noah adopted a kitten on 2 March 2024.", "Noah adopted a second kitten on 4 May 2024."),
    ("In 2021 Lena took a cooking class.", "Lena is now close to one of the cooks."),
    ("Lena baked 40 rolls for the fair.", "Lena baked 60 rolls for the wedding."),
    ("Lena donated $50 to the library in March.", "Lena has now donated $80 to the zoo."),
    ("Ravi won a chess match.", "Ravi lost a chess match."),
    ("Ravi took the stairs in the morning.", "Ravi now takes the lift in the morning."),
    ("Ravi lost his job at a bakery in March 2024.", "Ravi lost his job at the bakery."),
    ("Ravi started a food truck not that long ago.", "Ravi opened a food truck."),
    ("Sofia had a bad flight.", "Recently, Sofia had a not-so-bad flight."),
    # Groups joined, friends, pets, hobbies: several hold.
    ("Milo joined a reading circle.", "Milo joined a search-and-rescue crew."),
    ("Milo joined a rowing crew.", "Milo is now part of the rowing crew."),
    ("Milo loves evenings with the neighbors.", "Milo is now friends with one of the neighbors."),
    ("Nora has a cat named Pip.", "Nora now has a parrot named Kiwi."),
    ("Nora plays the cello.", "Nora now plays the drums."),
    ("Nora takes pottery classes.", "Nora now takes dance classes."),
    ("One of Nora's favorite films is Alien.", "One of Nora's favorite films is Heat."),
    ("Nora's favorite writers are Woolf and Joyce.", "Nora's favorite writers are Mann and Zweig."),
    ("Nora's new poem is about the sea.", "Nora's new poem is on the wall."),
    # Several jobs, topics and goals at once.
    ("Omar works at a bakery on weekends.", "Omar works at a hotel."),
    ("Omar works at Lumen.", "Omar also works at Orbit."),
    ("Omar works as a nurse.", "Omar works as a tutor from time to time."),
    ("Omar works at night.", "Omar works at a hotel."),
    ("The user has been studying for a week now.", "The user has been studying graph theory."),
    ("Omar's goal is to sleep more.", "Omar's goal is to read more."),
    ("The user's deadline is May 1, 2024.", "The user's deadline is May 20, 2024."),
    ("Omar's job is hard.", "Omar's job is fun."),
    # Plans and what became of them.
    ("Ivy plans to run a race in May.", "Ivy ran a race on 20 May 2024."),
    ("Ivy is aiming to solve 10 riddles.", "Ivy has now solved 12 riddles."),
    ("Ivy wants to learn Dutch.", "Ivy is learning Dutch."),
    ("Ivy is trying to build the login page with Vue.", "Ivy has never built any Vue pages."),
    # Denials of something else, or for a while.
    ("The user has set up the project with Vue.", "The user has never written any Vue tests."),
    ("The user uses Vue for the shop.", "The user has never written any Vue tests."),
    ("Ivy has been working since 2010.", "Ivy has not been working for a few years."),
    ("Ivy is a life coach.", "The valley where Ivy lives does not have life coaches."),
    ("Ivy keeps chasing her dreams.", "Ivy keeps going and reaches her dreams no matter what."),
    # Half about the same: the rest would be lost.
    ("Leo has tagged a release, pushed with 150 commits.", "The branch has now 165 commits."),
    ("Leo has a sister who is 10 years older.", "Leo is 40 years old."),
    ("Leo's family is from Peru.", "Leo's family moved to Chile."),
    ("Leo is 60 years old.", "Leo's son is 11 years old."),
    ("Leo has a brother in Oslo.", "Leo moved from Oslo to Rome."),
    ("Leo likes hiking with Carla.", "Leo broke up with Carla."),
    ("Leo drew a triangle with sides of 3, 4 and 5 cm.", "The new sides are 6 cm, 8 cm and 10 cm."),
    (
        "Leo has decided on three main rooms.",
        "The paint in the main room has now reached 12 liters.",
    ),
    ("Leo hates his old car.", "Leo's old car is red."),
]
CHANGED = [
    ("Zara lives in Porto.", "Zara moved to Ghent on 4 May 2024."),
    ("Zara moved to Porto in 2019.", "Zara moved to Ghent in 2024."),
    ("Zara lives in an apartment.", "Zara moved into a house."),
    ("Zara works at Lumen.", "Zara joined Orbit as a designer."),
    ("Zara works at Lumen.", "Zara started working at Orbit in May 2024."),
    ("Zara works as a waiter.", "Zara became a pilot."),
    ("Zara works at a hotel.", "Zara quit her job."),
    ("Kim is dating Paula.", "Kim broke up with Paula."),
    ("Kim is engaged.", "Kim got married on 4 May 2024."),
    ("Kim is vegetarian.", "Kim is no longer vegetarian."),
    ("Kim is in high school.", "Kim dropped out of high school."),
    ("Kim takes a pottery class.", "Kim stopped taking the pottery class."),
    ("Kim takes the tram to school.", "Kim now takes the ferry to school."),
    ("Kim has 2 cats.", "Kim now has 3 cats."),
    ("Kim's favorite band is Muse.", "Kim's favorite band is now Blur."),
    ("Kim has a gym membership.", "Kim cancelled her gym membership."),
    ("Kim is planning a trip to Crete.", "Kim called off the trip to Crete."),
    ("Kim lives in Bonn with Kim's partner Jo and their cat Tom.", "Kim lives in Kiel now."),
    ("The report deadline is May 3.", "The report deadline was moved to May 17."),
    (
        "Kim's dentist appointment is on May 3.",
        "Kim's dentist appointment was rescheduled to May 9.",
    ),
    ("The user's deadline is May 3.", "The user's deadline was extended to May 17."),
    ("The project is called Falcon.", "The project was renamed to Osprey."),
    ("The user is using Vue 2.7.", "The user upgraded from Vue 2.7 to Vue 3.4."),
    ("The page load time was initially 900ms.", "The page load time has dropped to 300ms."),
    ("Kim has read 20 pages of the novel.", "Kim has now read 80 pages of the novel."),
    ("Kim has never eaten sushi.", "Kim tried sushi in Osaka in May 2024."),
    ("Kim uses Trello for planning.", "Kim switched from Trello to Notion."),
]


def judge(old, new, *, category=None, at=NEW):
    """The rule judge's verdict on two facts."""
    return RuleJudge().judge(
        Statement(old, OLD, category=category), Statement(new, at, category=category)
    )


@each_row("category", [None, Category.EVENT, Category.STATE])
@each_row(("old", "new"), BOTH_STAY)
def test_what_does_not_exclude_the_other_stays(old, new, category):
    """Neither retires the other, in whichever order they were said."""
    for pair in ((old, new), (new, old)):
        relation = judge(*pair, category=category).relation
        assert relation not in {Relation.UPDATE, Relation.CONTRADICTION}


@each_row
def test_what_is_over_in_part_is_not_ended(old, new):
    """The rest of what it says would be lost.

    Leo lives in Oslo and has three dogs and a boat. | Leo lives in Rome.
    Leo is using Vue 2.7, Jest 28 and Sass for the shop. | Leo upgraded to Jest 29.
    The user's name is Cory and the user walks dogs. | The user's name is Blake.
    Leo is studying law, plays chess at the club and works at Lumen. | Leo now works at Orbit.
    """
    assert judge(old, new).relation is Relation.NONE


@each_row("category", [None, Category.EVENT, Category.STATE])
@each_row(("old", "new"), CHANGED)
def test_what_is_over_is_seen(old, new, category):
    """What an extractor filed it under changes nothing."""
    assert judge(old, new, category=category).relation is Relation.UPDATE


@each_row
def test_what_is_denied_is_seen(old, new):
    """Both cannot be true.

    Kim has written several Vue tests. | Kim has never written any Vue tests.
    Kim eats meat. | Kim never eats meat.
    Kim enjoys video games. | Kim does not like video games.
    Kim loves opera. | Kim can't stand opera.
    The team won on Friday. | The team lost on Friday.
    Kim's wedding is in Ghent. | Actually, Kim's wedding is in Porto.
    """
    assert judge(old, new).relation is Relation.CONTRADICTION


@each_row
def test_what_goes_on_is_the_same_on_any_day(old, new):
    """It was filed under event, but it is no happening of a day.

    As for Ada, Ada has been helping at an animal shelter.
    | Ada is still helping at the animal shelter.
    The user has been using Redis 7 for caching. | The user is using Redis 7 for caching.
    """
    assert judge(old, new, category=Category.EVENT).relation is Relation.DUPLICATE


def test_what_happened_is_no_duplicate_of_what_goes_on():
    """Who once helped there, and who still does, are told by two facts."""
    old, new = "Ada is still helping at the shelter.", "Ada helped at the shelter."
    assert judge(old, new).relation is Relation.NONE
    assert judge(new, old).relation is Relation.NONE


def test_the_same_happening_on_two_days_happened_twice_also_without_a_category():
    """An audit knows no category; it must not call two evenings one."""
    old, new = "Ada danced with the old crew.", "Ada danced again with the old crew."
    assert judge(old, new).relation is not Relation.DUPLICATE or says_more(new, old)
    assert judge(old, new, at=OLD).relation is Relation.DUPLICATE


def test_a_correction_filed_as_one_needs_no_cue():
    """The extractor drops ``Actually``; the category still says so."""
    old, new = "Kim's sister is a pilot.", "Kim's sister is a nurse."
    assert judge(old, new).relation is Relation.NONE
    assert judge(old, new, category=Category.CORRECTION).relation is Relation.CONTRADICTION


@each_row(
    ("text", "expected"),
    [
        ("Ada moved to Ghent.", Aspect.PAST),
        ("On 4 May 2024 Ada finally took the kids to a lake.", Aspect.PAST),
        ("Ada's mom and Ada made some soup.", Aspect.PAST),
        ("Ada was promoted in May.", Aspect.PAST),
        ("Ada has moved to Ghent.", Aspect.PERFECT),
        ("Ada has been to Ghent.", Aspect.PERFECT),
        ("Ada was glad.", Aspect.WAS),
        ("Ada has a dog named Rex.", Aspect.STATE),
        ("Ada loves a shop called Foo.", Aspect.STATE),
        ("Ada has been working on a novel.", Aspect.STATE),
        ("Ada has always loved the sea.", Aspect.STATE),
        ("Ada has never moved house.", Aspect.STATE),
        ("Ada used to sing.", Aspect.STATE),
        ("Ada is trying to tune the piano she bought.", Aspect.STATE),
        ("", Aspect.STATE),
    ],
)
def test_the_first_verb_tells_what_happened_from_what_is(text, expected):
    """A state where no verb is recognised."""
    assert read_aspect(text) is expected

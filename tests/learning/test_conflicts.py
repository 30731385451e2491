"""Pairs of statements, judged by rules: changed, contradicted, said again, or apart."""

from datetime import UTC, datetime, timedelta

from hypothesis import assume, given
from hypothesis import strategies as st
from tables import each_row

from memoranda.learning.claims import Category, Relation, Statement
from memoranda.learning.conflicts import RuleJudge
from memoranda.learning.deduplication import says_more
from memoranda.learning.verbs import Aspect, read_aspect

OLD = datetime(2024, 3, 1, tzinfo=UTC)
NEW = OLD + timedelta(days=60)
EXCLUDE = {Relation.UPDATE, Relation.CONTRADICTION}
FILED = (None, Category.EVENT, Category.STATE)


def judge(old, new, *, category=None, at=NEW, likeness=None, subjects=(None, None)):
    """Return the verdict of the rules on two statements."""
    return RuleJudge().judge(
        Statement(old, OLD, subject=subjects[0], category=category),
        Statement(new, at, subject=subjects[1], category=category, likeness=likeness),
    )


def relation(old, new, **given):
    """Return what the second statement is to the first one."""
    return judge(old, new, **given).relation


@each_row
def test_what_is_over_is_seen(old, new):
    """What an extractor filed it under, and whatever else a message says, changes nothing.

    Caroline lives in Oslo. | Caroline moved to Lisbon in May 2023.
    Ana moved to Oslo in 2019. | Ana moved to Madrid in 2023.
    The user lives in Berlin. | The user now lives in Hamburg.
    Ana works at Acme. | Ana works at Globex now.
    Ana works as a nurse. | Ana works as a teacher.
    The deadline of the first sprint is April 1, 2024.
    | The deadline of the first sprint is April 5, 2024.
    The thesis deadline is May 3. | The thesis deadline was extended to May 17.
    Ana's favourite colour is green. | Ana's favourite colour is blue.
    My favorite restaurant is Luigi's. | My favorite restaurant is now Sakura.
    The repository has 150 commits. | The repository now has 165 commits.
    The API response time is 250ms. | The API response time dropped to 200ms.
    The team has 8 people. | The team has grown to 12 people.
    Test coverage is 65%. | Test coverage has increased to 78%.
    The rent is 900 euros a month. | The rent is 950 euros a month.
    Ana plays tennis every week. | Ana no longer plays tennis.
    Ana smokes. | Ana quit smoking, she no longer smokes.
    The project uses PostgreSQL. | The project switched from PostgreSQL to SQLite.
    Ana takes the bus to work. | Ana now takes the train to work.
    Ana is single. | Ana is married.
    The picnic is on Saturday. | The picnic was moved to Sunday.
    Ana wakes up at 6 every morning. | Ana wakes up at 7 every morning.
    Ana drinks coffee in the morning. | Ana drinks tea instead of coffee.
    Ben is dating Carla. | Ben broke up with Carla.
    The budget for the wedding is $20,000. | The budget for the wedding was raised to $25,000.
    Ana has never been to Japan. | Ana went to Japan in April 2024.
    Ana is vegetarian. | Ana became vegan in 2024.
    Melanie has three kids. | Melanie now has four kids.
    John weighs 82 kg. | John weighs 78 kg.
    The user is learning Spanish. | The user stopped learning Spanish.
    Gina's store is in Austin. | Gina's store moved to Dallas.
    The launch date is June 1, 2024. | The launch date was pushed back to June 15, 2024.
    Jon works as a banker. | Jon lost his job as a banker.
    The user's salary is $80,000. | The user's salary increased to $90,000.
    The gym membership costs $40 per month. | The gym membership now costs $55 per month.
    Tom is engaged to Lisa. | Tom is married to Lisa.
    The app has 200 users. | The app reached 500 users.
    Kate studies biology. | Kate changed her major from biology to chemistry.
    The weekly meeting is at 10 am. | The weekly meeting has been moved to 2 pm.
    Omar lives with his parents. | Omar no longer lives with his parents.
    My phone number is 555-1234. | My phone number changed to 555-9876.
    The user lives in Boston. | The user relocated to Denver last month.
    Nina's goal is to run 5 km. | Nina's goal is now to run 10 km.
    The error rate is 12%. | The error rate went down to 1%.
    Paul is the team lead. | Paul is no longer the team lead.
    I have written 20 pages of my thesis. | I've now written 35 pages of my thesis.
    The default branch is master. | The default branch was renamed to main.
    Omar was born in 1990. | Omar was born in 1988.
    The user's budget for the trip is 2000 euros.
    | The user's budget for the trip has been cut to 1500 euros.
    Zara lives in Porto. | Zara moved to Ghent on 4 May 2024.
    Zara moved to Porto in 2019. | Zara moved to Ghent in 2024.
    Zara lives in an apartment. | Zara moved into a house.
    Zara works at Lumen. | Zara joined Orbit as a designer.
    Zara works at Lumen. | Zara started working at Orbit in May 2024.
    Zara works as a waiter. | Zara became a pilot.
    Zara works at a hotel. | Zara quit her job.
    Kim is dating Paula. | Kim broke up with Paula.
    Kim is engaged. | Kim got married on 4 May 2024.
    Kim is vegetarian. | Kim is no longer vegetarian.
    Kim is in high school. | Kim dropped out of high school.
    Kim takes a pottery class. | Kim stopped taking the pottery class.
    Kim takes the tram to school. | Kim now takes the ferry to school.
    Kim has 2 cats. | Kim now has 3 cats.
    Kim's favorite band is Muse. | Kim's favorite band is now Blur.
    Kim has a gym membership. | Kim cancelled her gym membership.
    Kim is planning a trip to Crete. | Kim called off the trip to Crete.
    Kim lives in Bonn with Kim's partner Jo and their cat Tom. | Kim lives in Kiel now.
    The report deadline is May 3. | The report deadline was moved to May 17.
    Kim's dentist appointment is on May 3. | Kim's dentist appointment was rescheduled to May 9.
    The user's deadline is May 3. | The user's deadline was extended to May 17.
    The project is called Falcon. | The project was renamed to Osprey.
    The user is using Vue 2.7. | The user upgraded from Vue 2.7 to Vue 3.4.
    The page load time was initially 900ms. | The page load time has dropped to 300ms.
    Kim has read 20 pages of the novel. | Kim has now read 80 pages of the novel.
    Kim has never eaten sushi. | Kim tried sushi in Osaka in May 2024.
    Kim uses Trello for planning. | Kim switched from Trello to Notion.
    # Messages, in whatever words the newer one tells the new value.
    My sister Dana lives in Leeds and we want to visit her over Easter, any good trains?
    | Dana has moved to Bristol, so we need other trains from London for the visit.
    I work at Contoso as a data analyst and I'd like to negotiate my salary.
    | I started a new job at Fabrikam this month, and I want to make a good impression.
    Our standup is on Monday at 9 am and I keep being late, how can I get better at it?
    | Our standup has been moved to Tuesday at 10 am, so how should I plan my morning?
    I drive a Volvo V70 and it makes a strange noise when I brake. What could it be?
    | I bought a Tesla last week, what should I know about charging at home?
    My rent is 900 euros and I'm wondering whether to move to a cheaper place.
    | They put my rent up to 980 euros, can I do something about that?
    I have never written any unit tests for the payment module, where should I start?
    | The unit tests that I wrote for the payment module in February fail since the upgrade.
    """
    assert [relation(old, new, category=each) for each in FILED] == [Relation.UPDATE] * 3


@each_row
def test_what_is_denied_is_seen(old, new):
    """Both cannot be true.

    I implemented the homepage route with Flask. | I've never written any Flask routes.
    Ana has tried sushi in Tokyo. | Ana has never eaten sushi.
    Ana likes olives. | Ana does not like olives.
    Ana likes cilantro. | Ana hates cilantro.
    Ana is allergic to peanuts. | Ana is not allergic to peanuts.
    Ben can swim. | Ben cannot swim.
    Ana's birthday is May 5. | Actually, Ana's birthday is May 3.
    Ana's birthday is May 5. | Ana's birthday is June 9.
    The meeting is in room 4. | The meeting is not in room 4 but in room 6.
    Ana has a car. | Ana does not have a car.
    The server is in Frankfurt. | Actually the server is in Dublin.
    Ana speaks German. | Ana doesn't speak German.
    The user has completed several coin toss problems.
    | The user has never completed any coin toss problems before.
    The feature is enabled by default. | The feature is disabled by default.
    The store is open on Sundays. | The store is closed on Sundays.
    Ben drinks alcohol. | Ben doesn't drink alcohol.
    Ana bought the API key on March 10. | Ana has never bought an API key.
    Ana's sister is married. | Ana's sister is not married.
    Melanie enjoys camping. | Melanie doesn't enjoy camping.
    John has visited Paris twice. | John has never visited Paris.
    The user owns a car. | The user doesn't own a car.
    Maria's anniversary is on June 5. | Actually, Maria's anniversary is on June 15.
    Gina loves horror films. | Gina can't stand horror films.
    The database is MySQL. | No, the database is PostgreSQL, not MySQL.
    I deployed the app to Heroku in April. | I have never deployed the app to Heroku.
    Kate can drive. | Kate can't drive.
    The library supports Python 3.8. | The library does not support Python 3.8.
    Tom trusts his doctor. | Tom does not trust his doctor.
    I've used React in several projects. | I've never used React before.
    The tests passed on Friday. | The tests failed on Friday.
    Kim has written several Vue tests. | Kim has never written any Vue tests.
    Kim eats meat. | Kim never eats meat.
    Kim enjoys video games. | Kim does not like video games.
    Kim loves opera. | Kim can't stand opera.
    The team won on Friday. | The team lost on Friday.
    Ana went to Japan in April 2024. | Ana has never been to Japan.
    Kim's wedding is in Ghent. | Actually, Kim's wedding is in Porto.
    """
    assert [relation(old, new, category=each) for each in FILED] == [Relation.CONTRADICTION] * 3


@each_row
def test_what_is_said_again_is_the_same(old, new):
    """In other words, numbers, dates, orders and scripts.

    Ana likes green tea. | ana likes green tea
    Ana moved to Lisbon on May 7, 2023. | Ana moved to Lisbon on 7 May 2023.
    Ana has two cats. | Ana has 2 cats.
    The user doesn't eat meat. | The user does not eat meat.
    Ana works as a nurse in Oslo. | Ana works as a nurse in Oslo, too.
    Ana prefers short answers with examples. | Ana really prefers short answers with examples!
    Ben's daughter studies medicine in Porto. | Ben's daughter is studying medicine in Porto.
    The budget is 1,200 euros. | The budget is 1200 euros.
    The user lives in Lisbon near the river. | User lives in Lisbon, near the river.
    Ana is allergic to peanuts and shellfish. | Ana is allergic to shellfish and peanuts.
    Die Nutzerin wohnt in Köln. | die nutzerin wohnt in köln
    用户喜欢绿茶。 | 用户喜欢绿茶
    Melanie has been married for 5 years. | Melanie has been married for five years.
    The user hates cold weather. | The user really hates cold weather.
    John volunteers at a homeless shelter on weekends.
    | John volunteers on weekends at a homeless shelter.
    Maria adopted a puppy named Coco on 5 August 2023.
    | Maria adopted a puppy named Coco on August 5, 2023.
    The user cannot eat gluten. | The user can't eat gluten.
    """
    assert relation(old, new) is relation(old, new, category=Category.STATE) is Relation.DUPLICATE


@each_row
def test_what_does_not_exclude_the_other_stays(old, new):
    """Neither retires the other, in whichever order they were said and however it was filed.

    # Another time, thing, person or sort.
    In 2021 Ana lived in Oslo. | Ana lives in Lisbon since 2023.
    Ana lives in Lisbon. | In 2015 Ana lived in Paris.
    Ana likes tea. | Ana likes coffee.
    Ana's sister Mia is 12 years old. | Ana's sister Rosa is 9 years old.
    Ana's brother lives in Rome. | Ana lives in Lisbon.
    The Paris project has 5 members. | The Berlin project has 8 members.
    The deadline of project Alpha is May 1. | The deadline of project Beta is May 9.
    The kitchen budget is $500. | The bathroom budget is $700.
    Ana ran 5 km on Monday. | Ana ran 8 km on Tuesday.
    Caroline went to a support group on 7 May 2023.
    | Caroline went to a support group on 14 May 2023.
    Ana visited Rome in 2019. | Ana visited Rome in 2022.
    Ana has a dog named Rex. | Ana has a cat named Tom.
    Ana speaks German. | Ana speaks French.
    Ana plays the piano. | Ana plays tennis.
    Ana's quiz score improved from 78% to 88%. | Ana's accuracy improved from 60% to 85%.
    Ana wants to move to Madrid. | Ana lives in Lisbon.
    Ben moved to Lisbon. | Ana moved to Oslo.
    Ana read 3 books in May. | Ana wrote 2 poems in June.
    Ana lives in Lisbon. | Ana lives in Portugal.
    Ana works at Acme. | Ana works as an engineer.
    Ana has never been to Japan. | Ana watched a film about Japan.
    Ana does not like olives. | Ana likes olive oil soap.
    The flight to Rome is on May 3. | The flight to Oslo is on May 9.
    Ana bought a bike for 300 euros. | Ana bought a sofa for 800 euros.
    The revenue in 2021 was $3 million. | The revenue in 2022 was $4 million.
    Ana's favourite film is Alien. | Ana's favourite book is Dune.
    Ana stopped smoking. | Ana started jogging.
    Ana now has a garden. | Ana has a balcony.
    Ana no longer eats meat. | Ana eats fish.
    Ana is planning a trip to Kenya. | Ana is planning a party in June.
    The phone costs 300 euros. | The laptop costs 900 euros.
    Ana quit her job at Acme. | Ana plays chess at the club.
    Ana's mother is a doctor. | Ana's father is a teacher.
    How do I get to 80% coverage? | The build takes 5 minutes.
    Ana has two brothers. | Ana has three cats.
    Melanie painted a sunset in 2022. | Melanie painted a horse in 2023.
    John's brother is 30 years old. | John is 34 years old.
    The user went to Rome with Kate. | The user went to Paris with Tom.
    Maria donated $50 to the shelter. | Maria donated $80 to the church.
    The front end takes 2 seconds to load. | The back end takes 5 seconds to build.
    Gina has a store in Austin. | Gina has a store in Dallas.
    Sam doesn't like spinach. | Sam likes kale.
    Kate learned to swim in 2010. | Kate learned to ski in 2012.
    The meeting with Bob is on May 3. | The meeting with Alice is on May 5.
    I spent 3 hours on math homework. | I spent 4 hours on a history essay.
    The user never drinks alcohol. | The user drinks coffee every day.
    Omar moved his desk to the window. | Omar lives in Cairo.
    Jon used to work at a bank. | Jon works at a dance studio.
    Tom now works from home. | Tom has a home in Kent.
    Paul has two sisters. | Paul has two brothers.
    Nina completed 12 algebra problems. | Nina completed 15 geometry problems.
    The user visited the dentist on May 2. | The user visited the dentist on November 9.
    Lisa's car is red. | Lisa's house is white.
    Kate likes running in the morning. | Kate likes reading in the evening.
    Sam finished a 10k race in 52 minutes. | Sam finished a marathon in 4 hours.
    The user plans to visit Japan next year. | The user has never been to Japan.
    Python 3.11 is installed on the server. | Python 3.9 is installed on the laptop.
    The user is allergic to cats. | The user is not allergic to dogs.
    Ann changed the tires of her car. | Ann's car has 80,000 miles on it.
    The kitchen was painted blue. | The bedroom was painted green.
    Leo's favorite team is Arsenal. | Leo's favorite player is Messi.
    Eva said she's busy on Monday. | Eva said she's free on Tuesday.
    The user's mother lives in Rome. | The user's father lives in Milan.
    Ed grew tomatoes this year. | Ed now grows peppers.
    Zoe moved the meeting to Friday. | Zoe moved to Chicago.
    The API limit is 1000 calls per day. | The API limit is 60 calls per minute.
    My appointment is on March 3 at 9. | My appointment is on April 9, for the eyes.
    I drive a Volvo. | My wife drives a Tesla and I like it.
    My rent is 900 euros. | My gym costs 40 euros, is that too much?
    I live in Leeds and love it. | I lived in Oslo when I was a student.
    # Who asks for a value, or wants one, has not said that it is so.
    Ana lives in Oslo. | Does Ana live in Rome?
    Ana lives in Oslo. | Ana wants to move to Rome.
    I've never used Docker. | I want to use Docker.
    # Who once helped there, and who still does, are told by two facts.
    Ada is still helping at the shelter. | Ada helped at the shelter.
    Ada helped at the shelter. | Ada is still helping at the shelter.
    # What excludes the older fact here takes knowledge of the world, or of grammar.
    Maria is reading Dune. | Maria finished Dune and is reading Emma now.
    The user prefers email over phone calls. | The user now prefers phone calls over email.
    Sam uses an Android phone. | Sam switched to an iPhone.
    Sam is vegetarian. | Sam eats meat every day.
    # Events on other days, several that hold at once, plans and what became of them.
    Tara went to a chess meetup on 3 March 2024. | Tara joined a new chess league on 9 May 2024.
    Tara went to a chess congress on 4 May 2024. | Tara joined a new chess league on 9 May 2024.
    Noah went camping in June 2024. | Noah went camping in July 2024.
    Noah adopted a kitten on 2 March 2024. | Noah adopted a second kitten on 4 May 2024.
    In 2021 Lena took a cooking class. | Lena is now close to one of the cooks.
    Lena baked 40 rolls for the fair. | Lena baked 60 rolls for the wedding.
    Lena donated $50 to the library in March. | Lena has now donated $80 to the zoo.
    Ravi won a chess match. | Ravi lost a chess match.
    Ravi took the stairs in the morning. | Ravi now takes the lift in the morning.
    Ravi lost his job at a bakery in March 2024. | Ravi lost his job at the bakery.
    Ravi started a food truck not that long ago. | Ravi opened a food truck.
    Sofia had a bad flight. | Recently, Sofia had a not-so-bad flight.
    Milo joined a reading circle. | Milo joined a search-and-rescue crew.
    Milo joined a rowing crew. | Milo is now part of the rowing crew.
    Milo loves evenings with the neighbors. | Milo is now friends with one of the neighbors.
    Nora has a cat named Pip. | Nora now has a parrot named Kiwi.
    Nora plays the cello. | Nora now plays the drums.
    Nora takes pottery classes. | Nora now takes dance classes.
    One of Nora's favorite films is Alien. | One of Nora's favorite films is Heat.
    Nora's favorite writers are Woolf and Joyce. | Nora's favorite writers are Mann and Zweig.
    Nora's new poem is about the sea. | Nora's new poem is on the wall.
    Omar works at a bakery on weekends. | Omar works at a hotel.
    Omar works at Lumen. | Omar also works at Orbit.
    Omar works as a nurse. | Omar works as a tutor from time to time.
    Omar works at night. | Omar works at a hotel.
    The user has been studying for a week now. | The user has been studying graph theory.
    Omar's goal is to sleep more. | Omar's goal is to read more.
    The user's deadline is May 1, 2024. | The user's deadline is May 20, 2024.
    Omar's job is hard. | Omar's job is fun.
    Ivy plans to run a race in May. | Ivy ran a race on 20 May 2024.
    Ivy is aiming to solve 10 riddles. | Ivy has now solved 12 riddles.
    Ivy wants to learn Dutch. | Ivy is learning Dutch.
    Ivy is trying to build the login page with Vue. | Ivy has never built any Vue pages.
    The user has set up the project with Vue. | The user has never written any Vue tests.
    The user uses Vue for the shop. | The user has never written any Vue tests.
    Ivy has been working since 2010. | Ivy has not been working for a few years.
    Ivy is a life coach. | The valley where Ivy lives does not have life coaches.
    Ivy keeps chasing her dreams. | Ivy keeps going and reaches her dreams no matter what.
    Leo has tagged a release, pushed with 150 commits. | The branch has now 165 commits.
    Leo has a sister who is 10 years older. | Leo is 40 years old.
    Leo's family is from Peru. | Leo's family moved to Chile.
    Leo is 60 years old. | Leo's son is 11 years old.
    Leo has a brother in Oslo. | Leo moved from Oslo to Rome.
    Leo likes hiking with Carla. | Leo broke up with Carla.
    Leo drew a triangle with sides of 3, 4 and 5 cm. | The new sides are 6 cm, 8 cm and 10 cm.
    Leo has decided on three main rooms. | The paint in the main room has now reached 12 liters.
    Leo hates his old car. | Leo's old car is red.
    """
    assert relation(old, new) is Relation.NONE
    for category in FILED:
        assert relation(old, new, category=category) not in EXCLUDE
        assert relation(new, old, category=category) not in EXCLUDE


@each_row
def test_what_is_over_in_part_is_not_ended(old, new):
    """The rest of what it says would be lost.

    Leo lives in Oslo and has three dogs and a boat. | Leo lives in Rome.
    Leo is using Vue 2.7, Jest 28 and Sass for the shop. | Leo upgraded to Jest 29.
    The user's name is Cory and the user walks dogs. | The user's name is Blake.
    Leo is studying law, plays chess at the club and works at Lumen. | Leo now works at Orbit.
    """
    assert relation(old, new) is Relation.NONE


@each_row
def test_what_goes_on_is_the_same_on_any_day(old, new):
    """It was filed under event, but it is no happening of a day.

    As for Ada, Ada has been helping at an animal shelter.
    | Ada is still helping at the animal shelter.
    The user has been using Redis 7 for caching. | The user is using Redis 7 for caching.
    """
    assert relation(old, new, category=Category.EVENT) is Relation.DUPLICATE


def test_the_same_happening_on_two_days_happened_twice_also_without_a_category():
    """An audit knows no category; it must not call two evenings one."""
    old, new = "Ada danced with the old crew.", "Ada danced again with the old crew."
    assert relation(old, new) is not Relation.DUPLICATE or says_more(new, old)
    assert relation(old, new, at=OLD) is Relation.DUPLICATE


def test_a_correction_filed_as_one_needs_no_cue():
    """The extractor drops ``Actually``; the category still says so."""
    old, new = "Kim's sister is a pilot.", "Kim's sister is a nurse."
    assert relation(old, new) is Relation.NONE
    assert relation(old, new, category=Category.CORRECTION) is Relation.CONTRADICTION


@each_row
def test_the_first_verb_tells_what_happened_from_what_is(text, aspect):
    """A state where no verb is recognised.

    Ada moved to Ghent. | PAST
    On 4 May 2024 Ada finally took the kids to a lake. | PAST
    Ada's mom and Ada made some soup. | PAST
    Ada was promoted in May. | PAST
    Ada has moved to Ghent. | PERFECT
    Ada has been to Ghent. | PERFECT
    Ada was glad. | WAS
    Ada has a dog named Rex. | STATE
    Ada loves a shop called Foo. | STATE
    Ada has been working on a novel. | STATE
    Ada has always loved the sea. | STATE
    Ada has never moved house. | STATE
    Ada used to sing. | STATE
    Ada is trying to tune the piano she bought. | STATE
    ? | STATE
    """
    assert read_aspect(text) is Aspect[aspect]


FACTS = [
    "Ana lives in Oslo.", "Ana moved to Lisbon in May 2023.", "Ben works at Acme.",
    "Ben no longer works at Acme.", "The deadline is May 5.", "The deadline was moved to May 9.",
    "I have never used Flask routes.", "I implemented three routes with Flask.",
    "Ana hates olives.", "Ana likes olives.",
]  # fmt: skip
TEXTS = st.text(min_size=1, max_size=60) | st.sampled_from(FACTS)


@given(old=TEXTS, new=TEXTS)
def test_any_text_gets_a_verdict(old, new):
    """The judge is total, sure between 0 and 1, gives the same answer twice, and quotes nobody.

    What is said twice is a duplicate, never a conflict.
    """
    verdict = judge(old, new)
    assert 0 <= verdict.confidence <= 1
    assert verdict == judge(old, new)
    assert not {"ana", "ben", "oslo", "olives", "flask"} & set(verdict.why.lower().split())
    assert relation(old, old) is Relation.DUPLICATE


@given(old=st.sampled_from(FACTS), new=st.sampled_from(FACTS))
def test_other_subjects_never_exclude_each_other(old, new):
    """What is said of Ana changes nothing of what is known of Ben."""
    assert relation(old, new, subjects=("Ana", "Ben")) is Relation.NONE


def test_texts_without_a_common_theme_are_left_alone():
    """Vectors that point apart outweigh words that happen to be the same."""
    old, new = "The app has 200 users.", "The app now has 500 users."
    assert relation(old, new) is Relation.UPDATE
    assert relation(old, new, likeness=0.9) is Relation.UPDATE
    assert relation(old, new, likeness=0.05) is Relation.NONE


def test_a_conflict_is_found_inside_long_messages():
    """One pair of clauses decides, wherever it stands; program code is not what is said."""
    old = (
        "I'm trying to plan my garden, and I want to know more about soil. We've set a budget "
        "of $900 for the raised beds, and the seeds come from a friend. Can you help me choose?"
    )
    new = (
        "Thanks, that helps! I'm looking into compost now, but the new budget of $1,200 for the "
        "raised beds gives us some room.\n```python\nbudget = 900\n```\nWhat should I buy first?"
    )
    assert relation(old, new) is Relation.UPDATE
    assert relation(old, new.replace("$1,200", "$900")) not in EXCLUDE
    assert relation(old, new.replace("new budget of $1,200", "fence of 3 m")) not in EXCLUDE


CODES = st.from_regex(
    r"[a-z]{2}[0-9][a-z][0-9][a-z][0-9]{1,2}[a-z]|[a-z]{2,3}[0-9]{3,6}", fullmatch=True
)
UNRELATED = (
    "I like {}.", "{} is my dog.", "I use {} every day.", "The meeting {} is on Monday.",
    "I stopped using {}.", "We cancelled {}.", "I moved to {}.", "I no longer like {}.",
)  # fmt: skip


@given(st.sampled_from(UNRELATED), st.sampled_from(UNRELATED), CODES, CODES)
def test_facts_with_different_codes_are_not_about_the_same(first, second, one, other):
    """A code is a name: what is said of one ends nothing that was said of another."""
    assume(one != other and not (first == second == "I moved to {}."))
    assert relation(first.format(one), second.format(other)) is Relation.NONE

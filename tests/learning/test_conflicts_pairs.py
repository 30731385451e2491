"""Pairs of short facts, judged: what changed, what cannot be, what is the same, what is apart."""

from datetime import UTC, datetime, timedelta

from tables import each_row

from memoranda.learning.claims import Relation, Statement
from memoranda.learning.conflicts import RuleJudge

OLD = datetime(2024, 3, 1, tzinfo=UTC)
NEW = OLD + timedelta(days=60)

UPDATES = [
    ("Caroline lives in Oslo.", "Caroline moved to Lisbon in May 2023."),
    ("Ana moved to Oslo in 2019.", "Ana moved to Madrid in 2023."),
    ("The user lives in Berlin.", "The user now lives in Hamburg."),
    ("Ana works at Acme.", "Ana works at Globex now."),
    ("Ana works as a nurse.", "Ana works as a teacher."),
    (
        "The deadline of the first sprint is April 1, 2024.",
        "The deadline of the first sprint is April 5, 2024.",
    ),
    ("The thesis deadline is May 3.", "The thesis deadline was extended to May 17."),
    ("Ana's favourite colour is green.", "Ana's favourite colour is blue."),
    ("My favorite restaurant is Luigi's.", "My favorite restaurant is now Sakura."),
    ("The repository has 150 commits.", "The repository now has 165 commits."),
    ("The API response time is 250ms.", "The API response time dropped to 200ms."),
    ("The team has 8 people.", "The team has grown to 12 people."),
    ("Test coverage is 65%.", "Test coverage has increased to 78%."),
    ("The rent is 900 euros a month.", "The rent is 950 euros a month."),
    ("Ana plays tennis every week.", "Ana no longer plays tennis."),
    ("Ana smokes.", "Ana quit smoking, she no longer smokes."),
    ("The project uses PostgreSQL.", "The project switched from PostgreSQL to SQLite."),
    ("Ana takes the bus to work.", "Ana now takes the train to work."),
    ("Ana is single.", "Ana is married."),
    ("The picnic is on Saturday.", "The picnic was moved to Sunday."),
    ("Ana wakes up at 6 every morning.", "Ana wakes up at 7 every morning."),
    ("Ana drinks coffee in the morning.", "Ana drinks tea instead of coffee."),
    ("Ben is dating Carla.", "Ben broke up with Carla."),
    ("The budget for the wedding is $20,000.", "The budget for the wedding was raised to $25,000."),
    ("Ana has never been to Japan.", "Ana went to Japan in April 2024."),
    ("Ana is vegetarian.", "Ana became vegan in 2024."),
    ("Melanie has three kids.", "Melanie now has four kids."),
    ("John weighs 82 kg.", "John weighs 78 kg."),
    ("The user is learning Spanish.", "The user stopped learning Spanish."),
    ("Gina's store is in Austin.", "Gina's store moved to Dallas."),
    ("The launch date is June 1, 2024.", "The launch date was pushed back to June 15, 2024."),
    ("Jon works as a banker.", "Jon lost his job as a banker."),
    ("The user's salary is $80,000.", "The user's salary increased to $90,000."),
    ("The gym membership costs $40 per month.", "The gym membership now costs $55 per month."),
    ("Tom is engaged to Lisa.", "Tom is married to Lisa."),
    ("The app has 200 users.", "The app reached 500 users."),
    ("Kate studies biology.", "Kate changed her major from biology to chemistry."),
    ("The weekly meeting is at 10 am.", "The weekly meeting has been moved to 2 pm."),
    ("Omar lives with his parents.", "Omar no longer lives with his parents."),
    ("My phone number is 555-1234.", "My phone number changed to 555-9876."),
    ("The user lives in Boston.", "The user relocated to Denver last month."),
    ("Nina's goal is to run 5 km.", "Nina's goal is now to run 10 km."),
    ("The error rate is 12%.", "The error rate went down to 1%."),
    ("Paul is the team lead.", "Paul is no longer the team lead."),
    ("I have written 20 pages of my thesis.", "I've now written 35 pages of my thesis."),
    ("The default branch is master.", "The default branch was renamed to main."),
    ("Omar was born in 1990.", "Omar was born in 1988."),
    (
        "The user's budget for the trip is 2000 euros.",
        "The user's budget for the trip has been cut to 1500 euros.",
    ),
]
CONTRADICTIONS = [
    ("I implemented the homepage route with Flask.", "I've never written any Flask routes."),
    ("Ana has tried sushi in Tokyo.", "Ana has never eaten sushi."),
    ("Ana likes olives.", "Ana does not like olives."),
    ("Ana likes cilantro.", "Ana hates cilantro."),
    ("Ana is allergic to peanuts.", "Ana is not allergic to peanuts."),
    ("Ben can swim.", "Ben cannot swim."),
    ("Ana's birthday is May 5.", "Actually, Ana's birthday is May 3."),
    ("Ana's birthday is May 5.", "Ana's birthday is June 9."),
    ("The meeting is in room 4.", "The meeting is not in room 4 but in room 6."),
    ("Ana has a car.", "Ana does not have a car."),
    ("The server is in Frankfurt.", "Actually the server is in Dublin."),
    ("Ana speaks German.", "Ana doesn't speak German."),
    (
        "The user has completed several coin toss problems.",
        "The user has never completed any coin toss problems before.",
    ),
    ("The feature is enabled by default.", "The feature is disabled by default."),
    ("The store is open on Sundays.", "The store is closed on Sundays."),
    ("Ben drinks alcohol.", "Ben doesn't drink alcohol."),
    ("Ana bought the API key on March 10.", "Ana has never bought an API key."),
    ("Ana's sister is married.", "Ana's sister is not married."),
    ("Melanie enjoys camping.", "Melanie doesn't enjoy camping."),
    ("John has visited Paris twice.", "John has never visited Paris."),
    ("The user owns a car.", "The user doesn't own a car."),
    ("Maria's anniversary is on June 5.", "Actually, Maria's anniversary is on June 15."),
    ("Gina loves horror films.", "Gina can't stand horror films."),
    ("The database is MySQL.", "No, the database is PostgreSQL, not MySQL."),
    ("I deployed the app to Heroku in April.", "I have never deployed the app to Heroku."),
    ("Kate can drive.", "Kate can't drive."),
    ("The library supports Python 3.8.", "The library does not support Python 3.8."),
    ("Tom trusts his doctor.", "Tom does not trust his doctor."),
    ("I've used React in several projects.", "I've never used React before."),
    ("The tests passed on Friday.", "The tests failed on Friday."),
]
DUPLICATES = [
    ("Ana likes green tea.", "ana likes green tea"),
    ("Ana moved to Lisbon on May 7, 2023.", "Ana moved to Lisbon on 7 May 2023."),
    ("Ana has two cats.", "Ana has 2 cats."),
    ("The user doesn't eat meat.", "The user does not eat meat."),
    ("Ana works as a nurse in Oslo.", "Ana works as a nurse in Oslo, too."),
    ("Ana prefers short answers with examples.", "Ana really prefers short answers with examples!"),
    ("Ben's daughter studies medicine in Porto.", "Ben's daughter is studying medicine in Porto."),
    ("The budget is 1,200 euros.", "The budget is 1200 euros."),
    ("The user lives in Lisbon near the river.", "User lives in Lisbon, near the river."),
    ("Ana is allergic to peanuts and shellfish.", "Ana is allergic to shellfish and peanuts."),
    ("Die Nutzerin wohnt in Köln.", "die nutzerin wohnt in köln"),
    ("用户喜欢绿茶。", "用户喜欢绿茶"),
    ("Melanie has been married for 5 years.", "Melanie has been married for five years."),
    ("The user hates cold weather.", "The user really hates cold weather."),
    (
        "John volunteers at a homeless shelter on weekends.",
        "John volunteers on weekends at a homeless shelter.",
    ),
    (
        "Maria adopted a puppy named Coco on 5 August 2023.",
        "Maria adopted a puppy named Coco on August 5, 2023.",
    ),
    ("The user cannot eat gluten.", "The user can't eat gluten."),
]
APART = [
    ("In 2021 Ana lived in Oslo.", "Ana lives in Lisbon since 2023."),
    ("Ana lives in Lisbon.", "In 2015 Ana lived in Paris."),
    ("Ana likes tea.", "Ana likes coffee."),
    ("Ana's sister Mia is 12 years old.", "Ana's sister Rosa is 9 years old."),
    ("Ana's brother lives in Rome.", "Ana lives in Lisbon."),
    ("The Paris project has 5 members.", "The Berlin project has 8 members."),
    ("The deadline of project Alpha is May 1.", "The deadline of project Beta is May 9."),
    ("The kitchen budget is $500.", "The bathroom budget is $700."),
    ("Ana ran 5 km on Monday.", "Ana ran 8 km on Tuesday."),
    (
        "Caroline went to a support group on 7 May 2023.",
        "Caroline went to a support group on 14 May 2023.",
    ),
    ("Ana visited Rome in 2019.", "Ana visited Rome in 2022."),
    ("Ana has a dog named Rex.", "Ana has a cat named Tom."),
    ("Ana speaks German.", "Ana speaks French."),
    ("Ana plays the piano.", "Ana plays tennis."),
    ("Ana's quiz score improved from 78% to 88%.", "Ana's accuracy improved from 60% to 85%."),
    ("Ana wants to move to Madrid.", "Ana lives in Lisbon."),
    ("Ben moved to Lisbon.", "Ana moved to Oslo."),
    ("Ana read 3 books in May.", "Ana wrote 2 poems in June."),
    ("Ana lives in Lisbon.", "Ana lives in Portugal."),
    ("Ana works at Acme.", "Ana works as an engineer."),
    ("Ana has never been to Japan.", "Ana watched a film about Japan."),
    ("Ana does not like olives.", "Ana likes olive oil soap."),
    ("The flight to Rome is on May 3.", "The flight to Oslo is on May 9."),
    ("Ana bought a bike for 300 euros.", "Ana bought a sofa for 800 euros."),
    ("The revenue in 2021 was $3 million.", "The revenue in 2022 was $4 million."),
    ("Ana's favourite film is Alien.", "Ana's favourite book is Dune."),
    ("Ana stopped smoking.", "Ana started jogging."),
    ("Ana now has a garden.", "Ana has a balcony."),
    ("Ana no longer eats meat.", "Ana eats fish."),
    ("Ana is planning a trip to Kenya.", "Ana is planning a party in June."),
    ("The phone costs 300 euros.", "The laptop costs 900 euros."),
    ("Ana quit her job at Acme.", "Ana plays chess at the club."),
    ("Ana's mother is a doctor.", "Ana's father is a teacher."),
    ("How do I get to 80% coverage?", "The build takes 5 minutes."),
    ("Ana has two brothers.", "Ana has three cats."),
    ("Melanie painted a sunset in 2022.", "Melanie painted a horse in 2023."),
    ("John's brother is 30 years old.", "John is 34 years old."),
    ("The user went to Rome with Kate.", "The user went to Paris with Tom."),
    ("Maria donated $50 to the shelter.", "Maria donated $80 to the church."),
    ("The front end takes 2 seconds to load.", "The back end takes 5 seconds to build."),
    ("Gina has a store in Austin.", "Gina has a store in Dallas."),
    ("Sam doesn't like spinach.", "Sam likes kale."),
    ("Kate learned to swim in 2010.", "Kate learned to ski in 2012."),
    ("The meeting with Bob is on May 3.", "The meeting with Alice is on May 5."),
    ("I spent 3 hours on math homework.", "I spent 4 hours on a history essay."),
    ("The user never drinks alcohol.", "The user drinks coffee every day."),
    ("Omar moved his desk to the window.", "Omar lives in Cairo."),
    ("Jon used to work at a bank.", "Jon works at a dance studio."),
    ("Tom now works from home.", "Tom has a home in Kent."),
    ("Paul has two sisters.", "Paul has two brothers."),
    ("Nina completed 12 algebra problems.", "Nina completed 15 geometry problems."),
    ("The user visited the dentist on May 2.", "The user visited the dentist on November 9."),
    ("Lisa's car is red.", "Lisa's house is white."),
    ("Kate likes running in the morning.", "Kate likes reading in the evening."),
    ("Sam finished a 10k race in 52 minutes.", "Sam finished a marathon in 4 hours."),
    ("The user plans to visit Japan next year.", "The user has never been to Japan."),
    ("Python 3.11 is installed on the server.", "Python 3.9 is installed on the laptop."),
    ("The user is allergic to cats.", "The user is not allergic to dogs."),
    ("Ann changed the tires of her car.", "Ann's car has 80,000 miles on it."),
    ("The kitchen was painted blue.", "The bedroom was painted green."),
    ("Leo's favorite team is Arsenal.", "Leo's favorite player is Messi."),
    ("Eva said she's busy on Monday.", "Eva said she's free on Tuesday."),
    ("The user's mother lives in Rome.", "The user's father lives in Milan."),
    ("Ed grew tomatoes this year.", "Ed now grows peppers."),
    ("Zoe moved the meeting to Friday.", "Zoe moved to Chicago."),
    ("The API limit is 1000 calls per day.", "The API limit is 60 calls per minute."),
]
PAIRS = [
    *((old, new, Relation.UPDATE) for old, new in UPDATES),
    *((old, new, Relation.CONTRADICTION) for old, new in CONTRADICTIONS),
    *((old, new, Relation.DUPLICATE) for old, new in DUPLICATES),
    *((old, new, Relation.NONE) for old, new in APART),
]


def judge(old, new):
    """The rule judge's verdict on two texts."""
    return RuleJudge().judge(Statement(old, OLD), Statement(new, NEW))


@each_row(("old", "new", "relation"), PAIRS)
def test_pairs_of_facts_are_told_apart(old, new, relation):
    """Each pair gets the verdict a reader would give."""
    assert judge(old, new).relation is relation


@each_row
def test_what_rules_cannot_know_is_left_alone(old, new):
    """Where a model would see a change, the rules keep both, and never take them for one.

    # What excludes the older fact here takes knowledge of the world, or of grammar.
    Maria is reading Dune. | Maria finished Dune and is reading Emma now.
    The user prefers email over phone calls. | The user now prefers phone calls over email.
    Sam uses an Android phone. | Sam switched to an iPhone.
    Sam is vegetarian. | Sam eats meat every day.
    """
    assert judge(old, new).relation is Relation.NONE


@each_row
def test_a_message_changes_what_an_older_one_states_of_an_attribute(old, new):
    """Whatever else they say, and in whatever words the newer one tells the new value.

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
    """
    assert RuleJudge().judge(Statement(old, OLD), Statement(new, NEW)).relation is Relation.UPDATE


@each_row
def test_a_message_about_something_else_changes_nothing(old, new):
    """Another appointment, another person, another price, another time.

    My appointment is on March 3 at 9. | My appointment is on April 9, for the eyes.
    I drive a Volvo. | My wife drives a Tesla and I like it.
    My rent is 900 euros. | My gym costs 40 euros, is that too much?
    I live in Leeds and love it. | I lived in Oslo when I was a student.
    """
    assert RuleJudge().judge(Statement(old, OLD), Statement(new, NEW)).relation is Relation.NONE


def test_what_somebody_never_did_is_over_once_they_speak_of_it_as_done():
    """Also where the deed stands in a clause about something else."""
    old = "I have never written any unit tests for the payment module, where should I start?"
    new = "The unit tests that I wrote for the payment module in February fail since the upgrade."
    assert RuleJudge().judge(Statement(old, OLD), Statement(new, NEW)).relation is Relation.UPDATE

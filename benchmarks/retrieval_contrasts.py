"""Talk in which nothing is out of date, though it may look like that.

The questions of ``PAST`` ask for what was: their order must stay what it is without precedence.
Each of ``CONTRASTS`` is (question, what answers it, a later text about something else): the
first must not be overtaken. ``LISTS`` ask for several things at once, and ``TALK`` stands
between all these.
"""

from __future__ import annotations

from benchmarks.retrieval_cases import UPDATES, Case

PAST = (
    Case("What was my monthly grocery budget originally?", UPDATES[4].earlier, UPDATES[4].later),
    Case("Where did I live before?", UPDATES[2].earlier, UPDATES[2].later),
    Case("What did I first say about my favourite coffee?", UPDATES[5].earlier, UPDATES[5].later),
    Case(
        "What was the error rate of the payment gateway initially?",
        UPDATES[14].earlier,
        UPDATES[14].later,
    ),
    Case(
        "What was the launch date of the app originally?",
        "The launch of the weather app is set for June 1.",
        "The launch of the weather app has moved to July 15.",
    ),
)

CONTRASTS = (
    Case(
        "How old is my sister Ana?",
        "My sister Ana is 31 years old and works as a nurse.",
        "My sister Berta is 27 years old now and studies law.",
    ),
    Case(
        "How many kilometres did I walk on the trip to Madeira?",
        "On the trip to Madeira I walked 64 kilometres along the levadas.",
        "On the trip to the Azores I walked 38 kilometres around the lakes.",
    ),
    Case(
        "What is the deadline of the tax return?",
        "The deadline of my tax return is July 31.",
        "The deadline of the insurance claim is August 15.",
    ),
    Case(
        "What is the price of the blue bicycle?",
        "The blue bicycle in the shop window costs 480 euros.",
        "The red bicycle in the shop window costs 520 euros.",
    ),
    Case(
        "How much did the flight to Oslo cost?",
        "The flight to Oslo cost 210 euros in the end.",
        "The flight to Rome cost 95 euros in the end.",
    ),
    Case(
        "What is the latency of the search endpoint?",
        "The latency of the search endpoint is 90 ms.",
        "The latency of the upload endpoint has improved to 140 ms.",
    ),
    Case(
        "How many questions were in the biology exam?",
        "The biology exam had 30 questions and I passed.",
        "The chemistry exam had 24 questions and I passed, too.",
    ),
    Case(
        "What is my brother's address?",
        "My brother's address is 14 Mill Lane, Norwich.",
        "My parents' new address is 3 Garden Row, Leeds.",
    ),
    Case(
        "How many apples does the pie recipe need?",
        "Grandmother's pie recipe needs 6 apples and a pound of flour.",
        "I bought 12 apples at the market, they were cheap now in autumn.",
    ),
    Case(
        "What is the name of my cat?",
        "The name of my cat is Mimi, she is black and lazy.",
        "The name of my new dog is Rufus.",
    ),
    Case(
        "How many seats does the Porto office have?",
        "The Porto office has 25 seats and a kitchen.",
        "The Faro office was extended and has 40 seats now.",
    ),
    Case(
        "What is the Wi-Fi password of the summer house?",
        "The Wi-Fi password of the summer house is seagull77.",
        "The Wi-Fi password of the office has changed to granite12.",
    ),
    Case(
        "How many tests does the parser module have?",
        "The parser module has 140 tests, all green.",
        "The lexer module has now grown to 96 tests, all green.",
    ),
    Case(
        "When did I visit the museum in Vienna?",
        "I visited the museum in Vienna on May 4 with my aunt.",
        "I visited the museum in Graz on June 9 with my aunt.",
    ),
    Case(
        "How many words is the essay on Kafka?",
        "My essay on Kafka is 2,400 words long.",
        "My essay on Woolf is now 3,100 words long.",
    ),
    Case(
        "What is the budget for the bathroom?",
        "The budget for the bathroom is $4,000.",
        "The budget for the garden was raised to $2,500.",
    ),
    Case(
        "When is Lena's birthday?",
        "Lena's birthday is on April 9, she wants a telescope.",
        "Marco's birthday is on May 2, he wants a drone now.",
    ),
    Case(
        "How many goals did Rita score this season?",
        "Rita scored 11 goals this season.",
        "Carla scored 14 goals this season.",
    ),
    Case(
        "What is the timeout of the login service?",
        "The timeout of the login service is 30 seconds.",
        "I changed the timeout of the export service to 120 seconds.",
    ),
    Case(
        "What is the price of the annual plan?",
        "The annual plan has a price of 96 dollars.",
        "The monthly plan has a new price of 11 dollars.",
    ),
    Case(
        "What is the height of the bookshelf?",
        "The bookshelf has a height of 180 cm.",
        "The new desk has a height of 74 cm.",
    ),
    Case(
        "How many rooms does the flat in Ghent have?",
        "The flat in Ghent has 3 rooms and a terrace.",
        "The flat in Bruges has 4 rooms, we saw it now.",
    ),
    Case(
        "What is the phone number of the vet?",
        "The phone number of the vet is 555-7781.",
        "The phone number of the plumber has changed to 555-9032.",
    ),
    Case(
        "What is the capital budget in phase 1?",
        "The capital budget in phase 1 is 80,000 euros.",
        "The capital budget in phase 2 was increased to 120,000 euros.",
    ),
    Case(
        "Which dessert does Nadia like?",
        "Nadia likes panna cotta as a dessert.",
        "Stefan likes tiramisu as a dessert now.",
    ),
    Case(
        "What is the salary of a nurse in my town?",
        "The salary of a nurse in my town is 38,000 euros.",
        "The salary of a teacher in my town rose to 44,000 euros.",
    ),
    Case(
        "How many cups of flour are in the waffle batter?",
        "The waffle batter has 2 cups of flour.",
        "The pancake batter has 3 cups of flour.",
    ),
    Case(
        "How many books did I buy at the fair?",
        "I bought 3 books at the book fair.",
        "I bought 5 records at the record fair.",
    ),
    Case(
        "What did I pay for the sofa?",
        "I paid 700 euros for the sofa.",
        "I paid 450 euros for the armchair now.",
    ),
)

LISTS = (
    (
        "Which cities did I visit in Italy?",
        (
            "I visited Bologna, the city of arcades, on my first day in Italy.",
            "I visited Verona, a city in Italy with an arena, for the opera.",
            "I visited Turin, in the north of Italy, a city of coffee houses.",
        ),
    ),
    (
        "What instruments do I play?",
        (
            "I play the cello in an amateur orchestra, my main instrument.",
            "I play the ukulele as well, an easy instrument for parties.",
            "I started to play another instrument, the accordion.",
        ),
    ),
    (
        "What are the names of my sisters?",
        (
            "My sister Ana is 31 years old and works as a nurse.",
            "My sister Berta is 27 years old now and studies law.",
        ),
    ),
)

TALK = (
    "Can you explain how compost works and how long it takes?",
    "I'm trying to understand the difference between a list and a tuple.",
    "The weather was awful today, 14 degrees and rain all day.",
    "Please always show me the steps when you calculate something.",
    "I read an article about 3 new ferry lines to the islands.",
    "What would be a good present for a colleague who retires?",
    "I have to call the bank about the card on Monday at 10:00.",
    "The printer on the second floor is broken again.",
    "Could you write a polite reply to the neighbour about the noise?",
    "My train was 25 minutes late, so I missed the first talk.",
    "I'm thinking of learning to sail next year.",
    "How do I reset the router without losing its settings?",
    "We watched a film about the history of tea, it won 4 prizes.",
    "The soup needs 2 more spoons of salt, I think.",
    "I bought a new lamp for the desk for 35 euros.",
    "Tell me something about the moons of Jupiter, there are 95 of them.",
    "The kids have sports on Wednesday, I need to pack their bags.",
    "I updated the drivers of the sound card, it works now.",
    "The plumber changed the tap, it was leaking 2 litres a day.",
    "Let's talk about the structure of my talk at the meetup.",
    "The new bakery at the corner has recently opened, its bread is great.",
    "I moved the sofa to the other wall, the room looks bigger now.",
    "Give me 5 ideas for a rainy Sunday.",
    "The exhibition on maps closes on September 30.",
)

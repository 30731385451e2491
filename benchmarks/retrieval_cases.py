"""Talk in which something changed: a question, what was true before, and what is true now.

All of it was said by the user. ``benchmarks.retrieval_contrasts`` has talk in which things only
seem to change.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A question, with an earlier and a later text."""

    question: str
    earlier: str
    later: str


UPDATES = (
    Case(
        "How many open tickets are left in the support queue?",
        "Morning sync done. The support queue stands at 42 open tickets, mostly login trouble.",
        "Good progress today, the support queue has dropped to 17 open tickets.",
    ),
    Case(
        "What is the deadline for the grant application?",
        "The grant application is due on March 3, so I have to start with the budget part.",
        "They extended it: the new deadline of the grant application is March 17.",
    ),
    Case(
        "Where do I live?",
        "I live in Porto, in a small flat near the river, and I like to cook.",
        "We finally moved, I live in Braga now and the flat has a balcony.",
    ),
    Case(
        "Which text editor do I use for Python?",
        "For Python I use PyCharm as my editor, with the dark theme.",
        "I switched to Neovim as my editor for Python, PyCharm was too slow on my laptop.",
    ),
    Case(
        "What is my monthly budget for groceries?",
        "Let's plan: my monthly grocery budget is 400 euros for the two of us.",
        "Prices went up, so I raised the monthly grocery budget to 460 euros.",
    ),
    Case(
        "What is my favourite coffee?",
        "My favourite coffee is a flat white with oat milk.",
        "These days my favourite coffee is a plain espresso, no milk any more.",
    ),
    Case(
        "Which version of Postgres does the billing service run on?",
        "The billing service runs on Postgres 13.4, installed by our ops people.",
        "We upgraded the billing service to Postgres 16.1 over the weekend.",
    ),
    Case(
        "How many people are on my team?",
        "There are 6 people on my team, two of them designers.",
        "Two engineers joined, which makes 8 people on my team.",
    ),
    Case(
        "Who is my manager?",
        "My manager is Helena Duarte, she signs the travel requests.",
        "After the reorganisation my manager is Tomas Reyes.",
    ),
    Case(
        "What time is my weekly piano lesson?",
        "My weekly piano lesson is on Tuesday at 17:00.",
        "The teacher rescheduled the weekly piano lesson to Thursday at 18:30.",
    ),
    Case(
        "How long is my commute?",
        "My commute takes 55 minutes each way, with one change of trains.",
        "With the new tram line my commute takes 35 minutes each way.",
    ),
    Case(
        "What is the page load time of the shop?",
        "The page load time of the shop is about 3.2 seconds, can you help me find out why?",
        "After lazy loading the images the page load time of the shop improved to 1.9 seconds, "
        "and I would like to look at the database next.",
    ),
    Case(
        "How much do I weigh?",
        "I weigh 82 kg and want to lose some before the summer.",
        "The diet works: I weigh 77 kg as of this morning.",
    ),
    Case(
        "How many pages of the thesis have I written?",
        "I have written 40 pages of my thesis so far, the chapter on methods is complete.",
        "I'm rewriting the introduction, and I've now written 65 pages of the thesis.",
    ),
    Case(
        "What is the error rate of the payment gateway?",
        "The payment gateway shows an error rate of 2.5%, mostly time-outs.",
        "The retries helped, the error rate of the payment gateway went down to 0.8%.",
    ),
    Case(
        "What is my phone number?",
        "You can note my phone number: 555-0142.",
        "I got a new SIM card, my phone number is 555-0199.",
    ),
    Case(
        "What kind of car do I drive?",
        "I drive a Renault Clio, it is eleven years old.",
        "Sold the old thing last week, I drive a Skoda Octavia now.",
    ),
    Case(
        "How many chapters does my online course have?",
        "I'm designing an online course on bookkeeping with 9 chapters and a quiz for each one.",
        "I added three chapters on taxes to the online course, so it has 12 chapters in total.",
    ),
    Case(
        "What is the venue of the spring workshop?",
        "The venue of the spring workshop is the Harbour Hall.",
        "The Harbour Hall fell through, the venue of the spring workshop is the Old Brewery.",
    ),
    Case(
        "What is the rate limit of the partner API?",
        "The partner API has a rate limit of 100 requests per minute. How do I queue the calls?",
        "Our contract was renewed: the partner API allows 250 requests per minute now, so the "
        "rate limit in my code must change.",
    ),
    Case(
        "How often do I go running?",
        "I go running 2 times a week, in the park behind the house.",
        "I increased my running to 4 times a week to prepare for the race.",
    ),
    Case(
        "What is my average running pace?",
        "My average running pace is 6:10 per kilometre.",
        "I've worked on intervals and my average running pace is 5:35 per kilometre.",
    ),
    Case(
        "How many subscribers does my newsletter have?",
        "My gardening newsletter has 1,200 subscribers, and I want to write about compost.",
        "I'm looking for a sponsor since the newsletter recently reached 1,500 subscribers.",
    ),
    Case(
        "What is the test coverage of the parser?",
        "The parser's test coverage is at 61%, the error paths are missing.",
        "I wrote tests for the error paths, which brought the parser's test coverage to 84%.",
    ),
    Case(
        "Am I a vegetarian?",
        "I'm a vegetarian, so no fish and no meat in the recipes, please.",
        "I'm no longer a vegetarian, I started to eat fish again.",
    ),
    Case(
        "What is my rent?",
        "My rent is 950 euros a month, heating included.",
        "The landlord increased my rent to 1,020 euros a month.",
    ),
    Case(
        "When is my dentist appointment?",
        "I have a dentist appointment on June 12 at nine.",
        "The dentist called, my appointment was moved to June 20.",
    ),
    Case(
        "How many guests are coming to the wedding?",
        "We expect 80 guests at the wedding and need a caterer.",
        "With the cousins from Chile there will be 95 guests at the wedding.",
    ),
    Case(
        "Which programming language is the backend written in?",
        "Our backend is written in Ruby, and the tests take very long.",
        "We finished the rewrite, the backend is written in Go.",
    ),
    Case(
        "What is the name of my project?",
        "The name of my project is Lighthouse, it collects weather data.",
        "Legal complained, so the project was renamed: its name is Beacon.",
    ),
    Case(
        "How many hours do I sleep?",
        "I sleep about 5 hours a night, which is not enough.",
        "Since I stopped drinking coffee I sleep 7 hours a night.",
    ),
    Case(
        "What is the capacity of the server's disk?",
        "The server's disk has a capacity of 500 GB and is nearly full of logs.",
        "They replaced the server's disk, its capacity is 2 TB.",
    ),
    Case(
        "How many books have I read this year?",
        "I have read 7 books this year, mostly crime.",
        "Holidays were good for reading: I have read 15 books this year.",
    ),
    Case(
        "What medication dose do I take?",
        "My doctor prescribed a dose of 10 mg of the medication in the evening.",
        "The doctor lowered the dose of my medication to 5 mg.",
    ),
    Case(
        "What is my job?",
        "My job is accountant at a shipping company.",
        "I changed careers, my job is teaching maths at a school.",
    ),
    Case(
        "How many words is my novel's first draft?",
        "I'm planning a writing schedule, my novel's first draft stands at 31,000 words, "
        "and I'd like to finish it by Easter, can you help me set a weekly goal?",
        "I had a great month of writing, so the first draft has grown to 44,500 words, "
        "could you help me structure the last act?",
    ),
    Case(
        "What is the budget for the kitchen renovation?",
        "We're redoing the kitchen and have set aside $12,000 for the renovation, so I "
        "need to compare cabinets.",
        "After talking to the contractor we had to bump the kitchen renovation budget up "
        "to $15,500, what could we save on?",
    ),
    Case(
        "When is the launch of the mobile app scheduled?",
        "The launch of the mobile app is scheduled for May 6, so the store texts have to "
        "be written this month.",
        "Because of the review the launch of our mobile app has been pushed back to May "
        "20, how should we tell the users?",
    ),
    Case(
        "How many followers does my pottery account have?",
        "My pottery account has 820 followers, most of them from Spain, and I post twice a week.",
        "I noticed that my pottery account went past 1,100 followers after the kiln "
        "video, what should I post next?",
    ),
    Case(
        "What is my current mile time?",
        "I'm training for a race and my mile time is 8:40, I want to know how to pace myself.",
        "Three weeks of hill repeats paid off: my mile time is down to 7:55.",
    ),
    Case(
        "How many employees does Nordlicht have?",
        "Our company Nordlicht has 34 employees and we look for a payroll tool.",
        "With the new branch in Kiel, Nordlicht now employs 51 employees, so the payroll "
        "tool gets slow.",
    ),
    Case(
        "What is the memory limit of the worker containers?",
        "The worker containers have a memory limit of 512 MB and get killed from time to "
        "time, how can I find the leak?",
        "I raised the memory limit of the worker containers to 2 GB for the time being, "
        "and the restarts are gone.",
    ),
    Case(
        "Which airline do I fly with for work?",
        "For work I fly with Iberia because of the direct connection.",
        "The company changed its contract, so for work I fly with Lufthansa from this month on.",
    ),
    Case(
        "What is the headcount limit for the yoga class?",
        "The yoga class has a limit of 14 people, I need a list for sign-ups.",
        "We got the larger room, so the limit for the yoga class is 22 people now.",
    ),
    Case(
        "How many vocabulary cards do I study a day?",
        "I study 20 vocabulary cards a day in Japanese, is that enough for the test?",
        "I feel ready for more, so I've increased it to 35 vocabulary cards a day.",
    ),
    Case(
        "What is my insurance deductible?",
        "My health insurance deductible is 300 francs.",
        "I switched the model of my health insurance, the deductible is 1,500 francs.",
    ),
    Case(
        "How many tasks are in the migration backlog?",
        "I'm organising the migration backlog, it holds 63 tasks, what is a good way to rank them?",
        "Two sprints later the migration backlog is down to 28 tasks, which of the "
        "methods would you use for the rest?",
    ),
    Case(
        "Who is the lead developer of the Atlas project?",
        "Maya Lindqvist is the lead developer of the Atlas project.",
        "Since March, Omar Haddad is the lead developer of the Atlas project.",
    ),
    Case(
        "What is the resolution time target for priority tickets?",
        "For priority tickets our resolution time target is 8 hours.",
        "Management wants us to be quicker: the resolution time target for priority "
        "tickets has been cut to 4 hours.",
    ),
    Case(
        "How many plants do I have on the balcony?",
        "There are 9 plants on my balcony, mostly herbs.",
        "I couldn't resist the market, so there are 13 plants on my balcony.",
    ),
    Case(
        "What is the interest rate of my mortgage?",
        "My mortgage has an interest rate of 3.9% and runs for ten years.",
        "We refinanced the mortgage, so its interest rate is 3.1%.",
    ),
    Case(
        "What diet am I on?",
        "I'm on a keto diet, so no bread in the meal plan.",
        "Keto was too strict, I'm on a Mediterranean diet these days.",
    ),
    Case(
        "Where does my son go to school?",
        "My son goes to school at Hillcrest Primary.",
        "My son changed schools in January, he goes to school at Oakfield Academy.",
    ),
    Case(
        "How many sessions of physiotherapy do I have left?",
        "I have 10 sessions of physiotherapy left for my knee.",
        "The knee is better, I have 4 sessions of physiotherapy left.",
    ),
    Case(
        "What is the accuracy of the classifier on the validation set?",
        "I'm training a classifier for leaf diseases, its accuracy on the validation set "
        "is 81%, and I'd like to use augmentation.",
        "With augmentation and a longer schedule, I got the classifier to 88.5% accuracy "
        "on the validation set, which I want to plot.",
    ),
    Case(
        "How many slides does my presentation have?",
        "My presentation for the board has 24 slides, which is too much for 20 minutes.",
        "I trimmed it, the presentation for the board has 16 slides, can you check the story line?",
    ),
    Case(
        "What is the daily step goal on my watch?",
        "The daily step goal on my watch is 7,000 steps.",
        "I set the daily step goal on my watch to 9,500 steps.",
    ),
    Case(
        "What is the name of the dataset we train on?",
        "We train on a dataset with the name Harvest-1, it has images of fields.",
        "The old data had errors, the name of the dataset we train on is Harvest-3.",
    ),
    Case(
        "What time does the daily stand-up start?",
        "The daily stand-up starts at 9:15, in the small room.",
        "The daily stand-up starts at 9:45 now because of the school run.",
    ),
    Case(
        "How much storage does the photo archive take?",
        "The photo archive takes 240 GB of storage, which the laptop cannot hold.",
        "After the trip to Iceland the photo archive takes 310 GB of storage.",
    ),
    Case(
        "By the way, how many lessons of the Spanish course did I finish?",
        "I finished 12 lessons of the Spanish course, and the past tense is hard.",
        "I've now finished 19 lessons of the Spanish course, what comes after the past tense?",
    ),
    Case(
        "Can you tell me what my monthly savings goal is?",
        "My monthly savings goal is 300 euros.",
        "I've raised my monthly savings goal to 380 euros.",
    ),
    Case(
        "At what time does the pharmacy close?",
        "The pharmacy closes at 18:00, so I have to hurry.",
        "The pharmacy closes at 19:30 since this week.",
    ),
    Case(
        "In which city do I work?",
        "I work in Salzburg, four days a week.",
        "I was transferred, I work in Linz now.",
    ),
)

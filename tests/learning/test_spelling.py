"""What is typed in a hurry is read as if it were written with care."""

from tables import each_row, each_text

from memoranda.learning.extraction.spelling import capitalize_names, lacks_capitals, write_out


@each_row
def test_what_is_left_out_is_written(typed, written):
    """Apostrophes, shortened words and frequent misspellings are written out.

    im a baker and shes a nurse | I'm a baker and she's a nurse
    my sisters bday is 4 may | my sister's birthday is 4 may
    got a dentist appt tmrw w/ my mum | got a dentist appointment tomorrow with my mum
    i live in leeds w my gf | i live in leeds with my girlfriend
    meg n me moved cuz its a nice flat | meg and me moved because it's a nice flat
    my exams on the 28th of march | my exam's on the 28th of march
    my sons 7 and im allergic 2 nuts | my sons 7 and I'm allergic to nuts
    my therapists name is ruth | my therapist's name is ruth
    so were getting married in june | so we're getting married in june
    ive been vegitarian for 6 yrs | I've been vegetarian for 6 years
    """
    assert write_out(typed) == written


@each_text
def test_what_is_whole_stays(text):
    """What is right as it stands is not changed, nor what is in another language.

    The dog wagged its tail. | They were called back. | My sisters live in Leeds.
    I was ill, so I stayed at home. | Ich arbeite im Kino. | Mail me at im@example.com
    Plan N is done. | My brothers at 10 and 12 love it. | My exams at school went well.
    """
    assert write_out(text) == text


def test_names_get_the_capitals_they_have_elsewhere():
    """A name in small letters is written as the conversation writes it, with its apostrophe.

    What stands after "called" is a name, unless it is a word that goes on the sentence; a text
    that begins its sentences with capitals has its names as they are meant.
    """
    text, full = "sinas baby came and sina is fine", "Sina's baby came and Sina is fine"
    assert capitalize_names(f"{text}, a simple thing", ["Sina"], []) == f"{full}, a simple thing"
    assert capitalize_names("my physio is called lorna", [], []) == "my physio is called Lorna"
    assert capitalize_names("the boss called after lunch", [], []) == "the boss called after lunch"
    assert lacks_capitals("i live in leeds. my mum too")
    assert not lacks_capitals("My mum lives in Leeds.")
    assert not lacks_capitals("today I met rose")

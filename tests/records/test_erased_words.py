"""What repeats an erased text: five words in a row, or all of a shorter one."""

from tables import each_text

from memoranda.records.erased_words import ErasedWords

SAID = "Ana keeps the spare key under floorboard 81723 of the attic. It is rusty."
ERASED = ErasedWords([SAID, "PIN is 4711", "No", "你知道我住在北京的海淀区中关村", ""])


@each_text
def test_what_repeats_an_erased_text(text):
    """Without case, marks and line ends; one short word only where nothing else is said.

    the spare key under floorboard | - said: **keeps the SPARE key, under** it
    keeps the⏎spare key under | my PIN is 4711 now | no | 我住在北京的海淀区中关村大街
    """
    assert ERASED.repeated_in(text)


@each_text
def test_what_only_resembles_it_is_another_text(text):
    """Fewer words, other ones between them, or a short one in a sentence of its own.

    the spare key is under floorboard | It is rusty. | the PIN: is it 4711? | no, it is not
    我住在上海 | ⏎
    """
    assert not ERASED.repeated_in(text)


def test_lines_are_replaced_whole():
    """Each line that repeats it, and two that do so together; the others keep every byte."""
    told = ["- floorboard 81723 of the attic\r\n", "keeps the spare\n", "key under\n"]
    lines = ["# A\r\n", *told, "end"]
    left, count = ErasedWords([SAID]).replace_lines(lines)
    assert (left, count) == (["# A\r\n", "[erased]\r\n", "[erased]\n", "[erased]\n", "end"], 3)
    assert ErasedWords([SAID]).replace_lines(lines, spare={1, 2})[1] == 0

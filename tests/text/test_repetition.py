"""What repeats an erased text: five words in a row, or all of a shorter one."""

from memoranda.text.repetition import ErasedWords

SAID = "Ana keeps the spare key under floorboard 81723 of the attic. It is rusty."
ROWS = [
    ("the spare key under floorboard", True),
    ("- said: **keeps the SPARE key, under** it", True),
    ("keeps the\nspare key under", True),
    ("the spare key is under floorboard", False),
    ("It is rusty.", False),
    ("my PIN is 4711 now", True),
    ("the PIN: is it 4711?", False),
    ("no", True),
    ("no, it is not", False),
    ("我住在北京的海淀区中关村大街", True),
    ("我住在上海", False),
    ("", False),
]


def test_what_repeats_an_erased_text():
    """Without case, marks and line ends; one short word only where nothing else is said."""
    erased = ErasedWords([SAID, "PIN is 4711", "No", "你知道我住在北京的海淀区中关村", ""])
    assert [(text, erased.are_in(text)) for text, _ in ROWS] == ROWS


def test_lines_are_replaced_whole():
    """Each line that repeats it, and two that do so together; the others keep every byte."""
    lines = [
        "# A\r\n",
        "- floorboard 81723 of the attic\r\n",
        "keeps the spare\n",
        "key under\n",
        "end",
    ]
    left, count = ErasedWords([SAID]).replace_lines(lines)
    assert (left, count) == (["# A\r\n", "[erased]\r\n", "[erased]\n", "[erased]\n", "end"], 3)
    assert ErasedWords([SAID]).replace_lines(lines, spare={1, 2})[1] == 0

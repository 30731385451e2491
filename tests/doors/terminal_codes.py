"""The codes by which a program moves the cursor of a terminal and colours its text."""

import re

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

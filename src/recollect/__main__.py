"""``python -m recollect`` is the command ``recollect``."""

from __future__ import annotations

from recollect.interfaces.cli import main

if __name__ == "__main__":
    main()

"""``python -m memoranda`` is the command ``memoranda``."""

from __future__ import annotations

from memoranda.cli import main

if __name__ == "__main__":
    main()

"""What each result looks like: as JSON, as text that is safe to show, as tables."""

"""A small world of our own, and a corpus of stories that happen in it."""

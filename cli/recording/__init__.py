"""What is made of recordings: names of call sites (names.py)."""

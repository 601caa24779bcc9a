"""What is made of recordings: names of call sites (names.py), and files for other tools (exports.py)."""

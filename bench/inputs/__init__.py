"""Inputs of the bench lab's programs: made from seeds, the same on every machine."""

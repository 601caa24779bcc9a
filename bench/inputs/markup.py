"""SML/NG, the markup of the ICFP programming contest of 2001: sections of marked-up text with a blank line
between two, and with more tags than are needed, as word processors leave behind."""

import random

SEED = 2001
BYTES = 513_000

WORDS = "amber birch cedar delta ember fjord grove heron islet jetty knoll larch marsh north otter plain".split()
TAGS = ("B", "EM", "I", "PL", "S", "TT", "U", *"0123456789", *"rgbcmykw")
OFTEN = ("B", "I", "U", "EM", "r", "b", "4", "TT")


class Section:
    def __init__(self, rng):
        self.rng = rng

    def words(self):
        rng, parts = self.rng, []
        for _ in range(rng.randint(1, 7)):
            parts.append(rng.choice(WORDS) + rng.choice(("", "", "", ",", ".", "s")))
            parts.append(rng.choice((" ", " ", " ", "  ", "\n", " \n ", "    ")))
        return "".join(parts[: -1 if rng.random() < 0.6 else None])

    def tagged(self, tag, inside):
        return f"<{tag}>{inside}</{tag}>"

    def tag(self):
        return self.rng.choice(OFTEN if self.rng.random() < 0.6 else TAGS)

    def piece(self, depth):
        rng, shape = self.rng, self.rng.randrange(12)
        if depth == 0 or shape < 4:
            return self.words()
        if shape == 4:  # one tag, word by word
            tag = self.tag()
            return " ".join(self.tagged(tag, rng.choice(WORDS)) for _ in range(rng.randint(2, 6)))
        if shape == 5:  # two tags, in any order, letter by letter
            tags = [self.tag(), self.tag()]
            letters = []
            for letter in rng.choice(WORDS):
                rng.shuffle(tags)
                letters.append(self.tagged(tags[0], self.tagged(tags[1], letter)))
            return "".join(letters)
        if shape == 6:  # overridden at once
            first, second = rng.choice("rgbcmykw"), rng.choice("rgbcmykw")
            return self.tagged(first, self.tagged(second, self.pieces(depth - 1)))
        if shape == 7:
            return self.tagged(self.tag(), rng.choice(("", " ", "  \n")))
        if shape == 8:  # what was open is opened again behind a tag
            tag, other = self.tag(), self.tag()
            return self.tagged(tag, self.words() + self.tagged(other, self.words())) + self.tagged(other, self.words())
        return self.tagged(self.tag(), self.pieces(depth - 1))

    def pieces(self, depth):
        return "".join(self.piece(depth) for _ in range(self.rng.randint(1, 4)))

    def make(self):
        return " ".join((self.rng.choice(WORDS), *(self.piece(5) for _ in range(9)), self.rng.choice(WORDS)))


def write(path, size=BYTES):
    """Sections until there are so many bytes; the last one fills up with words."""
    rng, sections, length = random.Random(SEED), [], 0
    while size - length > 6_000:
        sections.append(Section(rng).make())
        length += len(sections[-1]) + 2
    rest = size - length
    sections.append((" ".join(WORDS) * (rest // 10))[: rest - 1] + ".")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n\n".join(sections))

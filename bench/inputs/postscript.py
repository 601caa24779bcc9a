"""A PostScript file of about 37 MB: pages of text in many fonts and sizes, curves, and small images.

Every page starts with its number and "page", which ends the interpreter once "PagesWanted" pages are shown:
so that the one file serves any amount of work (gs -dPagesWanted=N).
"""

import random

SEED = 37
PAGES = 536

FONTS = (
    "Times-Roman Times-Italic Times-Bold Helvetica Helvetica-Oblique Helvetica-Bold Courier Courier-Bold "
    "Palatino-Roman Palatino-Italic Bookman-Light NewCenturySchlbk-Roman AvantGarde-Book"
).split()
SYLLABLES = "al be cor du en fa gri hol in jo ka lum mor ne ori pas qui ro sel tu um ver wil xa yor zan".split()

PROLOGUE = """%!PS-Adobe-3.0
%%BoundingBox: 0 0 595 842
%%Pages: {pages}
%%EndComments
%%BeginProlog
/page {{ /PagesWanted where {{ pop PagesWanted gt {{ quit }} if }} {{ pop }} ifelse save }} bind def
/done {{ restore showpage }} bind def
/T {{ moveto show }} bind def                       % (text) x y
/J {{ moveto exch 0 32 4 -1 roll widthshow }} bind def  % width (text) x y: wider blanks
/F {{ exch findfont exch scalefont setfont }} bind def    % /font size
/C {{ curveto }} bind def
/P {{ newpath moveto }} bind def
/S {{ stroke }} bind def
/picture {{                                         % width height x y size
  gsave 3 1 roll translate dup scale /h exch def /w exch def /line w string def
  w h 8 [w 0 0 h neg 0 h] {{ currentfile line readhexstring pop }} image grestore
}} bind def
%%EndProlog
"""


class Page:
    def __init__(self, rng, number):
        self.rng, self.number, self.out = rng, number, []

    def word(self):
        rng = self.rng
        return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 4)))

    def text(self, words):
        parts = [self.word() for _ in range(words)]
        if self.rng.random() < 0.2:
            parts[0] = f"\\({parts[0]}\\)"
        return " ".join(parts)

    def paragraph(self, top, lines):
        rng = self.rng
        self.out.append(f"/{rng.choice(FONTS)} {rng.randint(14, 24) / 2} F")
        for line in range(lines):
            words, y = self.text(rng.randint(8, 14)), top - 11 * line
            if rng.random() < 0.5:
                self.out.append(f"{rng.randint(0, 30) / 10} ({words}) 50 {y} J")
            else:
                self.out.append(f"({words}) 50 {y} T")
            if rng.random() < 0.1:
                self.out.append(f"/{rng.choice(FONTS)} {rng.randint(14, 24) / 2} F")

    def drawing(self, bottom, curves):
        rng = self.rng

        def point():
            return f"{rng.randint(500, 5500) / 10} {bottom + rng.randint(0, 2400) / 10}"

        self.out.append("gsave")
        for _ in range(curves):
            self.out.append(f"{rng.random():.2f} {rng.random():.2f} {rng.random():.2f} setrgbcolor")
            self.out.append(f"{rng.randint(1, 30) / 10} setlinewidth {point()} P")
            self.out += [f"{point()} {point()} {point()} C" for _ in range(rng.randint(1, 6))]
            self.out.append(rng.choice(("S", "S", "S", "closepath fill", "closepath gsave eofill grestore S")))
        self.out.append("grestore")

    def picture(self, bottom, width, height):
        rng, rows = self.rng, []
        for _ in range(height):
            rows.append(bytes(rng.randrange(256) for _ in range(width)).hex())
        self.out.append(f"{width} {height} {rng.randint(50, 300)} {bottom} 200 picture")
        self.out += rows

    def make(self):
        self.out += [f"%%Page: {self.number} {self.number}", f"{self.number} page"]
        for top in (800, 620):
            self.paragraph(top, 14)
        self.drawing(200, 260)
        self.picture(20, 96, 72)
        self.out += ["done", ""]
        return "\n".join(self.out)


def write(path, pages=PAGES):
    rng = random.Random(SEED)
    with open(path, "w", encoding="ascii") as file:
        file.write(PROLOGUE.format(pages=pages))
        for number in range(1, pages + 1):
            file.write(Page(rng, number).make())
        file.write("%%EOF\n")

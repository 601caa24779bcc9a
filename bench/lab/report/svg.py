"""From a matplotlib figure to a PNG, and to an SVG that lives inside the page and follows its colours."""

import html
import io
import re

SETTINGS = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",
    "path.simplify_threshold": 0.4,
    "savefig.dpi": 144,
}

UNUSED = (r"<metadata>.*?</metadata>", r"<style.*?</style>", r"<!--.*?-->")
FONT = re.compile(r"font(-family)?:\s*([\d.]*px)?[^;\"]*'DejaVu Sans'[^;\"]*")
NUMBER = re.compile(r"(?<=[\s\",(MLCQz-])(-?\d+\.\d)\d+")


def save_png(figure, path):
    figure.savefig(path, format="png", facecolor="white")


def inline(figure, name, description, colours):
    """-> the SVG element. colours: light colour -> what takes its place."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    for pattern in UNUSED:
        text = re.sub(pattern, "", text, flags=re.S)
    text = own_names(text, name)
    text = FONT.sub(lambda found: f"font-size: {found.group(2)}" if found.group(2) else "", text)
    text = re.sub(r'"[^"]*"', lambda found: NUMBER.sub(r"\1", found.group()), text)
    for colour, variable in colours.items():
        text = re.sub(re.escape(colour), variable, text, flags=re.I)
    return re.sub(r"\n\s*", "\n", open_tag(text, name, description))


def own_names(text, name):
    """Names that are used become the figure's own, allocators' become classes, the others go."""
    used = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))

    def renamed(found):
        old = found.group(1)
        if old in used:
            return f' id="{name}-{old}"'
        return f' class="{old}"' if old.startswith("allocator-") else ""

    text = re.sub(r' id="([^"]+)"', renamed, text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    return re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)


def open_tag(text, name, description):
    box = re.search(r'viewBox="([^"]+)"', text).group(1)
    width = round(float(box.split()[2]) * 4 / 3)  # points to CSS pixels
    head = (
        f'<svg class="plot" viewBox="{box}" style="max-width: {width}px" role="img" aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{html.escape(description)}</title>'
    )
    return head + text[text.index(">") + 1 :]

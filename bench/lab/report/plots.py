"""The plots. Each function draws one matplotlib figure from what is handed to it."""

import math

import numpy
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from .look import ROLES

INK, MUTED, GRID, PAPER = (ROLES[role][0] for role in ("ink", "muted", "grid", "paper"))
RATIO_TICKS = (
    1,
    2,
    0.5,
    0.2,
    5,
    0.1,
    10,
    0.3,
    3,
    1.5,
    0.7,
    0.05,
    20,
    0.02,
    50,
    0.01,
    100,
    1.2,
    0.8,
    0.9,
    1.1,
    0.6,
    0.4,
    1.3,
    1.4,
    1.6,
    1.8,
    0.95,
    1.05,
    0.85,
    1.15,
    0.75,
    0.98,
    1.02,
    0.99,
    1.01,
)
MOST_TICKS = 9  # across a whole figure


def empty(width, height, columns=1, **settings):
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, columns, squeeze=False, **settings)[0]
    for ax in axes:
        ax.grid(color=GRID)
        ax.tick_params(colors=MUTED, labelcolor=INK, length=3)
        for spine in ax.spines.values():
            spine.set_color(MUTED)
        for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
            label.set_color(INK)
    return figure, axes


def ratio_axis(axis, low, high, most_ticks=MOST_TICKS):
    """A logarithmic axis with round ratios on it: the roundest first, as many as there is room for."""
    margin = max(1.03, (high / low) ** 0.06)
    low, high = low / margin, high * margin
    chosen, least = [], math.log(high / low) / most_ticks
    for tick in RATIO_TICKS:
        if low <= tick <= high and all(abs(math.log(tick / other)) >= least for other in chosen):
            chosen.append(tick)
    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    getattr(axis.axes, f"set_{axis.axis_name}lim")(low, high)
    axis.set_major_locator(FixedLocator(sorted(chosen)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def scatter(points, looks, title):
    """points: name -> (time, memory), ratios to the base; the front joins those that nobody beats in both."""
    figure, (ax,) = empty(5.2, 4.3)
    figure.subplots_adjust(left=0.12, right=0.97, top=0.92, bottom=0.12)
    times, memories = zip(*points.values())
    ratio_axis(ax.xaxis, min(*times, 0.97), max(*times, 1.03))
    ratio_axis(ax.yaxis, min(*memories, 0.97), max(*memories, 1.03))
    front = pareto(points)
    if len(front) > 1:
        ax.plot(*zip(*(points[name] for name in front)), color=MUTED, linewidth=1, linestyle=(0, (3, 3)), zorder=2)
    for name, (time, memory) in points.items():
        look = looks[name]
        size = 110 if look.emphasised else 55
        ax.scatter(
            [time],
            [memory],
            s=size,
            color=look.light,
            marker=look.marker,
            edgecolors=PAPER,
            linewidths=0.8,
            zorder=look.layer,
            gid=look.group,
        )
    ax.plot([1, 1], ax.get_ylim(), color=MUTED, linewidth=0.7, zorder=1)
    ax.plot(ax.get_xlim(), [1, 1], color=MUTED, linewidth=0.7, zorder=1)
    ax.set(xlabel="time, glibc = 1 (less is better)", ylabel="peak resident memory, glibc = 1", title=title)
    label_points(figure, ax, points, looks)
    return figure


def pareto(points):
    """The names that no other beats in both, from the fastest on."""
    front, least = [], math.inf
    for name, (_, memory) in sorted(points.items(), key=lambda item: item[1]):
        if memory < least:
            front.append(name)
            least = memory
    return front


def label_points(figure, ax, points, looks):
    """Each name next to its point, where it covers least of the others."""
    renderer = figure.canvas.get_renderer()
    places = {name: ax.transData.transform(point) for name, point in points.items()}
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in places.values()]
    taken += [
        (x - 3, y - 3, x + 3, y + 3) for line in ax.lines for x, y in along(ax.transData.transform(line.get_xydata()))
    ]
    frame = ax.get_window_extent(renderer)
    for name in sorted(points, key=lambda name: not looks[name].emphasised):
        x, y = places[name]
        text = ax.annotate(
            name,
            points[name],
            xytext=(0, 0),
            textcoords="offset points",
            color=looks[name].light,
            va="center",
            fontsize=8.5,
            fontweight="bold" if looks[name].emphasised else "normal",
            zorder=12,
            gid=looks[name].group,
        )
        box = text.get_window_extent(renderer)
        best = min(label_places(x, y, box.width, box.height), key=lambda place: label_cost(place, taken, frame))
        taken.append(best)
        text.set_position(((best[0] - x) * 72 / figure.dpi, ((best[1] + best[3]) / 2 - y) * 72 / figure.dpi))


def along(corners):
    """Points on the straight lines between corners, a few pixels apart; the ends are left out."""
    for (x0, y0), (x1, y1) in zip(corners, corners[1:]):
        steps = max(2, int(math.hypot(x1 - x0, y1 - y0) / 6))
        for at in range(1, steps):
            yield x0 + (x1 - x0) * at / steps, y0 + (y1 - y0) * at / steps


def label_places(x, y, width, height):
    for distance in (7, 13, 20, 28):
        for angle in (0, 180, 45, -45, 135, -135, 90, -90):
            across, up = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            left = x + distance * across - width * (1 - across) / 2
            bottom = y + distance * up - height / 2
            yield left, bottom, left + width, bottom + height


def label_cost(place, taken, frame):
    cost = sum(overlap(place, other) for other in taken)
    return cost + (
        1e6 if place[0] < frame.x0 or place[2] > frame.x1 + 6 or place[1] < frame.y0 or place[3] > frame.y1 + 6 else 0
    )


def overlap(one, other):
    across = min(one[2], other[2]) - max(one[0], other[0])
    up = min(one[3], other[3]) - max(one[1], other[1])
    return across * up if across > 0 and up > 0 else 0


def boxes(panels, names, looks, title):
    """panels: heading -> name -> values, the base's median being 1. A box from the lower to the upper quartile,
    a mark at the median, whiskers to the extremes."""
    figure, axes = empty(5.2, 0.62 + 0.19 * len(names), len(panels), sharey=True)
    inches = figure.get_figheight()
    figure.subplots_adjust(left=0.2, right=0.97, top=1 - 0.38 / inches, bottom=0.26 / inches, wspace=0.08)
    figure.suptitle(title, fontsize=9, color=INK, y=1 - 0.04 / inches, va="top", fontweight="bold")
    for ax, (heading, values) in zip(axes, panels.items()):
        everything = [value for own in values.values() for value in own]
        ratio_axis(ax.xaxis, min(everything, default=1), max(everything, default=1), MOST_TICKS // len(panels) + 1)
        ax.axvline(1, color=MUTED, linewidth=0.8)
        ax.set_title(heading, fontsize=8.5, pad=3)
        ax.grid(axis="y", visible=False)
        for row, name in enumerate(names):
            box(ax, row, values.get(name, []), looks[name])
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    for label, name in zip(axes[0].get_yticklabels(), names):
        label.set_color(looks[name].light)
        label.set_fontweight("bold" if looks[name].emphasised else "normal")
    for ax in axes:
        ax.tick_params(axis="y", length=0)
    return figure


def box(ax, row, values, look):
    if not len(values):
        ax.text(
            0.03,
            row,
            "no result",
            transform=ax.get_yaxis_transform(),
            va="center",
            color=MUTED,
            fontsize=7.5,
            fontstyle="italic",
        )
        return
    least, first, middle, third, most = numpy.percentile(values, [0, 25, 50, 75, 100])
    ax.plot([least, most], [row, row], color=look.light, linewidth=1, zorder=4, gid=look.group)
    ax.barh(
        row, third - first, left=first, height=0.62, color=look.light, alpha=0.45, linewidth=0, zorder=3, gid=look.group
    )
    ax.plot([middle], [row], marker="|", markersize=9, markeredgewidth=2.2, color=look.light, zorder=5, gid=look.group)


def legend(figure, ax, entries, columns=4):
    """Below the axes. -> the height it takes, in inches"""
    rows = math.ceil(len(entries) / columns)
    found = figure.legend(
        *zip(*entries),
        loc="lower center",
        ncols=columns,
        frameon=False,
        labelcolor=INK,
        handlelength=2.6,
        columnspacing=1.2,
        borderaxespad=0.1,
        labelspacing=0.25,
    )
    for text in found.get_texts():
        text.set_fontweight("bold" if text.get_text() == "acre" else "normal")
    return 0.16 * rows + 0.05


def lines_figure(names, title, xlabel, ylabel):
    rows = math.ceil(len(names) / 4)
    height = 2.75 + 0.16 * rows
    figure, (ax,) = empty(5.2, height)
    figure.subplots_adjust(left=0.13, right=0.97, top=1 - 0.3 / height, bottom=(0.52 + 0.16 * rows) / height)
    ax.set_title(title, fontweight="bold")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return figure, ax


def engineering(value, _=None):
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g} {letter}"
    return f"{value:g}"


def line_style(look):
    """An allocator's line with its markers, as keywords of Axes.plot."""
    return {
        "color": look.light,
        "linestyle": look.line,
        "linewidth": look.width,
        "marker": look.marker,
        "markersize": 4.5,
        "markeredgecolor": PAPER,
        "markeredgewidth": 0.5,
        "zorder": look.layer,
        "gid": look.group,
    }


def scaling(series, looks, title, ylabel):
    """series: name -> threads -> values, a round each; a line through the medians, whiskers to the extremes."""
    figure, ax = lines_figure(series, title, "threads", ylabel)
    entries, counts = [], sorted({count for points in series.values() for count in points})
    for name, points in series.items():
        look, x = looks[name], sorted(points)
        middle = [numpy.median(points[count]) for count in x]
        (line,) = ax.plot(
            x,
            middle,
            **line_style(look),
        )
        ax.vlines(
            x,
            [min(points[c]) for c in x],
            [max(points[c]) for c in x],
            color=look.light,
            linewidth=0.8,
            zorder=look.layer,
            gid=look.group,
        )
        entries.append((line, name))
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(FixedLocator(counts))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_major_formatter(FuncFormatter(engineering))
    ax.set_ylim(bottom=0)
    legend(figure, ax, entries)
    return figure


def curves(series, looks, title):
    """series: name -> [(ms, KiB)…]."""
    figure, ax = lines_figure(series, title, "seconds", "resident MiB")
    entries = []
    for at, (name, points) in enumerate(series.items()):
        look = looks[name]
        times, sizes = numpy.array(points, dtype=float).T
        (line,) = ax.plot(
            times / 1e3,
            sizes / 1024,
            color=look.light,
            linestyle=look.line,
            linewidth=look.width,
            marker=look.marker,
            markersize=4,
            markevery=((at % 5) * 0.05, 0.25),
            markeredgecolor=PAPER,
            markeredgewidth=0.5,
            zorder=look.layer,
            gid=look.group,
        )
        entries.append((line, name))
    ax.set_ylim(bottom=0)
    ax.set_xlim(left=0)
    legend(figure, ax, entries)
    return figure


def latency(series, points, looks, title):
    """series: name -> percentile -> ns."""
    figure, ax = lines_figure(series, title, "share of the calls that took no longer", "nanoseconds")
    entries = []
    for name, values in series.items():
        look, x = looks[name], [at for at, point in enumerate(points) if values.get(point)]
        (line,) = ax.plot(
            x,
            [values[points[at]] for at in x],
            **line_style(look),
        )
        entries.append((line, name))
    ax.set_yscale("log")
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(engineering))
    ax.set_xticks(range(len(points)), points)
    legend(figure, ax, entries)
    return figure

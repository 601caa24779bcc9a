"""The page: everything that is in the results, on one file that needs nothing else."""

import re
from pathlib import Path

import jinja2
import matplotlib
import numpy
from markupsafe import Markup

from ..ratios import DRAWS, METRICS, NEEDED_PAIRS
from ..results import BASE
from . import look, plots, svg
from .tables import BEHIND, POINTS, Tables, some

FIRST_CURVES = ("wasteland", "idle-server")
CURVE_POINTS = 160
EXTRAS_SHOWN = 8  # a workload with more figures of its own shows them on request


class Page:
    def __init__(self, results, folder):
        self.results, self.folder = results, Path(folder)
        self.tables = Tables(results)
        self.looks = look.looks(self.tables.names)
        self.colours = look.replacements(self.looks)

    def keep(self, figure, name, description):
        """The PNG in the folder. -> the SVG for the page"""
        name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        svg.save_png(figure, self.folder / "plots" / f"{name}.png")
        return Markup(svg.inline(figure, name, description, self.colours))

    def scatters(self):
        found = []
        for title, groups in self.tables.yardsticks.items():
            means = {}
            for name in self.tables.names:
                pair = [self.tables.ratios[metric].mean(groups, name) for metric in ("time", "peak_kib")]
                if all(mean.text != "—" for mean in pair):
                    means[name] = tuple(mean.value for mean in pair)
            if len(means) > 1:
                said = "; ".join(f"{n} {t:.2f}, {m:.2f}" for n, (t, m) in means.items())
                front = ", ".join(plots.pareto(means))
                text = f"Time and peak memory against glibc on {title}: {said}. On the front: {front}."
                figure = plots.scatter(means, self.looks, sentence(title))
                found.append(self.keep(figure, f"scatter {title}", text))
        return found

    def boxes(self):
        found = {}
        for workload, about in self.results.workloads.items():
            panels = {}
            for metric in ("time", "peak_kib"):
                panels[METRICS[metric]] = {
                    name: self.scaled_rounds(metric, workload, name) for name in self.tables.names
                }
            if not any(own for values in panels.values() for own in values.values()):
                continue
            figure = plots.boxes(panels, self.tables.names, self.looks, workload)
            text = (
                f"{workload}: time and peak memory of every allocator, glibc's median being 1; the tables have figures."
            )
            found.setdefault(about["group"], []).append(self.keep(figure, f"boxes {workload}", text))
        return found

    def scaled_rounds(self, metric, workload, name):
        """Each round's value over glibc's median; of several cases the geometric mean. [] if one is missing."""
        ratios, by_round = self.tables.ratios[metric], {}
        cases = ratios.cases(workload)
        for case in cases:
            middle = ratios.median(case, BASE)
            for place, value in ratios.figures[case].get(name, {}).items():
                by_round.setdefault(place, []).append(numpy.log(value / middle))
        return [float(numpy.exp(numpy.mean(logs))) for logs in by_round.values() if len(logs) == len(cases)]

    def scaling(self):
        found = []
        frame = self.results.frame
        for (workload, variant), rows in frame[frame["threads"] > 0].groupby(["workload", "variant"], sort=False):
            if rows["threads"].nunique() < 2:
                continue
            counted = "operations_per_s" in rows and rows["operations_per_s"].notna().all()
            metric, label = (
                ("operations_per_s", "operations per second") if counted else ("time", "seconds (less is better)")
            )
            series = {}
            for name in self.tables.names:
                own = rows[rows["allocator"] == name].groupby("threads")[metric].apply(list).to_dict()
                if own:
                    series[name] = own
            title = f"{workload}, {variant}" if variant else workload
            text = f"{title}: {label} over the number of threads, for {', '.join(series)}."
            found.append(self.keep(plots.scaling(series, self.looks, title, label), f"scaling {title}", text))
        return found

    def curves(self):
        """-> the figures to show at once, and the others"""
        first, others = [], []
        for workload, cases in self.results.cases.items():
            special = workload in FIRST_CURVES
            for case in cases if special else cases[:1]:
                series = {name: self.curve(case, name) for name in self.tables.names}
                series = {name: points for name, points in series.items() if points}
                if series:
                    text = f"{case.title}: resident memory over time, for {', '.join(series)}."
                    figure = plots.curves(series, self.looks, case.title)
                    (first if special else others).append(self.keep(figure, f"memory {case.title}", text))
        return first, others

    def curve(self, case, name):
        """That of the round whose peak is the middle one."""
        own = [r for r in self.runs_of(case, name) if len(r.get("curve") or ()) > 1]
        if not own or (case, name) in self.results.failed:
            return []
        points = sorted(own, key=lambda run: run["peak_kib"])[len(own) // 2]["curve"]
        return points[:: max(1, len(points) // CURVE_POINTS)]

    def runs_of(self, case, name):
        keys = ("workload", "variant", "threads")
        return [r for r in self.results.runs if r["allocator"] == name and tuple(r.get(k) for k in keys) == tuple(case)]

    def latencies(self):
        found = []
        for case, own in self.tables.latencies().items():
            figure = plots.latency(own, POINTS, self.looks, case.title)
            text = f"{case.title}: percentiles of single calls of malloc and free; the figures are in the table."
            found.append(
                {
                    "title": case.title,
                    "rows": self.tables.latency_rows(own),
                    "plot": self.keep(figure, f"latency {case.title}", text),
                }
            )
        return found

    def context(self):
        tables, results = self.tables, self.results
        curves, more_curves = self.curves()
        ours = [name for name in results.ours if name in results.allocators]
        rounds = int(results.frame.groupby("source")["round"].nunique().sum())
        return {
            "base": BASE,
            "results": results,
            "tables": tables,
            "names": tables.names,
            "others": tables.others,
            "looks": self.looks,
            "light": look.variables(self.looks, 0),
            "dark": look.variables(self.looks, 1),
            "cards": {name: tables.cards(name) for name in ours[:1]},
            "means": tables.means(),
            "metrics": METRICS,
            "missing": tables.missing_means(),
            "without_base": tables.ratios["time"].without_base(),
            "main_tables": [tables.ratio_table(metric) for metric in ("time", "peak_kib")],
            "more_tables": [tables.ratio_table(metric) for metric in METRICS if metric not in ("time", "peak_kib")],
            "case_tables": [(METRICS[metric], tables.case_table(metric)) for metric in ("time", "peak_kib")],
            "behind": {name: tables.behind(name) for name in ours[:1]},
            "behind_shown": BEHIND,
            "comparisons": {name: tables.cases_in_all(name) for name in ours[:1]},
            "scatters": self.scatters(),
            "boxes": self.boxes(),
            "scaling": self.scaling(),
            "curves": curves,
            "more_curves": more_curves,
            "latencies": self.latencies(),
            "points": POINTS,
            "extras": tables.extras(),
            "extras_shown": EXTRAS_SHOWN,
            "failures": tables.failures(),
            "contradictions": results.contradictions(),
            "rounds": rounds,
            "needed": NEEDED_PAIRS,
            "draws": DRAWS,
        }

    def write(self):
        (self.folder / "plots").mkdir(parents=True, exist_ok=True)
        loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
        templates = jinja2.Environment(
            loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
        )
        templates.filters["sentence"] = sentence
        templates.filters["some"] = some
        with matplotlib.rc_context({**svg.SETTINGS, "svg.hashsalt": "acre"}):
            text = templates.get_template("page.html").render(self.context())
        path = self.folder / "report.html"
        path.write_text(text, encoding="utf-8")
        return path


def sentence(text):
    """As at the beginning of one; abbreviations stay."""
    return text[:1].upper() + text[1:]


def write(results, folder):
    return Page(results, folder).write()

// --- Curves on the same time axis (uPlot) ---

const kCurveHeight = 110,
  kPowers = Array.from({ length: 60 }, (_, at) => 2 ** at);

// Values with null where there are none; times are the buckets' middles.
const points = values => Array.from(values, value => (Number.isFinite(value) ? value : null));

// Between two samples a line is drawn, also where only a part of it is in view.
function interpolated(values) {
  let last = -1;
  values.forEach((value, at) => {
    if (value === null) return;
    for (let between = last + 1; last >= 0 && between < at; between++) {
      values[between] = values[last] + ((value - values[last]) * (between - last)) / (at - last);
    }
    last = at;
  });
  return values;
}
async function curve(recording, name) {
  const values = await recording.array(`curve:${name}`);
  return values && points(values);
}
async function sampled(recording, name) {
  const values = await curve(recording, name);
  return values && interpolated(values);
}
function perSecond(recording, values) {
  const bucket = recording.span / recording.meta.buckets;
  return values && values.map(value => (value === null ? null : value / bucket));
}
async function fragmentation(recording, whole) {
  const [live, all] = await Promise.all([curve(recording, "live_bytes"), curve(recording, whole)]);
  if (!live || !all) return null;
  return interpolated(
    live.map((value, at) => (value === null || !all[at] ? null : Math.max(100 * (1 - value / all[at]), 0))),
  );
}

// The numbers of curves that are numbered, and "rest".
const numbered = (recording, of) =>
  [...recording.lines.keys()].filter(name => name.startsWith(`curve:${of}:`)).map(name => name.split(":")[2]);

const rateText = value => `${bytesText(value)}/s`;
const shareText = value => `${value.toFixed(0)} %`;

// name, unit, what it shows of a recording: [name, colour, values] …
const kCurves = [
  [
    "memory",
    bytesText,
    async recording => [
      ["resident", "#e0603a", await sampled(recording, "resident")],
      ["active", "#a463f2", await sampled(recording, "active")],
      ["dirty", "#9c6b4e", await sampled(recording, "dirty")],
      ["live", "#2c7fb8", await curve(recording, "live_bytes")],
    ],
  ],
  [
    "fragmentation",
    shareText,
    async recording => [
      ["not asked for, of what is resident", "#c8507a", await fragmentation(recording, "resident")],
      ["of pages with blocks", "#a463f2", await fragmentation(recording, "active")],
    ],
  ],
  [
    "allocated a second",
    rateText,
    async recording => {
      const threads = numbered(recording, "thread");
      if (threads.length < 2)
        return [["all threads", "#4269d0", perSecond(recording, await curve(recording, "alloc_bytes"))]];
      return Promise.all(
        threads.map(async thread => [
          thread === "rest" ? "others" : recording.threadText(+thread),
          thread === "rest" ? kOther : threadColour(+thread),
          perSecond(recording, await curve(recording, `thread:${thread}`)),
        ]),
      );
    },
  ],
  [
    "live by tag",
    bytesText,
    async (recording, all) => {
      const names = all.flatMap(one => numbered(one, "tag").map(tag => one.tagText(+tag))); // the same have one colour
      return Promise.all(
        numbered(recording, "tag").map(async tag => [
          tag === "rest" ? "others" : recording.tagText(+tag),
          tag === "rest" ? kOther : threadColour([...new Set(names)].indexOf(recording.tagText(+tag))),
          await curve(recording, `tag:${tag}`),
        ]),
      );
    },
  ],
  [
    "live by size",
    bytesText,
    async recording => {
      const { classes } = recording.meta;
      return Promise.all(
        classes.map(async (_, at) => [
          classText(classes, at),
          sizeColour(at, classes.length),
          await curve(recording, `class:${at}`),
        ]),
      );
    },
  ],
];

// Those that are round as people read them.
function roundTimes(low, high, step) {
  const times = [];
  for (let at = Math.ceil((low + view.base) / step); at * step - view.base <= high; at++)
    times.push(at * step - view.base);
  return times;
}

class Curves {
  constructor(recordings, folder) {
    this.recordings = recordings;
    this.folder = folder;
    this.charts = [];
    this.boxes = kCurves.map(([title]) => {
      const box = document.createElement("div");
      box.className = "curve";
      box.ariaLabel = `curve: ${title}`;
      box.role = "img";
      folder.append(box);
      return box;
    });
    new ResizeObserver(() => this.resize()).observe(folder);
  }
  // The data are read once; charts are made anew when the colours change.
  async read() {
    this.series = await Promise.all(
      kCurves.map(async ([, , of]) =>
        (
          await Promise.all(
            this.recordings.map(async recording =>
              (await of(recording, this.recordings))
                .filter(([, , values]) => values?.some(value => value !== null))
                .map(([name, colour, values]) => ({ recording, name, colour, values })),
            ),
          )
        ).flat(),
      ),
    );
    this.build();
  }
  build() {
    for (const chart of this.charts) chart.destroy();
    this.charts = [];
    kCurves.forEach(([title, text], at) => {
      this.boxes[at].hidden = this.series[at].length === 0;
      if (this.boxes[at].hidden) return;
      this.boxes[at].replaceChildren(this.legend(title, this.series[at]));
      this.charts.push(this.chart(this.series[at], text, this.boxes[at]));
    });
  }
  legend(title, series) {
    const line = document.createElement("h2");
    line.append(Object.assign(document.createElement("b"), { textContent: title }));
    for (const { recording, name, colour } of series) {
      const item = document.createElement("span"),
        mark = document.createElement("i");
      mark.style.background = colour;
      if (recording.number === 1)
        mark.style.background = `repeating-linear-gradient(90deg, ${colour} 0 3px, transparent 3px 5px)`;
      item.append(
        mark,
        this.recordings.length > 1 ? `${name} (${recording.number + 1})` : name,
        " ",
        Object.assign(document.createElement("span"), { className: "value" }),
      );
      line.append(item);
    }
    return line;
  }
  chart(series, text, box) {
    const tables = this.recordings.map(recording => {
      const { buckets } = recording.meta,
        bucket = recording.span / buckets;
      const own = series.filter(one => one.recording === recording);
      return [Float64Array.from({ length: buckets }, (_, at) => (at + 0.5) * bucket), ...own.map(one => one.values)];
    });
    const drawn = this.recordings.flatMap(recording => series.filter(one => one.recording === recording));
    const data = tables.length > 1 ? uPlot.join(tables) : tables[0];
    const axis = {
      stroke: css("--soft"),
      grid: { stroke: css("--grid"), width: 1 },
      ticks: { stroke: css("--edge"), size: 4 },
      font: "11px system-ui",
    };
    const isLast = box === this.boxes.at(-1);
    const chart = new uPlot(
      {
        width: Math.max(box.clientWidth, 120),
        height: kCurveHeight + (isLast ? 18 : 0),
        padding: [6, kRight, 0, 0],
        scales: {
          x: { time: false, range: () => [view.from, view.to] },
          y: { range: (_, low, high) => [0, text === shareText ? 100 : high > 0 ? high * 1.05 : 1] },
        },
        axes: [
          {
            ...axis,
            size: isLast ? 26 : 8,
            splits: (_, axis, low, high, step) => roundTimes(low, high, step),
            values: (_, marks) => marks.map(mark => (isLast ? `${+(mark + view.base).toPrecision(9)} s` : "")),
          },
          {
            ...axis,
            size: kGutter,
            space: 24,
            incrs: text === bytesText || text === rateText ? kPowers : undefined,
            values: (_, marks) => marks.map(mark => text(mark)),
          },
        ],
        series: [
          {},
          ...drawn.map(({ recording, colour }) => ({
            stroke: colour,
            width: 1.25,
            spanGaps: true,
            points: { show: false },
            dash: recording.number === 1 ? [4, 3] : undefined,
          })),
        ],
        cursor: {
          y: false,
          points: { show: false },
          drag: { x: true, y: false, setScale: false },
          sync: { key: "time", setSeries: false },
          bind: {
            dblclick: () => () => {
              view.range ? setTime(...view.range) : wholeView();
            },
          },
        },
        legend: { show: false },
        hooks: {
          drawClear: [chart => this.drawRange(chart)],
          draw: [
            chart => {
              const { top, height } = chart.bbox;
              this.clipped(chart, () =>
                this.recordings.forEach(recording =>
                  drawMarks(chart.ctx, recording, time => chart.valToPos(time, "x", true), top, height, false),
                ),
              );
            },
          ],
          setSelect: [
            chart => {
              const { left, width } = chart.select;
              if (width > 1) setRange([chart.posToVal(left, "x"), chart.posToVal(left + width, "x")]);
              chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
            },
          ],
          setCursor: [chart => this.tell(chart, box, text)],
        },
      },
      data,
      box,
    );
    return chart;
  }
  clipped(chart, work) {
    const { left, top, width, height } = chart.bbox;
    chart.ctx.save();
    chart.ctx.beginPath();
    chart.ctx.rect(left, top, width, height);
    chart.ctx.clip();
    work();
    chart.ctx.restore();
  }
  drawRange(chart) {
    if (!view.range) return;
    this.clipped(chart, () => {
      const [from, to] = view.range.map(time => chart.valToPos(time, "x", true));
      chart.ctx.fillStyle = css("--band");
      chart.ctx.fillRect(from, chart.bbox.top, Math.max(to - from, 1), chart.bbox.height);
    });
  }
  // Values at the cursor, in the legends.
  tell(chart, box, text) {
    [...box.querySelectorAll(".value")].forEach((place, number) => {
      const value = chart.data[number + 1][chart.cursor.idx ?? -1] ?? null;
      place.textContent = value === null ? "" : text(value);
    });
  }
  setTime() {
    for (const chart of this.charts) chart.setScale("x", { min: view.from, max: view.to });
  }
  redraw() {
    for (const chart of this.charts) chart.redraw(false);
  }
  resize() {
    for (const chart of this.charts)
      chart.setSize({ width: Math.max(this.folder.clientWidth, 120), height: chart.height });
  }
  // A moment that the picture is pointed at.
  point(time) {
    for (const chart of this.charts) chart.setCursor({ left: chart.valToPos(time, "x"), top: 1 }, true);
  }
}

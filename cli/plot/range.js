// --- A range of time: what was allocated in it ---

const kMostRows = 60;

// The buckets of a recording that a range touches: [from, to)
function bucketsOf(recording, [from, to], count) {
  const part = time => Math.min(Math.max(time / recording.span, 0), 1) * count;
  const first = Math.min(Math.floor(part(from) + 1e-6), count - 1);
  return [first, Math.max(Math.ceil(part(to) - 1e-6), first + 1)];
}

// For each of the kinds of sums, by call site: { bytes, count }.
async function sums(recording, range) {
  const sites = recording.sites.leaves.length,
    { range_buckets: buckets } = recording.meta;
  const make = () => ({ bytes: new Float64Array(sites), count: new Float64Array(sites) });
  const found = { allocated: make(), lives: make(), temporary: [], within: [] };
  const [first, end] = bucketsOf(recording, range, buckets),
    ranges = await recording.table("ranges");
  for (let row = 0; row < (ranges?.rows ?? 0); row++) {
    const { site, from, to, bytes, count } = ranges.columns;
    if (from[row] < first || from[row] >= end) continue;
    found.allocated.bytes[site[row]] += bytes[row];
    found.allocated.count[site[row]] += count[row];
    if (to[row] < end) continue;
    found.lives.bytes[site[row]] += bytes[row];
    found.lives.count[site[row]] += count[row];
  }
  const temporary = await recording.table("temporary");
  if (temporary) {
    found.within = temporary.within;
    found.temporary = temporary.within.map(make);
    const { site, bucket, within, bytes, count } = temporary.columns;
    for (let row = 0; row < temporary.rows; row++) {
      if (bucket[row] < first || bucket[row] >= end) continue;
      for (let at = within[row]; at < found.within.length; at++) {
        // freed within 10 is freed within 100
        found.temporary[at].bytes[site[row]] += bytes[row];
        found.temporary[at].count[site[row]] += count[row];
      }
    }
  }
  return found;
}

class RangePanel {
  constructor(recordings) {
    this.recordings = recordings;
    this.tab = "lives";
    this.measure = "bytes";
    this.within = -1;
    this.order = 0;
    this.wanted = 0;
  }
  // When the page has been drawn: the call sites may be many.
  async start() {
    this.functions = new Functions(this.recordings);
    this.flame = new Flame(this.functions, byId("graph"));
    const within = (await this.recordings[0].table("temporary"))?.within ?? [];
    byId("within").replaceChildren(...within.map((most, at) => new Option(most.toLocaleString("en"), at)));
    if (this.within < 0 || this.within >= within.length) this.within = Math.min(1, within.length - 1);
    byId("within").value = this.within;
    byId("within").onchange = event => {
      this.within = +event.target.value;
      this.show();
    };
    byId("measure").onchange = event => {
      this.measure = event.target.value;
      this.show();
    };
    byId("flip").onclick = () => {
      this.flame.flip = !this.flame.flip;
      byId("flip").setAttribute("aria-pressed", this.flame.flip);
      this.flame.draw();
    };
    const tabs = [...document.querySelectorAll("[role=tab]")];
    for (const tab of tabs)
      tab.onclick = () => {
        this.tab = tab.dataset.tab;
        this.order = 0;
        this.show();
        remember();
      };
    byId("tabs").onkeydown = event => {
      const over = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!over) return;
      const next = tabs[(tabs.findIndex(tab => tab.dataset.tab === this.tab) + over + tabs.length) % tabs.length];
      next.click();
      next.focus();
    };
    addEventListener("resize", () => this.flame.draw());
    await this.refresh();
  }
  async refresh() {
    if (!this.functions) return;
    const asked = ++this.wanted,
      found = await Promise.all(this.recordings.map(recording => sums(recording, rangeOrAll())));
    if (asked !== this.wanted) return; // the range has changed in between
    this.sums = found;
    this.show();
  }
  text(value, sign) {
    return this.measure === "bytes" ? bytesText(value, sign) : countText(value, sign);
  }
  all(of) {
    return this.sums
      .map(found => of(found))
      .map(kind => (kind ? kind[this.measure].reduce((sum, value) => sum + value, 0) : 0));
  }
  show() {
    if (!this.sums) return;
    const { tab } = this;
    for (const button of document.querySelectorAll("[role=tab]")) {
      button.setAttribute("aria-selected", button.dataset.tab === tab);
      button.tabIndex = button.dataset.tab === tab ? 0 : -1;
    }
    const hasGraph = ["lives", "temporary", "allocated"].includes(tab);
    byId("within-label").hidden = tab !== "temporary";
    byId("graph-box").hidden = byId("at").hidden = byId("flip").hidden = !hasGraph;
    byId("unzoom").hidden = !hasGraph || this.flame.at === 0;
    byId("panel-bar").hidden = !hasGraph;
    byId("histograms").hidden = tab !== "sizes";
    byId("table").parentElement.hidden = tab === "sizes";
    byId("why").hidden = true;
    const told = ["allocated", "lives"].map(kind =>
      this.all(found => found[kind])
        .map(value => this.text(value))
        .join(" → "),
    );
    byId("range-sum").textContent = `allocated ${told[0]}; still lives at its end: ${told[1]}`;
    if (hasGraph) this.showSites(found => (tab === "temporary" ? found.temporary[this.within] : found[tab]));
    else if (tab === "sizes") this.showSizes();
    else this.showHolders();
  }
  why(text) {
    byId("why").hidden = false;
    byId("why").textContent = text;
  }
  // By call site, of functions.
  own(of) {
    return this.sums.map((found, at) => {
      const own = new Float64Array(this.functions.parents.length),
        values = of(found)?.[this.measure] ?? [];
      const nodes = this.functions.nodeOfSite[at];
      for (let site = 0; site < values.length; site++) own[nodes[site]] += values[site];
      return own;
    });
  }
  showSites(of) {
    const own = this.own(of),
      all = own.map(values => values.reduce((sum, value) => sum + value, 0));
    const allocated = this.all(found => found.allocated);
    const isNothing = all.every(value => value === 0);
    byId("panel-sum").textContent = all
      .map((value, at) => `${this.text(value)} (${percent(value, allocated[at]) || "0 %"} of what was allocated)`)
      .join(" → ");
    byId("graph-box").hidden = byId("at").hidden = isNothing;
    if (isNothing) {
      this.why(
        {
          lives: "Nothing that was allocated in this range lives at its end.",
          allocated: "Nothing was allocated in this range.",
          temporary: "No block of this range was freed so soon by its own thread.",
        }[this.tab],
      );
    }
    this.flame.show(own, (value, sign) => this.text(value, sign));
    const columns =
      own.length > 1
        ? [
            ["more", node => own[1][node] - own[0][node], true],
            ["first file", node => own[0][node]],
            ["second file", node => own[1][node]],
          ]
        : [
            [this.measure === "bytes" ? "bytes" : "blocks", node => own[0][node]],
            ["%", node => own[0][node], "share"],
          ];
    const nodes = [];
    for (let node = 1; node < own[0].length; node++) if (own.some(values => values[node] !== 0)) nodes.push(node);
    this.table(
      columns,
      nodes,
      ...this.texts(),
      all.at(-1),
    );
  }
  table(columns, rows, text, stack, all) {
    if (this.order >= columns.length) this.order = 0;
    const head = document.createElement("tr"),
      value = columns[this.order][1];
    columns.forEach(([title], at) => {
      const cell = document.createElement("th"),
        button = Object.assign(document.createElement("button"), { textContent: title });
      button.onclick = () => {
        this.order = at;
        this.show();
        byId("table").tHead.rows[0].cells[at].firstChild.focus();
      };
      if (at === this.order) cell.ariaSort = "descending";
      cell.append(button);
      head.append(cell);
    });
    head.append(Object.assign(document.createElement("th"), { textContent: "call site", className: "site" }));
    rows.sort((a, b) => Math.abs(value(b)) - Math.abs(value(a)));
    const { caption, tHead, tBodies } = byId("table");
    caption.textContent = rows.length > kMostRows ? `the first ${kMostRows} of ${rows.length} call sites` : "";
    tHead.replaceChildren(...(rows.length ? [head] : []));
    tBodies[0].replaceChildren(
      ...rows.slice(0, kMostRows).map(row => {
        const line = document.createElement("tr");
        for (const [, of, how, format] of columns) {
          const said = format ?? ((value, sign) => this.text(value, sign));
          line.insertCell().textContent = how === "share" ? percent(of(row), all) : said(of(row), how === true);
        }
        const cell = line.insertCell(),
          button = Object.assign(document.createElement("button"), { textContent: text(row) });
        cell.className = "site";
        button.ariaExpanded = false;
        button.title = "the whole stack";
        button.onclick = () => {
          const open = cell.querySelector(".stack");
          button.ariaExpanded = !open;
          if (open) open.remove();
          else
            cell.append(
              Object.assign(document.createElement("div"), { className: "stack", textContent: stack(row).join("\n") }),
            );
        };
        cell.append(button);
        return line;
      }),
    );
  }
  async showSizes() {
    const found = await Promise.all(
      this.recordings.map(async recording => {
        const line = recording.json("sizelife");
        if (!line) return null;
        const values = await decoded(line),
          [first, end] = bucketsOf(recording, rangeOrAll(), line.periods);
        const sizes = new Float64Array(line.sizes),
          lives = new Float64Array(line.lives);
        for (let period = first; period < end; period++) {
          for (let size = 0; size < line.sizes; size++) {
            for (let life = 0; life < line.lives; life++) {
              const value = values[(period * line.sizes + size) * line.lives + life];
              sizes[size] += value;
              lives[life] += value;
            }
          }
        }
        return { sizes, lives };
      }),
    );
    if (this.tab !== "sizes") return;
    if (found.some(one => one === null)) return this.why("This recording has no sizes and lifetimes.");
    const coarse = this.recordings.some(({ span }) => view.range && view.range[1] - view.range[0] < span / 8);
    byId("histograms").replaceChildren(
      histogram(
        "size",
        found.map(one => one.sizes),
        at => (at === 0 ? "1 B" : bytesText(2 ** at)),
      ),
      histogram(
        "lifetime",
        found.map(one => one.lives),
        (at, last) => (at === last ? "lives at the end" : secondsText(10 ** (at / 2 - 7))),
      ),
    );
    if (coarse)
      this.why("Sizes and lifetimes are kept for sixteenths of the time: those that the range touches are added up.");
  }
  // At the end of the range, of each recording; of two what is more.
  async showHolders() {
    const tables = await Promise.all(this.recordings.map(recording => recording.table("holders")));
    if (this.tab !== "holders") return;
    this.table([["", () => 0]], [], null, null, 0);
    const found = tables.map((table, at) => this.holdersOf(table, this.recordings[at], this.functions.nodeOfSite[at]));
    const isOne = found.length === 1;
    this.why(
      found.map(({ said }, at) => (isOne ? said : `${at + 1}: ${said}`)).join(" ") +
        (found.some(({ units }) => units.size) ? " They cannot go back to the system while these blocks live." : ""),
    );
    const of = (at, what) => node => found[at][what].get(node) ?? 0,
      title = found.at(-1).what;
    const columns = isOne
      ? [
          [title, of(0, "units"), false, countText],
          ["bytes in them", of(0, "bytes"), false, bytesText],
        ]
      : [
          [`more ${title}`, node => of(1, "units")(node) - of(0, "units")(node), true, countText],
          ["first file", of(0, "units"), false, countText],
          ["second file", of(1, "units"), false, countText],
        ];
    this.table(columns, [...new Set(found.flatMap(({ units }) => [...units.keys()]))], ...this.texts(), 0);
  }
  // -> units and bytes by node; what units are, and what is said of them.
  holdersOf(table, recording, nodes) {
    const found = { units: new Map(), bytes: new Map(), what: "runs", said: "" };
    if (!table || table.rows === 0)
      return { ...found, said: "No call site keeps a nearly empty run from being returned." };
    const end = rangeOrAll()[1],
      { moments, columns } = table;
    let moment = 0;
    moments.forEach((time, at) => {
      if (time - recording.meta.from <= end + recording.span * 1e-6) moment = at;
    });
    for (let row = 0; row < table.rows; row++) {
      if (columns.moment[row] !== moment) continue;
      const node = nodes[columns.site[row]];
      for (const what of ["units", "bytes"])
        found[what].set(node, (found[what].get(node) ?? 0) + columns[what][row]);
    }
    found.what = table.unit ? "areas" : "runs";
    const when = `At ${momentText(moments[moment] - recording.meta.from + view.base, recording.span)} s`,
      what = table.unit ? `areas of ${bytesText(table.unit)}` : "runs";
    found.said = found.units.size
      ? `${when}: ${what} of which less than a quarter is in use, by the call sites whose blocks are in them.`
      : `${when} no ${what} are nearly empty.`;
    return found;
  }
  // Of a row of the table, which is a node: its text, and its whole stack.
  texts() {
    const { functions } = this;
    return [
      node => functions.text(node),
      node =>
        functions
          .path(node)
          .slice(1)
          .reverse()
          .map(at => functions.name(at)),
    ];
  }
}

function histogram(title, values, label) {
  const box = document.createElement("div"),
    table = document.createElement("table"),
    last = values[0].length - 1;
  const used = values[0].map((_, at) => values.some(one => one[at] > 0));
  const first = used.indexOf(1),
    end = used.lastIndexOf(1),
    most = Math.max(...values.flatMap(one => [...one]), 1);
  table.append(
    Object.assign(document.createElement("caption"), {
      textContent: `blocks by ${title}: a row goes from there to the next one`,
    }),
  );
  for (let at = Math.max(first, 0); at <= end; at++) {
    const row = table.insertRow();
    row.insertCell().textContent = label(at, last);
    row.insertCell().textContent = values.map(one => countText(one[at])).join(" → ");
    const cell = row.insertCell();
    values.forEach((one, number) => {
      const bar = Object.assign(document.createElement("span"), { className: "value" + (number ? " second" : "") });
      bar.style.width = `${(100 * one[at]) / most}%`;
      cell.append(bar);
    });
  }
  box.append(table);
  return box;
}

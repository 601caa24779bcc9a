"use strict";
// --- What acre-trace plot has written (trace/README.md): each line is a script element that nobody runs, and is
// decoded when it is needed ---

const byId = name => document.getElementById(name);
const kArrays = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
};

async function decoded({ type, count, data, delta, none, scale, offset }) {
  const packed = Uint8Array.fromBase64?.(data) ?? Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = await new Response(stream).arrayBuffer();
  const numbers = new kArrays[type](bytes, 0, count);
  if (delta) for (let at = 1; at < count; at++) numbers[at] += numbers[at - 1];
  if (none === undefined && scale === undefined && offset === undefined) return numbers;
  return Float64Array.from(numbers, value => (value === none ? NaN : (offset ?? 0) + (scale ?? 1) * value));
}

class Recording {
  constructor(number, elements) {
    this.number = number;
    this.lines = elements; // name -> element
    this.meta = this.json("meta");
    this.span = this.meta.to - this.meta.from;
    this.axis = new Axis(this.json("address"));
    this.marks = this.json("marks")?.marks ?? [];
    this.tables = new Map();
    this.tiles = new Set([...elements.keys()].filter(name => name.startsWith("tile:")));
  }
  has(name) {
    return this.lines.has(name);
  }
  json(name) {
    return this.has(name) ? JSON.parse(this.lines.get(name).textContent) : null;
  }
  async array(name) {
    return this.has(name) ? decoded(this.json(name)) : null;
  }
  // -> the line, with its columns as arrays; null: there is none. Kept.
  table(name) {
    if (!this.tables.has(name)) this.tables.set(name, this.readTable(name));
    return this.tables.get(name);
  }
  async readTable(name) {
    const line = this.json(name);
    if (line === null) return null;
    const names = Object.keys(line.columns);
    const arrays = await Promise.all(names.map(column => decoded(line.columns[column])));
    return {
      ...line,
      columns: Object.fromEntries(names.map((column, at) => [column, arrays[at]])),
      rows: arrays[0].length,
    };
  }
  get sites() {
    return (this.knownSites ??= this.json("sites"));
  }
  // A call site as people read it, the innermost function first.
  siteText(site, most = 4) {
    const { places, parents, frames, leaves, names } = this.sites,
      said = [];
    let node = leaves[site] ?? 0;
    for (; node > 0 && said.length < most; node = parents[node]) said.push(names[places[frames[node]][0]].at(-1));
    return said.length ? said.join(" ← ") + (node > 0 ? " ← …" : "") : "call site not recorded";
  }
  threadText(index) {
    const thread = this.meta.threads[index];
    return thread ? `${thread.tid}${thread.name ? ` “${thread.name}”` : ""}` : "another thread";
  }
  tagText(index) {
    const tag = this.meta.tags?.[index];
    return tag ? `“${tag.name}”` : "another tag";
  }
}

// The addresses that were ever used, without the gaps: an offset counts their bytes.
class Axis {
  constructor({ unit, ranges, height }) {
    this.height = height;
    this.starts = ranges.map(range => range[0]);
    this.sizes = ranges.map(range => range[1] * unit);
    this.offsets = [];
    this.total = 0;
    for (const size of this.sizes) {
      this.offsets.push(this.total);
      this.total += size;
    }
  }
  // The range that a sorted list's value begins.
  static at(list, value) {
    let low = 0,
      high = list.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (list[middle] <= value) low = middle;
      else high = middle;
    }
    return low;
  }
  address(offset) {
    const at = Axis.at(this.offsets, offset);
    return (this.starts[at] ?? 0) + offset - (this.offsets[at] ?? 0);
  }
  offset(address) {
    const at = Axis.at(this.starts, address);
    return this.offsets[at] + Math.min(Math.max(address - this.starts[at], 0), this.sizes[at]);
  }
}

// --- Figures as text ---

function bytesText(value, sign) {
  const mark = value < 0 ? "−" : sign && value > 0 ? "+" : "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = Math.abs(value);
  while (size >= 1024 && units.length > 1) {
    size /= 1024;
    units.shift();
  }
  return mark + (units[0] === "B" ? Math.round(size) : size.toFixed(size < 100 ? 1 : 0)) + " " + units[0];
}
function countText(value, sign) {
  const mark = value < 0 ? "−" : sign && value > 0 ? "+" : "";
  return mark + Math.round(Math.abs(value)).toLocaleString("en");
}
function secondsText(value) {
  for (const [unit, name] of [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
  ]) {
    if (Math.abs(value) >= unit || unit === 1e-6) return `${+(value / unit).toPrecision(3)} ${name}`;
  }
}
// A moment: as many digits as the part of the time that is shown asks for.
function momentText(value, span) {
  return value.toFixed(Math.min(Math.max(Math.ceil(2 - Math.log10(span)), 0), 7));
}
const hex = value => "0x" + Math.round(value).toString(16);
const percent = (part, whole) => (whole === 0 ? "" : ((100 * part) / whole).toFixed(1) + " %");

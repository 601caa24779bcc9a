// --- The heap's image: address against time ---

const kGutter = 92,
  kRight = 26; // pixels beside it, as beside the curves
const kMostBlocks = 40000,
  kLargePixel = 256; // that are drawn singly; bytes

class HeapImage {
  constructor(recording, folder, title) {
    this.recording = recording;
    this.axis = recording.axis;
    this.low = 0; // offsets that are shown
    this.high = this.axis.total;
    this.cross = null; // seconds, offset
    this.kind = "share";
    this.shown = null; // the list's rows that are drawn
    this.draw = onceAFrame(() => this.drawNow());
    this.drawOver = onceAFrame(() => this.drawOverNow());
    this.tiles = new Tiles(recording, this.draw);
    this.list = null; // of single blocks, when it is decoded
    recording.table("blocks:0:0:0").then(list => {
      this.list = list;
      this.draw();
    });
    const box = document.createElement("div");
    box.className = "image";
    if (title) box.append(Object.assign(document.createElement("h2"), { textContent: title }));
    this.element = document.createElement("div");
    this.element.className = "picture";
    this.element.tabIndex = 0;
    this.element.role = "application";
    this.element.ariaLabel = "the heap: addresses against time";
    this.element.append(
      (this.canvas = document.createElement("canvas")),
      (this.over = document.createElement("canvas")),
    );
    box.append(this.element);
    folder.append(box);
    listenTo(this);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  // --- Where things are ---

  measure() {
    const scale = devicePixelRatio || 1;
    this.width = Math.max(this.element.clientWidth - kGutter - kRight, 10);
    this.height = Math.max(this.element.clientHeight - 8, 10);
    for (const canvas of [this.canvas, this.over]) {
      const [wide, high] = [this.element.clientWidth * scale, this.element.clientHeight * scale].map(Math.round);
      if (canvas.width !== wide || canvas.height !== high) {
        canvas.width = wide;
        canvas.height = high;
      }
      canvas.getContext("2d").setTransform(scale, 0, 0, scale, 0, 0);
    }
  }
  xOf(time) {
    return kGutter + ((time - view.from) / (view.to - view.from)) * this.width;
  }
  yOf(offset) {
    return 4 + this.height - ((offset - this.low) / (this.high - this.low)) * this.height;
  }
  timeAt(x) {
    return view.from + ((x - kGutter) / this.width) * (view.to - view.from);
  }
  offsetAt(y) {
    return this.low + ((4 + this.height - y) / this.height) * (this.high - this.low);
  }
  get perPixel() {
    return (this.high - this.low) / this.height;
  }

  setAddresses(low, high) {
    const span = Math.min(Math.max(high - low, Math.min(64, this.axis.total)), this.axis.total);
    const start = Math.min(Math.max(low + (high - low - span) / 2, 0), this.axis.total - span);
    this.low = start;
    this.high = start + span;
    this.draw();
    remember();
  }
  zoomAddresses(factor, at = (this.low + this.high) / 2) {
    this.setAddresses(at - (at - this.low) * factor, at + (this.high - at) * factor);
  }

  // --- Drawing ---

  // Cells are about a pixel, unless that takes too many tiles.
  level() {
    const { span } = this.recording,
      ratio = devicePixelRatio || 1;
    const across = (this.width * ratio * span) / (view.to - view.from),
      up = (this.height * ratio * this.axis.height) / (this.high - this.low);
    let level = Math.round(Math.log2(Math.max(across, up) / kCells));
    level = Math.min(Math.max(level, 0), this.tiles.levels - 1);
    while (level > 0) {
      const [x0, x1, y0, y1] = this.shownTiles(level);
      if ((x1 - x0 + 1) * (y1 - y0 + 1) <= kMostTiles) break;
      level--;
    }
    return level;
  }
  shownTiles(level) {
    const parts = 2 ** level,
      { span } = this.recording;
    const tile = (part, end) =>
      Math.min(Math.max(end ? Math.ceil(part * parts) - 1 : Math.floor(part * parts), 0), parts - 1);
    return [
      tile(view.from / span),
      tile(view.to / span, true),
      tile(this.low / this.axis.height),
      tile(this.high / this.axis.height, true),
    ];
  }
  // left, top, width, height of a tile
  boxOf(level, x, y) {
    const parts = 2 ** level,
      time = this.recording.span / parts,
      bytes = this.axis.height / parts;
    const left = this.xOf(x * time),
      top = this.yOf((y + 1) * bytes);
    return [left, top, this.xOf((x + 1) * time) - left, this.yOf(y * bytes) - top];
  }
  drawNow() {
    if (!this.element.isConnected) return;
    this.measure();
    const pen = this.canvas.getContext("2d");
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.save();
    pen.beginPath();
    pen.rect(kGutter, 4, this.width, this.height);
    pen.fillStyle = css("--panel");
    pen.fill();
    pen.clip();
    this.shownLevel = this.level();
    const [x0, x1, y0, y1] = this.shownTiles(this.shownLevel),
      blocks = (this.shown = this.shownBlocks());
    if (blocks === null || !this.list.complete) {
      pen.globalAlpha = blocks === null ? 1 : 0.3; // behind single blocks: those that are not in the list
      for (let y = y0; y <= y1; y++) for (let x = x0; x <= x1; x++) this.drawTile(pen, this.shownLevel, x, y);
      pen.globalAlpha = 1;
    }
    if (blocks !== null) this.drawBlocks(pen, blocks);
    this.drawRuns(pen);
    this.drawGaps(pen);
    pen.restore();
    this.drawAddresses(pen);
    this.drawOverNow();
  }
  drawTile(pen, level, x, y) {
    const tile = this.tiles.best(level, x, y);
    if (tile === null) return;
    const [left, top, width, height] = this.boxOf(level, x, y),
      part = 2 ** tile.up,
      cells = kCells / part;
    const from = [(x % part) * cells, (part - 1 - (y % part)) * cells];
    pen.imageSmoothingEnabled = width / cells < 0.75 || height / cells < 0.75;
    pen.drawImage(
      this.tiles.picture(tile.name, tile.bytes, this.kind),
      ...from,
      cells,
      cells,
      left,
      top,
      width,
      height,
    );
  }

  // Those that are drawn singly, if they are not too many nor too small; null: tiles are drawn alone.
  shownBlocks() {
    const { list } = this;
    if (!list || this.perPixel > kLargePixel) return null;
    const { from, to, y, size } = list.columns,
      start = view.from + this.recording.meta.from,
      end = view.to + this.recording.meta.from;
    const found = [];
    for (let at = 0; at < list.rows && from[at] <= end; at++) {
      if (to[at] < start || y[at] > this.high || y[at] + size[at] < this.low) continue;
      found.push(at);
      if (found.length > kMostBlocks) return null;
    }
    return found;
  }
  drawBlocks(pen, blocks) {
    const { from, to, y, size, thread } = this.list.columns,
      { meta } = this.recording,
      back = css("--panel");
    const table = colourTable(this.kind, this.recording).map(channels => `rgb(${channels})`);
    for (const at of blocks) {
      const end = this.endOf(to[at]),
        top = this.yOf(y[at] + size[at]),
        height = this.yOf(y[at]) - top;
      const left = Math.max(this.xOf(from[at] - meta.from), kGutter - 9),
        width = Math.min(this.xOf(end), kGutter + this.width + 9) - left;
      const value =
        this.kind === "share"
          ? 255
          : this.kind === "thread"
            ? thread[at]
            : this.kind === "class"
              ? classOf(meta.classes, size[at])
              : ageByte(end - (from[at] - meta.from));
      const [slit, gap] = [width, height].map(room => (room > 3 ? 1 : 0)); // between neighbours
      if (slit || gap) {
        pen.fillStyle = back;
        pen.fillRect(left, top, width, height);
      }
      pen.fillStyle = table[Math.min(Math.round(value), 255)];
      pen.fillRect(left, top + gap / 2, Math.max(width - slit, 0.5), Math.max(height - gap, 0.5));
    }
  }
  endOf(time) {
    return Number.isFinite(time) ? time - this.recording.meta.from : this.recording.span;
  }

  // A grid of runs: each is so many pages, of blocks of one size.
  drawRuns(pen) {
    if (!this.recording.has("runs") || this.perPixel > 4096) return;
    this.recording.table("runs").then(table => {
      if (this.runs !== table) {
        this.runs = table;
        this.draw();
      }
    });
    if (!this.runs) return;
    const { address, pages, block, from, to } = this.runs.columns;
    pen.lineWidth = 1;
    let drawn = 0;
    for (let at = 0; at < this.runs.rows && drawn < 3000; at++) {
      const offset = this.axis.offset(address[at]),
        size = pages[at] * 4096;
      if (offset > this.high || offset + size < this.low) continue;
      const x = Math.max(this.xOf(from[at] - this.recording.meta.from), kGutter - 1);
      const x2 = Math.min(this.xOf(this.endOf(to[at])), kGutter + this.width + 1);
      if (x2 <= x) continue;
      const y = this.yOf(offset + size),
        y2 = this.yOf(offset);
      drawn++;
      if (block[at] > 0 && block[at] / this.perPixel >= 6 && block[at] < size) {
        pen.strokeStyle = css("--grid");
        pen.beginPath();
        for (let edge = offset + block[at]; edge < Math.min(offset + size, this.high); edge += block[at]) {
          if (edge < this.low) continue;
          const line = Math.round(this.yOf(edge)) + 0.5;
          pen.moveTo(x, line);
          pen.lineTo(x2, line);
        }
        pen.stroke();
      }
      pen.strokeStyle = css("--soft");
      pen.strokeRect(Math.round(x) + 0.5, Math.round(y) + 0.5, Math.round(x2 - x), Math.round(y2 - y));
    }
  }
  // Where addresses are left out.
  drawGaps(pen) {
    pen.strokeStyle = css("--soft");
    pen.setLineDash([4, 4]);
    pen.beginPath();
    for (const offset of this.axis.offsets.slice(1)) {
      if (offset <= this.low || offset >= this.high) continue;
      const y = Math.round(this.yOf(offset)) + 0.5;
      pen.moveTo(kGutter, y);
      pen.lineTo(kGutter + this.width, y);
    }
    if (this.axis.offsets.length < 200) pen.stroke();
    pen.setLineDash([]);
  }
  drawAddresses(pen) {
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillStyle = pen.strokeStyle = css("--soft");
    const step = 2 ** Math.max(Math.ceil(Math.log2(this.perPixel * 28)), 0);
    const labels = [];
    for (let at = 0; at < this.axis.starts.length; at++) {
      const start = this.axis.offsets[at],
        end = start + this.axis.sizes[at];
      if (end < this.low || start > this.high) continue;
      if (start >= this.low) labels.push(start);
      const address = this.axis.starts[at] + Math.max(this.low - start, 0);
      for (let next = Math.ceil(address / step) * step; ; next += step) {
        const offset = start + next - this.axis.starts[at];
        if (offset >= end || offset > this.high || labels.length > 400) break;
        if (offset > start) labels.push(offset);
      }
    }
    let last = Infinity;
    for (const offset of labels) {
      const y = this.yOf(offset);
      if (last - y < 16) continue;
      last = y;
      pen.fillText(hex(this.axis.address(offset)).slice(2), kGutter - 7, Math.max(y, 8));
      pen.fillRect(kGutter - 5, Math.round(y), 5, 1);
    }
    pen.strokeStyle = css("--edge");
    pen.strokeRect(kGutter + 0.5, 4.5, this.width - 1, this.height - 1);
  }

  // --- Over it: the range, marks, the cross ---

  drawOverNow() {
    const pen = this.over.getContext("2d");
    pen.clearRect(0, 0, this.over.width, this.over.height);
    pen.save();
    pen.beginPath();
    pen.rect(kGutter, 4, this.width, this.height);
    pen.clip();
    if (view.range) {
      const [from, to] = view.range.map(time => this.xOf(time));
      pen.fillStyle = css("--band");
      pen.fillRect(from, 4, Math.max(to - from, 1), this.height);
      pen.fillStyle = css("--focus");
      pen.fillRect(from, 4, 1, this.height);
      pen.fillRect(to - 1, 4, 1, this.height);
    }
    drawMarks(pen, this.recording, time => this.xOf(time), 4, this.height, true);
    if (this.cross) {
      pen.fillStyle = css("--ink");
      pen.fillRect(Math.round(this.xOf(this.cross[0])), 4, 0.5, this.height);
      pen.fillRect(kGutter, Math.round(this.yOf(this.cross[1])), this.width, 0.5);
    }
    pen.restore();
  }

  // --- What is there ---

  setCross(time, offset) {
    this.cross = [Math.min(Math.max(time, view.least), view.most), Math.min(Math.max(offset, 0), this.axis.total)];
    setMoment(this.cross[0]);
    this.drawOver();
    tellHere(this);
  }
}

function classOf(classes, size) {
  const at = classes.findIndex(upper => upper === null || size <= upper);
  return at < 0 ? classes.length - 1 : at;
}

// In the picture and in the curves.
function drawMarks(pen, recording, xOf, top, height, named) {
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "left";
  pen.textBaseline = "top";
  let free = -Infinity,
    last = -Infinity;
  for (const { t, kind, text } of recording.marks) {
    const x = xOf(t - recording.meta.from);
    if (x - last < 1) continue;
    last = x;
    pen.fillStyle = kind === "purge" ? css("--soft") : css("--mark");
    pen.fillRect(Math.round(x), top, 1, height);
    const said = kind === "purge" ? `purged ${bytesText(+text)}` : text || kind;
    if (!named || x < free || kind === "end") continue;
    const wide = pen.measureText(said).width;
    pen.globalAlpha = 0.85;
    pen.fillStyle = css("--panel");
    pen.fillRect(x + 2, top + 2, wide + 4, 14);
    pen.globalAlpha = 1;
    pen.fillStyle = css("--mark");
    pen.fillText(said, x + 4, top + 3);
    free = x + wide + 12;
  }
}

// --- The flame graph: as that of heap profiles ---

const kBarHeight = 20,
  kLeastWidth = 0.6;
const pen = document.createElement("canvas").getContext("2d");

function hash(text) {
  let value = 7;
  for (let i = 0; i < text.length; i++) value = (value * 31 + text.charCodeAt(i)) >>> 0;
  return value;
}

// All call sites of the recordings as one tree of functions; where two recordings are compared, the same functions are
// the same nodes.
class Functions {
  constructor(recordings) {
    this.parents = [-1];
    this.children = [[]];
    this.places = [["all", "", 0, ""]];
    this.forms = [["all"]];
    const known = new Map();
    this.nodeOfSite = recordings.map(({ sites }) => {
      const nodes = new Int32Array(sites.parents.length);
      for (let node = 1; node < nodes.length; node++) {
        const parent = nodes[sites.parents[node]],
          place = sites.places[sites.frames[node]];
        const key = `${parent} ${place[0]}\n${place[3]}`;
        if (!known.has(key)) {
          known.set(key, this.parents.length);
          this.children[parent].push(this.parents.length);
          this.parents.push(parent);
          this.children.push([]);
          this.places.push(place);
          this.forms.push(sites.names[place[0]]);
        }
        nodes[node] = known.get(key);
      }
      // A site without a stack: one box for all of them.
      return sites.leaves.map(leaf => (leaf > 0 ? nodes[leaf] : this.unknown(known)));
    });
    for (const list of this.children)
      list.sort((a, b) => (this.name(a) < this.name(b) ? -1 : this.name(a) > this.name(b) ? 1 : a - b));
  }
  unknown(known) {
    if (!known.has("")) {
      known.set("", this.parents.length);
      this.children[0].push(this.parents.length);
      this.parents.push(0);
      this.children.push([]);
      this.places.push(["call site not recorded", "", 0, ""]);
      this.forms.push(["call site not recorded"]);
    }
    return known.get("");
  }
  name(node) {
    return this.places[node][0];
  }
  short(node) {
    return this.forms[node].at(-1);
  }
  path(node) {
    const above = [];
    for (let at = node; at >= 0; at = this.parents[at]) above.unshift(at);
    return above;
  }
  text(node, most = 4) {
    const said = [];
    let at = node;
    for (; at > 0 && said.length < most; at = this.parents[at]) said.push(this.short(at));
    return said.join(" ← ") + (at > 0 ? " ← …" : "");
  }
  total(values) {
    const sums = Float64Array.from(values);
    for (let node = sums.length - 1; node > 0; node--) sums[this.parents[node]] += sums[node];
    return sums;
  }
}

class Flame {
  constructor(functions, element) {
    this.functions = functions;
    this.element = element;
    this.at = 0;
    this.flip = false;
    this.bars = [];
    element.onclick = event => event.target.dataset.node && this.zoom(+event.target.dataset.node);
    element.onmousemove = event => event.target.dataset.node && this.tell(+event.target.dataset.node);
    element.onkeydown = event => {
      if (event.key.startsWith("Arrow")) {
        event.preventDefault();
        this.move(event.key);
      }
      if (event.key === "Enter") this.zoom(this.pointed);
    };
    byId("unzoom").onclick = () => this.zoom(0);
  }
  // own: for each recording the nodes' own values; text: of a value
  show(own, text) {
    this.text = text;
    this.values = own.map(values => this.functions.total(values));
    this.width = this.functions.total(
      own.length > 1 ? own[0].map((value, node) => Math.max(value, own[1][node])) : own[0],
    );
    if (this.width[this.at] === 0) this.at = 0;
    this.draw();
  }
  zoom(node) {
    this.at = node;
    this.draw();
  }
  colour(node) {
    if (node === 0) return "hsl(40 8% var(--light))";
    if (this.values.length > 1) {
      const [before, after] = this.values.map(values => values[node]);
      const strength = Math.min(1, Math.abs(after - before) / Math.max(after, before, 1));
      if (strength < 0.005) return "hsl(40 6% var(--light))";
      return `hsl(${after > before ? 8 : 215} ${Math.round(22 + 63 * strength)}% var(--light))`;
    }
    const [name, , , module] = this.functions.places[node];
    return `hsl(${18 + (hash(module) % 9) * 29 + (hash(name) % 24)} var(--saturation) var(--light))`;
  }
  draw() {
    if (!this.values) return;
    const { functions, width } = this,
      whole = this.element.clientWidth || 1000,
      above = functions.path(this.at);
    let deepest = 0;
    const bars = [];
    const add = (node, depth, left, size) => {
      if (size < kLeastWidth) return;
      bars.push({ node, depth, left, size });
      deepest = Math.max(deepest, depth);
    };
    above.forEach((node, depth) => add(node, depth, 0, whole));
    const work = [[this.at, above.length, 0]],
      scale = width[this.at] > 0 ? whole / width[this.at] : 0;
    while (work.length) {
      const [parent, depth, start] = work.pop();
      let left = start;
      for (const node of functions.children[parent]) {
        const size = width[node] * scale;
        if (size >= kLeastWidth) {
          add(node, depth, left, size);
          work.push([node, depth + 1, left]);
        }
        left += size;
      }
    }
    this.element.style.height = (deepest + 1) * kBarHeight + "px";
    for (const bar of bars) {
      const element = (bar.element = document.createElement("div"));
      const row = this.flip ? bar.depth : deepest - bar.depth;
      element.className = "bar" + (bar.depth < above.length - 1 ? " above" : "");
      element.style.cssText = `left:${bar.left}px;width:${bar.size}px;top:${row * kBarHeight}px`;
      element.style.background = this.colour(bar.node);
      element.dataset.node = bar.node;
      element.id = "bar" + bar.node;
      element.role = "treeitem";
      element.ariaLevel = bar.depth + 1;
      element.ariaLabel = `${functions.name(bar.node)}, ${this.valueText(bar.node)}`;
      if (bar.size > 30) element.textContent = this.fitting(bar.node, bar.size - 9);
      else element.classList.add("narrow");
    }
    this.bars = bars;
    this.element.replaceChildren(...bars.map(bar => bar.element));
    byId("unzoom").hidden = this.at === 0;
    const box = this.element.parentElement;
    box.scrollTop = this.flip ? 0 : box.scrollHeight;
    this.point(this.at);
  }
  fitting(node, room) {
    pen.font = "12px system-ui, sans-serif";
    const forms = this.functions.forms[node];
    return forms.find(form => pen.measureText(form).width <= room) ?? forms.at(-1);
  }
  valueText(node) {
    const values = this.values.map(values => values[node]),
      all = this.values.at(-1)[0];
    if (values.length > 1)
      return `${this.text(values[0])} → ${this.text(values[1])} (${this.text(values[1] - values[0], true)})`;
    return `${this.text(values[0])}, ${percent(values[0], all)} of all`;
  }
  tell(node) {
    const [name, file, line, module] = this.functions.places[node];
    byId("at").textContent = [
      name,
      this.valueText(node),
      [module, file && (line ? `${file}:${line}` : file)].filter(Boolean).join("  "),
    ]
      .filter(Boolean)
      .join(" · ");
  }
  point(node) {
    this.element.querySelector(".at")?.classList.remove("at");
    const element = byId("bar" + node);
    if (!element) return;
    this.pointed = node;
    element.classList.add("at");
    this.element.setAttribute("aria-activedescendant", element.id);
    this.tell(node);
  }
  move(key) {
    const at = this.bars.find(bar => bar.node === this.pointed);
    if (!at) return;
    const beside = this.bars
      .filter(bar => bar.depth === at.depth)
      .sort((a, b) => a.left - b.left)
      .map(bar => bar.node);
    const called = this.bars
      .filter(bar => bar.depth === at.depth + 1 && bar.left >= at.left - 0.1 && bar.left < at.left + at.size)
      .sort((a, b) => b.size - a.size)[0]?.node;
    const way = {
      ArrowLeft: beside[beside.indexOf(at.node) - 1],
      ArrowRight: beside[beside.indexOf(at.node) + 1],
      [this.flip ? "ArrowDown" : "ArrowUp"]: called,
      [this.flip ? "ArrowUp" : "ArrowDown"]: this.functions.parents[at.node],
    };
    if ((way[key] ?? -1) < 0) return;
    this.point(way[key]);
    byId("bar" + way[key]).scrollIntoView({ block: "nearest" });
  }
}

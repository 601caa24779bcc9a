// --- The flame graph of call sites (../heap_profile/flame.js) ---

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
    this.parents = functions.parents;
    this.children = functions.children;
    this.at = 0;
    this.flip = false;
    this.graph = new FlameGraph(element, {
      tree: this,
      look: {
        colour: node => {
          const values = this.values.map(values => values[node]);
          return barColour(node, functions.places[node], values.length > 1 ? values[0] : null, values.at(-1));
        },
        text: (node, room) => fitting(functions.forms[node], room),
        said: node => [functions.name(node), this.valueText(node)],
      },
      zoom: node => this.zoom(node),
      tell: node => this.tell(node),
    });
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
  draw() {
    if (!this.values) return;
    this.graph.draw();
    byId("unzoom").hidden = this.at === 0;
    const box = byId("graph-box");
    box.scrollTop = this.flip ? 0 : box.scrollHeight;
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
}

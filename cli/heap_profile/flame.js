// --- A flame graph: a tree of functions as boxes, for the pages of heap profiles and of recordings ---

const kBarHeight = 20,
  kLeastWidth = 0.6;
const measuring = document.createElement("canvas").getContext("2d");

// Of the forms of a name, the longest first, one that fits in so many pixels, or the shortest.
function fitting(forms, room, suffix = "", size = 12) {
  measuring.font = `${size}px system-ui, sans-serif`;
  return (forms.find(form => measuring.measureText(form + suffix).width <= room) ?? forms.at(-1)) + suffix;
}

function hash(text) {
  let value = 7;
  for (let i = 0; i < text.length; i++) value = (value * 31 + text.charCodeAt(i)) >>> 0;
  return value;
}
// A hue for each program or library, none near that of what was searched; in a comparison red for more, blue for less.
function barColour(node, [name, , , module], before, after) {
  if (node === 0) return "hsl(40 8% var(--light))";
  if (before !== null) {
    const strength = Math.min(1, Math.abs(after - before) / Math.max(after, before, 1));
    if (strength < 0.005) return "hsl(40 6% var(--light))";
    return `hsl(${after > before ? 8 : 215} ${Math.round(22 + 63 * strength)}% var(--light))`;
  }
  return `hsl(${18 + (hash(module) % 9) * 29 + (hash(name) % 24)} var(--saturation) var(--light))`;
}

// element has the boxes. tree: parents, children, and width by node; at: the node that is zoomed to; flip: callers above.
// look: of a node its colour, its name in so many pixels (text), what is said of it (said: a list), isFound.
// zoom and tell: called with a node that is chosen, or pointed at.
class FlameGraph {
  constructor(element, { tree, look, zoom, tell }) {
    Object.assign(this, { element, tree, look, zoom, tell, bars: [], pointed: 0 });
    const nodeAt = event => (event.target.dataset.node === undefined ? null : +event.target.dataset.node);
    let lastMouse = ""; // what moves below a resting mouse is not pointed at
    element.onclick = event => {
      lastMouse = `${event.clientX} ${event.clientY}`;
      if (nodeAt(event) !== null) zoom(nodeAt(event));
    };
    element.onmousemove = event => {
      const node = nodeAt(event),
        mouse = `${event.clientX} ${event.clientY}`;
      if (node === null || mouse === lastMouse) return;
      lastMouse = mouse;
      event.target.title = this.look.said(node).join("\n");
      tell(node);
    };
    element.onmouseleave = () => tell(this.pointed);
    element.onkeydown = event => {
      if (event.key.startsWith("Arrow")) {
        event.preventDefault();
        this.move(event.key);
      }
      if (event.key === "Enter") zoom(this.pointed);
    };
  }
  path(node) {
    const above = [];
    for (let at = node; at >= 0; at = this.tree.parents[at]) above.unshift(at);
    return above;
  }
  draw() {
    const { children, width, at, flip } = this.tree,
      whole = this.element.clientWidth || 1000,
      above = this.path(at);
    let deepest = 0;
    const bars = [];
    const add = (node, depth, left, size) => {
      if (size < kLeastWidth) return;
      bars.push({ node, depth, left, size });
      deepest = Math.max(deepest, depth);
    };
    above.forEach((node, depth) => add(node, depth, 0, whole));
    const work = [[at, above.length, 0]],
      scale = width[at] > 0 ? whole / width[at] : 0;
    while (work.length) {
      const [parent, depth, start] = work.pop();
      let left = start;
      for (const node of children[parent]) {
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
      const { node, depth, left, size } = bar,
        element = (bar.element = document.createElement("div"));
      const row = flip ? depth : deepest - depth;
      element.className =
        "bar" + (depth < above.length - 1 ? " above" : "") + (this.look.isFound?.(node) ? " found" : "");
      element.style.cssText = `left:${left}px;width:${size}px;top:${row * kBarHeight}px`;
      element.style.background = this.look.colour(node);
      element.dataset.node = node;
      element.id = "bar" + node;
      element.role = "treeitem";
      element.ariaLevel = depth + 1;
      element.ariaLabel = this.look.said(node).join(", ");
      if (size > 30) element.textContent = this.look.text(node, size - 9);
      else element.classList.add("narrow");
    }
    this.bars = bars;
    this.element.replaceChildren(...bars.map(bar => bar.element));
    this.point(at);
  }
  // The box that the keys are at.
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
    const { flip, parents } = this.tree;
    const way = {
      ArrowLeft: beside[beside.indexOf(at.node) - 1],
      ArrowRight: beside[beside.indexOf(at.node) + 1],
      [flip ? "ArrowDown" : "ArrowUp"]: called,
      [flip ? "ArrowUp" : "ArrowDown"]: parents[at.node],
    };
    if ((way[key] ?? -1) < 0) return;
    this.point(way[key]);
    byId("bar" + way[key]).scrollIntoView({ block: "nearest" });
  }
}

// --- The page ---

const files = [];
for (const element of document.querySelectorAll("script[data-file]")) {
  (files[+element.dataset.file] ??= new Map()).set(element.dataset.name, element);
}
const recordings = files.map((elements, number) => new Recording(number, elements));
const [first] = recordings;
view.most = view.to = Math.max(...recordings.map(recording => recording.span));
view.base = recordings.length === 1 ? first.meta.from : 0;

function say(strong, text) {
  byId("here").replaceChildren(Object.assign(document.createElement("b"), { textContent: strong }), text);
}
function about({ meta }) {
  return [
    meta.command,
    meta.processes.length > 1 ? `process ${meta.pid}, one of ${meta.processes.length}` : `process ${meta.pid}`,
    `${countText(meta.events)} allocations and frees`,
    secondsText(meta.to - meta.from),
    new Date(meta.realtime * 1000).toISOString().slice(0, 16).replace("T", " "),
  ]
    .filter(Boolean)
    .join(" · ");
}

const images = recordings.map(
  recording =>
    new HeapImage(
      recording,
      byId("images"),
      recordings.length > 1 ? `${recording.number + 1}: ${about(recording)}` : "",
    ),
);
const curves = new Curves(recordings, byId("curves"));
const panel = new RangePanel(recordings);
const kColours = kPlanes;

let pointing = false;
function setMoment(time) {
  if (pointing) return;
  pointing = true;
  curves.point(time);
  pointing = false;
}
function wholeView() {
  for (const image of images) image.setAddresses(0, image.axis.total);
  setTime(view.least, view.most);
}
function setColour(kind) {
  byId("colour").value = kind;
  for (const image of images) {
    image.kind = kind;
    image.draw();
  }
  drawLegend(kind, first);
  remember();
}
function showRange() {
  const [from, to] = rangeOrAll();
  byId("from").value = momentText(from + view.base, to - from);
  byId("to").value = momentText(to + view.base, to - from);
  byId("whole-range").disabled = byId("zoom-range").disabled = view.range === null;
}
function typedRange() {
  const [from, to] = ["from", "to"].map(name => Number(byId(name).value) - view.base);
  const isRange = Number.isFinite(from) && to > from && byId("from").value.trim() !== "";
  for (const name of ["from", "to"]) byId(name).setAttribute("aria-invalid", !isRange);
  if (isRange) setRange([from, to]);
}

// The page's address keeps the view.
let remembering = null;
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    const words = new URLSearchParams();
    if (view.from > view.least || view.to < view.most) words.set("time", `${view.from},${view.to}`);
    if (view.range) words.set("range", view.range.join());
    images.forEach(image => {
      if (image.low > 0 || image.high < image.axis.total)
        words.set(`addresses${image.recording.number}`, `${image.low},${image.high}`);
    });
    if (byId("colour").value !== "share") words.set("colour", byId("colour").value);
    if (panel.tab !== "lives") words.set("tab", panel.tab);
    history.replaceState(null, "", "#" + words);
  }, 150);
}
function restore() {
  const words = new URLSearchParams(location.hash.slice(1));
  const pair = name => {
    const values = (words.get(name) ?? "").split(",").map(Number);
    return values.length === 2 && values.every(Number.isFinite) && values[0] < values[1] ? values : null;
  };
  if (pair("time")) setTime(...pair("time"));
  if (pair("range")) setRange(pair("range"));
  images.forEach((image, at) => {
    if (pair(`addresses${at}`)) image.setAddresses(...pair(`addresses${at}`));
  });
  if ([...document.querySelectorAll("[role=tab]")].some(tab => tab.dataset.tab === words.get("tab")))
    panel.tab = words.get("tab");
  setColour(kColours.includes(words.get("colour")) ? words.get("colour") : "share");
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "light" : "dark";
}
function changeTheme(name) {
  theme(name);
  for (const image of images) image.draw();
  if (curves.series) curves.build();
  drawLegend(byId("colour").value, first);
}
function help() {
  byId("help").hidden = !byId("help").hidden;
  byId("ask").setAttribute("aria-expanded", !byId("help").hidden);
}
const wantsDark = matchMedia("(prefers-color-scheme: dark)");
wantsDark.onchange = () => changeTheme(wantsDark.matches ? "dark" : "light");

const refreshRange = onceAFrame(() => panel.refresh());
view.changed.push(() => {
  for (const image of images) image.draw();
  curves.setTime();
  remember();
});
view.rangeChanged.push(() => {
  for (const image of images) image.drawOver();
  curves.redraw();
  showRange();
  refreshRange();
  remember();
});

byId("images").classList.toggle("two", images.length > 1);
byId("about").textContent = recordings.length > 1 ? "two recordings" : about(first);
const notes = recordings.flatMap(({ meta }) => meta.notes ?? []);
byId("notes").hidden = notes.length === 0;
byId("notes").textContent = notes.join(" · ");
byId("colour").onchange = event => setColour(event.target.value);
byId("time-in").onclick = () => zoomTime(0.5);
byId("time-out").onclick = () => zoomTime(2);
byId("address-in").onclick = () => {
  for (const image of images) image.zoomAddresses(0.5);
};
byId("address-out").onclick = () => {
  for (const image of images) image.zoomAddresses(2);
};
byId("whole").onclick = wholeView;
byId("theme").onclick = () => changeTheme(isDark() ? "light" : "dark");
byId("ask").onclick = help;
byId("from").onchange = byId("to").onchange = typedRange;
byId("whole-range").onclick = () => setRange(null);
byId("zoom-range").onclick = () => view.range && setTime(...view.range);
addEventListener("keydown", event => {
  if (event.target.matches?.("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "?") help();
  if (event.key === "0") wholeView();
  if (event.key === "Escape") {
    if (!byId("help").hidden) help();
    else if (view.range) setRange(null);
    else wholeView();
  }
});
addEventListener("hashchange", restore);

theme(wantsDark.matches ? "dark" : "light");
restore();
showRange();
// The picture first, then the curves, then the range.
requestAnimationFrame(async () => {
  await curves.read();
  await panel.start();
  document.documentElement.dataset.ready = "true";
});

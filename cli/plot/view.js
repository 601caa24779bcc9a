// --- What is shown. Times are seconds since the plotted time's beginning, so that two recordings share the axis; for
// people, of one recording, they are since the recording began: base is added ---

const view = { from: 0, to: 1, least: 0, most: 1, range: null, base: 0, changed: [], rangeChanged: [] };

function setTime(from, to) {
  const shortest = Math.max((view.most - view.least) * 1e-9, 1e-9);
  const span = Math.min(Math.max(to - from, shortest), view.most - view.least);
  const start = Math.min(Math.max(from + (to - from - span) / 2, view.least), view.most - span);
  view.from = start;
  view.to = start + span;
  for (const tell of view.changed) tell();
}
function zoomTime(factor, at = (view.from + view.to) / 2) {
  setTime(at - (at - view.from) * factor, at + (view.to - at) * factor);
}
// null: all of the time
function setRange(range) {
  if (range !== null) {
    const [from, to] = range.map(time => Math.min(Math.max(time, view.least), view.most));
    range = from === to ? null : [Math.min(from, to), Math.max(from, to)];
  }
  view.range = range;
  for (const tell of view.rangeChanged) tell();
}
const rangeOrAll = () => view.range ?? [view.least, view.most];

// Once in a frame, however often it is asked for.
function onceAFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

// --- What lives where the cross is ---

// The block at a place; null: none, or not known.
function blockAt(image, time, offset) {
  const slack = [(view.to - view.from) / image.width, image.perPixel].map(value => value * 1.5);
  let best = null,
    distance = Infinity;
  if (!image.list) return best;
  const { from, to, y, size } = image.list.columns,
    start = image.recording.meta.from,
    rows = image.shown?.length ?? image.list.rows;
  for (let row = 0; row < rows; row++) {
    const at = image.shown ? image.shown[row] : row,
      early = from[at] - start - time,
      late = time - image.endOf(to[at]);
    if (early > slack[0]) break; // sorted by from
    const below = y[at] - offset,
      above = offset - y[at] - size[at];
    if (late > slack[0] || below > slack[1] || above > slack[1]) continue;
    const far = Math.max(early / slack[0], late / slack[0], 0) + Math.max(below / slack[1], above / slack[1], 0);
    if (far < distance || far === 0) {
      distance = far;
      best = at;
    }
  }
  return best;
}
// Below the pictures.
function tellHere(image) {
  if (!image.cross) return;
  const [time, offset] = image.cross,
    { meta } = image.recording;
  const place = `${momentText(time + view.base, view.to - view.from)} s, ${hex(image.axis.address(offset))}`;
  const block = image.perPixel <= 4096 ? blockAt(image, time, offset) : null;
  if (block !== null) {
    const { from, to, y, size, thread, site, tag } = image.list.columns,
      at = block;
    const lives = !Number.isFinite(to[at]),
      age = Math.max(time - (from[at] - meta.from), 0);
    return say(
      `${countText(size[at])} bytes`,
      ` at ${hex(image.axis.address(y[at]))}, ${secondsText(age)} old, ` +
        (lives ? "lives at the end" : `lived ${secondsText(to[at] - from[at])}`) +
        `, thread ${image.recording.threadText(thread[at])}${tag?.[at] ? `, tag ${image.recording.tagText(tag[at] - 1)}` : ""}` +
        `, ${image.recording.siteText(site[at])}` +
        runText(image, time, offset),
    );
  }
  const level = Math.min(image.shownLevel ?? 0, image.tiles.levels - 1),
    x = Math.floor((time / image.recording.span) * 2 ** level),
    y = Math.floor((offset / image.axis.height) * 2 ** level);
  const tile = image.tiles.best(level, Math.min(x, 2 ** level - 1), Math.min(y, 2 ** level - 1));
  if (tile === null) return say(place, "");
  const parts = 2 ** (level - tile.up);
  const cellOf = part => Math.min(Math.floor(((part * parts) % 1) * kCells), kCells - 1);
  const cell =
    cellOf(Math.min(offset / image.axis.height, 1 - 1e-12)) * kCells +
    cellOf(Math.min(time / image.recording.span, 1 - 1e-12));
  const [share, size, age, thread] = kPlanes.map((_, plane) => tile.bytes[plane * kPlane + cell]);
  if (share === 0) return say(place, ": nothing lives there" + runText(image, time, offset));
  say(
    place,
    `: ${percent(share, 255)} in use, most of it by blocks ${classText(meta.classes, size)}, ` +
      `${secondsText(ageOf(age))} old, of thread ${image.recording.threadText(thread)}${runText(image, time, offset)}`,
  );
}
function runText(image, time, offset) {
  if (!image.runs) return "";
  const { address, pages, block, from, to } = image.runs.columns,
    there = image.axis.address(offset);
  for (let at = 0; at < image.runs.rows; at++) {
    if (there < address[at] || there >= address[at] + pages[at] * 4096) continue;
    if (time < from[at] - image.recording.meta.from || time > image.endOf(to[at])) continue;
    const what = block[at] > 0 ? `of blocks of ${countText(block[at])} bytes` : "that is one block";
    return `; in a run of ${pages[at]} pages ${what}`;
  }
  return "";
}

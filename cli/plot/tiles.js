// --- Tiles: summaries of 256 × 256 cells, on levels of which each is twice as fine as the one before ---

const kCells = 256,
  kPlane = kCells * kCells,
  kPlanes = ["share", "class", "age", "thread"];
const kKeptTiles = 160,
  kKeptPictures = 120,
  kMostTiles = 64;

// Of least use for longest: the first of a Map.
function kept(map, key, most, make) {
  let value = map.get(key);
  if (value !== undefined) map.delete(key);
  else value = make();
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value);
  return value;
}

class Tiles {
  constructor(recording, redraw) {
    this.recording = recording;
    this.redraw = redraw;
    this.planes = new Map(); // name -> { bytes } or, while it is decoded, {}
    this.pictures = new Map(); // colours and name -> canvas
    this.levels = 1 + Math.max(0, ...[...recording.tiles].map(name => +name.split(":")[1]));
  }
  // Its planes; null: there is none, or it is being decoded.
  get(name) {
    if (!this.recording.tiles.has(name)) return null;
    return kept(this.planes, name, kKeptTiles, () => {
      const tile = { bytes: null };
      this.recording.array(name).then(bytes => {
        tile.bytes = bytes;
        this.redraw();
      });
      return tile;
    }).bytes;
  }
  picture(name, bytes, kind) {
    return kept(this.pictures, `${kind} ${isDark()} ${name}`, kKeptPictures, () => {
      const table = colourTable(kind, this.recording),
        canvas = new OffscreenCanvas(kCells, kCells);
      const plane = kPlanes.indexOf(kind) * kPlane,
        pixels = new ImageData(kCells, kCells),
        to = pixels.data;
      for (let cell = 0; cell < kPlane; cell++) {
        const share = bytes[cell];
        if (share === 0) continue;
        const [red, green, blue] = table[bytes[plane + cell]];
        const at = 4 * ((kCells - 1 - (cell >> 8)) * kCells + (cell & 255));
        to[at] = red;
        to[at + 1] = green;
        to[at + 2] = blue;
        to[at + 3] = kind === "share" ? 255 : 90 + (165 * share) / 255;
      }
      canvas.getContext("2d").putImageData(pixels, 0, 0);
      return canvas;
    });
  }
  // The finest tile that is decoded, of the one asked for and those that it is a part of; asks for the finest that is
  // there.
  best(level, x, y) {
    let asked = false;
    for (let up = 0; up <= level; up++) {
      const name = `tile:${level - up}:${Math.floor(x / 2 ** up)}:${Math.floor(y / 2 ** up)}`;
      if (!this.recording.tiles.has(name) || (asked && !this.planes.get(name)?.bytes)) continue;
      const bytes = this.get(name);
      if (bytes) return { name, bytes, up };
      asked = true;
    }
    return null;
  }
}

// --- Colours of the picture ---

const kRamps = {
  light: {
    share: ["#ffe39a", "#f9b04a", "#e0603a", "#8f2a63", "#331352"],
    age: ["#a6e3d0", "#48b8c6", "#2c7fb8", "#253494", "#0b1640"],
  },
  dark: {
    share: ["#3a3468", "#7a3f93", "#c8507a", "#f0904b", "#ffe9a8"],
    age: ["#1d4b5c", "#1f7488", "#35a9b8", "#93decd", "#f2fff6"],
  },
};
const kSizes = ["#4a5fd0", "#45a5e0", "#37c090", "#a8c530", "#f0a32e", "#e0583a", "#a83a78", "#6e5040"];
const kThreads = ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e"];
const kOther = "#9498a0";

const isDark = () => document.documentElement.dataset.theme === "dark";
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const rgb = colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));

function between(stops, part) {
  const at = Math.min(Math.max(part, 0), 1) * (stops.length - 1),
    low = Math.min(Math.floor(at), stops.length - 2);
  const [a, b] = [rgb(stops[low]), rgb(stops[low + 1])];
  return a.map((value, channel) => Math.round(value + (b[channel] - value) * (at - low)));
}
const ramp = name => kRamps[isDark() ? "dark" : "light"][name];
const threadColour = index => kThreads[index] ?? kOther;
function sizeColour(index, count) {
  const part = count > 1 ? index / (count - 1) : 0;
  return (
    "#" +
    between(kSizes, part)
      .map(value => value.toString(16).padStart(2, "0"))
      .join("")
  );
}

// -> for each byte of a plane its red, green, blue
function colourTable(kind, recording) {
  return Array.from({ length: 256 }, (_, value) => {
    if (kind === "share") return between(ramp("share"), value / 255);
    if (kind === "age") return between(ramp("age"), (value - 1) / (ageByte(recording.span) - 1));
    if (kind === "class") return rgb(sizeColour(value, recording.meta.classes.length));
    return rgb(threadColour(value));
  });
}

const kYoungest = 1e-6,
  kDecades = 10; // of the plane of ages
const ageByte = seconds =>
  1 + 254 * Math.min(Math.max((Math.log10(Math.max(seconds, 1e-12)) - Math.log10(kYoungest)) / kDecades, 0), 1);
const ageOf = byte => kYoungest * 10 ** (((byte - 1) / 254) * kDecades);

function classText(classes, index) {
  const upper = classes[index];
  return upper === null || upper === undefined ? `> ${bytesText(classes[index - 1] ?? 0)}` : `≤ ${bytesText(upper)}`;
}

function swatch(colour, text) {
  const item = document.createElement("span"),
    square = document.createElement("span");
  square.className = "swatch";
  square.style.background = colour;
  item.append(square, text);
  return item;
}
function drawLegend(kind, recording) {
  const legend = byId("legend"),
    { classes, threads } = recording.meta;
  if (kind === "class") {
    legend.replaceChildren(...classes.map((_, at) => swatch(sizeColour(at, classes.length), classText(classes, at))));
  } else if (kind === "thread") {
    const named = threads.slice(0, kThreads.length).map((_, at) => swatch(threadColour(at), recording.threadText(at)));
    legend.replaceChildren(...named, ...(threads.length > kThreads.length ? [swatch(kOther, "others")] : []));
  } else {
    const bar = document.createElement("span"),
      [low, high] = kind === "share" ? ["empty", "full"] : ["1 µs", secondsText(recording.span)];
    bar.className = "ramp";
    bar.style.background = `linear-gradient(to right, ${ramp(kind).join(", ")})`;
    legend.replaceChildren(low, bar, high);
  }
}

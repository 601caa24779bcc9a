// The page is complete without this: it lets one look at one allocator in all plots, and prints all of it.
const buttons = document.querySelectorAll(".legend button");
buttons.forEach((button) => button.addEventListener("click", () => {
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", on);
  const chosen = [...buttons].filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.group);
  document.querySelectorAll("svg.plot [class^=allocator-]").forEach((shape) =>
    shape.classList.toggle("dimmed", chosen.length > 0 && !chosen.includes(shape.classList[0])));
}));
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));

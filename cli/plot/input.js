// --- What is done in the picture ---

function listenTo(image) {
  const box = image.element,
    place = event => {
      const bounds = box.getBoundingClientRect();
      return [event.clientX - bounds.left, event.clientY - bounds.top];
    };
  let drag = null;
  box.addEventListener("pointerdown", event => {
    if (event.button !== 0) return;
    const [x, y] = place(event);
    drag = {
      x,
      y,
      from: view.from,
      to: view.to,
      low: image.low,
      high: image.high,
      range: event.shiftKey,
      start: image.timeAt(x),
    };
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", event => {
    const [x, y] = place(event);
    if (drag?.range) setRange([drag.start, image.timeAt(x)]);
    else if (drag && (box.classList.contains("dragged") || Math.hypot(x - drag.x, y - drag.y) > 3)) {
      box.classList.add("dragged");
      const time = ((drag.x - x) / image.width) * (drag.to - drag.from),
        bytes = ((y - drag.y) / image.height) * (drag.high - drag.low);
      setTime(drag.from + time, drag.to + time);
      image.setAddresses(drag.low + bytes, drag.high + bytes);
      return;
    }
    image.setCross(image.timeAt(x), image.offsetAt(y));
  });
  const end = () => {
    drag = null;
    box.classList.remove("dragged");
  };
  box.addEventListener("pointerup", end);
  box.addEventListener("pointercancel", end);
  box.addEventListener("dblclick", () => (view.range ? setTime(...view.range) : wholeView()));
  box.addEventListener(
    "wheel",
    event => {
      event.preventDefault();
      const [x, y] = place(event),
        factor = Math.exp(Math.min(Math.max(event.deltaY || event.deltaX, -240), 240) * 0.002);
      if (!event.altKey) zoomTime(factor, image.timeAt(x));
      if (!event.shiftKey) image.zoomAddresses(factor, image.offsetAt(y));
    },
    { passive: false },
  );
  box.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [time, bytes] = [view.to - view.from, image.high - image.low];
    const [over, up] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [
      0, 0,
    ];
    const keys = {
      "+": () => {
        zoomTime(0.5, image.cross?.[0]);
        image.zoomAddresses(0.5, image.cross?.[1]);
      },
      "-": () => {
        zoomTime(2, image.cross?.[0]);
        image.zoomAddresses(2, image.cross?.[1]);
      },
      t: () => zoomTime(0.5, image.cross?.[0]),
      T: () => zoomTime(2, image.cross?.[0]),
      a: () => image.zoomAddresses(0.5, image.cross?.[1]),
      A: () => image.zoomAddresses(2, image.cross?.[1]),
      "[": () => image.cross && setRange([image.cross[0], rangeOrAll()[1]]),
      "]": () => image.cross && setRange([rangeOrAll()[0], image.cross[0]]),
    };
    if (over || up) {
      event.preventDefault();
      if (event.shiftKey) {
        const [at, offset] = image.cross ?? [(view.from + view.to) / 2, (image.low + image.high) / 2];
        image.setCross(
          Math.min(Math.max(at + (over * time) / 100, view.from), view.to),
          Math.min(Math.max(offset + (up * bytes) / 50, image.low), image.high),
        );
      } else {
        setTime(view.from + (over * time) / 5, view.to + (over * time) / 5);
        image.setAddresses(image.low + (up * bytes) / 5, image.high + (up * bytes) / 5);
      }
    } else keys[event.key]?.();
  });
}

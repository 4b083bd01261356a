// Shows the values at the pointer, at a finger or where the arrow keys lead. The page is whole
// without it. Text is only ever set as text, never as markup.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const box = document.createElement("div");
  box.className = "bc-box";
  box.setAttribute("role", "status");
  box.hidden = true;
  document.body.append(box);
  let forget = () => {};
  // Shows the same again where it is now, if keys lead there.
  let again = null;
  // The group whose values are seen.
  let owner = null;

  const hide = () => {
    box.hidden = true;
    again = null;
    forget();
    forget = () => {};
  };

  // Rows of [colour or nothing, name, value or nothing], beside a point of the window.
  const show = (rows, x, y) => {
    box.replaceChildren(
      ...rows.map(([colour, name, value]) => {
        const row = document.createElement("div");
        const label = document.createElement("span");
        label.textContent = name;
        if (colour) {
          const swatch = document.createElement("i");
          swatch.style.background = `var(${colour})`;
          label.prepend(swatch);
        }
        row.append(label);
        if (value !== undefined) {
          const figure = document.createElement("b");
          figure.textContent = value;
          row.append(" ", figure);
        }
        return row;
      }),
    );
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    const left = x + 14 + width > room - 4 ? x - 14 - width : x + 14;
    const top = y - height - 14 < 4 ? y + 18 : y - height - 14;
    box.style.left = `${Math.max(4, Math.min(left, room - width - 4))}px`;
    box.style.top = `${top}px`;
  };

  // As becalm_report::format::plain writes.
  const plain = (value) => {
    const size = Math.abs(value);
    if (!Number.isFinite(value)) return "-";
    if (size >= 1e15 || (size > 0 && size < 0.001)) return value.toExponential(1);
    if (size >= 100 || (size >= 10 && Math.abs(value - Math.round(value)) < 0.05)) {
      return value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, " ");
    }
    return String(Number(value.toFixed(size >= 10 ? 1 : size >= 0.1 ? 2 : 3)));
  };

  const numbers = (text) => (text === "" ? [] : text.split(" ").map((it) => (it === "-" ? NaN : Number(it))));

  const read = (holder) =>
    [...holder.querySelectorAll(".bc-series")].map(({ dataset }) => {
      const ys = numbers(dataset.ys);
      const even = dataset.xs.split("~").map(Number);
      const xs = even.length === 2 ? ys.map((_, at) => even[0] + at * even[1]) : numbers(dataset.xs);
      return { name: dataset.name, colour: dataset.colour, steps: "steps" in dataset, xs, ys };
    });

  // The last place whose value is at most x; -1 if there is none.
  const before = (xs, x) => {
    let [low, high] = [0, xs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (xs[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  };

  const nearest = (xs, x, away) => {
    const at = before(xs, x);
    if (at < 0) return 0;
    return at + 1 < xs.length && away(xs[at + 1]) < away(xs[at]) ? at + 1 : at;
  };

  const element = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // The arrow keys reach the group; what it shows is told to readers of the screen by the box.
  const reachable = (group) => {
    group.tabIndex = 0;
    group.setAttribute("role", "img");
    group.setAttribute("aria-label", `${group.dataset.name || "chart"}: arrow keys read the values`);
    const svg = group.ownerSVGElement;
    svg.setAttribute("role", "group");
    // Its words are in the label already; a browser would show them over the values.
    svg.querySelector(":scope > title")?.remove();
    // A press shows its values before the focus leaves the group that had it.
    group.addEventListener("blur", () => {
      if (owner === group) hide();
    });
    // A page that scrolls under a mouse at rest leaves groups too; where keys lead, the focus decides.
    group.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch" && owner === group && !again) hide();
    });
  };

  const keys = (group, move) =>
    group.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      else if (move(event.key)) event.preventDefault();
    });

  const live = (group, series) => {
    const [left, right, top, bottom, xLow, xHigh, xLog, yLow, yHigh, yLog] = numbers(group.dataset.plot);
    const share = (value, low, high, log) => {
      const held = Math.min(Math.max(value, low), high);
      return log ? Math.log(held / low) / Math.log(high / low) : (held - low) / (high - low);
    };
    const across = (x) => left + share(x, xLow, xHigh, xLog) * (right - left);
    const up = (y) => bottom - share(y, yLow, yHigh, yLog) * (bottom - top);
    const stops = [...new Set(series.flatMap((it) => it.xs))]
      .filter((x) => x >= xLow && x <= xHigh)
      .sort((a, b) => a - b);
    if (stops.length === 0) return;
    for (const title of group.querySelectorAll("title")) title.remove();
    const cursor = element("g", { class: "bc-cursor" });
    const size = { x: left, y: top, width: right - left, height: bottom - top };
    group.append(cursor, element("rect", { ...size, class: "bc-hit" }));
    const last = stops.length - 1;
    // Steps hold their value; a line is straight between its points, as it is drawn.
    const valueAt = (xs, ys, x, steps) => {
      const from = before(xs, x);
      if (steps || xs[from] === x) return ys[from];
      const part = (across(x) - across(xs[from])) / (across(xs[from + 1]) - across(xs[from]));
      const [y, next] = [ys[from], ys[from + 1]];
      return yLog ? y * (next / y) ** part : y + (next - y) * part;
    };
    let at = 0;

    const point = (index, height) => {
      at = Math.max(0, Math.min(index, last));
      const x = stops[at];
      const rows = [[null, group.dataset.x || "x", plain(x)]];
      const marks = [element("line", { x1: across(x), x2: across(x), y1: top, y2: bottom })];
      for (const { name, colour, steps, xs, ys } of series) {
        const within = xs.length > 0 && x >= xs[0] && x <= xs[xs.length - 1];
        const y = within ? valueAt(xs, ys, x, steps) : NaN;
        if (!Number.isFinite(y)) continue;
        rows.push([colour, name, plain(y)]);
        const centre = { cx: across(x), cy: up(y) };
        const dot = element("circle", { ...centre, r: 3.5 });
        dot.style.fill = `var(${colour})`;
        marks.push(dot);
      }
      hide();
      owner = group;
      cursor.replaceChildren(...marks);
      forget = () => cursor.replaceChildren();
      const to = group.ownerSVGElement.getBoundingClientRect();
      const matrix = group.getScreenCTM();
      const from = new DOMPoint(across(x), (top + bottom) / 2).matrixTransform(matrix);
      if (height === undefined) again = () => point(at);
      show(rows, from.x, height ?? Math.max(from.y, to.top));
    };

    const follow = (event) => {
      const { x } = new DOMPoint(event.clientX, event.clientY).matrixTransform(group.getScreenCTM().inverse());
      const part = (x - left) / (right - left);
      const value = xLog ? xLow * (xHigh / xLow) ** part : xLow + part * (xHigh - xLow);
      point(
        nearest(stops, value, (other) => Math.abs(across(other) - x)),
        event.clientY,
      );
    };
    reachable(group);
    group.addEventListener("pointermove", follow);
    group.addEventListener("pointerdown", follow);
    group.addEventListener("focus", () => {
      if (group.matches(":focus-visible")) point(at);
    });
    const page = Math.max(1, Math.round(stops.length / 10));
    keys(group, (key) => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -page, PageDown: page, Home: -at, End: last - at };
      if (!(key in steps)) return false;
      point(at + steps[key]);
      return true;
    });
  };

  const tips = (group) => {
    const items = [...group.querySelectorAll(".bc-tip")];
    const texts = items.map((item) => {
      const title = item.querySelector("title");
      title.remove();
      return title.textContent;
    });
    if (items.length === 0) return;
    const columns = Number(group.dataset.columns) || 1;
    let at = 0;
    const point = (index, place) => {
      at = Math.max(0, Math.min(index, items.length - 1));
      const shape = items[at].querySelector("rect") ?? items[at];
      const { left, top, width } = shape.getBoundingClientRect();
      hide();
      owner = group;
      shape.classList.add("bc-here");
      forget = () => shape.classList.remove("bc-here");
      const rows = texts[at].split("\n").map((line) => {
        const end = line.lastIndexOf(": ");
        return end < 0 ? [null, line] : [null, line.slice(0, end), line.slice(end + 2)];
      });
      if (!place) again = () => point(at);
      show(rows, place ? place.clientX : left + width / 2, place ? place.clientY : top);
    };
    reachable(group);
    const follow = (event) => {
      const index = items.findIndex((item) => item.contains(event.target));
      if (index >= 0) point(index, event);
    };
    group.addEventListener("pointermove", follow);
    group.addEventListener("pointerdown", follow);
    group.addEventListener("focus", () => {
      if (group.matches(":focus-visible")) point(at);
    });
    keys(group, (key) => {
      const steps = {
        ArrowLeft: -1,
        ArrowRight: 1,
        ArrowUp: -columns,
        ArrowDown: columns,
        Home: -at,
        End: items.length - 1 - at,
      };
      if (!(key in steps)) return false;
      const to = at + steps[key];
      if (to >= 0 && to < items.length) point(to);
      return true;
    });
  };

  for (const figure of document.querySelectorAll("figure")) {
    const [wide, ...narrow] = figure.querySelectorAll("svg");
    if (!wide) continue;
    // The values are with the wide drawing only.
    const holders = [...wide.querySelectorAll(".bc-live")].map(read);
    for (const svg of [wide, ...narrow]) {
      svg.querySelectorAll(".bc-live").forEach((group, at) => live(group, holders[at] ?? []));
      svg.querySelectorAll(".bc-tips").forEach(tips);
    }
  }
  addEventListener("scroll", () => (again ?? hide)(), { passive: true, capture: true });
  addEventListener("resize", hide);
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".bc-live,.bc-tips")) hide();
  });
})();

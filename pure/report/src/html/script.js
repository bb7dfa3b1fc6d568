"use strict";
(() => {
  const all = (root, selector) => Array.from(root.querySelectorAll(selector));
  const make = (name, text, into) => {
    const element = document.createElement(name);
    element.textContent = text;
    into.append(element);
    return element;
  };

  // Theme: follows the system until the reader says otherwise.
  const button = make("button", "", document.querySelector(".top"));
  button.type = "button";
  button.className = "theme";
  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const label = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    label();
  });
  label();

  // Sorting: a cell's rows stay together, since each cell is a tbody of its own.
  for (const table of all(document, "table.results")) {
    all(table, "thead th").forEach((head, column) => {
      // Not a button element: browsers leave those out of the heading that they repeat on each printed page.
      const button = document.createElement("span");
      button.setAttribute("role", "button");
      button.tabIndex = 0;
      button.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        button.click();
      });
      button.append(...head.childNodes);
      head.append(button);
      head.dataset.sort = "";
      button.addEventListener("click", () => {
        const sorted = head.getAttribute("aria-sort");
        const down = sorted ? sorted === "ascending" : head.classList.contains("num");
        all(table, "thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (body) => {
          const cell = body.rows[0].cells[column];
          return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
        };
        const missing = (value) => typeof value === "string" && head.classList.contains("num");
        const bodies = Array.from(table.tBodies).map((body) => [key(body), body]);
        bodies.sort(([a], [b]) => {
          // A missing figure comes last either way.
          if (missing(a) || missing(b)) return missing(a) - missing(b);
          const order = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
          return down ? -order : order;
        });
        bodies.forEach(([, body]) => table.append(body));
      });
    });
  }

  // Filter: rows of the table and the folded cells, by every word.
  for (const tools of all(document, ".tools")) tools.hidden = false;
  for (const input of all(document, ".filter")) {
    const scope = input.closest("article") || document;
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = (text) => words.every((word) => text.toLowerCase().includes(word));
      for (const body of all(scope, "table.results tbody")) body.hidden = !fits(body.rows[0].textContent);
      for (const cell of all(scope, "details.cell")) cell.hidden = !fits(cell.querySelector("summary").textContent);
    });
  }
  for (const button of all(document, ".unfold")) {
    button.addEventListener("click", () => {
      const open = button.textContent === "Unfold all";
      button.textContent = open ? "Fold all" : "Unfold all";
      for (const cell of all(button.closest("section"), "details.cell")) cell.open = open;
    });
  }
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") { target.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", unfold);
  unfold();

  // Paper cannot be unfolded: what is folded is printed open, and folded again afterwards.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all(document, "details:not([open])");
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
    folded = [];
  });

  // Hover: the nearest marker of a chart, or every line's value at the nearest moment.
  const tip = make("div", "", document.body);
  tip.className = "tip";
  tip.hidden = true;
  const show = (event, text) => {
    tip.hidden = false;
    tip.textContent = text;
    const left = Math.min(event.pageX + 14, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = event.pageY + 16 + "px";
  };
  const digits = (value) => Number(value.toPrecision(value >= 1000 ? 4 : 3)).toLocaleString("en", { maximumSignificantDigits: 4 });
  const spoken = (value, unit) => {
    if (unit === "percent") return "p" + Number((100 - 100 / 10 ** value).toFixed(Math.ceil(value)));
    if (unit === "bytes/s") return digits(value / 1e6) + " MB/s";
    if (unit !== "ns") return digits(value) + " " + unit;
    for (const [name, scale] of [["ns", 1], ["us", 1e3], ["ms", 1e6]]) if (value < 999.5 * scale) return digits(value / scale) + " " + name;
    return digits(value / 1e9) + " s";
  };
  const axis = (text) => {
    const [start, end, low, high, scale, unit] = text.split(" ");
    const share = (place) => (place - start) / (end - start);
    const value = scale === "log"
      ? (place) => low * (high / low) ** share(place)
      : (place) => Number(low) + share(place) * (high - low);
    return (place) => spoken(value(place), unit);
  };
  for (const chart of all(document, "svg.chart[data-x]")) {
    let lines = null;
    let rule = null;
    const prepare = () => {
      lines = all(chart, ".ln[data-name]").map((path) => ({
        name: path.dataset.name,
        points: path.getAttribute("d").split(/[ML]/).filter(Boolean).map((pair) => pair.split(" ").map(Number)),
      })).filter((line) => line.points.length);
      rule = document.createElementNS("http://www.w3.org/2000/svg", "path");
      rule.setAttribute("class", "hover");
      chart.append(rule);
    };
    const x = axis(chart.dataset.x);
    const y = axis(chart.dataset.y);
    chart.addEventListener("mousemove", (event) => {
      if (!lines) prepare();
      const place = (event.clientX - chart.getBoundingClientRect().left) * chart.viewBox.baseVal.width / chart.clientWidth;
      const nearest = lines.map((line) => line.points.reduce((best, point) =>
        Math.abs(point[0] - place) < Math.abs(best[0] - place) ? point : best));
      if (!nearest.length) return;
      const [bottom, top] = chart.dataset.y.split(" ");
      rule.setAttribute("d", `M${nearest[0][0]} ${top}V${bottom}`);
      show(event, [x(nearest[0][0]), ...nearest.map((point, i) => `${lines[i].name}: ${y(point[1])}`)].join("\n"));
    });
    chart.addEventListener("mouseleave", () => { tip.hidden = true; if (rule) rule.setAttribute("d", ""); });
  }
  for (const chart of all(document, "svg.chart:not([data-x])")) {
    let marks = null;
    const prepare = () => {
      marks = all(chart, ".mk").map((mark) => {
        const title = mark.querySelector("title");
        const text = title ? title.textContent : "";
        // The browser's own tooltip would cover this one.
        if (title) title.remove();
        return [mark, text];
      }).filter(([, text]) => text);
      const title = chart.querySelector("title");
      if (title) { chart.setAttribute("aria-label", title.textContent); chart.removeAttribute("aria-labelledby"); title.remove(); }
    };
    chart.addEventListener("mousemove", (event) => {
      if (!marks) prepare();
      let best = null;
      for (const [mark, text] of marks) {
        const box = mark.getBoundingClientRect();
        const x = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
        const y = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
        const distance = Math.hypot(x, y);
        if (distance < 26 && (!best || distance < best[0])) best = [distance, text];
      }
      if (best) show(event, best[1]); else tip.hidden = true;
    });
    chart.addEventListener("mouseleave", () => { tip.hidden = true; });
  }
})();

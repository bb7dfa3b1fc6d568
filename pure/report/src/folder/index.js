"use strict";
(() => {
  const all = (root, selector) => Array.from(root.querySelectorAll(selector));
  const make = (name, text, into) => {
    const element = document.createElement(name);
    element.textContent = text;
    into.append(element);
    return element;
  };
  const table = document.querySelector("table.runs");
  if (!table) return;
  const ROWS_MAX = 500;
  const further = document.getElementById("further");
  const others = further ? JSON.parse(further.textContent) : [];
  const input = document.querySelector(".filter");
  const found = document.querySelector(".found");

  // Picked runs: the commands that compare them, and their pages.
  const picked = new Map();
  const bar = document.querySelector(".picked");
  const show = () => {
    bar.textContent = "";
    bar.hidden = picked.size === 0;
    const runs = Array.from(picked.values()).sort((a, b) => a.started.localeCompare(b.started));
    const line = make("p", runs.length === 1 ? "Picked, with another to compare: " : "Picked, the oldest first: ", bar);
    runs.forEach((run, place) => {
      if (place) line.append(" · ");
      const link = make("a", `${run.name}, ${run.started}`, line);
      link.href = run.page;
    });
    if (runs.length > 1) {
      const ids = runs.map((run) => run.id).join(" ");
      make("code", `loadline compare ${ids}`, make("p", "In figures: ", bar));
      make("code", `loadline report ${ids} -o side-by-side.html`, make("p", "On a page: ", bar));
    }
    const none = make("button", "Pick none", make("p", "", bar));
    none.type = "button";
    none.addEventListener("click", () => {
      picked.clear();
      all(table, "input[type=checkbox]").forEach((box) => { box.checked = false; });
      show();
      input.focus();
    });
  };
  const pickable = (row) => {
    const link = row.cells[0].querySelector("a");
    if (!link) return;
    const run = { id: row.dataset.run, name: link.textContent, started: row.cells[1].textContent, page: link.getAttribute("href") };
    const box = document.createElement("input");
    box.type = "checkbox";
    box.setAttribute("aria-label", `pick ${run.name}, ${run.started}`);
    box.checked = picked.has(run.id);
    box.addEventListener("change", () => {
      if (box.checked) picked.set(run.id, run); else picked.delete(run.id);
      show();
    });
    row.cells[0].prepend(box);
  };
  all(table, "tbody tr").forEach(pickable);

  // Runs without a row here join those that fit, as long as there is room.
  const joined = ([page, id, name, started, verb, volumes, gives, held, before, said]) => {
    const body = document.createElement("tbody");
    body.className = "further";
    const row = body.insertRow();
    row.dataset.run = id;
    const head = document.createElement("th");
    head.scope = "row";
    row.append(head);
    if (page) make("a", name, head).href = page; else head.textContent = name;
    const texts = [started, verb, volumes, gives, null, held, before, null, null, said];
    const classes = ["", "wide", "wide", "num wide", "num wide", "", "even", "even wide", "num wide", "wide"];
    texts.forEach((text, place) => { make("td", text || "–", row).className = classes[place]; });
    pickable(row);
    return body;
  };
  const fits = (words, text) => words.every((word) => text.includes(word));
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    all(table, "tbody.further").forEach((body) => body.remove());
    const own = Array.from(table.tBodies).filter((body) => fits(words, body.rows[0].textContent.toLowerCase()));
    let count = own.length;
    if (words.length) {
      for (const other of others) {
        if (!fits(words, other.slice(2).join(" ").toLowerCase())) continue;
        count += 1;
        if (count <= ROWS_MAX) table.append(joined(other));
      }
    }
    const most = words.length && count > ROWS_MAX ? `, ${ROWS_MAX} shown` : "";
    found.textContent = words.length ? `${count} of ${found.dataset.all}${most}` : "";
  };
  input.addEventListener("input", search);
  // A browser that goes back keeps what was typed.
  addEventListener("pageshow", () => { if (input.value) input.dispatchEvent(new Event("input")); });
})();

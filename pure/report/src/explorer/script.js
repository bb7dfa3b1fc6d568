"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const all = (root, selector) => Array.from(root.querySelectorAll(selector));
  const unpack = async (id) => {
    const bytes = Uint8Array.from(atob(by(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  };

  // Sliders: as a field's number is written, and as their place says it.
  const DECADE = 24;
  const shown = (value) => String(Number(value.toPrecision(value >= 100 ? 3 : 2)));
  const scale = (slider) => {
    const low = Number(slider.dataset.low);
    const high = Number(slider.dataset.high);
    if ("linear" in slider.dataset) return { most: high - low, at: (place) => String(low + place), place: (value) => value - low };
    const step = "powers" in slider.dataset ? Math.log2(2) / Math.log2(10) : 1 / DECADE;
    return {
      most: Math.round(Math.log10(high / low) / step),
      at: (place) => ("powers" in slider.dataset ? String(low * 2 ** place) : shown(low * 10 ** (place * step))),
      place: (value) => (value > 0 ? Math.round(Math.log10(value / low) / step) : 0),
    };
  };
  const bindSlider = (slider) => {
    const field = slider.parentElement.querySelector("input:not([type=range])");
    const { most, at, place } = scale(slider);
    slider.min = 0;
    slider.max = most;
    const speak = () => slider.setAttribute("aria-valuetext", field.value ? [field.value, field.dataset.unit].join(" ").trim() : "none");
    const follow = () => {
      slider.value = place(Number(field.value));
      speak();
    };
    slider.addEventListener("input", () => {
      field.value = at(Number(slider.value));
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    field.addEventListener("input", follow);
    slider.addEventListener("follow", follow);
    follow();
  };

  // Forms and the address.
  const forms = () => all(document, "form");
  const prefix = (form) => (form.dataset.side ? `${form.dataset.side}.` : "");
  const fields = (form) => all(form, "[name]");
  const valueOf = (field) => (field.type === "checkbox" ? (field.checked ? "yes" : "") : field.value.trim());
  const typed = (field) => {
    const value = valueOf(field);
    return value && field.dataset.unit && /^[\d.]+$/.test(value) ? value + field.dataset.unit : value;
  };
  const tab = () => (by("tab-buy").getAttribute("aria-selected") === "true" ? "buy" : "storage");
  const formsOf = (ask) => forms().filter((form) => (ask === "buy") === (form.dataset.ask === "buy"));
  const address = () => {
    const parts = [tab()];
    for (const form of formsOf(tab())) {
      for (const field of fields(form)) {
        const name = prefix(form) + field.name + (field.name === "provider" ? `.${field.value}` : "");
        const value = field.name === "provider" ? (field.checked ? "yes" : "") : valueOf(field);
        if (value !== field.dataset.first) parts.push(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
      }
    }
    return parts.join("&");
  };
  const take = (text) => {
    const [ask, ...parts] = text.replace(/^#/, "").split("&");
    if (ask !== "buy" && ask !== "storage") return;
    choose(ask);
    const said = new Map(parts.map((part) => part.split("=").map(decodeURIComponent)));
    for (const form of formsOf(ask)) {
      for (const field of fields(form)) {
        const name = prefix(form) + field.name + (field.name === "provider" ? `.${field.value}` : "");
        const value = said.has(name) ? said.get(name) : field.dataset.first;
        if (field.type === "checkbox") field.checked = value === "yes";
        else field.value = value;
      }
      all(form, "input[type=range]").forEach((slider) => slider.dispatchEvent(new Event("follow")));
    }
  };
  const choose = (ask) => {
    for (const one of ["buy", "storage"]) {
      const isChosen = one === ask;
      by(`tab-${one}`).setAttribute("aria-selected", String(isChosen));
      by(`tab-${one}`).tabIndex = isChosen ? 0 : -1;
      by(one).hidden = !isChosen;
    }
  };

  // Questions.
  const today = () => new Date().toISOString().slice(0, 10);
  const words = (form) => fields(form).filter((field) => typed(field) !== "" && field.name !== "provider")
    .map((field) => [field.name, typed(field)]);
  const question = (ask) => {
    if (ask === "buy") {
      const form = formsOf(ask)[0];
      const boxes = all(form, "[name=provider]");
      const ticked = boxes.filter((box) => box.checked);
      // None ticked is not all of them: an empty name is refused.
      const some = ticked.length ? ticked.map((box) => box.value) : [""];
      const providers = (ticked.length === boxes.length ? [] : some).map((name) => ["provider", name]);
      return { ask, words: [...words(form), ...providers], today: today() };
    }
    const sides = forms().filter((form) => form.dataset.side && !form.hidden);
    return { ask, words: words(formsOf(ask)[0]), sides: sides.map(words) };
  };

  // Two workers: one answers by limits at once, a question at a time; of those that come meanwhile the last counts. The other simulates what
  // rests for a moment, and is ended by the next question.
  const REST_MS = 300;
  let module = null;
  let catalog = "";
  let turn = 0;
  const start = (hear, choices) => {
    const url = URL.createObjectURL(new Blob([by("worker").textContent], { type: "text/javascript" }));
    const worker = new Worker(url);
    worker.onmessage = ({ data }) => hear(data);
    worker.onerror = (event) => failed(event.message || "its worker does not start");
    worker.postMessage({ module, catalog, choices });
    return worker;
  };
  let fast = null;
  let isAsked = false;
  let waiting = null;
  const askFast = (message) => {
    if (isAsked) waiting = message;
    else fast.postMessage(message);
    isAsked = true;
  };
  const askNext = () => {
    isAsked = false;
    if (waiting) askFast(waiting);
    waiting = null;
  };
  let slow = null;
  let isBusy = false;
  let resting = 0;
  const endSlow = () => {
    clearTimeout(resting);
    if (!isBusy) return;
    slow.terminate();
    slow = null;
    isBusy = false;
  };
  const startSlow = () => { slow = start((data) => { if (!data.opened) heard(data, true); }); };
  const failed = (why) => say("buy", `This browser cannot compute the page: ${why}. A newer one can.`);
  const say = (ask, text) => { by(`${ask}-state`).textContent = text; };
  const mark = (ask, problems) => {
    for (const form of formsOf(ask)) {
      all(form, ".problem").forEach((note) => note.remove());
      for (const field of fields(form)) {
        const found = problems.find((problem) => problem.field === prefix(form) + field.name);
        field.removeAttribute("aria-invalid");
        if (!found) continue;
        field.setAttribute("aria-invalid", "true");
        // Boxes of one name have their note once.
        const holder = field.closest("fieldset") || field.closest("label");
        if (holder.querySelector(".problem")) continue;
        const note = document.createElement("span");
        note.className = "problem";
        note.textContent = found.text;
        holder.append(note);
      }
    }
  };
  // An answer that is not to what stands in the form is grey, and cannot be copied.
  const setOld = (ask, isOld) => {
    by(`${ask}-answer`).classList.toggle("stale", isOld);
    by(`${ask}-command`).classList.toggle("stale", isOld);
    all(by(ask), "[data-copy], [data-link]").forEach((button) => { button.disabled = isOld; });
  };
  let ticking = 0;
  const follow = (ask, progress) => {
    clearInterval(ticking);
    by(`${ask}-progress`).textContent = progress ? `${progress[0]} of ${progress[1]} rows so far.` : "";
  };
  const count = (ask) => {
    const since = Date.now();
    clearInterval(ticking);
    ticking = setInterval(() => { by(`${ask}-progress`).textContent = `${Math.round((Date.now() - since) / 1000)} s so far.`; }, 1000);
  };
  let sides = [];
  const show = ({ ask, html, command, note, sides: found }) => {
    if (html) by(`${ask}-answer`).innerHTML = html;
    if (command) {
      by(`${ask}-command`).textContent = command;
      by(`${ask}-note`).textContent = note || "";
    }
    if (found) {
      sides = found;
      by("take").disabled = false;
    }
  };
  const heard = ({ turn: of, answer, over }, simulated) => {
    if (simulated && over) isBusy = false;
    const ask = answer.ask;
    if (of !== turn) {
      // The rows follow a slider that still moves.
      if (!simulated && ask === tab()) show(answer);
      return;
    }
    const problems = answer.problems || [];
    mark(ask, problems);
    setOld(ask, problems.length > 0);
    show(answer);
    document.body.dataset.answered = `${simulated ? "simulated" : "limits"} ${of}`;
    const general = problems.filter((problem) => !problem.field).map((problem) => problem.text);
    follow(ask, simulated && !over ? answer.progress : null);
    if (problems.length) {
      const why = general.join("; ") || "A field has no value that can be: see it in red";
      say(ask, `${why}.${by(`${ask}-answer`).innerHTML ? " The answer below is to the question before." : ""}`);
    } else if (!simulated && answer.simulates) {
      say(ask, "By limits alone, so far. Latencies are being simulated: until then it is open whether a p99 is kept.");
      if (ask === "buy") count(ask);
    } else if (simulated && !over) say(ask, "Latencies are being simulated …");
    else say(ask, simulated ? "By simulation." : "By limits.");
    if (!simulated && answer.simulates) {
      const asked = question(ask);
      resting = setTimeout(() => {
        if (!slow) startSlow();
        isBusy = true;
        slow.postMessage({ turn, rows: ask === "storage", question: ask === "storage" ? asked : { ...asked, simulate: 0 } });
      }, REST_MS);
    }
  };
  const renew = () => {
    if (!fast) return;
    const ask = tab();
    turn += 1;
    endSlow();
    history.replaceState(null, "", `#${address()}`);
    by(`${ask}-answer`).classList.add("stale");
    document.querySelector("form[data-side=b]").hidden = !document.querySelector("[name=two]").checked;
    askFast({ turn, question: question(ask) });
  };

  // What there is to choose from.
  const option = (select, value, text) => {
    const element = document.createElement("option");
    element.value = value;
    element.textContent = text || value;
    select.append(element);
  };
  const fill = (choices) => {
    for (const provider of choices.providers) {
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.name = "provider";
      box.value = provider.name;
      box.checked = true;
      label.append(box, ` ${provider.name}`);
      by("providers").append(label);
      for (const region of provider.regions) option(document.querySelector("[name=region]"), region, `${provider.name} ${region}`);
    }
    choices.currencies.forEach((currency) => option(document.querySelector("[name=currency]"), currency));
    choices.machines.forEach((machine) => option(by("machines"), machine));
    choices.disks.forEach((disk) => option(by("disks"), disk));
    all(document, "form[data-side]").forEach((form, place) => {
      form.append(by("side").content.cloneNode(true));
      for (const [name, value] of choices.sides[place] || choices.sides[0] || []) {
        const field = form.querySelector(`[name="${name}"]`);
        if (field) field.value = value;
      }
    });
  };
  const firstValues = () => forms().forEach((form) => fields(form).forEach((field) => {
    field.dataset.first = field.name === "provider" ? "yes" : valueOf(field);
  }));

  const begin = async () => {
    say("buy", "The model is being unpacked …");
    module = await WebAssembly.compile(await (await unpack("module")).arrayBuffer());
    catalog = await (await unpack("catalog")).text();
    const made = start((data) => {
      if (!data.opened) {
        askNext();
        heard(data, false);
        return;
      }
      if (data.opened.problems) {
        say("buy", data.opened.problems.map((problem) => problem.text).join("; "));
        return;
      }
      fill(data.opened);
      firstValues();
      all(document, "input[type=range]").forEach(bindSlider);
      take(location.hash || by("opening").textContent);
      fast = made;
      startSlow();
      renew();
    }, true);
  };
  // The storages of the other question's first choices, under the same load.
  by("take").addEventListener("click", () => {
    const wanted = formsOf("buy")[0];
    const load = formsOf("storage")[0];
    for (const name of ["reads", "block", "p99"]) load.querySelector(`[name=${name}]`).value = wanted.querySelector(`[name=${name}]`).value;
    load.querySelector("[name=pattern]").value = wanted.querySelector("[name=sequential]").checked ? "sequential" : "random";
    load.querySelector("[name=two]").checked = sides.length > 1;
    all(load, "input[type=range]").forEach((slider) => slider.dispatchEvent(new Event("follow")));
    all(document, "form[data-side]").forEach((form, place) => {
      const side = new Map(sides[place] || sides[0]);
      for (const field of fields(form)) {
        const empty = field.options ? field.options[0].value : "";
        field.value = side.has(field.name) ? side.get(field.name) : empty;
      }
    });
    renew();
  });
  document.addEventListener("input", (event) => { if (event.target.name) renew(); });
  document.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => {
    if (fast && location.hash !== `#${address()}`) {
      take(location.hash);
      renew();
    }
  });
  all(document, "[role=tab]").forEach((button) => {
    const go = (ask) => {
      choose(ask);
      by(`tab-${ask}`).focus();
      renew();
    };
    button.addEventListener("click", () => go(button.getAttribute("aria-controls")));
    button.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") go(tab() === "buy" ? "storage" : "buy");
    });
  });
  const put = async (button, text, what) => {
    const label = button.dataset.label || button.textContent;
    button.dataset.label = label;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(what);
      button.textContent = "Selected: copy it with the keyboard";
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  };
  all(document, "[data-copy]").forEach((button) => button.addEventListener("click", () => {
    const what = by(button.dataset.copy);
    put(button, what.textContent, what);
  }));
  all(document, "[data-link]").forEach((button) => button.addEventListener("click", () => {
    const shown = by(button.dataset.link);
    shown.textContent = location.href;
    put(button, location.href, shown);
  }));
  begin().catch((error) => failed(error.message));
})();

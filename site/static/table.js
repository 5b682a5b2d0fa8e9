"use strict";

// Search, filters and sorting of a table whose rows stand in the page.
(() => {
  const { query, find, state, keep, number } = Conformance;
  const table = document.querySelector("table.found");
  if (!table) return;
  const FIRST = 40;
  const REST = 60;
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const keys = heads.map((head) => head.dataset.key);
  const kinds = heads.map((head) => head.dataset.kind || "text");
  const controls = document.querySelector(".controls");
  const search = document.getElementById("q");
  const output = controls.querySelector("output");
  const reset = controls.querySelector(".reset");
  const nothing = document.querySelector(".nothing");
  const selects = [...controls.querySelectorAll("select[data-word]")];
  const place = document.querySelector(".scroll-page");
  const wider = controls.querySelector(".wider");
  const letters = new Map((table.dataset.letters || "").split(" ").filter(Boolean).map((pair) => pair.split(":")));
  const order = [...letters.values()];
  const statusKey = ["status", "outcome", "measured", "state"].find((key) => keys.includes(key));
  const graded = (column) => "graded" in heads[column].dataset;
  const dtypes = keys.filter((key, column) => kinds[column] === "letter");
  const isRare = (key) => Boolean(key) && keys.includes(key) && heads[keys.indexOf(key)].classList.contains("rare");

  const called = table.dataset.calls && table.dataset.calls.split(" ").map((name) => [name.toLowerCase(), name.toLowerCase().replace(/^.*::/, "")]);

  const textOf = (cell) => (cell.dataset.all || cell.textContent).toLowerCase();
  const rows = [...body.rows].map((row, at) => {
    const cells = row.cells;
    const entry = { row, cells, at, wanted: true, values: new Map() };
    keys.forEach((key, column) => {
      const kind = kinds[column];
      if (kind === "code") entry.values.set(key, cells[column].dataset.c || "");
      else if (kind === "letter") entry.values.set(key, letters.get(cells[column].textContent) || "unknown");
      else if (kind !== "number") entry.values.set(key, textOf(cells[column]));
    });
    const head = [...cells].find((cell) => cell.tagName === "TH");
    entry.link = head.querySelector("a");
    entry.name = (entry.link || head).textContent.toLowerCase();
    entry.aten = (row.dataset.aten || entry.name).toLowerCase();
    entry.text = keys.filter((key, column) => kinds[column] === "loose" || key === "signature" || key === "reason")
      .reduce((text, key) => `${text} ${entry.values.get(key)}`, entry.name);
    // Rows name what they call by its place in the table's list; with and without the namespace.
    if (called) entry.called = (row.dataset.calls || "").split(" ").filter(Boolean).flatMap((place) => called[Number(place)]);
    const passed = keys.indexOf("passed");
    if (passed >= 0) entry.whole = cells[passed].dataset.v === "1.0000";
    return entry;
  });

  const source = {
    kind: table.dataset.kind,
    size: rows.length,
    text: (i) => rows[i].text,
    dtypes: dtypes.length ? dtypes : undefined,
    declared: (i, dtype) => rows[i].values.get(dtype) !== "undeclared",
    marks: (i, chosen) => [...statuses(rows[i], chosen), ...(rows[i].whole ? ["passed"] : []), ...(rows[i].values.get("core") === "core" ? ["core"] : [])],
    // "aten::add" is the operator, or any that fell back to such an overload.
    reaches(i, word) {
      const [base, overload] = word.slice(word.indexOf("::") + 2).split(".");
      if (rows[i].text.includes(word) || (rows[i].values.get("fallback") || "").includes(word)) return true;
      if (!("aten" in rows[i].row.dataset) && dtypes.length === 0) return false;
      return base !== "" && (overload === undefined ? rows[i].aten.startsWith(base) : rows[i].aten === base);
    },
    fields: {},
  };
  keys.forEach((key, column) => {
    const kind = kinds[column];
    if (kind === "number" || kind === "letter" || key === "core") return;
    const mode = kind === "code" ? "code" : kind === "loose" ? "loose" : "text";
    const codes = mode === "code" ? new Set(rows.map((entry) => entry.values.get(key))) : undefined;
    source.fields[key] = { mode, codes, of: key === "status" ? (i, chosen) => statuses(rows[i], chosen) : (i) => rows[i].values.get(key) };
  });
  if (called) source.fields.calls = { mode: "code", codes: new Set(called.flat()), of: (i) => rows[i].called };
  if (keys.includes("core")) source.fields.is = { mode: "equal", of: (i) => rows[i].values.get("core") };

  // The status over all, or those in the dtypes asked for, as far as they are declared.
  function statuses(entry, chosen) {
    if (!chosen) return [entry.values.get(statusKey)];
    return chosen.map((dtype) => entry.values.get(dtype)).filter((status) => status !== "undeclared");
  }

  // The legend becomes the filter: one button a status.
  const legend = document.querySelector(".static-legend");
  const buttons = [...(legend ? legend.querySelectorAll("li[data-code]") : [])].map((item) => {
    const count = Conformance.element("span", { className: "n" });
    const button = Conformance.element("button", { type: "button" }, item.querySelector(".chip").cloneNode(true), count);
    controls.querySelector(".statuses").append(button);
    button.addEventListener("click", () => {
      const chosen = chosenStatuses();
      const code = item.dataset.code;
      write(query.withField(search.value, statusKey, chosen.includes(code) ? chosen.filter((one) => one !== code) : [...chosen, code]));
    });
    return { code: item.dataset.code, button, count };
  });

  function chosenStatuses() {
    const word = query.parse(search.value).find((one) => one.field === statusKey && !one.negated);
    return word ? word.values : [];
  }

  heads.forEach((head, column) => {
    const button = Conformance.element("button", { type: "button" });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const again = view.sort === keys[column];
      view.descending = again ? !view.descending : kinds[column] === "number" && keys[column] !== "passed";
      view.sort = keys[column];
      update();
    });
  });

  const view = { sort: "", descending: false, all: false };
  const elsewhere = find.elsewhere(document.querySelector(".elsewhere"), source.kind);
  const fieldNames = Object.keys(source.fields).map((name) => `${name}:`);
  if (dtypes.length) fieldNames.push("dtype:");
  controls.querySelector(".fields").textContent = fieldNames.join(" ");

  function read() {
    const given = state();
    search.value = given.get("q") || "";
    view.sort = keys.includes(given.get("sort")) ? given.get("sort") : "";
    view.descending = given.get("dir") === "desc";
    view.all = Boolean(wider) && given.get("dtypes") === "all";
    update();
  }

  function write(text) {
    search.value = text;
    update();
  }

  function update() {
    const words = query.parse(search.value);
    const compiled = query.compile(words, source);
    // The buttons count what they would show: everything that fits but for the status itself.
    const others = query.compile(words.filter((word) => word.field !== statusKey), source);
    const counts = new Map();
    let shown = 0;
    for (let i = 0; i < rows.length; i += 1) {
      const entry = rows[i];
      entry.wanted = compiled.fits(i);
      if (entry.wanted) shown += 1;
      if (entry.wanted || others.fits(i)) for (const status of new Set(statuses(entry, others.chosen))) counts.set(status, (counts.get(status) || 0) + 1);
    }
    const chosen = chosenStatuses();
    const { codes } = source.fields[statusKey] || {};
    for (const { code, button, count } of buttons) {
      count.textContent = number(counts.get(code) || 0);
      button.setAttribute("aria-pressed", String(chosen.some((one) => query.codeFits(one, code, codes))));
    }
    for (const select of selects) {
      const word = words.find((one) => one.field === select.dataset.word && !one.negated);
      const option = word && [...select.options].find((one) => one.value && one.value.toLowerCase() === word.values.join(","));
      select.value = option ? option.value : "";
    }
    if (wider) {
      const whole = view.all || (compiled.chosen || []).some(isRare) || isRare(view.sort);
      place.classList.toggle("few", !whole);
      wider.setAttribute("aria-pressed", String(whole));
    }
    arrange(query.plain(words));
    fill();
    output.textContent = `${number(shown)} of ${number(rows.length)} ${table.dataset.plural}`;
    reset.hidden = !search.value;
    nothing.hidden = shown > 0;
    nothing.textContent = compiled.unknown.length
      ? `There is no word "${compiled.unknown[0]}:" here; there are ${fieldNames.join(" ")}`
      : `None of the ${number(rows.length)} ${table.dataset.plural} fits this search.`;
    elsewhere(search.value);
    keep({ q: search.value.trim(), sort: view.sort, dir: view.sort && view.descending ? "desc" : "", dtypes: view.all ? "all" : "" });
  }

  let ordered = rows;
  let complete = true;
  let filling = 0;
  const whenIdle = window.requestIdleCallback ? (work) => requestIdleCallback(work, { timeout: 200 }) : (work) => setTimeout(work, 0);
  const notIdle = window.cancelIdleCallback ? cancelIdleCallback : clearTimeout;

  // Put the rows that fit into the table, from the top on: those in view now, the others while nothing else is to be
  // done. So a key is answered at once in a table of any length.
  function fill() {
    const wanted = ordered.filter((entry) => entry.wanted).map((entry) => entry.row);
    if (complete && wanted.length === body.rows.length && wanted.every((row, at) => body.rows[at] === row)) return;
    notIdle(filling);
    body.replaceChildren(...wanted.slice(0, FIRST));
    let at = FIRST;
    const more = () => {
      body.append(...wanted.slice(at, at + REST));
      at += REST;
      proceed();
    };
    const proceed = () => {
      complete = at >= wanted.length;
      table.setAttribute("aria-busy", String(!complete));
      if (!complete) filling = whenIdle(more);
    };
    proceed();
  }

  let arranged = "";
  function arrange(sought) {
    const wanted = view.sort ? `${view.sort} ${view.descending}` : `name ${sought}`;
    if (wanted === arranged || (!view.sort && !sought && arranged === "")) return;
    arranged = view.sort || sought ? wanted : "";
    const column = keys.indexOf(view.sort);
    const kind = column < 0 ? "" : kinds[column];
    const value = (entry) => {
      if (column < 0) return closeness(entry, sought);
      const cell = entry.cells[column];
      if (kind === "number") return cell.dataset.v ? Number(cell.dataset.v) : null;
      const text = entry.values.get(view.sort);
      if (graded(column)) return text === "no_data" ? null : order.indexOf(text);
      if (kind === "letter" || view.sort === "status") return order.includes(text) ? order.indexOf(text) : -1;
      return text || null;
    };
    const direction = view.descending ? -1 : 1;
    const sorted = rows.map((entry) => ({ entry, key: value(entry) }));
    // What has no value stays at the end in both directions: no data is neither the least nor the most.
    sorted.sort((a, b) => {
      if (a.key === b.key) return a.entry.at - b.entry.at;
      if (a.key === null) return 1;
      if (b.key === null) return -1;
      return (a.key < b.key ? -1 : 1) * direction;
    });
    ordered = sorted.map(({ entry }) => entry);
    heads.forEach((head, at) => {
      if (at === column) head.setAttribute("aria-sort", view.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  function closeness(entry, sought) {
    const aten = sought.includes("::");
    return query.closeness(aten && dtypes.length ? entry.aten : entry.name, aten && dtypes.length ? sought.replace(/^.*::/, "").replace(/\..*$/, "") : sought);
  }

  search.addEventListener("input", update);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && search.value) {
      event.preventDefault();
      write("");
    }
    if (event.key !== "Enter" || !search.value) return;
    const name = query.asListed(search.value.trim());
    const own = rows.find((entry) => entry.name === name);
    const first = own || ordered.find((entry) => entry.wanted);
    if (first && first.link) first.link.click();
  });
  for (const select of selects) {
    select.addEventListener("change", () => write(query.withField(search.value, select.dataset.word, select.value ? [select.value] : [])));
  }
  if (wider) {
    wider.addEventListener("click", () => {
      view.all = wider.getAttribute("aria-pressed") !== "true";
      // A column that is hidden must not go on deciding what is shown.
      if (!view.all && isRare(view.sort)) view.sort = "";
      const chosen = query.compile(query.parse(search.value), source).chosen || [];
      write(!view.all && chosen.some(isRare) ? query.withField(search.value, "dtype", []) : search.value);
    });
  }
  reset.addEventListener("click", () => {
    write("");
    search.focus();
  });
  addEventListener("hashchange", () => {
    if (location.hash.includes("=")) read();
  });

  if (legend) legend.hidden = true;
  controls.hidden = false;
  // The form of another page, sent without a script, says ?q=.
  if (location.search) location.replace(`${location.pathname}#${location.search.slice(1)}`);
  else read();
})();

"use strict";

// The table of all tests: as many rows as there are, of which only those in view are made.
(() => {
  const { query, find, element, chip, breakable, state, keep, number, root } = Conformance;
  const place = document.querySelector(".all-tests");
  if (!place) return;
  const CHUNK = 60;
  const COLUMNS = [["outcome", "Outcome"], ["id", "Test"], ["subject", "Operator or module"], ["dtype", "Dtype"], ["time", "Time"]];
  const controls = document.querySelector(".controls");
  const search = document.getElementById("q");
  const output = controls.querySelector("output");
  const reset = controls.querySelector(".reset");
  const nothing = document.querySelector(".nothing");
  const legend = document.querySelector(".static-legend");
  const elsewhere = find.elsewhere(document.querySelector(".elsewhere"), "tests");
  const view = { sort: "", descending: false };
  let source = null;
  let standing = null;
  let found = [];
  let shown = 0;

  find.testSource(find.runName()).then((tests) => {
    source = tests;
    begin();
  }).catch(() => {
    // The worst tests stay where they are.
  });

  function begin() {
    const gravity = ["crashed", "timed_out", "out_of_memory", "error", "failed", "not_run", "flaky", "xpassed", "passed_on_cpu", "passed", "xfailed", "skipped"];
    const rank = new Map(gravity.map((code, at) => [code, at]));
    source.rank = (i) => (rank.has(source.code(i)) ? rank.get(source.code(i)) : -1);
    const every = Array.from({ length: source.size }, (_, i) => i);
    standing = every.slice().sort((a, b) => source.rank(a) - source.rank(b) || a - b);
    place.replaceChildren(table());
    document.querySelectorAll(".only-some").forEach((notice) => notice.remove());
    legend.hidden = true;
    controls.hidden = false;
    controls.querySelector(".fields").textContent = Object.keys(source.fields).map((name) => `${name}:`).join(" ");
    if (location.search) location.replace(`${location.pathname}#${location.search.slice(1)}`);
    read();
  }

  function table() {
    const body = element("tbody");
    const heads = COLUMNS.map(([key, title]) => {
      const button = element("button", { type: "button" }, title);
      const head = element("th", { scope: "col", className: key === "time" ? "num" : "" }, button);
      head.dataset.key = key;
      button.addEventListener("click", () => {
        view.descending = view.sort === key ? !view.descending : key === "time";
        view.sort = key;
        update();
      });
      return head;
    });
    const made = element("table", { className: "lines listed" }, element("caption", {}, element("span", {}, "The worst outcomes first; further rows come as you scroll.")), element("thead", {}, element("tr", {}, ...heads)), body);
    const more = element("button", { type: "button", className: "more-rows" }, "More rows");
    more.addEventListener("click", extend);
    new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && extend(), { rootMargin: "600px" }).observe(more);
    view.body = body;
    view.heads = heads;
    view.more = more;
    return element("div", {}, element("div", { className: "scroll" }, made), more);
  }

  const buttons = [...legend.querySelectorAll("li[data-code]")].map((item) => {
    const count = element("span", { className: "n" });
    const button = element("button", { type: "button" }, item.querySelector(".chip").cloneNode(true), count);
    controls.querySelector(".statuses").append(button);
    button.addEventListener("click", () => {
      const chosen = chosenOutcomes();
      const code = item.dataset.code;
      search.value = query.withField(search.value, "outcome", chosen.includes(code) ? chosen.filter((one) => one !== code) : [...chosen, code]);
      update();
    });
    return { code: item.dataset.code, button, count };
  });

  function chosenOutcomes() {
    const word = query.parse(search.value).find((one) => one.field === "outcome" && !one.negated);
    return word ? word.values : [];
  }

  function read() {
    const given = state();
    search.value = given.get("q") || "";
    view.sort = COLUMNS.some(([key]) => key === given.get("sort")) ? given.get("sort") : "";
    view.descending = given.get("dir") === "desc";
    update();
  }

  let ordered = null;
  let orderedBy = "";
  function inOrder() {
    const wanted = `${view.sort} ${view.descending}`;
    if (ordered && orderedBy === wanted) return ordered;
    const values = {
      outcome: (i) => source.rank(i),
      id: (i) => i,
      subject: (i) => source.subject(i),
      dtype: (i) => source.dtype(i),
      time: (i) => source.time(i),
    };
    orderedBy = wanted;
    if (!view.sort) ordered = standing;
    else {
      const value = values[view.sort];
      const keys = Array.from({ length: source.size }, (_, i) => value(i));
      const sign = view.descending ? -1 : 1;
      // What has no value stays at the end in both directions.
      const none = (key) => key === "" || (view.sort === "time" && key === 0);
      ordered = standing.slice().sort((a, b) => {
        if (keys[a] === keys[b]) return a - b;
        if (none(keys[a]) || none(keys[b])) return none(keys[a]) ? 1 : -1;
        return (keys[a] < keys[b] ? -1 : 1) * sign;
      });
    }
    return ordered;
  }

  function update() {
    const words = query.parse(search.value);
    const compiled = query.compile(words, source);
    const others = query.compile(words.filter((word) => word.field !== "outcome" || word.negated), source);
    const narrowed = words.some((word) => word.field === "outcome" && !word.negated);
    const counts = new Map();
    found = [];
    for (const i of inOrder()) {
      const fits = compiled.fits(i);
      if (fits) found.push(i);
      if (fits || (narrowed && others.fits(i))) {
        const code = source.code(i);
        counts.set(code, (counts.get(code) || 0) + 1);
      }
    }
    const chosen = chosenOutcomes();
    for (const { code, button, count } of buttons) {
      count.textContent = number(counts.get(code) || 0);
      button.setAttribute("aria-pressed", String(chosen.some((one) => query.codeFits(one, code, source.fields.outcome.codes))));
    }
    view.heads.forEach((head) => {
      if (head.dataset.key === view.sort) head.setAttribute("aria-sort", view.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    view.body.replaceChildren();
    shown = 0;
    extend();
    output.textContent = `${number(found.length)} of ${number(source.size)} tests`;
    reset.hidden = !search.value;
    nothing.hidden = found.length > 0;
    nothing.textContent = compiled.unknown.length
      ? `There is no word "${compiled.unknown[0]}:" here; there are ${Object.keys(source.fields).map((name) => `${name}:`).join(" ")}`
      : `None of the ${number(source.size)} tests fits this search.`;
    elsewhere(search.value);
    keep({ q: search.value.trim(), sort: view.sort, dir: view.sort && view.descending ? "desc" : "" });
  }

  function extend() {
    const rows = found.slice(shown, shown + CHUNK).map(row);
    shown += rows.length;
    view.body.append(...rows);
    view.more.hidden = shown >= found.length;
  }

  function row(i) {
    const href = source.href(i);
    const name = href ? element("a", { className: "test-id", href: root + href }) : element("span", { className: "test-id" });
    name.append(breakable(source.name(i)));
    const subject = element("td");
    if (source.subject(i)) {
      const code = element("code", {}, breakable(source.subject(i)));
      const page = source.subjectHref(i);
      subject.append(page ? element("a", { href: root + page }, code) : code);
    }
    return element("tr", {}, element("td", {}, chip(source.mark(i))), element("th", { scope: "row" }, name), subject, element("td", {}, source.dtype(i)), element("td", { className: "num" }, duration(source.time(i))));
  }

  function duration(milliseconds) {
    if (!milliseconds) return "";
    if (milliseconds < 1000) return `${milliseconds} ms`;
    return milliseconds < 60000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${Math.floor(milliseconds / 60000)} min ${String(Math.floor(milliseconds / 1000) % 60).padStart(2, "0")} s`;
  }

  search.addEventListener("input", () => source && update());
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && search.value) {
      event.preventDefault();
      search.value = "";
      update();
    }
    if (event.key === "Enter" && found.length && source.href(found[0])) location.href = root + source.href(found[0]);
  });
  reset.addEventListener("click", () => {
    search.value = "";
    update();
    search.focus();
  });
  addEventListener("hashchange", () => {
    if (source && location.hash.includes("=")) read();
  });
})();

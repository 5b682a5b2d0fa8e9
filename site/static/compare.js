"use strict";

// Any two runs held against each other, by the same rules as conformance/analysis/compare.py.
(() => {
  const { load, find, element, chip, breakable, number, counted, state, root } = Conformance;
  const form = document.querySelector(".pair");
  const place = document.querySelector(".comparison");
  if (!form || form.querySelectorAll("#from option").length < 2) return;
  const from = document.getElementById("from");
  const to = document.getElementById("to");
  const LISTED = 200;
  const GRAVITY = { passed: 0, xfailed: 0, xpassed: 0, flaky: 1, failed: 2, error: 2, crashed: 3, timed_out: 3, out_of_memory: 3 };
  const FAILS = 2;
  const RANKED = ["native", "fallback", "partial", "failing", "crashing"];
  const NOT_PLANNED = ["not planned", "\u00b7", "none"];

  // What became of a test; a test is { outcome, overloads }, overloads null where nobody looked, or null if not planned.
  function changeOf(before, after) {
    if (!before) return after ? "added" : "";
    if (!after) return "removed";
    for (const [silent, fallsSilent, speaks] of [["not_run", "lost", "found"], ["skipped", "no_longer_run", "now_run"]]) {
      if (before.outcome !== silent && after.outcome !== silent) continue;
      if (before.outcome === after.outcome) return "";
      return after.outcome === silent ? fallsSilent : speaks;
    }
    const [was, now] = [GRAVITY[before.outcome], GRAVITY[after.outcome]];
    if (now > was) return now >= FAILS ? "regressed" : "changed";
    if (now < was && was >= FAILS) return now || (after.overloads && after.overloads.length) ? "improved" : "fixed";
    if (now === 0 && before.overloads && after.overloads) {
      if (after.overloads.some((overload) => !before.overloads.includes(overload))) return "new_fallback";
      if (was === 0 && before.overloads.some((overload) => !after.overloads.includes(overload))) return "vanished_fallback";
    }
    return before.outcome === after.outcome ? "" : "changed";
  }

  // Return a function that tells what a run saw of each test.
  function sights(run, sets) {
    const numbers = new Map();
    let at = 0;
    for (let i = 0; i < run.outcomes.length; i += 1) if (find.fellBack(run.outcomes[i])) numbers.set(i, run.fallbacks[at++]);
    return (i) => {
      const sign = run.outcomes[i];
      if (sign === find.ABSENT) return null;
      return { outcome: find.outcomeOf(sign), overloads: find.sightOf(sign) === 2 ? null : sets[numbers.get(i)] || [], set: numbers.get(i) };
    };
  }

  // The status of every operator or module that a run planned a test of; conformance/analysis/status.py has the rule.
  function statuses(run, column) {
    const [names, places] = column;
    const found = new Map();
    for (let i = 0; i < places.length; i += 1) {
      const name = names[places[i]];
      const sign = run.outcomes[i];
      if (!name || sign === find.ABSENT) continue;
      const code = find.outcomeOf(sign);
      const counts = found.get(name) || { passed: 0, failed: 0, crashed: 0, flaky: 0, silent: 0, fallback: 0 };
      if (code === "passed" || code === "xpassed") counts.passed += 1;
      else if (code === "failed" || code === "error") counts.failed += 1;
      else if (GRAVITY[code] === 3) counts.crashed += 1;
      else if (code === "flaky") counts.flaky += 1;
      else if (code !== "not_run") counts.silent += 1;
      if (find.fellBack(sign)) counts.fallback += 1;
      found.set(name, counts);
    }
    return new Map([...found].map(([name, counts]) => [name, statusOf(counts)]));
  }

  function statusOf({ passed, failed, crashed, flaky, silent, fallback }) {
    if (!(passed + failed + crashed + flaky + silent)) return "untested";
    if (crashed) return "crashing";
    if (failed || flaky) return passed || flaky ? "partial" : "failing";
    if (passed) return fallback ? "fallback" : "native";
    return "skipped";
  }

  async function show() {
    const [before, after] = [from.value, to.value];
    place.replaceChildren(element("p", { className: "aside" }, "Comparing\u2026"));
    let loaded;
    try {
      loaded = await Promise.all([load("index"), load("tests"), load(`run-${before}`), load(`run-${after}`)]);
    } catch {
      place.replaceChildren(element("p", { className: "nodata" }, "The data of these runs could not be loaded."));
      return;
    }
    if (before !== from.value || after !== to.value) return;
    const [index, tests, one, other] = loaded;
    const ids = find.decoded(tests.ids);
    const groups = new Map();
    let changed = 0;
    const [first, second] = [sights(one, tests.sets), sights(other, tests.sets)];
    for (let i = 0; i < ids.length; i += 1) {
      const [was, became] = [first(i), second(i)];
      if (one.outcomes[i] === other.outcomes[i] && (!was || was.set === became.set)) continue;
      const change = changeOf(was, became);
      if (!change) continue;
      changed += 1;
      if (!groups.has(change)) groups.set(change, []);
      groups.get(change).push([i, was ? find.codeOf(one.outcomes[i]) : "", became ? find.codeOf(other.outcomes[i]) : ""]);
    }
    const texts = [from, to].map((select) => select.selectedOptions[0].textContent);
    const sentence = changed ? `${counted(changed, "test")} ${changed === 1 ? "has" : "have"} another outcome.` : "No test has another outcome.";
    const parts = [element("p", { className: "lead" }, `${sentence} From ${texts[0]} to ${texts[1]}.`)];
    for (const run of [one, other]) {
      if (!run.whole) parts.push(element("p", { className: "notice" }, element("strong", {}, `Run ${run.id} is not complete.`), " What it lacks reads as lost or not planned."));
    }
    parts.push(...differences(one.facts, other.facts), ...subjects(index, tests, one, other));
    for (const [code, [word, letter, shade, definition]] of Object.entries(index.changes)) {
      const rows = groups.get(code);
      if (rows) parts.push(section(`c-${code}`, [chip([word, letter, shade, definition]), ` ${counted(rows.length, "test")}`], definition, rows, index, tests, ids));
    }
    place.replaceChildren(...parts);
  }

  function grid(className, caption, heads, rows) {
    const head = element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text))));
    const body = element("tbody", {}, ...rows.map(([first, ...cells]) => element("tr", {}, element("th", { scope: "row" }, first), ...cells.map((cell) => element("td", {}, cell)))));
    return element("div", { className: "scroll" }, element("table", { className }, element("caption", {}, element("span", {}, caption)), head, body));
  }

  function differences(before, after) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => (before[name] || "") !== (after[name] || ""));
    if (!names.length) return [];
    const rows = names.map((name) => [name, before[name] || "none", after[name] || "none"]);
    return [element("section", {}, element("h2", {}, "What differs about the runs"), grid("differences", "Versions and circumstances that are not the same.", ["What", "Before", "Now"], rows))];
  }

  function subjects(index, tests, one, other) {
    const found = [];
    for (const [column, rows, folder] of [["op", index.operators, "operators"], ["module", index.modules, "modules"]]) {
      const known = new Map(rows.map((row) => [row[0], `${folder}/${row[2] || row[0]}.html`]));
      const [old, now] = [statuses(one, tests.columns[column]), statuses(other, tests.columns[column])];
      for (const name of new Set([...old.keys(), ...now.keys()])) {
        const [was, became] = [old.get(name) || "untested", now.get(name) || "untested"];
        if (was !== became) found.push({ name, href: known.get(name) || "", was, became, worse: judged(was, became) });
      }
    }
    if (!found.length) return [];
    found.sort((a, b) => a.worse - b.worse || (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
    const rows = found.map(({ name, href, was, became }) => [named(name, href), chip(index.marks[was]), chip(index.marks[became])]);
    const caption = `${counted(found.length, "operator or module", "operators and modules")}, those that got worse first.`;
    return [element("section", {}, element("h2", {}, "Operators and modules with another status"), grid("changed", caption, ["Operator or module", "Before", "Now"], rows))];
  }

  function judged(was, became) {
    const [before, after] = [RANKED.indexOf(was), RANKED.indexOf(became)];
    if (before < 0 || after < 0) return 2;
    return after > before ? 0 : 1;
  }

  function named(name, href) {
    const code = element("code", {}, breakable(name));
    return href ? element("a", { href: root + href }, code) : code;
  }

  function section(id, title, definition, rows, index, tests, ids) {
    const pages = new Map([...index.operators.map((row) => [`op ${row[0]}`, `operators/${row[2] || row[0]}.html`]), ...index.modules.map((row) => [`module ${row[0]}`, `modules/${row[2] || row[0]}.html`])]);
    const value = (column, i) => tests.columns[column][0][tests.columns[column][1][i]];
    const shown = rows.slice(0, LISTED).map(([i, was, became]) => {
      const page = pages.get(`op ${value("op", i)}`) || pages.get(`module ${value("module", i)}`) || index.files[value("file", i)] || "";
      // Only the pages of the run shown have its tests.
      const href = page && String(to.value) === document.body.dataset.run.slice(4) && became ? `${page}#${tests.anchors[i] || ids[i]}` : page;
      const mark = (code) => chip(code ? index.marks[code] : NOT_PLANNED);
      return [named(ids[i], href), mark(was), mark(became)];
    });
    const more = rows.length > LISTED ? ` The first ${number(LISTED)} are listed.` : "";
    return element("section", {}, element("h2", { id }, ...title), grid("changed-tests", definition + more, ["Test", "Before", "Now"], shown));
  }

  function read() {
    const given = state();
    const options = new Set([...from.options].map((option) => option.value));
    if (!options.has(given.get("from")) || !options.has(given.get("to"))) return;
    from.value = given.get("from");
    to.value = given.get("to");
    show();
  }

  function changed() {
    history.replaceState(null, "", `#from=${from.value}&to=${to.value}`);
    show();
  }
  from.addEventListener("change", changed);
  to.addEventListener("change", changed);
  form.querySelector(".swap").addEventListener("click", () => {
    [from.value, to.value] = [to.value, from.value];
    changed();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => {
    if (location.hash.includes("=")) read();
  });
  form.hidden = false;
  read();
})();

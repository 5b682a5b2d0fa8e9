"use strict";

// What can be found: operators, modules, overloads, architectures, signatures and tests; and the list that opens below a search box
// of a page without a table of its own.
Conformance.find = (() => {
  const { element, load, root, number, query } = Conformance;
  const STATUSES = ["native", "fallback", "partial", "failing", "crashing", "skipped", "untested"];
  const SHOWN = 6;
  // The same rule as conformance/publish/slugs.py:anchor.
  const PLAIN_ID = /^[A-Za-z0-9_][A-Za-z0-9_./:-]*$/;
  let index = null;
  let tests = null;

  // Return a promise of all sources; the tests are many, so they are a file of their own.
  function sources() {
    if (!index) index = load("index").then(fromIndex);
    return index;
  }

  function testSource(runName) {
    if (!tests) {
      tests = Promise.all([load("index"), load("tests"), load(runName)]).then(([names, all, run]) => fromTests(names, all, run));
    }
    return tests;
  }

  function fromIndex(data) {
    const subjects = (kind, rows, folder) => ({
      kind,
      page: `${kind}.html`,
      size: rows.length,
      name: (i) => rows[i][0],
      lower: rows.map((row) => row[0].toLowerCase()),
      text(i) {
        return `${this.lower[i]} ${rows[i][3].toLowerCase()} ${rows[i][4].toLowerCase()}`;
      },
      reaches: (i, word) => (rows[i][4] || rows[i][0]).toLowerCase().startsWith(word.split("::")[1].split(".")[0] || "?"),
      href: (i) => `${folder}/${rows[i][2] || rows[i][0]}.html`,
      mark: (i) => data.marks[rows[i][1]] || [`unknown: ${rows[i][1]}`, "!?", "unknown"],
      dtypes: data.dtypes,
      declared: (i, dtype) => rows[i][5][data.dtypes.indexOf(dtype)] !== ".",
      marks: (i, dtypes) => statusesOf(rows[i], data.dtypes, dtypes),
      fields: {
        name: { mode: "text", of: (i) => rows[i][0].toLowerCase() },
        status: { mode: "code", of: (i, dtypes) => statusesOf(rows[i], data.dtypes, dtypes) },
        ...Object.fromEntries(data.modes[kind].map((mode, place) => [mode, { mode: "code", of: (i) => statusOf(rows[i][6][place]) }])),
        ...(kind === "operators" ? { group: { mode: "loose", of: (i) => rows[i][3].toLowerCase() } } : {}),
      },
    });
    const overloads = data.overloads;
    const signatures = data.signatures;
    const architectures = data.architectures;
    return [
      subjects("operators", data.operators, "operators"),
      subjects("modules", data.modules, "modules"),
      {
        kind: "overloads",
        page: "overloads.html",
        size: overloads.length,
        name: (i) => overloads[i][0],
        lower: overloads.map((row) => row[0].toLowerCase()),
        text(i) {
          return this.lower[i];
        },
        href: (i) => `overloads.html#${fragment("o", overloads[i][0])}`,
        mark: (i) => [overloads[i][2], "", ""],
        marks: (i) => [overloads[i][1], overloads[i][3] ? "core" : ""],
        fields: {
          name: { mode: "text", of: (i) => overloads[i][0].toLowerCase() },
          registered: { mode: "code", of: (i) => overloads[i][1] },
          measured: { mode: "loose", of: (i) => overloads[i][2] },
          is: { mode: "equal", of: (i) => (overloads[i][3] ? "core" : "") },
        },
      },
      {
        kind: "architectures",
        page: "models.html",
        size: architectures.length,
        name: (i) => architectures[i][0],
        lower: architectures.map((row) => row[0].toLowerCase()),
        text(i) {
          return this.lower[i];
        },
        href: (i) => `models.html#${architectures[i][2]}`,
        mark: (i) => data.marks[architectures[i][1]] || [`unknown: ${architectures[i][1]}`, "!?", "unknown"],
        marks: (i) => [architectures[i][1]],
        fields: {
          name: { mode: "text", of: (i) => architectures[i][0].toLowerCase() },
          status: { mode: "code", of: (i) => architectures[i][1] },
        },
      },
      {
        kind: "signatures",
        page: "failures.html",
        size: signatures.length,
        name: (i) => signatures[i][0],
        lower: signatures.map((row) => row[0].toLowerCase()),
        text(i) {
          return this.lower[i];
        },
        href: (i) => `failures.html#${signatures[i][3]}`,
        mark: (i) => data.marks[signatures[i][1]],
        marks: (i) => [signatures[i][1]],
        fields: { outcome: { mode: "code", of: (i) => signatures[i][1] } },
      },
    ];
  }

  // What a table of overloads cannot be linked to by its name is found by searching for it.
  const fragment = (prefix, name) => (PLAIN_ID.test(name) && name.length <= 200 ? `${prefix}-${name}` : `q=${encodeURIComponent(name)}`);

  const statusOf = (letter) => (letter === "." ? "no_data" : STATUSES[Number(letter)] || "unknown");

  function statusesOf(row, known, dtypes) {
    if (!dtypes) return [row[1]];
    const found = [];
    for (const dtype of dtypes) {
      const letter = row[5][known.indexOf(dtype)];
      if (letter !== "." && letter !== undefined) found.push(STATUSES[Number(letter)] || "unknown");
    }
    return found;
  }

  // The ids are written as what each adds to the one before it.
  function decoded(text) {
    const found = [];
    let before = "";
    for (const line of text ? text.split("\n") : []) {
      const blank = line.indexOf(" ");
      before = before.slice(0, Number(line.slice(0, blank))) + line.slice(blank + 1);
      found.push(before.startsWith('"') ? JSON.parse(before) : before);
    }
    return found;
  }

  // A sign stands for an outcome and for what was seen of the CPU: 0 nothing, 1 the operator, 2 nobody looked.
  const CODES = ["", "passed", "failed", "error", "skipped", "xfailed", "xpassed", "crashed", "timed_out", "out_of_memory", "flaky", "not_run"];
  const ABSENT = "0";
  const outcomeOf = (sign) => CODES[(sign.charCodeAt(0) - 48) & 15] || "";
  const sightOf = (sign) => (sign.charCodeAt(0) - 48) >> 4;
  const fellBack = (sign) => sightOf(sign) === 1;
  // The code of its mark: a pass that needed the CPU has one of its own.
  const codeOf = (sign) => (outcomeOf(sign) === "passed" && fellBack(sign) ? "passed_on_cpu" : outcomeOf(sign));

  function fromTests(names, all, run) {
    const ids = decoded(all.ids);
    const column = (name) => {
      const [values, places] = all.columns[name];
      return { values, lower: values.map((value) => value.toLowerCase()), places };
    };
    const columns = Object.fromEntries(Object.keys(all.columns).map((name) => [name, column(name)]));
    const operators = new Map(names.operators.map((row) => [row[0], row]));
    const modules = new Map(names.modules.map((row) => [row[0], row]));
    const planned = [];
    for (let i = 0; i < ids.length; i += 1) if (run.outcomes[i] !== ABSENT) planned.push(i);
    const codes = planned.map((i) => codeOf(run.outcomes[i]));
    const cpu = planned.map((i) => fellBack(run.outcomes[i]));
    const lower = planned.map((i) => ids[i].toLowerCase());
    const listed = new Set(run.listed || []);
    const of = (name) => (i) => columns[name].lower[columns[name].places[planned[i]]];
    const exact = (name, i) => columns[name].values[columns[name].places[planned[i]]];
    const subject = (i) => operators.get(exact("op", i)) || modules.get(exact("module", i));
    const status = (i) => {
      const row = subject(i);
      const dtype = exact("dtype", i);
      if (!row) return [];
      const known = names.dtypes.includes(dtype) ? statusesOf(row, names.dtypes, [dtype]) : [];
      return known.length ? known : [row[1]];
    };
    const page = (i) => {
      if (exact("op", i)) return operators.has(exact("op", i)) ? `operators/${subject(i)[2] || subject(i)[0]}.html` : "";
      if (exact("module", i)) return modules.has(exact("module", i)) ? `modules/${subject(i)[2] || subject(i)[0]}.html` : "";
      return names.files[exact("file", i)] || "";
    };
    const time = (i) => (run.durations ? run.durations[planned[i]] : 0);
    const words = codes.map((code, i) => {
      const found = code === "passed_on_cpu" ? ["passed", "fallback", "passed_on_cpu"] : [code];
      return cpu[i] && code !== "passed_on_cpu" ? [...found, "fallback"] : found;
    });
    return {
      kind: "tests",
      page: "tests.html",
      size: planned.length,
      name: (i) => ids[planned[i]],
      lower,
      text: (i) => lower[i],
      href: (i) => {
        const target = page(i);
        return target ? `${target}#${all.anchors[planned[i]] || ids[planned[i]]}` : "";
      },
      mark: (i) => names.marks[codes[i]],
      marks: (i) => words[i],
      code: (i) => codes[i],
      time,
      subject: (i) => exact("op", i) || exact("module", i),
      subjectHref: page,
      dtype: (i) => exact("dtype", i),
      fields: {
        id: { mode: "text", of: (i) => lower[i] },
        outcome: { mode: "code", of: (i) => codes[i], codes: new Set([...CODES, "passed_on_cpu"]) },
        status: { mode: "code", of: status },
        op: { mode: "text", of: of("op") },
        module: { mode: "text", of: of("module") },
        dtype: { mode: "code", of: of("dtype") },
        template: { mode: "text", of: of("template") },
        suite: { mode: "code", of: of("suite") },
        file: { mode: "text", of: of("file") },
        group: { mode: "loose", of: (i) => (operators.has(exact("op", i)) ? subject(i)[3].toLowerCase() : "") },
        is: { mode: "equal", of: (i) => [listed.has(planned[i]) ? "listed" : "", time(i) >= 1000 ? "slow" : ""] },
      },
    };
  }

  // Return the places that fit, the nearest names first where a name is sought.
  function matches(source, words) {
    const compiled = query.compile(words, source);
    const found = [];
    if (compiled.unknown.length || compiled.empty) return found;
    for (let i = 0; i < source.size; i += 1) if (compiled.fits(i)) found.push(i);
    const sought = query.plain(words);
    if (!sought || source.kind === "tests") return found;
    const bare = source.kind === "overloads" ? sought.replace(/^aten::/, "") : sought;
    const near = new Map(found.map((i) => [i, query.closeness(source.lower[i].replace(/^aten::/, ""), bare)]));
    return found.sort((a, b) => near.get(a) - near.get(b) || a - b);
  }

  const runName = () => document.body.dataset.run;

  // Call back with the sources as they come: names at once, the tests when they are there.
  function whenReady(use) {
    const all = sources();
    all.then((known) => use(known)).catch(() => {});
    Promise.all([all, testSource(runName())]).then(([known, one]) => use([...known, one])).catch(() => {});
  }

  // Where a search leads that no page of its own answers: to the first table that has something.
  function table(known, search) {
    const words = query.parse(search);
    const best = known.find((source) => matches(source, words).length) || known[0];
    return `${root}${best.page}#q=${encodeURIComponent(search)}`;
  }

  function exact(known, search) {
    const name = query.asListed(search.trim());
    for (const source of known) {
      if (source.kind === "signatures" || source.kind === "tests") continue;
      const place = source.lower.indexOf(name);
      if (place >= 0) return root + source.href(place);
    }
    return "";
  }

  for (const field of document.querySelectorAll(".find [data-search]")) open(field);

  function open(field) {
    let known = null;
    let active = -1;
    const list = element("div", { className: "finds", id: `${field.id}-finds`, role: "listbox", hidden: true, ariaLabel: "What was found" });
    field.parentElement.append(list);
    for (const [name, value] of [["role", "combobox"], ["aria-expanded", "false"], ["aria-controls", list.id], ["aria-autocomplete", "list"]]) {
      field.setAttribute(name, value);
    }
    field.addEventListener("focus", () => whenReady((sources) => {
      known = sources;
      if (field.value) show();
    }), { once: true });
    field.addEventListener("input", show);

    function show() {
      const words = query.parse(field.value);
      const options = [];
      const groups = [];
      for (const source of known && words.length ? known : []) {
        const found = matches(source, words);
        if (!found.length) continue;
        const group = element("div", { role: "group", ariaLabel: source.kind }, element("p", { ariaHidden: "true" }, source.kind));
        for (const i of found.slice(0, SHOWN)) {
          const option = element("a", { role: "option", href: root + source.href(i), tabIndex: -1 }, element("span", {}, source.name(i)));
          const [word, letter, shade] = source.mark(i);
          option.append(shade ? Conformance.chip([word, letter, shade]) : element("span", { className: "aside" }, word));
          options.push(option);
          group.append(option);
        }
        if (found.length > SHOWN) {
          const all = element("a", { role: "option", className: "all", tabIndex: -1, href: `${root}${source.page}#q=${encodeURIComponent(field.value)}` }, `All ${number(found.length)} ${source.kind}`);
          options.push(all);
          group.append(all);
        }
        groups.push(group);
      }
      options.forEach((option, place) => {
        option.id = `${list.id}-${place}`;
        option.setAttribute("aria-selected", "false");
      });
      active = -1;
      field.removeAttribute("aria-activedescendant");
      list.replaceChildren(...groups);
      if (known && words.length && !groups.length) list.append(element("p", { className: "none" }, "Nothing fits."));
      toggle(words.length > 0 && list.childElementCount > 0);
    }

    function toggle(visible) {
      list.hidden = !visible;
      field.setAttribute("aria-expanded", String(visible));
    }

    function choose(step) {
      const options = list.querySelectorAll("[role=option]");
      if (!options.length) return;
      if (active >= 0) options[active].setAttribute("aria-selected", "false");
      active = active < 0 && step < 0 ? options.length - 1 : (active + step + options.length) % options.length;
      options[active].setAttribute("aria-selected", "true");
      options[active].scrollIntoView({ block: "nearest" });
      field.setAttribute("aria-activedescendant", options[active].id);
    }

    field.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (list.hidden) show();
        event.preventDefault();
        choose(event.key === "ArrowDown" ? 1 : -1);
      } else if (event.key === "Escape" && !list.hidden) {
        event.preventDefault();
        toggle(false);
      }
    });
    field.form.addEventListener("submit", (event) => {
      if (!field.value.trim()) return;
      event.preventDefault();
      const chosen = list.querySelector("[aria-selected=true]");
      if (chosen) location.href = chosen.href;
      else sources().then((names) => {
        location.href = exact(names, field.value) || table(known || names, field.value);
      }).catch(() => field.form.submit());
    });
    field.form.addEventListener("focusout", (event) => {
      if (!field.form.contains(event.relatedTarget)) toggle(false);
    });
    // The press of a button of the mouse would take the focus away, and the list with it, before the click.
    list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  // Below a table: what of other kinds fits the same words.
  function elsewhere(place, kind) {
    let known = null;
    let last = "";
    let wanted = false;
    let later = 0;
    function show() {
      const words = query.parse(last);
      const parts = [];
      for (const source of known && words.length ? known : []) {
        if (source.kind === kind) continue;
        const found = matches(source, words);
        if (!found.length) continue;
        const one = found.length === 1;
        const noun = one ? source.kind.slice(0, -1) : source.kind;
        const href = one && source.kind !== "tests" ? root + source.href(found[0]) : `${root}${source.page}#q=${encodeURIComponent(last)}`;
        parts.push(parts.length ? ", " : "Elsewhere: ", element("a", { href }, `${number(found.length)} ${noun}`));
        if (one && source.kind !== "signatures" && source.kind !== "tests") parts.push(` (${source.name(found[0])})`);
      }
      place.hidden = !parts.length;
      place.replaceChildren(...parts, parts.length ? "." : "");
    }
    return (search) => {
      last = search;
      if (!wanted && search) {
        wanted = true;
        whenReady((sources) => {
          known = sources;
          show();
        });
      } else if (wanted) {
        // The table answers first.
        clearTimeout(later);
        later = setTimeout(show, 80);
      }
    };
  }

  return { sources, testSource, matches, elsewhere, exact, decoded, ABSENT, outcomeOf, sightOf, codeOf, fellBack, runName };
})();

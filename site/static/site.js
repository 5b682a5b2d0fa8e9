"use strict";

// Without this script every page is complete; it adds the "/" key, and search, filters and sorting of the big tables.
(() => {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    const field = document.querySelector("main [data-search]") || document.querySelector("[data-search]");
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select();
  });

  const table = document.querySelector("table.subjects");
  if (table) enhance(table);

  function enhance(table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const keys = heads.map((head) => head.dataset.key);
    const order = new Map(table.dataset.order.split(" ").map((letter, place) => [letter, place]));
    const controls = document.querySelector(".controls");
    const search = document.getElementById("q");
    const dtype = document.getElementById("dtype");
    const group = document.getElementById("group");
    const output = controls.querySelector("output");
    const reset = controls.querySelector(".reset");
    const nothing = document.querySelector(".nothing");
    const statusColumn = keys.indexOf("status");
    const groupColumn = keys.indexOf("group");

    const letterOf = (cell) => (cell.querySelector("b") || cell).textContent;
    const rows = [...body.rows].map((row, place) => {
      const cells = [...row.cells];
      const name = cells[0].textContent;
      const rest = groupColumn < 0 ? "" : cells[groupColumn].textContent;
      return {
        row,
        cells,
        place,
        name: name.toLowerCase(),
        group: rest,
        text: `${name} ${rest}`.toLowerCase(),
        overloads: cells[cells.length - 1].textContent.toLowerCase(),
      };
    });

    // The legend becomes the filter: one button a status.
    const legend = document.querySelector(".static-legend");
    const buttons = [...legend.querySelectorAll("li[data-code]")].map((item) => {
      const button = document.createElement("button");
      const count = document.createElement("span");
      count.className = "n";
      button.type = "button";
      button.append(item.querySelector(".chip").cloneNode(true), count);
      controls.querySelector(".statuses").append(button);
      const found = { code: item.dataset.code, letter: item.dataset.letter, button, count };
      button.addEventListener("click", () => {
        state.status.has(found.code) ? state.status.delete(found.code) : state.status.add(found.code);
        update();
      });
      return found;
    });
    const letters = new Map(buttons.map((found) => [found.code, found.letter]));

    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const again = state.sort === keys[column];
        state.descending = again ? !state.descending : false;
        state.sort = keys[column];
        update();
      });
    });

    const state = { q: "", dtype: "", group: "", status: new Set(), sort: "", descending: false };

    function read() {
      const given = new URLSearchParams(location.hash.slice(1));
      const among = (select, value) => (select && [...select.options].some((option) => option.value === value) ? value : "");
      state.q = given.get("q") || "";
      state.dtype = among(dtype, given.get("dtype"));
      state.group = among(group, given.get("group"));
      state.status = new Set((given.get("status") || "").split(",").filter((code) => letters.has(code)));
      state.sort = keys.includes(given.get("sort")) ? given.get("sort") : "";
      state.descending = given.get("dir") === "desc";
      search.value = state.q;
      dtype.value = state.dtype;
      if (group) group.value = state.group;
      update();
    }

    function write() {
      const kept = new URLSearchParams();
      for (const key of ["q", "dtype", "group", "sort"]) if (state[key]) kept.set(key, state[key]);
      if (state.status.size) kept.set("status", [...state.status].join(","));
      if (state.sort && state.descending) kept.set("dir", "desc");
      const hash = kept.toString();
      if (hash !== location.hash.slice(1)) history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
    }

    function update() {
      const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = new Set([...state.status].map((code) => letters.get(code)));
      const column = state.dtype ? keys.indexOf(state.dtype) : statusColumn;
      const counts = new Map();
      let shown = 0;
      for (const entry of rows) {
        // "add" means the operator, not every operator that fell back to some aten::..._add.
        const has = (word) => (word.includes("::") ? entry.overloads : entry.text).includes(word);
        const fits = words.every(has) && (!state.group || entry.group === state.group);
        const letter = letterOf(entry.cells[column]);
        if (fits) counts.set(letter, (counts.get(letter) || 0) + 1);
        const visible = fits && (!wanted.size || wanted.has(letter));
        if (entry.row.hidden === visible) entry.row.hidden = !visible;
        if (visible) shown += 1;
      }
      for (const { code, letter, button, count } of buttons) {
        count.textContent = (counts.get(letter) || 0).toLocaleString("en");
        button.setAttribute("aria-pressed", String(state.status.has(code)));
      }
      arrange(words);
      output.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} ${table.dataset.plural}`;
      reset.hidden = shown === rows.length;
      nothing.hidden = shown > 0;
      write();
    }

    function arrange(words) {
      const column = keys.indexOf(state.sort);
      const kind = column < 0 ? "" : heads[column].dataset.kind || "text";
      const whole = words.join(" ");
      const value = (entry) => {
        if (column < 0) return closeness(entry.name, whole);
        const cell = entry.cells[column];
        if (kind === "order") return order.has(letterOf(cell)) ? order.get(letterOf(cell)) : -1;
        if (kind === "number") return cell.dataset.v === "" ? null : Number(cell.dataset.v);
        return cell.textContent.toLowerCase() || null;
      };
      const direction = state.descending ? -1 : 1;
      const arranged = rows.map((entry) => ({ entry, key: value(entry) }));
      // What has no value stays at the end in both directions: no data is neither the least nor the most.
      arranged.sort((a, b) => {
        if (a.key === b.key) return a.entry.place - b.entry.place;
        if (a.key === null) return 1;
        if (b.key === null) return -1;
        return (a.key < b.key ? -1 : 1) * direction;
      });
      if (arranged.some(({ entry }, place) => body.rows[place] !== entry.row)) {
        body.append(...arranged.map(({ entry }) => entry.row));
      }
      heads.forEach((head, place) => {
        if (place === column) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
    }

    function closeness(name, whole) {
      if (!whole || name === whole) return 0;
      return name.startsWith(whole) ? 1 : name.includes(whole) ? 2 : 3;
    }

    search.addEventListener("input", () => {
      state.q = search.value;
      update();
    });
    search.addEventListener("keydown", (event) => {
      const first = event.key === "Enter" && state.q && [...body.rows].find((row) => !row.hidden);
      if (first) first.querySelector("a").click();
    });
    dtype.addEventListener("change", () => {
      state.dtype = dtype.value;
      update();
    });
    if (group) {
      group.addEventListener("change", () => {
        state.group = group.value;
        update();
      });
    }
    reset.addEventListener("click", () => {
      Object.assign(state, { q: "", dtype: "", group: "", status: new Set() });
      search.value = dtype.value = "";
      if (group) group.value = "";
      update();
      search.focus();
    });
    window.addEventListener("hashchange", read);

    legend.hidden = true;
    controls.hidden = false;
    // The form of another page sends ?q=. A file:// page may only change what follows the #, so all state lives there.
    if (location.search) location.replace(`${location.pathname}#${location.search.slice(1)}`);
    else read();
  }
})();

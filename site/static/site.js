"use strict";

// Without this script every page is complete; it adds the "/" key, buttons that copy a command, and search, filters and
// sorting of the big tables.
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

  const commands = document.querySelectorAll(".repeat");
  if (commands.length) offerCopies(commands);

  function offerCopies(commands) {
    const said = document.createElement("p");
    said.className = "said";
    said.setAttribute("role", "status");
    document.body.append(said);
    for (const place of commands) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.title = "Copy the command";
      place.append(button);
    }
    document.addEventListener("click", async (event) => {
      const button = event.target.closest(".copy");
      if (!button) return;
      const done = await copied(button.parentElement.querySelector(".command"));
      button.textContent = done ? "Copied" : "Selected";
      said.textContent = done ? "The command is copied." : "The command is selected; copy it by key.";
      setTimeout(() => {
        button.textContent = "Copy";
        said.textContent = "";
      }, 2000);
    });
  }

  async function copied(command) {
    try {
      await navigator.clipboard.writeText(command.textContent);
      return true;
    } catch {
      // A page from a server without HTTPS has no clipboard: what is selected can be copied the old way, or by key.
      getSelection().selectAllChildren(command);
      return document.execCommand("copy");
    }
  }

  // What people write for a name of PyTorch's, as the tables spell it: torch.add, F.conv2d, torch.nn.LSTM, Tensor.add().
  function asListed(word) {
    const bare = word.toLowerCase().replace(/\(.*$/, "").replace(/^torch\.(?!ops\.)/, "").replace(/^tensor\./, "");
    return bare.replace(/^f\.(?=.)/, "nn.functional.");
  }

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
    const elsewhere = document.querySelector(".elsewhere");
    const others = [...document.querySelectorAll(".others a")].map((link) => ({ link, name: link.textContent.toLowerCase() }));
    const place = document.querySelector(".scroll-page");
    const wider = controls.querySelector(".wider");
    const isRare = (key) => Boolean(key) && heads[keys.indexOf(key)].classList.contains("rare");
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
        aten: (row.dataset.aten || name).toLowerCase(),
        overloads: (cells[cells.length - 1].dataset.all || cells[cells.length - 1].textContent).toLowerCase(),
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

    const state = { q: "", dtype: "", group: "", status: new Set(), sort: "", descending: false, all: false };

    function read() {
      const given = new URLSearchParams(location.hash.slice(1));
      const among = (select, value) => (select && [...select.options].some((option) => option.value === value) ? value : "");
      state.q = given.get("q") || "";
      state.dtype = among(dtype, given.get("dtype"));
      state.group = among(group, given.get("group"));
      state.status = new Set((given.get("status") || "").split(",").filter((code) => letters.has(code)));
      state.sort = keys.includes(given.get("sort")) ? given.get("sort") : "";
      state.descending = given.get("dir") === "desc";
      state.all = Boolean(wider) && given.get("dtypes") === "all";
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
      if (state.all) kept.set("dtypes", "all");
      const hash = kept.toString();
      if (hash !== location.hash.slice(1)) history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
    }

    function update() {
      const words = state.q.split(/\s+/).map(asListed).filter(Boolean);
      const wanted = new Set([...state.status].map((code) => letters.get(code)));
      const column = state.dtype ? keys.indexOf(state.dtype) : statusColumn;
      const counts = new Map();
      let shown = 0;
      for (const entry of rows) {
        // "add" means the operator, not every operator that fell back to some aten::..._add.
        const has = (word) => (word.includes("::") ? reaches(entry, word) : entry.text.includes(word));
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
      if (wider) {
        const whole = state.all || isRare(state.dtype) || isRare(state.sort);
        place.classList.toggle("few", !whole);
        wider.setAttribute("aria-pressed", String(whole));
      }
      arrange(words);
      point(words, shown);
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
        if (column < 0) return closeness(entry, whole);
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

    // "aten::add" is the operator, or any that fell back to such an overload.
    function reaches(entry, word) {
      const [base, overload] = word.slice(word.indexOf("::") + 2).split(".");
      if (entry.overloads.includes(word)) return true;
      return base !== "" && (overload === undefined ? entry.aten.startsWith(base) : entry.aten === base);
    }

    function closeness(entry, whole) {
      const aten = whole.includes("::");
      const name = aten ? entry.aten : entry.name;
      const sought = aten ? whole.replace(/^.*::/, "").replace(/\..*$/, "") : whole;
      if (!sought || name === sought) return 0;
      if (name.endsWith(`.${sought}`)) return 1;
      return name.startsWith(sought) ? 2 : name.includes(sought) ? 3 : 4;
    }

    // What is sought may be a module where these are operators, or the other way round.
    function point(words, shown) {
      const found = words.length ? others.filter(({ name }) => words.every((word) => name.includes(word))) : [];
      elsewhere.hidden = !found.length;
      if (!found.length) return elsewhere.replaceChildren();
      const noun = table.dataset.other;
      const all = document.createElement("a");
      all.href = `${noun}s.html#q=${encodeURIComponent(state.q)}`;
      all.textContent = found.length === 1 ? `1 ${noun}` : `${found.length.toLocaleString("en")} ${noun}s`;
      const parts = [shown ? "Also " : "But ", all, found.length === 1 ? " fits this search: " : " fit this search: "];
      found.slice(0, 5).forEach(({ link }, at) => parts.push(at ? ", " : "", link.cloneNode(true)));
      elsewhere.replaceChildren(...parts, found.length > 5 ? ", \u2026" : ".");
    }

    // An exact name that was asked for on another page needs no table.
    function exactly(sought) {
      const name = asListed(sought.trim());
      const own = rows.find((entry) => entry.name === name);
      return own ? own.cells[0].querySelector("a") : (others.find((other) => other.name === name) || {}).link;
    }

    search.addEventListener("input", () => {
      state.q = search.value;
      update();
    });
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !state.q) return;
      const first = [...body.rows].find((row) => !row.hidden);
      const link = exactly(state.q) || (first ? first.querySelector("a") : elsewhere.querySelector("a ~ a"));
      if (link) link.click();
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
    if (wider) {
      wider.addEventListener("click", () => {
        state.all = wider.getAttribute("aria-pressed") !== "true";
        // A column that is hidden must not go on deciding what is shown.
        if (!state.all && isRare(state.dtype)) state.dtype = dtype.value = "";
        if (!state.all && isRare(state.sort)) state.sort = "";
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
    const exact = location.search && exactly(new URLSearchParams(location.search).get("q") || "");
    if (exact) location.replace(exact.href);
    else if (location.search) location.replace(`${location.pathname}#${location.search.slice(1)}`);
    else read();
  }
})();

"use strict";

// Without scripts every page is complete. They add the "/" key, buttons that copy a command, search, filters, sorting,
// and the comparison of any two runs. Nothing is fetched: data come as scripts, which also load from a folder.
const Conformance = (() => {
  const root = document.body.dataset.root || "";
  const arrived = new Map();
  const asked = new Map();

  // Return a promise of the data that data/NAME.js brings.
  function load(name) {
    if (!asked.has(name)) {
      asked.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `${root}data/${name}.js`;
        script.onload = () => (arrived.has(name) ? resolve(arrived.get(name)) : reject(new Error(`${name} is empty`)));
        script.onerror = () => {
          asked.delete(name);
          reject(new Error(`${name} could not be loaded`));
        };
        document.head.append(script);
      }));
    }
    return asked.get(name);
  }

  // Make an element; text is only ever text.
  function element(name, properties = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in made) made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  // A chip as the templates make it, from [word, letter, shade, definition].
  function chip([word, letter, shade, definition]) {
    const made = element("span", { className: `chip mark-${shade}` }, element("b", { ariaHidden: "true" }, letter), word);
    if (definition) made.title = definition;
    return made;
  }

  // A name as the templates print it, with places to break.
  function breakable(text) {
    const parts = text.split(/(?<=[._/,[=])(?![._/,[=])|(?<=::)/);
    const made = document.createDocumentFragment();
    parts.forEach((part, place) => made.append(...(place ? [document.createElement("wbr"), part] : [part])));
    return made;
  }

  const number = (value) => value.toLocaleString("en");
  const counted = (value, noun, plural) => `${number(value)} ${value === 1 ? noun : plural || `${noun}s`}`;

  // All state stands behind the "#": a page from a folder may change nothing else of its address. What has no "=" is an
  // ordinary fragment.
  function state() {
    const hash = location.hash.slice(1);
    return new URLSearchParams(hash.includes("=") ? hash : "");
  }

  function keep(values) {
    const kept = new URLSearchParams();
    for (const [key, value] of Object.entries(values)) if (value) kept.set(key, value);
    const hash = kept.toString();
    if (hash === state().toString()) return;
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

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
    const said = element("p", { className: "said", role: "status" });
    document.body.append(said);
    for (const place of commands) {
      place.append(element("button", { type: "button", className: "copy", title: "Copy the command" }, "Copy"));
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

  // A link to a test may lead into a part that is folded; not every browser opens it by itself.
  function unfold() {
    const hash = location.hash.slice(1);
    if (!hash || hash.includes("=")) return;
    let name = hash;
    try {
      name = decodeURIComponent(hash);
    } catch {
      // not encoded at all
    }
    const target = document.getElementById(name);
    const folded = target && target.closest("details:not([open])");
    if (folded) {
      folded.open = true;
      target.scrollIntoView();
    }
  }
  unfold();
  addEventListener("hashchange", unfold);

  return { root, load, arrive: (name, data) => arrived.set(name, data), element, chip, breakable, number, counted, state, keep };
})();

// Every file under data/ calls this.
function conformanceData(name, data) {
  Conformance.arrive(name, data);
}

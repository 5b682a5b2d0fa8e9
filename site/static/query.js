"use strict";

// The words of a search, and what they fit. A source tells what can be searched:
//   { size, text(i), fields: { name: { mode, of(i, dtypes) } }, marks(i, dtypes), dtypes: [names], declared(i, dtype) }
// "of" gives a text or a list of texts, in lower case; the mode is how a value fits it: "text" (is part of it), "code"
// (begins it, but is not another of its "codes"), "loose" (the beginnings of its words) or "equal".
Conformance.query = (() => {
  // What people write for a name of PyTorch's, as the tables spell it: torch.add, F.conv2d, torch.nn.LSTM, Tensor.add().
  function asListed(word) {
    const bare = word.toLowerCase().replace(/\(.*$/, "").replace(/^torch\.(?!ops\.)/, "").replace(/^tensor\./, "");
    return bare.replace(/^f\.(?=.)/, "nn.functional.");
  }

  // Split a search into words: { negated, field, values, text }. A field with nothing behind it is still being written.
  function parse(search) {
    const found = [];
    for (const [, negation, field, quoted, bare] of search.matchAll(/(!?)(?:([a-z]+):(?!:))?(?:"([^"]*)"?|([^\s"]+))/gi)) {
      const value = quoted === undefined ? bare : quoted;
      if (!field && /^[a-z]+:$/i.test(value)) continue;
      if (value === "!" || value === "") continue;
      found.push({
        negated: negation === "!",
        field: (field || "").toLowerCase(),
        values: (field ? value.split(",") : [value]).map((one) => one.toLowerCase()).filter(Boolean),
        text: quoted === undefined && !field ? asListed(value) : value.toLowerCase(),
        source: field ? `${field}:${value}` : value,
      });
    }
    return found;
  }

  // "linalg" fits "linear algebra": each part begins a word, in order.
  function loosely(value, text) {
    if (text.includes(value)) return true;
    const words = text.split(/[^a-z0-9]+/).filter(Boolean);
    const fits = (at, rest) => {
      if (!rest) return true;
      for (let word = at; word < words.length; word += 1) {
        let shared = 0;
        while (shared < rest.length && rest[shared] === words[word][shared]) shared += 1;
        for (; shared > 0; shared -= 1) if (fits(word + 1, rest.slice(shared))) return true;
      }
      return false;
    };
    return fits(0, value);
  }

  const modes = {
    text: (value, text) => text.includes(value),
    // The beginning of a word is enough, unless it is another word: "passed" is not "passed_on_cpu".
    code: (value, text, codes) => text === value || (text.startsWith(value) && !(codes && codes.has(value))),
    equal: (value, text) => text === value,
    loose: loosely,
  };

  function fitsField(field, values, i, dtypes) {
    const given = field.of(i, dtypes);
    const texts = typeof given === "string" ? [given] : given;
    return texts.some((text) => values.some((value) => modes[field.mode](value, text, field.codes)));
  }

  // Return { fits(i), unknown: [fields that the source does not have], empty }.
  function compile(words, source) {
    const dtypeWord = words.find((word) => word.field === "dtype" && !word.negated);
    const chosen = dtypeWord && source.dtypes ? chooseDtypes(dtypeWord, source) : null;
    const unknown = [];
    const tests = [];
    for (const word of words) {
      let fits;
      if (word === dtypeWord && chosen) fits = (i) => chosen.some((dtype) => source.declared(i, dtype));
      else if (word.field === "dtype" && source.dtypes) {
        const these = chooseDtypes(word, source);
        fits = (i) => these.some((dtype) => source.declared(i, dtype));
      } else if (word.field) {
        const field = source.fields[word.field];
        if (!field) {
          unknown.push(word.field);
          fits = () => false;
        } else fits = (i) => fitsField(field, word.values, i, chosen);
      } else {
        const sought = word.text;
        const marks = source.marks;
        fits = source.reaches && sought.includes("::")
          ? (i) => source.reaches(i, sought)
          : (i) => source.text(i).includes(sought) || Boolean(marks && marks(i, chosen).includes(sought));
      }
      tests.push(word.negated ? (i) => !fits(i) : fits);
    }
    return { fits: (i) => tests.every((test) => test(i)), unknown, empty: !tests.length, chosen };
  }

  function chooseDtypes(word, source) {
    const exact = source.dtypes.filter((dtype) => word.values.includes(dtype));
    return exact.length ? exact : source.dtypes.filter((dtype) => word.values.some((value) => dtype.startsWith(value)));
  }

  // How near a name comes to what is sought, 0 the nearest.
  function closeness(name, sought) {
    if (!sought || name === sought) return 0;
    if (name.endsWith(`.${sought}`)) return 1;
    return name.startsWith(sought) ? 2 : name.includes(sought) ? 3 : 4;
  }

  // The words of a search that are names, in one piece.
  const plain = (words) => words.filter((word) => !word.field && !word.negated).map((word) => word.text).join(" ");

  // Return the search with the values of one field replaced; no values take the field away.
  function withField(search, name, values) {
    const rest = parse(search).filter((word) => word.field !== name || word.negated).map(written);
    const value = values.join(",");
    if (value) rest.push(`${name}:${/[\s"]/.test(value) ? `"${value}"` : value}`);
    return rest.join(" ");
  }

  function written(word) {
    const { negated, field, source } = word;
    const value = field ? source.slice(field.length + 1) : source;
    const quoted = /\s/.test(value) ? `"${value}"` : value;
    return `${negated ? "!" : ""}${field ? `${field}:` : ""}${quoted}`;
  }

  return { parse, compile, closeness, plain, withField, asListed, codeFits: modes.code };
})();

// The box in which URLs are tested, the editor, and what can be saved. Whatever is put into the page
// is text, never HTML.
"use strict";

(() => {
  const data = JSON.parse(byId("data").textContent);
  const [urlsBox, agentsBox, dialectBox, results, editor] =
    ["urls", "agents", "dialect", "results", "editor"].map(byId);
  const MOST_URLS = 200;
  const MOST_BRIEF = 5; // beside the editor
  const SLICE = 40; // milliseconds of deciding, before the browser goes on
  const WAIT = 150; // milliseconds after a key, before a file is read anew

  const fileView = new FileView(byId("file"), "L", data.changed.before);
  const correctedView = new FileView(byId("corrected"), "C", data.changed.after);
  new Findings(fileView);

  // What decides.

  const linesIn = (box) => box.value.split("\n").map((line) => line.trim()).filter(Boolean);

  /** A file's tables in each dialect, read on demand; dialects share what is equal. */
  function tablesOf(octets, isDelivered) {
    const kept = new Map();
    return (name) => {
      const { reads, meaning } = data.dialects[name];
      if (isDelivered && meaning !== null) return { meaning };
      const key = JSON.stringify({ ...reads, name: "" });
      if (!kept.has(key)) kept.set(key, readTables(octets, reads, data.max_bytes));
      return kept.get(key);
    };
  }

  const octetsShown = (octets, view) => octets ?? octetsOf(view.whole());
  const original = octetsShown(data.before, fileView);
  const asChecked = tablesOf(original, true);
  const corrected = byId("corrected") && tablesOf(octetsShown(data.after, correctedView), true);
  let edited = null; // the text's tables, where it is another than the file's
  let editedLines = [];

  /** The columns of verdicts: their heads, their tables, and where their lines are. */
  function columns() {
    const checked = { head: edited ? "As checked" : "This file", tables: asChecked, view: fileView };
    if (edited) return [{ head: "As edited", tables: edited, view: null }, checked];
    return corrected ? [checked, { head: "Corrected", tables: corrected, view: correctedView }] : [checked];
  }

  function verdict(column, dialect, url, names) {
    const tables = column.tables(dialect);
    if ("meaning" in tables) return { ...tables.meaning, line: null, group: null };
    const decided = decide(tables, url, names);
    return { ...decided, reason: data.reasons[decided.reason] };
  }

  // How it is shown.

  const wordOf = ({ allowed }) => ({ true: "allowed", false: "forbidden", null: "unknown" })[allowed];
  const textOf = ({ view }, line) => (view ? view.text(line) : editedLines[line - 1] ?? "").trim();

  /** "line 8", which leads there and shows the line where one points at it. */
  function lineLink(column, line) {
    const link = element("a", { title: textOf(column, line) }, "line " + line);
    link.href = column.view ? "#" + column.view.prefix + line : "#editor";
    link.addEventListener("click", (event) => {
      if (column.view === null) {
        event.preventDefault();
        selectLine(line);
      } else if (column.view === fileView) {
        showEditor(false);
      }
    });
    return link;
  }

  function verdictCell(column, decided) {
    const word = wordOf(decided);
    const cell = element("td", {}, element("b", { className: word }, word));
    if (decided.line === null) cell.title = decided.reason;
    else cell.append(" ", lineLink(column, decided.line));
    return cell;
  }

  /** All dialects, folded where they agree; those that decide otherwise than the chosen are marked. */
  function* compare(box, url, names, chosen) {
    const shown = columns();
    const head = ["", "Dialect", ...shown.map((column) => column.head)];
    const body = element("tbody");
    const dialects = Object.keys(data.dialects);
    const others = []; // that decide otherwise than the one chosen
    const changed = []; // that the other file has decide otherwise
    for (const dialect of dialects) {
      yield;
      const decided = shown.map((column) => verdict(column, dialect, url, names));
      const differs = decided[0].allowed !== chosen.allowed;
      if (differs) others.push(dialect);
      if (decided.some(({ allowed }) => allowed !== decided[0].allowed)) changed.push(dialect);
      body.append(element("tr", { className: differs ? "differs" : "" },
        element("td", { title: differs ? "decides otherwise" : "" }, differs ? "*" : ""),
        element("th", { scope: "row" }, dialect),
        ...decided.map((one, place) => verdictCell(shown[place], one))));
    }
    const number = { 6: "six", 7: "seven" }[dialects.length];
    let caption = `All ${number} give the same answer`;
    if (others.length) caption = `Not all ${number} give the same answer; different: ${others.join(", ")}`;
    if (changed.length) {
      const who = changed.length === dialects.length ? `all ${number}` : changed.join(", ");
      caption += `. ${shown[1].head}, unlike for ${who}`;
    }
    const isOpen = others.length + changed.length > 0;
    box.append(element("details", { open: isOpen }, element("summary", {}, caption),
      element("table", {}, element("thead", {}, element("tr", {},
        ...head.map((text) => element("th", { scope: "col" }, text)))), body)));
  }

  function sentence(column, decided) {
    const parts = [element("b", { className: wordOf(decided) }, wordOf(decided))];
    if (decided.line === null) parts.push(": " + decided.reason);
    else {
      const text = textOf(column, decided.line);
      parts.push(" by ", lineLink(column, decided.line), ", ", element("code", {}, text));
    }
    if (decided.group !== null) parts.push(` (the group for ${decided.group})`);
    return element("p", { className: "verdict" }, ...parts);
  }

  function hint(url, decided) {
    if (decided.reason === data.reasons.NOT_A_URL) return "Begin it with https:// or with a slash.";
    const origin = originOf(url);
    if (origin && data.site && siteOf(origin) !== siteOf(data.site)) {
      return `This is another site than ${data.site}: its own robots.txt decides.`;
    }
    return "";
  }

  /** The dialect of a robot for which it is known, else that of the page. */
  function dialectFor(agents) {
    const known = namesOf(agents, data.browser_words).find((name) => Object.hasOwn(data.own_dialects, name));
    return known === undefined ? data.dialect : data.own_dialects[known];
  }

  function siteOf(origin) {
    try {
      return new URL(origin).origin;
    } catch {
      return origin;
    }
  }

  function result(url, decided) {
    const [column] = columns();
    if (column.view) byId("L" + decided.line)?.classList.add("decides");
    const box = element("article", { className: "result" },
      element("h3", {}, url), sentence(column, decided));
    const text = hint(url, decided);
    if (text) box.append(element("p", { className: "hint" }, text));
    return box;
  }

  let testing = null;

  /** Decide in slices, so that typing goes on; a later test ends an earlier one. */
  function test() {
    clearTimeout(testing);
    const steps = testSteps();
    const go = () => {
      const end = performance.now() + SLICE;
      while (!steps.next().done) {
        if (performance.now() > end) {
          testing = setTimeout(go);
          return;
        }
      }
    };
    go();
  }

  function* testSteps() {
    for (const line of document.querySelectorAll(".decides")) line.classList.remove("decides");
    byId("about").textContent = data.dialects[dialectBox.value].about;
    const names = namesOf(linesIn(agentsBox), data.browser_words);
    const urls = linesIn(urlsBox);
    const [column] = columns();
    const decided = [];
    results.replaceChildren();
    for (const url of urls.slice(0, MOST_URLS)) {
      decided.push(verdict(column, dialectBox.value, url, names));
      results.append(result(url, decided.at(-1)));
      yield;
    }
    const brief = urls.slice(0, MOST_BRIEF).map((url, place) => `${url}: ${wordOf(decided[place])}`);
    byId("brief").textContent = brief.join("; "); // for who edits, and does not see the results
    if (urls.length > MOST_URLS) {
      results.append(element("p", { className: "hint" },
        `The first ${MOST_URLS} of ${urls.length} are shown; mandelbot explain takes them all.`));
    }
    for (const [place, one] of decided.entries()) {
      yield* compare(results.children[place], urls[place], names, one);
    }
  }

  // The editor.

  const isText = data.before === null ? fileView.whole() : decoded(original).replace(/\r\n?/g, "\n");

  function showEditor(isShown) {
    byId("editing").hidden = !isShown;
    byId("file").hidden = isShown;
    byId("edit").textContent = isShown ? "Show as checked" : edited ? "Go on editing" : "Edit";
    byId("edit").setAttribute("aria-expanded", String(isShown));
  }

  function selectLine(line) {
    showEditor(true);
    const start = editedLines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    editor.focus();
    editor.setSelectionRange(start, start + editedLines[line - 1].length);
    editor.scrollTop = (editor.scrollHeight / editedLines.length) * (line - 4);
    editor.scrollIntoView({ block: "nearest" });
  }

  function readEdited() {
    const isAsBefore = editor.value === isText;
    edited = isAsBefore ? null : tablesOf(octetsOf(editor.value), false);
    editedLines = editor.value.split("\n");
    offer(byId("save-edited"), editor.value);
    test();
  }

  function offer(link, text) {
    if (link.href.startsWith("blob:")) URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    link.hidden = false;
  }

  let waiting = null;
  editor.value = isText;
  editor.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(readEdited, WAIT);
  });
  byId("edit").hidden = false;
  byId("edit").addEventListener("click", () => {
    showEditor(byId("editing").hidden);
    if (!byId("editing").hidden) editor.focus();
  });
  byId("reset").addEventListener("click", () => {
    clearTimeout(waiting);
    editor.value = isText;
    readEdited();
    showEditor(false);
    byId("edit").focus();
  });
  offer(byId("save-edited"), editor.value);
  if (corrected) {
    offer(byId("save"), data.after === null ? correctedView.whole() : decoded(data.after));
  }

  // The box.

  urlsBox.value = data.urls.join("\n");
  agentsBox.value = data.agents.join("\n");
  let isDialectChosen = false; // by the reader
  const chooseDialect = () => {
    if (!isDialectChosen) dialectBox.value = dialectFor(linesIn(agentsBox));
  };
  chooseDialect();
  urlsBox.addEventListener("input", test);
  agentsBox.addEventListener("input", () => {
    chooseDialect();
    test();
  });
  dialectBox.addEventListener("change", () => {
    isDialectChosen = true;
    test();
  });
  byId("known").addEventListener("change", (event) => {
    if (event.target.value) agentsBox.value = event.target.value;
    chooseDialect();
    test();
  });
  byId("tester").hidden = false;
  test();
})();

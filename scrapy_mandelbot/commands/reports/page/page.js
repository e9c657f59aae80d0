// The box in which URLs are tested, and the corrected file to be saved. Whatever it shows is put
// into the page as text, never as HTML.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const [urlsBox, agentsBox, dialectBox, results] = ["urls", "agents", "dialect", "results"].map(byId);
  const MOST_URLS = 200;

  urlsBox.value = data.urls.join("\n");
  agentsBox.value = data.agents.join("\n");

  const linesIn = (box) => box.value.split("\n").map((line) => line.trim()).filter(Boolean);

  function element(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  /** The verdict of a dialect by the file ("before") or the corrected one ("after"). */
  function verdict(which, dialect, url, names) {
    const tables = data.tables[data[which][dialect]];
    if ("meaning" in tables) return { ...tables.meaning, line: null, group: null };
    const groups = tables.groups.map((group) => ({ ...group, rules: data.rules[group.rules] }));
    const decided = decide({ ...tables, groups }, url, names);
    return { ...decided, reason: data.reasons[decided.reason] };
  }

  const wordOf = ({ allowed }) => ({ true: "allowed", false: "forbidden", null: "unknown" })[allowed];

  /** What a line shown here says; nothing for one that is not, as the dialect chosen has no file. */
  const textOf = (id) => byId(id)?.querySelector("code").textContent.trim() ?? "";

  /** "line 8", which leads there and shows the line where one points at it. */
  function lineLink(which, line) {
    const id = (which === "before" ? "L" : "C") + line;
    return element("a", { href: "#" + id, title: textOf(id) }, "line " + line);
  }

  function verdictCell(which, decided) {
    const word = wordOf(decided);
    const cell = element("td", {}, element("b", { className: word }, word));
    if (decided.line === null) cell.title = decided.reason;
    else cell.append(" ", lineLink(which, decided.line));
    return cell;
  }

  /** A table of all dialects; those that decide otherwise than the one chosen are marked. */
  function comparison(url, names, chosen) {
    const head = ["", "Dialect", "This file"].concat(data.after ? ["Corrected"] : []);
    const table = element("table", {}, element("thead", {}, element("tr", {},
      ...head.map((text) => element("th", { scope: "col" }, text)))));
    const body = element("tbody");
    for (const dialect of Object.keys(data.before)) {
      const decided = verdict("before", dialect, url, names);
      const differs = decided.allowed !== chosen.allowed;
      const row = element("tr", { className: differs ? "differs" : "" },
        element("td", { title: differs ? "decides otherwise" : "" }, differs ? "*" : ""),
        element("th", { scope: "row" }, dialect), verdictCell("before", decided));
      if (data.after) row.append(verdictCell("after", verdict("after", dialect, url, names)));
      body.append(row);
    }
    table.append(body);
    return table;
  }

  function sentence(decided) {
    const parts = [element("b", { className: wordOf(decided) }, wordOf(decided))];
    if (decided.line === null) parts.push(": " + decided.reason);
    else {
      const text = textOf("L" + decided.line);
      parts.push(" by ", lineLink("before", decided.line), ", ", element("code", {}, text));
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

  /** What is known of the verdict besides: of the URLs, robot and dialect that the page is about. */
  function told(url) {
    const isAbout = agentsBox.value === data.agents.join("\n") && dialectBox.value === data.dialect;
    return isAbout && Object.hasOwn(data.told, url) ? data.told[url] : [];
  }

  function siteOf(origin) {
    try {
      return new URL(origin).origin;
    } catch {
      return origin;
    }
  }

  function result(url, names) {
    const decided = verdict("before", dialectBox.value, url, names);
    byId("L" + decided.line)?.classList.add("decides");
    const note = hint(url, decided);
    const box = element("article", { className: "result" },
      element("h3", {}, url), sentence(decided));
    for (const text of [note, ...told(url)].filter(Boolean)) {
      box.append(element("p", { className: "hint" }, text));
    }
    box.append(comparison(url, names, decided));
    return box;
  }

  function test() {
    for (const line of document.querySelectorAll(".decides")) line.classList.remove("decides");
    const names = namesOf(linesIn(agentsBox), data.browser_words);
    const urls = linesIn(urlsBox);
    results.replaceChildren(...urls.slice(0, MOST_URLS).map((url) => result(url, names)));
    if (urls.length > MOST_URLS) {
      results.append(element("p", { className: "hint" },
        `The first ${MOST_URLS} of ${urls.length} are shown; scrapy robots explain takes them all.`));
    }
  }

  for (const box of [urlsBox, agentsBox]) box.addEventListener("input", test);
  dialectBox.addEventListener("change", test);
  for (const button of document.querySelectorAll("[data-agent]")) {
    button.addEventListener("click", () => {
      agentsBox.value = data.named[button.dataset.agent];
      test();
    });
  }
  const save = byId("save");
  if (save) {
    save.href = URL.createObjectURL(new Blob([data.corrected], { type: "text/plain" }));
    save.hidden = false;
  }
  byId("tester").hidden = false;
  test();
})();

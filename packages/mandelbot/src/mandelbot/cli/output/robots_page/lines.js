// The files as lists of lines: numbers and colours, marks where something is wrong, and the walk
// from one finding to the next. Whatever is put into the page is text, never HTML.
"use strict";

const byId = (id) => document.getElementById(id);

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** A list of lines, each an item with the id `prefix` + its number. */
class FileView {
  constructor(list, prefix, changed) {
    this.list = list;
    this.prefix = prefix;
    this.items = list ? Array.from(list.children) : [];
    list?.style.setProperty("--digits", Math.max(3, String(this.items.length).length));
    this.texts = this.items.map((item) => item.textContent.replace(/\n$/, ""));
    const fields = /^([^#:]*:)([^#]*)(#.*)?$|^(\s*)(#.*)$/s;
    for (const [place, item] of this.items.entries()) {
      item.id = prefix + (place + 1);
      item.dataset.line = place + 1;
      const [, field, rest = "", comment, space, only] = fields.exec(this.texts[place]) ?? [];
      if (field !== undefined) {
        item.replaceChildren(element("span", { className: "field" }, field), rest);
        if (comment) item.append(element("span", { className: "comment" }, comment));
      } else if (only !== undefined) {
        item.replaceChildren(space, element("span", { className: "comment" }, only));
      } else {
        item.textContent = this.texts[place];
      }
    }
    for (const [first, last] of changed) {
      for (let line = first; line <= last; line += 1) this.items[line - 1].classList.add("changed");
    }
  }

  /** The text of a line; nothing for one that is not shown. */
  text(line) {
    return this.texts[line - 1] ?? "";
  }

  /** All of the file as it is shown. */
  whole() {
    return this.texts.map((text) => text + "\n").join("");
  }
}

/** The findings: shown by severity, one of them at a time beneath its line. */
class Findings {
  constructor(view) {
    this.view = view;
    this.kinds = Array.from(document.querySelectorAll(".kind"));
    this.all = this.kinds.flatMap((kind) =>
      Array.from(kind.querySelectorAll("li:not(.hint)"), (item) => {
        const link = item.querySelector("a");
        return { kind, item, link, line: link ? Number(link.dataset.line) : 0 };
      }));
    this.all.sort((one, other) => one.line - other.line);
    this.current = null;
    if (this.all.length === 0) return;
    document.querySelector(".walk").hidden = false;
    for (const finding of this.all) {
      finding.link?.addEventListener("click", (event) => {
        event.preventDefault();
        this.show(finding);
      });
    }
    this.mark();
    byId("next").addEventListener("click", () => this.step(1));
    byId("previous").addEventListener("click", () => this.step(-1));
    for (const box of this.boxes()) box.addEventListener("change", () => this.filter());
    document.addEventListener("keydown", (event) => {
      const isTyping = event.target.closest("textarea, input, select");
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "n") this.step(1);
      if (event.key === "p") this.step(-1);
    });
    this.filter();
  }

  boxes() {
    return Array.from(document.querySelectorAll(".walk input"));
  }

  /** Give each line with findings a button that shows the first of them. */
  mark() {
    const ofLine = new Map();
    for (const one of this.all) ofLine.set(one.line, [...(ofLine.get(one.line) ?? []), one]);
    for (const [line, found] of ofLine) {
      if (line === 0 || !this.view.items[line - 1]) continue;
      const worst = ["error", "warning", "note"].find((severity) =>
        found.some(({ kind }) => kind.classList.contains(severity)));
      const codes = found.map(({ kind }) => kind.dataset.code).join(", ");
      const button = element("button", { type: "button", className: `mark ${worst}`, title: codes });
      button.setAttribute("aria-label", `line ${line}, ${worst}: ${codes}`);
      button.addEventListener("click", () => {
        const shown = found.filter((one) => !one.kind.hidden);
        const place = shown.indexOf(this.current);
        if (place === shown.length - 1 && place >= 0) this.hide();
        else if (shown.length) this.show(shown[place + 1], false);
      });
      this.view.items[line - 1].prepend(button);
    }
  }

  visible() {
    return this.all.filter(({ kind }) => !kind.hidden);
  }

  filter() {
    const wanted = new Set(this.boxes().filter((box) => box.checked).map((box) => box.value));
    for (const kind of this.kinds) {
      kind.hidden = ![...kind.classList].some((name) => wanted.has(name));
    }
    for (const severity of ["error", "warning", "note"]) {
      byId("file").classList.toggle(`no-${severity}`, !wanted.has(severity));
    }
    if (this.current?.kind.hidden) this.hide();
    this.tellPlace();
  }

  step(by) {
    const visible = this.visible();
    if (visible.length === 0) return;
    const place = visible.indexOf(this.current);
    const next = place < 0 && by < 0 ? visible.length - 1 : place + by;
    this.show(visible[(next + visible.length) % visible.length]);
  }

  /** A button beneath a line that shows the finding before or after, and has the focus there. */
  way(text, by) {
    const button = element("button", { type: "button" }, text);
    button.addEventListener("click", () => {
      this.step(by);
      const shown = this.view.items[this.current.line - 1];
      (shown?.querySelectorAll(".ways button")[by < 0 ? 0 : 1] ?? byId("next")).focus();
    });
    return button;
  }

  /** Show a finding beneath its line, or in the list alone where it is of the whole file. */
  show(finding, scrolls = true) {
    this.hide();
    this.current = finding;
    const { kind, item, line } = finding;
    kind.open = true;
    item.setAttribute("aria-current", "true");
    const shown = this.view.items[line - 1];
    if (shown) {
      shown.classList.add("current");
      shown.append(element("p", { className: `message ${kind.classList[1]}` },
        element("b", {}, kind.classList[1]), " ", item.querySelector("span").textContent,
        element("span", { className: "ways" }, this.way("Previous", -1), this.way("Next", 1))));
    }
    if (scrolls) (shown ?? item).scrollIntoView({ block: "center" });
    if (shown && matchMedia("(min-width: 50rem)").matches) {
      const panel = document.querySelector(".findings");
      panel.scrollTop += item.getBoundingClientRect().top - panel.getBoundingClientRect().top - 120;
    }
    this.tellPlace();
  }

  hide() {
    if (this.current === null) return;
    this.current.item.removeAttribute("aria-current");
    const shown = this.view.items[this.current.line - 1];
    shown?.classList.remove("current");
    shown?.querySelector(".message")?.remove();
    this.current = null;
    this.tellPlace();
  }

  tellPlace() {
    const visible = this.visible();
    const place = visible.indexOf(this.current);
    byId("place").textContent = place < 0 ? `${visible.length}` : `${place + 1} of ${visible.length}`;
  }
}

// Charts of what happened when. Whatever is drawn is a value of the data, never markup.
"use strict";

const byId = (id) => document.getElementById(id);
const [AT, SENT, ANSWERS, ERRORS, REFUSALS, FAILURES, FIRST_BYTE, RATE] = [0, 1, 2, 3, 4, 5, 6, 7];
let patterns = 0;

function make(name, attributes = {}, ...children) {
  const one = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  one.append(...children.filter((child) => child !== null && child !== undefined));
  return one;
}

function draw(name, attributes = {}, ...children) {
  const one = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  one.append(...children);
  return one;
}

const rounded = (number) => Math.round(number * 10) / 10;
const number = (value) => (value === null || value === undefined ? "" : value.toLocaleString("en"));

/** 150 s as "2 min 30 s", in the form of robots/formatting.py. */
function duration(seconds) {
  if (seconds < 120) return `${number(Math.round(seconds * 1000) / 1000)} s`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const parts = [[hours, "h"], [minutes, "min"], [hours ? 0 : Math.floor(seconds % 60), "s"]];
  return parts.filter(([count]) => count).map(([count, unit]) => `${number(count)} ${unit}`).join(" ");
}

/** A pattern of lines, so that a pause is seen without its colour. */
function hatched(svg) {
  const id = `hatch${(patterns += 1)}`;
  svg.append(draw("defs", {}, draw("pattern",
    { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    draw("rect", { class: "paused", width: 6, height: 6 }),
    draw("line", { class: "hatch", x1: 0, y1: 0, x2: 0, y2: 6 }))));
  return `url(#${id})`;
}

const triangle = (x, y, size) =>
  draw("path", { class: "refused", d: `M${x - size} ${y}h${2 * size}l${-size} ${-1.7 * size}z` });
const diamond = (x, y, size) =>
  draw("path", { class: "robots", d: `M${x} ${y - size}l${size} ${size}l${-size} ${size}l${-size} ${-size}z` });

/** The parts of the time in which a site was left alone, in seconds since the crawl began. */
function pausesOf(details, began, end) {
  const since = (moment) => (Date.parse(moment) - Date.parse(began)) / 1000;
  return (details.pause_list ?? []).map((pause) => {
    const start = Math.max(0, since(pause.since));
    return { ...pause, start, stop: pause.ended ? since(pause.ended) : end };
  });
}

/** One line of the overview: requests as bars, pauses hatched, refusals and robots.txt as marks. */
function lane(details, span, began, words) {
  const room = document.documentElement.clientWidth;
  const [width, height] = [room < 640 ? Math.max(240, room - 30) : Math.min(1200, room - 320), 26];
  const svg = draw("svg",
    { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": words });
  const x = (at) => (Math.min(at, span) / span) * width;
  svg.append(draw("rect", { class: "ground", width, height }));
  const fill = hatched(svg);
  const buckets = details.timeline?.buckets ?? [];
  const step = Math.max(2, x(details.timeline?.width ?? 1) - 1);
  const most = Math.max(1, ...buckets.map((one) => one[SENT]));
  for (const pause of pausesOf(details, began, span)) {
    const wide = Math.max(3, x(pause.stop) - x(pause.start));
    svg.append(draw("rect", { fill, x: x(pause.start), width: wide, height }));
  }
  for (const one of buckets) {
    if (!one[SENT]) continue;
    const high = Math.max(2, (one[SENT] / most) * (height - 8));
    svg.append(draw("rect", { class: "sent", x: x(one[AT]), y: height - high, width: step, height: high }));
  }
  for (const one of buckets) if (one[REFUSALS]) svg.append(triangle(x(one[AT]) + 5, 10, 5));
  for (const one of details.robots_answers ?? []) {
    const at = (Date.parse(one.at) - Date.parse(began)) / 1000;
    if (at >= 0) svg.append(diamond(Math.min(width - 5, x(at) + 5), 6, 5));
  }
  return svg;
}

/** A chart over time: bars or a line for one value, with the pauses behind it. */
function chart({ caption, buckets, width: seconds, value, over, kind, pauses, span, unit, extra }) {
  const [height, left, low, top] = [150, 46, 20, 8];
  const room = Math.min(document.documentElement.clientWidth, 1536) - 90; // as report.css has it
  const width = Math.max(240, room > 1080 ? room / 2 - 20 : room);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": caption });
  const x = (at) => left + (Math.min(at, span) / span) * (width - left - 6);
  const values = buckets.map(value);
  const most = Math.max(...values.filter((one) => one !== null), 0) || 1;
  const y = (one) => height - low - Math.min(1, one / most) * (height - low - top);
  if (pauses.length) {
    const fill = hatched(svg);
    for (const pause of pauses) {
      const wide = Math.max(2, x(pause.stop) - x(pause.start));
      svg.append(draw("rect", { fill, x: x(pause.start), y: top, width: wide, height: height - low - top }));
    }
  }
  for (const share of [0, 0.5, 1]) {
    const line = y(most * share);
    svg.append(draw("line", { class: "axis", x1: left, x2: width - 6, y1: line, y2: line }));
    const text = draw("text", { class: "tick", x: left - 5, y: line + 4, "text-anchor": "end" });
    text.textContent = number(most * share >= 10 ? Math.round(most * share) : Number((most * share).toPrecision(2)));
    svg.append(text);
  }
  for (const share of [0, 0.5, 1]) {
    const anchor = ["start", "middle", "end"][share * 2];
    const text = draw("text", { class: "tick", x: x(span * share), y: height - 5, "text-anchor": anchor });
    text.textContent = share ? duration(Math.round(span * share)) : "0";
    svg.append(text);
  }
  const step = Math.max(1.5, x(seconds) - x(0) - 0.7);
  if (kind === "bars") {
    buckets.forEach((one, place) => {
      for (const [name, part] of [["sent", values[place]], ["errors", over?.(one) ?? 0]]) {
        if (!part) continue;
        svg.append(draw("rect", { class: name, x: x(one[AT]), y: y(part), width: Math.min(step, width - 6 - x(one[AT])), height: height - low - y(part) }));
      }
    });
  } else {
    const known = buckets.map((one, place) => [x(one[AT] + seconds / 2), values[place]]).filter(([, one]) => one !== null);
    // Where nothing was timed in between there is no line.
    const path = known.map(([at, one], place) =>
      `${place && at - known[place - 1][0] < 1.5 * (x(seconds) - x(0)) ? "L" : "M"}${rounded(at)} ${rounded(y(one))}`);
    svg.append(draw("path", { class: "line", d: path.join("") }));
    for (const [at, one] of known) svg.append(draw("circle", { class: "dot", cx: at, cy: y(one), r: 2.5 }));
  }
  if (extra && buckets.some(extra)) {
    const rated = buckets.filter(extra).map((one) => `${rounded(x(one[AT] + seconds / 2))},${rounded(y(extra(one)))}`);
    svg.append(draw("polyline", { class: "rate", points: rated.join(" ") }));
  }
  const words = make("figcaption", {}, unit ? `${caption}, ${unit}` : caption);
  if (extra && buckets.some(extra)) words.append("; ", make("span", { class: "key" }, "dashed"), ": what a recovery allowed");
  return make("figure", {}, words, svg);
}

/** The charts of a timeline, and its values as a table. */
function chartsOf(timeline, pauses, span) {
  const { buckets, width } = timeline;
  if (!buckets.length) return [];
  const shared = { buckets, width, pauses, span };
  const made = [chart({
    ...shared, kind: "bars", caption: "Requests, and in front of them refusals and other 5xx",
    unit: "a second", value: (one) => one[SENT] / width, over: (one) => Math.max(one[ERRORS], one[REFUSALS]) / width,
    extra: (one) => one[RATE] ?? 0,
  })];
  if (buckets.some((one) => one[FIRST_BYTE] !== null)) {
    made.push(chart({ ...shared, kind: "line", caption: "Time to the first byte", unit: "seconds", value: (one) => one[FIRST_BYTE] }));
  }
  return made;
}

const HEADS = ["Second", "Requests", "Answers", "5xx", "Refused", "No answer", "First byte, s", "Recovery, 1/s"];

/** The values of a timeline. */
const valuesOf = (timeline) => tableOf(HEADS, timeline.buckets);

function tableOf(heads, rows) {
  const head = make("tr", {}, ...heads.map((words) => make("th", { scope: "col" }, words)));
  const body = rows.map((cells) => make("tr", {}, ...cells.map((cell, place) => {
    const text = typeof cell === "number" || cell === null ? number(cell) : cell;
    return place ? make("td", typeof cell === "number" ? {} : { class: "text" }, text) : make("th", { scope: "row" }, text);
  })));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": heads.join(", ") }, table);
}

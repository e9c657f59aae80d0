// The table of sites, and what is known of one of them. Whatever is put into the page is text.

(() => {
  const data = JSON.parse(byId("data").textContent);
  const PLACE = Object.fromEntries(data.columns.map((name, place) => [name, place]));
  const ON_A_PAGE = 20;
  const LANES = 12;
  const span = Math.max(1, data.seconds);
  const body = byId("sites").tBodies[0];
  const KINDS = {
    "": () => true,
    trouble: (row) => row[PLACE.refused] || row[PLACE.pauses] || row[PLACE.state] !== "well",
    lost: (row) => row[PLACE.lost],
    forbidden: (row) => row[PLACE.forbidden],
    refused: (row) => row[PLACE.refused],
    pauses: (row) => row[PLACE.pauses],
    failures: (row) => row[PLACE.failures],
    paced: (row) => row[PLACE.delay],
    errors: (row) => row[PLACE.errors],
  };
  let order = null; // the column that is sorted by; null: the most troubled first
  let isRising = false;
  let page = 0;

  // The sites that are wanted.

  function wanted() {
    const words = byId("find").value.trim().toLowerCase();
    const isOfKind = KINDS[byId("kind").value];
    const found = data.rows.map((row, place) => ({ row, place }))
      .filter(({ row }) => row[0].toLowerCase().includes(words) && isOfKind(row));
    if (order === null) return found;
    const sign = isRising ? 1 : -1;
    return found.sort((one, other) => {
      const [left, right] = [one.row[order], other.row[order]];
      if (left === right) return one.place - other.place;
      if (left === null || right === null) return left === null ? 1 : -1;
      return left < right ? -sign : sign;
    });
  }

  function show() {
    const found = wanted();
    const pages = Math.max(1, Math.ceil(found.length / ON_A_PAGE));
    page = Math.min(page, pages - 1);
    const here = found.slice(page * ON_A_PAGE, (page + 1) * ON_A_PAGE);
    body.replaceChildren(...here.map(({ row, place }) => make("tr", {},
      make("th", { scope: "row" }, opener(row[0], place)),
      ...row.slice(1).map((cell) => make("td", {}, typeof cell === "string" ? cell : number(cell))))));
    const first = found.length ? page * ON_A_PAGE + 1 : 0;
    byId("count").textContent = `${number(first)} to ${number(page * ON_A_PAGE + here.length)} of ${number(found.length)} sites`;
    byId("previous").disabled = page === 0;
    byId("next").disabled = page >= pages - 1;
    byId("pages").hidden = pages === 1;
    showLanes(here);
  }

  function opener(name, place) {
    if (!(place in data.details)) return name;
    const button = make("button", { type: "button", title: name }, name);
    button.addEventListener("click", () => open(place));
    return button;
  }

  function showLanes(here) {
    const known = here.filter(({ place }) => data.details[place]?.timeline).slice(0, LANES);
    byId("lanes").replaceChildren(...known.map(({ row, place }) => make("div", { class: "lane", role: "listitem" },
      make("div", {}, opener(row[0], place)),
      lane(data.details[place], span, data.began, caption(row)))));
    byId("lanes").hidden = byId("legend").hidden = !known.length;
  }

  const caption = (row) =>
    `${row[0]}: ${number(row[PLACE.pages])} pages, ${number(row[PLACE.refused])} refusals, ` +
    `${number(row[PLACE.pauses])} pauses of ${duration(row[PLACE.paused_for])} in all, at the end ${row[PLACE.state]}`;

  function legend() {
    const sign = (...drawn) => draw("svg", { viewBox: "0 0 20 14", "aria-hidden": "true" }, ...drawn);
    const paused = sign();
    paused.append(draw("rect", { fill: hatched(paused), width: 20, height: 14 }));
    byId("legend").replaceChildren(
      make("span", {}, sign(draw("rect", { class: "sent", x: 2, y: 6, width: 6, height: 8 }), draw("rect", { class: "sent", x: 10, y: 1, width: 6, height: 13 })), "requests"),
      make("span", {}, paused, "paused"),
      make("span", {}, sign(triangle(10, 12, 6)), "refused"),
      make("span", {}, sign(diamond(10, 7, 6)), "robots.txt answered"),
      make("span", {}, `from 0 to ${duration(Number(span.toPrecision(2)))}`));
  }

  // One site.

  const time = (moment) => (moment ? moment.slice(0, 19).replace("T", " ") : "");

  const loadOf = ({ least, most, answers, time: mean, refused }) => {
    const group = `with ${least === most ? most : `${least} to ${most}`}`;
    if (!answers) return `${number(refused)} refused ${group}`;
    const count = `${number(answers)} ${answers === 1 ? "answer" : "answers"}`;
    return `${duration(mean)} ${group} (${count}${refused ? `, ${number(refused)} refused` : ""})`;
  };

  function* factsOf(row, details) {
    yield ["Pages", `${number(row[PLACE.pages])}, ${number(details.others)} other answers`];
    if (details.statuses?.length) yield ["Other answers", details.statuses.map((one) => `${number(one.count)} \u00d7 ${one.name}`).join(", ")];
    const { concurrency, pace, gaps, answers, in_flight: load, retry_after: asked } = details;
    yield ["Crawl delay", pace ? `${pace.words} (${pace.source})${pace.is_obeyed ? "" : ", not obeyed"}` : "none"];
    if (concurrency) {
      const { bound, most, times_as_long: times } = concurrency;
      yield ["Requests at once", `${bound} of ${most}: ${times ? `with more, an answer took ${times} times as long` : "it refuses more"}`];
    }
    if (load) {
      yield ["Requests in flight", `${number(load.most)} at the most`];
      yield ["First byte, by these", `mean ${load.times.map(loadOf).join(", ")}`];
    }
    if (gaps) yield ["Gaps between requests", `least ${duration(gaps.least)}, median ${duration(gaps.median)}`];
    if (details.turns) yield ["Waits for a delay", `${number(details.turns)} requests waited, ${duration(details.turn_waits)} in all`];
    if (asked) {
      const soonest = asked.soonest === null ? "" : `, the soonest ${duration(asked.soonest)} after it`;
      yield ["Retry-After", `sent ${number(asked.asked)} times, up to ${duration(asked.longest)}; observed ${number(asked.kept)}, not observed ${number(asked.broken)}${soonest}`];
    }
    if (details.refusals?.length) yield ["Refused", details.refusals.map((one) => `${number(one.count)} \u00d7 ${one.name}`).join(", ")];
    if (answers?.all) {
      yield ["5xx", `${number(answers.first_errors)} of the first ${number(answers.first)} answers; ${number(answers.errors)} of all ${number(answers.all)}`];
    }
    if (answers?.time !== null && answers?.time !== undefined) {
      yield ["First byte", `median ${duration(answers.time)}, of the first answers ${duration(answers.first_time)}; 19 of 20 within ${duration(answers.slow_time)}`];
    }
    const { sitemaps, tags, usage } = details;
    if (sitemaps) yield ["Sitemaps", `${number(sitemaps.cited)} cited, ${number(sitemaps.read)} read, ${number(sitemaps.failed)} failed, ${number(sitemaps.entries)} entries`];
    if (tags) yield ["Robot tags", `on ${number(tags.pages)} pages: noindex ${number(tags.noindex)}, nofollow ${number(tags.nofollow)}, unavailable ${number(tags.unavailable)}`];
    if (usage) yield ["Use of pages", `of ${number(usage.pages)} pages: allowed ${number(usage.allowed)} times, disallowed ${number(usage.disallowed)}, unknown ${number(usage.unknown)}`];
  }

  function* tablesOf(details) {
    const { robots_answers: answers, pause_list: pauses, rules, timeline, usage } = details;
    if (answers?.length) {
      yield ["robots.txt", tableOf(["Fetched (UTC)", "Outcome", "Why", "Took, s"],
        answers.map((one) => [time(one.at), one.case.replaceAll("_", " "), one.reason, one.seconds]))];
    }
    if (pauses?.length) {
      yield ["Pauses", tableOf(["Since (UTC)", "Until", "Ended", "Seconds", "Failed probes", "What", "Why"],
        pauses.map((one) => [time(one.since), time(one.until) || "ended manually", one.is_given_up ? "given up" : time(one.ended),
          one.seconds, one.failed_probes, `${one.kind} ${one.where}`, one.reason]))];
    }
    if (rules?.length) {
      yield ["Rules that forbade", tableOf(["Rule", "Line", "For", "URLs", "Examples"],
        rules.map((one) => [one.text, one.line, one.agent, one.count, one.examples.join(" ")]))];
    }
    if (usage?.statements?.length) {
      yield ["Statements about the use of pages", tableOf(["Statement", "Pages"], usage.statements.map((one) => [one.name, one.count]))];
    }
    if (timeline?.buckets.length) {
      yield [null, make("details", {}, make("summary", {}, "The charts as a table"), valuesOf(timeline))];
    }
  }

  function open(place) {
    const [row, details] = [data.rows[place], data.details[place]];
    const section = byId("site");
    byId("site-head").textContent = row[0];
    section.querySelector(".facts").replaceChildren(...[...factsOf(row, details)].map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value))));
    const pauses = pausesOf(details, data.began, span);
    section.querySelector(".charts").replaceChildren(...(details.timeline ? chartsOf(details.timeline, pauses, span) : []));
    section.querySelector(".tables").replaceChildren(...[...tablesOf(details)].flatMap(([head, table]) =>
      (head === null ? [table] : [make("h3", {}, head), table])));
    section.hidden = false;
    section.focus({ preventScroll: true });
    section.scrollIntoView({ block: "start" });
  }

  // The table's head sorts.

  [...byId("sites").tHead.rows[0].cells].forEach((head, place) => {
    const button = make("button", { type: "button" }, head.textContent);
    button.addEventListener("click", () => {
      if (order === place) isRising = !isRising;
      else [order, isRising] = [place, place === 0];
      for (const one of byId("sites").tHead.rows[0].cells) one.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isRising ? "ascending" : "descending");
      page = 0;
      show();
    });
    head.replaceChildren(button);
  });
  for (const [id, event] of [["find", "input"], ["kind", "change"]]) {
    byId(id).addEventListener(event, () => {
      page = 0;
      show();
    });
  }
  for (const link of document.querySelectorAll("a[data-show]")) {
    link.addEventListener("click", () => {
      byId("find").value = "";
      byId("kind").value = link.dataset.show;
      page = 0;
      show();
    });
  }
  byId("previous").addEventListener("click", () => { page -= 1; show(); });
  byId("next").addEventListener("click", () => { page += 1; show(); });

  if (data.total && data.total.buckets.length) {
    const whole = byId("whole");
    const packed = { width: data.total.width, buckets: data.total.buckets };
    whole.querySelector(".charts").replaceChildren(...chartsOf(packed, [], span));
    whole.append(make("details", {}, make("summary", {}, "The charts as a table"), valuesOf(packed)));
    whole.hidden = false;
  }
  byId("choices").hidden = false;
  legend();
  show();

  // a table that is cut says so; one that is not has no hint
  const fits = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      const wide = target.closest(".wide");
      wide.classList.toggle("cut", wide.scrollWidth > wide.clientWidth + 1);
    }
  });
  for (const one of document.querySelectorAll(".wide, .wide > table")) {
    fits.observe(one);
  }
})();

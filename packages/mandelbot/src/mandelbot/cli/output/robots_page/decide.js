// Decides by the tables of read.js, as the package itself does: its tests ask both the same. Nothing
// here knows the page.
"use strict";

/**
 * The verdict of one dialect: {allowed, line, group, reason}. `line` is null where no rule decided;
 * `reason` is the name of a sentence in robotstxt/verdict.py.
 */
function decide(tables, url, names) {
  const { group, rules: ofGroup, isStarIgnored } = rulesFor(tables, names);
  const asked = hostOf(url);
  const rules = ofGroup.filter(([, , , , host]) => !host || asked === null || host === asked);
  const target = tables.escapes === "google" ? googleTarget(url) : targetOf(url);
  if (target === null) return { allowed: true, line: null, group, reason: "NOT_A_URL" };
  if (target === "/robots.txt" && tables.robots_txt_allowed) {
    return { allowed: true, line: null, group, reason: "ROBOTS_TXT" };
  }
  if (isTooCostly(tables.kinds, rules, target)) {
    return { allowed: false, line: null, group, reason: "TOO_COSTLY" };
  }
  const best = strongest(rules, target);
  if (best !== null) return { allowed: best[2], line: best[1], group, reason: "A_RULE" };
  if (group === null) {
    const reason = isStarIgnored ? "STAR_IGNORED" : "NO_GROUP";
    return { allowed: true, line: null, group, reason };
  }
  const allowed = isUnlistedAllowed(tables.kinds, rules);
  return { allowed, line: null, group, reason: allowed ? "NO_RULE" : "NOT_LISTED" };
}

function strongest(rules, target) {
  let best = null;
  for (const rule of rules) {
    if ((best === null || rule[0] < best[0]) && matches(rule[3], target)) best = rule;
  }
  return best;
}

// As in index.py.
const MOST_COMPARED = 500_000;
const FEW = 500;

/** Whether the target is forbidden, as too many rules with wildcards would have to be compared. */
function isTooCostly(kinds, rules, target) {
  if (rules.length <= FEW) return false;
  const costOf = (pattern) => {
    if (typeof pattern === "string" || pattern[3]) return 0;
    if (Array.isArray(pattern)) return target.startsWith(pattern[0]) ? 1 : 0;
    return target.startsWith(pattern.head) ? 1 + (pattern.steps.length >> 5) : 0;
  };
  const costs = rules.map((rule) => costOf(rule[3]));
  const cost = costs.reduce((sum, one) => sum + one, 0);
  if (cost <= FEW || cost * target.length <= MOST_COMPARED) return false;
  const best = strongest(rules.filter((_, place) => !costs[place]), target);
  const [allowed, weight, place] = best ? [best[2], best[0], rules.indexOf(best)]
    : [isUnlistedAllowed(kinds, rules), Infinity, 0];
  return rules.some((rule, at) => costs[at] && rule[2] !== allowed
    && (rule[0] < weight || (rule[0] === weight && at < place)));
}

function isUnlistedAllowed(kinds, rules) {
  if (kinds === null || rules.length === 0) return true;
  const [, disallow, patternAllow] = kinds;
  const present = new Set(rules.map(([weight]) => weight));
  return present.has(disallow) && !present.has(patternAllow);
}

// The agents of a question (agents.py, groups.py).

/** The names by which a robot is looked for, from names and User-Agent headers in their order. */
function namesOf(agents, browserWords) {
  const words = new Set(browserWords);
  return [...new Set(agents.flatMap((agent) => productTokens(agent, words)))];
}

function productTokens(agent, browserWords) {
  if (/^[^\s/();,]+$/.test(agent)) return [agent.toLowerCase()];
  const tokens = new Set();
  for (const word of agent.split(/[\s();,]+/)) {
    const token = word.split("/")[0];
    if (word.includes("://") || !/^[A-Za-z0-9_.!-]*[A-Za-z][A-Za-z0-9_.!-]*$/.test(token)) continue;
    if (!browserWords.has(token.toLowerCase())) tokens.add(token.toLowerCase());
  }
  return [...tokens].sort((one, other) => other.length - one.length || (one < other ? -1 : 1));
}

const PLACES = {
  equal: (name, robot) => robot.indexOf(name),
  inside: (name, robot) => robot.findIndex((own) => own.includes(name)),
  "inside-first": (name, robot) => robot.findIndex((own) => own.includes(name)),
  contains: (name, robot) => robot.findIndex((own) => name.includes(own)),
};

const ASKED = new WeakMap(); // by tables: the names that were asked for last, and what was found

/**
 * The name in the file of the groups that apply, or null, their rules in order, and whether the group
 * for * would apply, but for a robot that ignores it.
 */
function rulesFor(tables, names) {
  const key = JSON.stringify(names);
  if (ASKED.get(tables)?.key !== key) ASKED.set(tables, { key, found: findRules(tables, names) });
  return ASKED.get(tables).found;
}

function findRules(tables, names) {
  const after = (name) => (Object.hasOwn(tables.fallbacks, name) ? tables.fallbacks[name] : []);
  const robot = [...new Set(names.flatMap((name) => [name, ...after(name)]))];
  const placeOf = PLACES[tables.agent_match];
  const found = new Map();
  let best = null; // the smallest place, then the longest name where a part will do
  for (const group of tables.groups) {
    for (const [written, name] of group.names) {
      const place = written === "*" ? robot.length : placeOf(name, robot);
      if (place < 0) continue;
      const length = tables.agent_match === "inside" ? [...name].length : 0;
      const key = `${place} ${name}`;
      if (!found.has(key)) found.set(key, { written, place, length, groups: new Set() });
      found.get(key).groups.add(group);
      const one = found.get(key);
      if (!best || one.place < best.place || (one.place === best.place && one.length > best.length)) {
        best = one;
      }
    }
    if (found.size && tables.star_stops) break;
  }
  if (!best) return { group: null, rules: [], isStarIgnored: false };
  const { written, groups } = best;
  if (written === "*" && names.some((name) => tables.ignore_star?.includes(name))) {
    return { group: null, rules: [], isStarIgnored: true };
  }
  const these = tables.repeated_agent === "first" ? [...groups].slice(0, 1) : [...groups];
  return { group: written, rules: these.flatMap((group) => group.rules), isStarIgnored: false };
}

// What is asked for (paths.py).

const ORIGIN =
  /^[A-Za-z][A-Za-z0-9+.-]*:\/\/(?:[^/?#]*@)?(?:\[[^[\]/?#@]+\]|[^[\]:/?#@]*)(?::[0-9]*)?(?=[/?#]|$)/;
const NOT_CANONICAL =
  /%(?!2[1356789BCF]|3[ABDF]|40|5[BD]|[89A-F][0-9A-F])([0-9A-Fa-f]{2})?/g;

/** The scheme, host and port of an absolute URL, the empty text for a path, null for neither. */
function originOf(url) {
  if (url.startsWith("/")) return "";
  const origin = ORIGIN.exec(url.split("#")[0]);
  return origin && origin[0];
}

/**
 * What distinguishes the hosts of whole URLs, without user, www. and the scheme's port; null for a path
 * and for what is no URL, empty for no host (full_urls.py).
 */
function hostOf(url) {
  const origin = originOf(url);
  if (!origin) return null;
  const scheme = origin.split("://")[0].toLowerCase();
  const authority = origin.slice(scheme.length + 3).toLowerCase();
  const [, written, port = ""] = /^(?:.*@)?(\[.*\]|[^:]*)(?::([0-9]*))?$/s.exec(authority);
  let host = written.replace(/\.+$/, "").replace(/^www\./, "");
  if (/[^\x00-\x7f]/.test(host)) {
    try {
      host = new URL(`http://${host}`).hostname;
    } catch {
      // it stays as it is
    }
  }
  const isDefault = port === "" || port === { http: "80", https: "443" }[scheme];
  return host && !isDefault ? `${host}:${port}` : host;
}

/** Path and query of an absolute URL or a path, as written; null for neither. */
function pathAndQuery(url) {
  const origin = originOf(url);
  if (origin === null) return null;
  const target = url.split("#")[0].slice(origin.length);
  return target.startsWith("/") ? target : "/" + target;
}

/** Path and query, with escapes that RFC 3986 calls equivalent made the same. */
function targetOf(url) {
  const target = pathAndQuery(url);
  return target === null ? null : normalise(target);
}

function normalise(text) {
  return escapeNonAscii(text).replace(NOT_CANONICAL, (_, digits) => {
    if (digits === undefined) return "%25";
    const octet = parseInt(digits, 16);
    const character = String.fromCharCode(octet);
    return octet < 0x80 && !"%:/?#[]@!&'()+,;=".includes(character)
      ? character
      : "%" + hexadecimal(octet);
  });
}

function escapeNonAscii(text) {
  return text.replace(/[^\x00-\x7f]/gu, escaped);
}

/** A character outside ASCII as UTF-8, in escapes; a lone surrogate too, as TextEncoder does not. */
function escaped(character) {
  const code = character.codePointAt(0);
  const following = [18, 12, 6, 0].map((bits) => 0x80 | ((code >> bits) & 0x3f));
  const octets =
    code < 0x800 ? [0xc0 | (code >> 6), ...following.slice(3)]
    : code < 0x10000 ? [0xe0 | (code >> 12), ...following.slice(2)]
    : [0xf0 | (code >> 18), ...following.slice(1)];
  return octets.map((octet) => "%" + hexadecimal(octet)).join("");
}

function hexadecimal(octet) {
  return octet.toString(16).toUpperCase().padStart(2, "0");
}

/** What Google compares with: anything at all has a path, at worst "/". */
function googleTarget(url) {
  const start = url.startsWith("//") ? 2 : 0;
  const firstOf = (from) => {
    const at = url.slice(from).search(/[/?;]/);
    return at < 0 ? url.length : from + at;
  };
  const scheme = url.indexOf("://", start);
  let path = firstOf(start);
  if (scheme >= 0 && scheme < path) path = firstOf(scheme + 3);
  const fragment = url.indexOf("#", start);
  const target = fragment < 0 ? url.slice(path) : url.slice(path, fragment);
  return target.startsWith("/") ? target : "/" + target;
}

// What a rule matches (patterns.py).

function matches(pattern, target) {
  if (typeof pattern === "string") return target.startsWith(pattern);
  if (!Array.isArray(pattern)) return globMatches(pattern, target);
  const [head, pieces, tail, exact] = pattern;
  if (exact) return target === head;
  if (!target.startsWith(head)) return false;
  let at = head.length;
  for (const piece of pieces) {
    const found = target.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return tail === null || (target.endsWith(tail) && target.length - tail.length >= at);
}

/** All states that the glob may be in are kept at once: no pattern is slow. */
function globMatches({ steps, stars }, target) {
  const stays = new Set(stars);
  let states = new Set([0]);
  for (const character of target) {
    const next = new Set();
    for (const state of states) {
      if (stays.has(state)) next.add(state);
      if (state < steps.length && steps[state][0].includes(character) !== steps[state][1]) {
        next.add(state + 1);
      }
    }
    states = next;
  }
  return states.has(steps.length);
}

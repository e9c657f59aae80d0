// Reads a robots.txt into tables, as a dialect does: what depends only on the file is done once, the
// rest depends on robot and URL (decide.js). What a dialect is, is data (robotstxt/dialects.py); its
// fields have the names that they have there, and the functions those of grammar.py, groups.py,
// verdict.py and patterns.py. The tests ask both about every rule of each case, and compare the
// verdicts. Nothing here knows the page.
//
//   dialect             its name
//   escapes             "rfc3986" or "google": how a URL becomes a target
//   agent_match         "equal", "inside", "inside-first" or "contains": when a name in the file is one
//                       of the robot's; "inside" prefers the longest
//   fallbacks           names, each with those to try next for its robot
//   ignore_star         names of robots that pass over the group for *
//   repeated_agent      "merged" or "first": of several groups for a name, all or one
//   star_stops          whether the first group that applies wins, even if it is *
//   robots_txt_allowed  whether /robots.txt is always allowed
//   kinds               null: what no rule matches is allowed; or the weights of [explicit Allow,
//                       Disallow, pattern Allow]: it is forbidden where there are rules, unless a
//                       Disallow is one of them and a pattern Allow is not
//   groups[].names      each as written, and in lower case; * means all robots
//   groups[].rules      [weight, line, allows, pattern, host], in the order of the file; host is null, or
//                       that of the URLs that a rule with a whole URL is about; of those that match
//                       the smallest weight decides, and the first among equals
//
// A pattern is a text, which the target begins with; or [head, pieces, tail, exact]: the head begins
// the target, or is all of it if exact, the pieces follow somewhere, in their order, and the tail ends
// it after them, if it is not null; or {head, steps, stars}: each step [characters, but] matches one
// character, one of these or with "but" any other, each number in stars counts the steps after which
// any characters may follow, the whole target must match, and begins with the head.
"use strict";

/** The tables of a file, given as its octets: a text with a character for each (see octetsOf). */
function readTables(octets, dialect, maxBytes) {
  const text = "\n" + cleaned(octets, dialect, maxBytes);
  const grammar = grammarOf(dialect);
  const ends = [...text.matchAll(/\r\n?|\n/g)].map((end) => end.index);
  const groups = [];
  let line = 0; // of the file, from 1: groups are in its order
  for (const { names, start, after, end } of groupsIn(text, grammar, dialect)) {
    const version = dialect.robot_version ? versionOf(text.slice(after, end), grammar) : 1;
    if (version === null) continue;
    const rules = [];
    for (const found of text.slice(start, end).matchAll(grammar.rule)) {
      while (line < ends.length && ends[line] <= start + found.index) line += 1;
      const value = decoded(found[2].replace(TRAILING, ""));
      const [path, host] = pathAndHost(value, version, dialect);
      for (const [weight, allows, pattern] of readPath(path, version, dialect, !found[1])) {
        rules.push([weight, line, allows, pattern, host]);
      }
    }
    const written = names.map(decoded).filter(Boolean);
    groups.push({ names: written.map((name) => [name, name.toLowerCase()]), rules });
  }
  return {
    dialect: dialect.name,
    escapes: dialect.escapes,
    agent_match: { token: "equal", google: "equal" }[dialect.agent_match] ?? dialect.agent_match,
    fallbacks: Object.fromEntries(dialect.fallbacks),
    ignore_star: dialect.ignore_star,
    repeated_agent: dialect.repeated_agent,
    star_stops: dialect.star_stops,
    robots_txt_allowed: dialect.robots_txt_allowed,
    kinds: dialect.precedence === "kind" ? [EXPLICIT_ALLOW, DISALLOW, PATTERN_ALLOW] : null,
    groups,
  };
}

// Octets and characters (grammar.py).

/** The octets of a text in UTF-8, each as the character with its number. */
function octetsOf(text) {
  const octets = new TextEncoder().encode(text);
  const parts = [];
  for (let at = 0; at < octets.length; at += 8192) {
    parts.push(String.fromCharCode(...octets.subarray(at, at + 8192)));
  }
  return parts.join("");
}

const NOT_ASCII_OCTETS =
  /[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|[\x80-\xff]/g;

/** What octets say; those that are not UTF-8 become escapes. */
function decoded(octets) {
  return octets.replace(NOT_ASCII_OCTETS, (found) => {
    const escapes = Array.from(found, (octet) => "%" + hexadecimal(octet.charCodeAt(0))).join("");
    return found.length > 1 ? decodeURIComponent(escapes) : escapes;
  });
}

/** What of a file is read: whole lines within the limit, without a byte-order mark. */
function cleaned(octets, dialect, maxBytes) {
  const isTooLong = maxBytes !== null && octets.length > maxBytes;
  if (isTooLong) octets = octets.slice(0, maxBytes + 1); // to see whether a line ends there
  const encoding = { "\xff\xfe": "utf-16le", "\xfe\xff": "utf-16be" }[octets.slice(0, 2)];
  if (dialect.utf16 && encoding) {
    const pairs = Uint8Array.from(octets.slice(2), (octet) => octet.charCodeAt(0));
    octets = octetsOf(new TextDecoder(encoding, { ignoreBOM: true }).decode(pairs));
  } else {
    octets = octets.replace(/^\xef(?:\xbb\xbf?)?/, "");
  }
  if (isTooLong) {
    octets = octets.slice(0, Math.max(octets.lastIndexOf("\n"), octets.lastIndexOf("\r")) + 1);
  }
  if (dialect.nul_ends_line) {
    // An empty line between CR and LF must not make one line end of them.
    const fromNul = /(?<=\r)(\0)[^\r\n]*(?=\n)|\0[^\r\n]*/g;
    octets = octets.replace(fromNul, (_, isBetween) => (isBetween ? " " : ""));
  }
  if (dialect.line_limit !== null && octets.length > dialect.line_limit) {
    octets = octets.replace(/[^\r\n]+/g, (line) => line.slice(0, dialect.line_limit));
  }
  return octets;
}

// Lines (grammar.py). All expressions begin with the line end before the line.

const WHITE = "[ \\t\\v\\f\\0]";
const SPACE = " \\t\\v\\f\\0\\r\\n";
const TRAILING = /[ \t\v\f\0]+$/;
const BLANK_LINE = /(?:\r\n|\r(?!\n)|\n)[ \t\v\f\0]*(?=[\r\n])/;

function grammarOf(dialect) {
  const line = (field, value, flags) =>
    new RegExp(`[\\r\\n]${WHITE}*${field}${WHITE}*${value}`, flags);
  const value = dialect.comment_needs_space
    ? `[^#\\r\\n]*(?:(?<!${WHITE})#[^#\\r\\n]*)*`
    : "[^#\\r\\n]*";
  const inName = dialect.comment_needs_space ? `(?:[^:#\\r\\n]|(?<!${WHITE})#)*` : "[^:#\\r\\n]*";
  const disallow = `(${fieldOf("disallow", dialect)})`;
  const field = dialect.honours_allow ? `(?:${disallow}|${fieldOf("allow", dialect)})` : disallow;
  const rule = line(field, `(${value})`, "g"); // groups: that it is a Disallow; the value
  const directive = new RegExp(`[\\r\\n]${WHITE}*[^:#${SPACE}]${inName}:`);
  return {
    agent: line(fieldOf("user-agent", dialect), `(${agentName(dialect)})`, "g"),
    rule,
    directive,
    version: line(fieldOf("robot-version", dialect), `(${value})`, "y"),
    runEnd: dialect.run_ends_at === "rule" ? new RegExp(rule.source) : directive,
  };
}

/** A field and its colon, or what the dialect takes for one. */
function fieldOf(field, dialect) {
  const names = [field, ...(Object.fromEntries(dialect.spellings)[field] ?? [])];
  const anyOf = (some) =>
    some.map((name) => name.replace(/[a-z]/g, (one) => `[${one}${one.toUpperCase()}]`)).join("|");
  const anything = dialect.field_by_prefix ? "[^:#\\r\\n]*" : `${WHITE}*`;
  const withColon = `(?:${anyOf(names)})${anything}:`;
  if (!dialect.colon_optional) return withColon;
  const word = "[^ \\t:#\\r\\n]*";
  const rest = dialect.field_by_prefix ? word : "";
  const isOnlyOne = `${word}[^:#${SPACE}]${WHITE}*(?:[#\\r\\n]|$)`;
  const single = anyOf(names.filter((name) => !name.includes(" ")));
  return `(?:${withColon}|(?:${single})${rest}[ \\t]+(?=${isOnlyOne}))`;
}

function agentName(dialect) {
  if (dialect.agent_match === "google") return `\\*(?=[${SPACE}#]|$)|[A-Za-z_-]*`;
  const ends = `${SPACE}/*+,;${dialect.comment_needs_space ? "" : "#"}`;
  return `\\*(?=[${ends}]|$)|[^${ends}]*`;
}

// Groups (groups.py).

function* groupsIn(text, grammar, dialect) {
  const lines = [...text.matchAll(grammar.agent)];
  let [names, start] = [[], 0];
  for (const [place, line] of lines.entries()) {
    if (names.length === 0) start = line.index;
    names.push(line[1]);
    const after = line.index + line[0].length;
    const following = lines[place + 1];
    let end = following ? following.index : text.length;
    const blank = dialect.blank_line_ends_group ? text.slice(after, end + 1).search(BLANK_LINE) : -1;
    if (blank >= 0) end = after + blank;
    else if (following && !grammar.runEnd.test(text.slice(after, end))) continue;
    yield { names, start, after, end };
    names = [];
  }
}

/** The major version by which a group is read; null: it is passed over. */
function versionOf(text, grammar) {
  const first = text.search(grammar.directive);
  grammar.version.lastIndex = first;
  const line = first >= 0 && grammar.version.exec(text);
  const parts = line && /^([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.[0-9]+)*$/.exec(line[1].replace(TRAILING, ""));
  if (!parts) return 1;
  const [major, minor] = [Number(parts[1]), Number(parts[2] ?? 0)];
  return (major === 1 || major === 2) && minor % 2 === 0 ? major : null;
}

// Rules (verdict.py).

const [EXPLICIT_ALLOW, DISALLOW, PATTERN_ALLOW] = [0, 1, 2];
const WEIGHTS = {
  longest: (length, allow) => -2 * length - (allow ? 1 : 0),
  first: () => 0,
  kind: (_, allow, exact) => (!allow ? DISALLOW : exact ? EXPLICIT_ALLOW : PATTERN_ALLOW),
};
const COMPARABLE = {
  rfc3986: normalise,
  google: (text) => escapeNonAscii(text).replace(/%[0-9A-Fa-f]{2}/g, (one) => one.toUpperCase()),
};

/**
 * The path in a value, and the host that a whole URL names, else null (full_urls.py). The path is null
 * for a value that is ignored, empty for no path.
 */
function pathAndHost(value, version, dialect) {
  const beginnings = version === 2 ? "/*?[\\" : "/*";
  if (!value || dialect.paths_as_written || beginnings.includes(value[0])) return [value, null];
  const host = dialect.full_urls ? hostOf(value) : null;
  return host ? [pathAndQuery(value), host] : [null, null];
}

/** What a rule matches: [weight, whether it allows, pattern], several or none. */
function readPath(path, version, dialect, allow) {
  const weigh = WEIGHTS[dialect.precedence];
  if (!path) {
    return path === null || !dialect.empty_rules_decide ? [] : [[weigh(0, allow, false), true, ""]];
  }
  path = path.replaceAll("#", "%23"); // in a URL a fragment follows it
  const kind = dialect.patterns === "globs" && version === 1 ? "none" : dialect.patterns;
  const pattern = PATTERNS[kind](path, COMPARABLE[dialect.escapes]);
  const isExact = Array.isArray(pattern) && pattern[3];
  const rules = [[weigh(escapeNonAscii(path).length, allow, isExact), allow, pattern]];
  const slash = path.lastIndexOf("/");
  if (allow && dialect.index_htm_is_directory && slash >= 0) {
    if (path.slice(slash + 1).startsWith("index.htm")) {
      rules.push(...readPath(path.slice(0, slash) + "/$", version, dialect, true));
    }
  }
  return rules;
}

// Patterns (patterns.py).

const PATTERNS = {
  wildcards(path, comparable) {
    const ends = path.endsWith("$");
    const pieces = (ends ? path.slice(0, -1) : path).split("*").map(comparable);
    return fromPieces(pieces, ends);
  },
  none: (path, comparable) => (path === "*" ? "" : comparable(path)),
  globs: globPattern,
};

function fromPieces(pieces, ends) {
  const [head, ...rest] = pieces;
  if (rest.length === 0) return ends ? [head, [], null, true] : head;
  const tail = (ends && rest.pop()) || null;
  const middle = rest.filter(Boolean);
  return middle.length === 0 && tail === null ? head : [head, middle, tail, false];
}

const GLOB_PARTS =
  /([*?]+)|\[(!?)(\]?[^[\]]+|\])\]|\\(.)|([^*?[\\]+|\[+(?=\[)|\[|\\)/gs;

function globPattern(path, comparable) {
  const pieces = []; // literal, each before what stands between
  const between = []; // [steps, whether any characters may follow]
  let literal = "";
  for (const [, run, but, brackets, escaped, text] of path.matchAll(GLOB_PARTS)) {
    if (escaped || text) {
      literal += escaped || text;
      continue;
    }
    pieces.push(comparable(literal));
    literal = "";
    const any = run && Array.from(run.replaceAll("*", ""), () => ["", true]);
    between.push(run ? [any, run.includes("*")] : [[[listed(brackets), but === "!"]], false]);
  }
  pieces.push(comparable(literal));
  if (between.every(([taking, hasStar]) => hasStar && taking.length === 0)) {
    return fromPieces(pieces, true);
  }
  const literally = (piece) => Array.from(piece, (one) => [one, false]);
  const [steps, stars] = [literally(pieces[0]), []];
  for (const [place, [taking, hasStar]] of between.entries()) {
    steps.push(...taking);
    if (hasStar) stars.push(steps.length);
    steps.push(...literally(pieces[place + 1]));
  }
  return { head: pieces[0], steps, stars };
}

/** The characters of ASCII that `a-z_` lists. */
function listed(brackets) {
  const found = new Set();
  for (const [, first, last, single] of brackets.matchAll(/(.)-(.)|(.)/gsu)) {
    const end = Math.min((last ?? single ?? "").codePointAt(0), 0x7f);
    for (let code = (first ?? single).codePointAt(0); code <= end; code += 1) {
      found.add(String.fromCharCode(code));
    }
  }
  return [...found].sort().join("");
}

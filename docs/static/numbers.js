// The search asks for numbers too: they are in the index (docs/sphinx/reachable.py).
document.addEventListener("DOMContentLoaded", () => {
  const parse = Search._parseQuery;
  Search._parseQuery = (query) => {
    const parsed = parse(query);
    const [, terms, , shown] = parsed;
    for (const number of query.match(/(?<!\w)\d+(?!\w)/g) ?? []) {
      terms.add(number);
      shown.add(number);
    }
    return parsed;
  };
});

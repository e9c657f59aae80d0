"""Any robots.txt: strategies for files, URLs and dialects, however odd."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from mandelbot import DIALECTS

MORE_DIALECTS = {
    "old text": replace(DIALECTS["extended2"], name="old text", precedence="kind"),
    "no allow": replace(DIALECTS["rep1994"], name="no allow", honours_allow=False),
    "contains": replace(DIALECTS["rep2008"], name="contains", agent_match="contains"),
    "inside first": replace(
        DIALECTS["rep2008"], name="in first", agent_match="inside-first"
    ),
    "star stops": replace(DIALECTS["rep2008"], name="star stops", star_stops=True),
    "merged globs": replace(
        DIALECTS["extended2"], name="merged globs", repeated_agent="merged"
    ),
    "ordered": replace(DIALECTS["mandelbot"], name="ordered", precedence="first"),
}
ALL = {**DIALECTS, **MORE_DIALECTS}

dialects = st.sampled_from(sorted(ALL)).map(ALL.__getitem__)

# Few letters, so that rules and URLs meet often; everything that has a meaning is among
# them.
PIECES = (
    "/ / a b ab * * $ ? . %61 %2A %2f % %e9 %4 é [ab] [!a] \\ # ~ index.htm [ ] -"
    " \0 = &"
)
pieces = st.sampled_from([" ", *PIECES.split(" ")])
paths = st.lists(pieces, max_size=7).map("".join)
rooted = paths.map(lambda path: "/" + path)
origins = st.sampled_from(
    [
        *("https://x.example", "http://X.example:443", "https://u@x.example:443"),
        *("https://example.com", "https://example.com:8443", "http://", "https://[x"),
    ]
)
urls = st.tuples(origins, rooted).map("".join)
values = st.one_of(rooted, rooted, rooted, paths, urls)
spaces = st.sampled_from(["", "", "", " ", "\t", " \v"])
agents = st.sampled_from(
    [
        *(
            "*",
            "*",
            "bot",
            "Bot",
            "robot",
            "bo",
            "bot/2.1",
            "* x",
            "other",
            "",
            "b-t x",
        ),
        *("ob", "bot+", "bot*", "o,t", "*,", "bot;x", "*bot"),
    ]
)
fields = st.one_of(
    st.tuples(
        st.sampled_from(["Disallow", "Disallow", "Allow", "dissallow", "Allowed"]),
        values,
    ),
    st.tuples(st.sampled_from(["User-agent", "USERAGENT", "User agent"]), agents),
    st.tuples(st.just("User-agent"), agents),
    st.tuples(
        st.just("Robot-version"),
        st.sampled_from(["2.0", "1.0", "2.1", "2.2.0", "3.0", "x", "2"]),
    ),
    st.tuples(st.sampled_from(["Crawl-delay", "Sitemap", "foo"]), st.just("5")),
)


@st.composite
def lines(draw):
    name, value = draw(fields)
    colon = draw(st.sampled_from([":", ":", ":", ":", ": ", " : ", " ", ""]))
    comment = draw(st.sampled_from(["", "", "", "#", " # Disallow: /", "#x"]))
    return draw(spaces) + name + colon + value + draw(spaces) + comment


others = st.sampled_from(
    ["", "", "   ", "# only a comment", "nonsense", ":", "\x85", "\u2028"]
)
ends = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
texts = st.lists(st.tuples(st.one_of(lines(), lines(), others), ends), max_size=14).map(
    lambda parts: "".join(text + end for text, end in parts)
)
encodings = st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-8-sig", "latin-1"])
bodies = st.builds(lambda text, to: text.encode(to, "replace"), texts, encodings)
openings = st.sampled_from(
    [b"", b"User-agent: *\n", b"User-agent: bot\nRobot-version: 2.0\n"]
)
bodies = st.builds(bytes.__add__, openings, bodies)

"""An Extended Standard for Robot Exclusion (2.0), with its fictitious site
www.frommitz.biz.
"""

from __future__ import annotations

from inspect import cleandoc

from cases import Case

DIALECT = "extended2"

COMMENTS = "The Method, comments"
GENERAL = "General match"
EXPLICIT = "Explicit match"
PATTERN = "Regular expression: that of /bin/sh"
VERSION = "Robot-version"
ALLOW = "Allow"
GROUPS = "Rule sets"
EXAMPLES = "Examples"

SITE = """
/index.html
/images/index.html /images/fromlogo.jpg /images/navbar.jpg /images/blueball.gif
/images/redball.gif /images/usamap.gif /images/portrait.jpg
/products.html /order.html /order.shtml /order.cgi
/blackhole/index.html /blackhole/info98.html /blackhole/info98.shtml
/blackhole/info99.html /blackhole/info99.gif /blackhole/info8.html /blackhole/page3.html
/blackhole/info/index.html /blackhole/info/page1.html /blackhole/info/page2.shtml
/blackhole/info/page4.html /blackhole/info/thankyou.html
/overview.html /thankyou.html
""".split()  # noqa: SIM905 - a listing

FROMMITZ = cleandoc("""
    #-----------------------------------------------------------
    # The following robots only understand the 1.0 spec, so
    # really limit where they can go
    #-----------------------------------------------------------
    User-agent: fredsbot
    User-agent: pandabot
    User-agent: chives
    Disallow: /images		# anything starting with /images
    Disallow: /order.shtml	# don't go there!
    Disallow: /order.cgi	# nor there either!
    Disallow: /blackhole	# there be bad karma here

    #------------------------------------------------------------------
    # The following robot only understands the 1.0 spec,
    # but since the search engine it represents is really popular, we want more
    # pages to be indexed.  That means we need a longer rule set for this
    # particular robot.
    #-------------------------------------------------------------------
    User-agent: popularsite
    Disallow: /images
    Disallow: /order.shtml
    Disallow: /order.cgi
    Disallow: /blackhole/info98.shtml
    Disallow: /blackhole/info99.html
    Disallow: /blackhole/info99.gif
    Disallow: /blackhole/info8.html
    Disallow: /blackhole/info/page2.shtml

    #-------------------------------------------------------------
    # The following robots understand the 2.0 spec, so we
    # can allow them a bit more freedom about what to do
    #--------------------------------------------------------------
    User-agent: alfred
    User-agent: newchives
    User-agent: oscarbot
    Robot-version: 2.0			# uses 2.0 spec
    Allow: *index.html			# allow any index pages
    Allow: /images/index.html		# make sure we index this
    Allow: /blackhole/index.html	# and we allow this page to be indexed
    Allow: /blackhole/info*		# as well as these
    Disallow: *				# nothing else will be allowed

    #-----------------------------------------------------------------------
    # the following robot understands the 2.0 spec, but we
    # done like the people running it, so let's limit how fast it can retrieve
    # documents.
    #-----------------------------------------------------------------------
    User-agent: hackerbot
    Robot-version: 2.0			# uses 2.0 spec
    Request-rate: 1/30m			# one document every 30 minutes
    Allow: *index.html			# allow any index pages
    Disallow: *				# but nothing else

    #------------------------------------------------------------------------
    # the following robot also understands the 2.0 spec, but
    # we want to limit when it can visit the site
    #------------------------------------------------------------------------
    User-agent: suckemdry
    Robot-version: 2.0
    Allow: *.html			# only allow HTML pages
    Disallow: *				# and nothing else
    Visit-time: 0600-0845		# and then only between 1 am to 3:45 am EST

    #-----------------------------------------------------------------------
    # okay robots - but since they seem to keep trying over and over again,
    # so let's limit them and attempt to keep them accessing us during slow
    # times.
    #------------------------------------------------------------------------
    User-agent: vacuumweb
    User-agent: spanwebbot
    User-agent: spiderbot
    Robot-version: 2.0
    Request-rate: 1/10m 1300-1659		# 8:00 am to noon EST
    Request-rate: 1/20m 1700-0459		# noon to 11:59 pm EST
    Request-rate: 5/1m  0500-1259		# midnight to 7:59 am EST
    Comment: because you guys try all the time, I'm gonna limit you
    Comment: to how many documents you can retrieve.  So there!
    Allow: *.html
    Disallow: *

    #--------------------------------------------------------------------
    # go away you bother us
    #--------------------------------------------------------------------
    User-agent: *
    Disallow: /
    """)

OLD_TEXT = cleandoc("""
    User-agent: alfred
    User-agent: newchives
    User-agent: oscarbot
    Robot-version: 2.0			# uses 2.0 spec
    Allow: *index.html			# allow any index pages
    Allow: /images/index.html		# make sure we index this
    Allow: /blackhole/index.html	# and we allow this page to be indexed
    Allow: /blackhole/info*		# as well as these
    Disallow: *.shtml			# don't index server include files
    Disallow: *.cgi			# don't attempt to access cgi scripts
    Disallow: *.gif			# no images
    Disallow: *.jpg
    Disallow: /images*			# don't index here generally
    Disallow: /blackhole/info99*	# these we don't want indexed
    Disallow: /blackhole/info8.html	# nor this one
    """)


def _site(
    says: str, agent: str, allowed: str, body: str = FROMMITZ, dialect: str = ""
) -> Case:
    """Return a case over the whole site: all but what is listed is forbidden."""
    listed = tuple(allowed.split())
    forbidden = tuple(page for page in SITE if page not in listed)
    return Case(EXAMPLES, says, body, listed, forbidden, agent, dialect=dialect)


def _open(
    says: str, agent: str, forbidden: str, body: str = FROMMITZ, dialect: str = ""
) -> Case:
    """Return a case over the whole site: all but what is listed is allowed."""
    listed = tuple(forbidden.split())
    allowed = tuple(page for page in SITE if page not in listed)
    return Case(EXAMPLES, says, body, allowed, listed, agent, dialect=dialect)


_HTML = " ".join(page for page in SITE if page.endswith(".html"))
_INDEX = (
    "/index.html /images/index.html /blackhole/index.html /blackhole/info/index.html"
)
_IMAGES = " ".join(page for page in SITE if page.startswith("/images"))
_BLACKHOLE = " ".join(page for page in SITE if page.startswith("/blackhole"))
_INFO = " ".join(page for page in SITE if page.startswith("/blackhole/info"))


def _globs(glob: str, matching: str, other: str) -> Case:
    return Case(
        PATTERN,
        f"{glob} is a pattern of the shell, for the whole path.",
        f"User-agent: *\nRobot-version: 2.0\nDisallow: {glob}\n",
        forbidden=tuple(matching.split()),
        allowed=tuple(other.split()),
    )


def _version(value: str, reads: str) -> Case:
    """Return a case that tells how a group with this version is read."""
    body = f"""
        User-agent: bot
        Robot-version: {value}
        Disallow: /a*b

        User-agent: *
        Disallow: /default
        """
    is_1, is_2 = reads == "1.0", reads == "2.0"
    answers = {"/a*bc": not is_1, "/a1b": not is_2, "/default": is_1 or is_2}
    return Case(
        VERSION,
        f"Version {value!r} is"
        f" {'passed over' if reads == 'default' else 'read as ' + reads}.",
        body,
        allowed=tuple(url for url, allowed in answers.items() if allowed),
        forbidden=tuple(url for url, allowed in answers.items() if not allowed),
        agent="bot",
    )


CASES = (
    Case(
        COMMENTS,
        "# begins a comment only at the start of a line or after white space.",
        """
        # this is a comment line
        #so is this
        User-agent: fredsbot # this is another comment
        Disallow: /a#b # we don't like this bot
        Disallow: /c	#d
        """,
        agent="fredsbot",
        forbidden=("/c", "/cd"),
        allowed=("/a", "/ab"),
    ),
    Case(
        COMMENTS,
        "A comment after a value is ignored.",
        "User-agent: fredsbot # this is another comment\nDisallow: * # we don't like"
        " this bot\n",
        agent="fredsbot",
        forbidden=("/", "/a"),
    ),
    Case(
        GENERAL,
        "In a 1.0 group /helpme is treated as /helpme*.",
        "User-agent: *\nDisallow: /helpme\n",
        forbidden=("/helpme", "/helpme/a", "/helpmeplease"),
        allowed=("/help",),
    ),
    Case(
        GENERAL,
        "In a 1.0 group pattern characters are themselves.",
        "User-agent: *\nDisallow: /a*b\nDisallow: /c?d\nDisallow: /[e]\n",
        forbidden=("/a*bc", "/c?d", "/[e]f"),
        allowed=("/a1b", "/c1d", "/e"),
    ),
    Case(
        EXPLICIT,
        "Without pattern characters all the characters must match exactly.",
        "User-agent: *\nRobot-version: 2.0\nDisallow: /helpme\nDisallow: /\n",
        forbidden=("/helpme", "/", "http://www.frommitz.biz"),
        allowed=("/helpme/a", "/helpmeplease", "/a"),
    ),
    _globs("*.html", "/a.html /a/b.html /.html", "/a.htm /a.html?x /html"),
    _globs("/images*", "/images /images/a /imagesque", "/image /a/images"),
    _globs("/a?c", "/abc /a/c /a?c", "/ac /abbc /abcd"),
    _globs("/[abc]x", "/ax /bx /cx", "/dx /abx /[abc]x"),
    _globs("/[a-cx]x", "/ax /bx /xx", "/dx /-x"),
    _globs("/[!a-c]x", "/dx /!x /-x", "/ax /cx"),
    _globs("/[]x]y", "/]y /xy", "/yy /[y"),
    _globs("/a[b", "/a[b", "/ab /a[bc"),
    _globs("/a\\*b", "/a*b", "/a1b /a\\*b"),
    _globs("/a\\?", "/a?", "/ab"),
    _globs("/*[0-9].gif", "/a1.gif /9.gif", "/a.gif /a1.gifs"),
    _globs("*a*b?c*", "/aabxc /a/bb/cde", "/abc /ba?c"),
    _version("1.0", "1.0"),
    _version("1.0.0", "1.0"),
    _version("1.2", "1.0"),
    _version("2.0", "2.0"),
    _version("2.0.0", "2.0"),
    _version("2", "2.0"),
    _version("2.2", "2.0"),
    _version("2.2.1", "2.0"),
    _version("2.1", "default"),
    _version("1.1", "default"),
    _version("3.0", "default"),
    _version("0.8", "default"),
    _version("two", "1.0"),
    _version("", "1.0"),
    Case(
        VERSION,
        "Missing, the rule set follows 1.0.",
        "User-agent: *\nDisallow: /a*b\n",
        forbidden=("/a*b",),
        allowed=("/a1b",),
    ),
    Case(
        VERSION,
        "Not immediately after the User-agent lines it does not count.",
        "User-agent: *\nDisallow: /a*b\nRobot-version: 2.0\n",
        forbidden=("/a*b",),
        allowed=("/a1b",),
    ),
    Case(
        VERSION,
        "Repeated, the first counts.",
        "User-agent: *\nRobot-version: 2.0\nRobot-version: 1.0\nDisallow: /a*b\n",
        forbidden=("/a1b",),
        allowed=("/a1bc",),
    ),
    Case(
        VERSION,
        "A comment between the agents and the version is nothing.",
        "User-agent: *\n# 2.0\nRobot-version: 2.0\nDisallow: /a*b\n",
        forbidden=("/a1b",),
    ),
    Case(
        VERSION,
        "An experimental group for everyone is passed over as well: nothing is left.",
        "User-agent: *\nRobot-version: 2.1\nDisallow: /\n",
        allowed=("/",),
        lines=(("/", None),),
    ),
    Case(
        ALLOW,
        "Allow and Disallow are processed in the order they appear.",
        """
        User-agent: *
        Robot-version: 2.0
        Allow: /a*
        Disallow: /a/b*
        Disallow: /c*
        Allow: /c/d
        """,
        allowed=("/a/b", "/a", "/e"),
        forbidden=("/c/d", "/c"),
        lines=(("/a/b", 3), ("/c/d", 5), ("/e", None)),
    ),
    Case(
        ALLOW,
        "What no rule covers is allowed, whatever kinds there are.",
        "User-agent: *\nRobot-version: 2.0\nAllow: /a*\n",
        allowed=("/a", "/b"),
    ),
    Case(
        ALLOW,
        "Older text: explicit Allow before Disallow before pattern Allow.",
        """
        User-agent: *
        Robot-version: 2.0
        Allow: *.html
        Disallow: /a*
        Allow: /a/b.html
        """,
        dialect="extended2 old text",
        allowed=("/a/b.html", "/c.html"),
        forbidden=("/a/c.html", "/a", "/c.gif"),
        lines=(("/a/c.html", 4), ("/c.html", 3), ("/c.gif", None)),
    ),
    Case(
        ALLOW,
        "Older text: without Disallow only what is allowed may be retrieved.",
        "User-agent: *\nRobot-version: 2.0\nAllow: /a\nAllow: *.html\n",
        dialect="extended2 old text",
        allowed=("/a", "/b.html"),
        forbidden=("/b", "/ab"),
    ),
    Case(
        ALLOW,
        "Older text: with explicit Allow alone beside it, only Disallow forbids.",
        "User-agent: *\nRobot-version: 2.0\nAllow: /a/b\nDisallow: /a*\n",
        dialect="extended2 old text",
        allowed=("/a/b", "/c"),
        forbidden=("/a/c",),
    ),
    Case(
        ALLOW,
        "Older text: without Allow, what no Disallow covers may be retrieved.",
        "User-agent: *\nRobot-version: 2.0\nDisallow: /a*\n",
        dialect="extended2 old text",
        allowed=("/b",),
        forbidden=("/a",),
    ),
    Case(
        GROUPS,
        "A blank line ends a rule set.",
        "User-agent: *\nDisallow: /a\n\nDisallow: /b\n",
        forbidden=("/a",),
        allowed=("/b",),
    ),
    Case(
        GROUPS,
        "A directive other than User-agent ends the run of agents.",
        "User-agent: one\nComment: hello\nUser-agent: two\nDisallow: /\n",
        agent="one",
        allowed=("/",),
    ),
    Case(
        GROUPS,
        "A field may hold a # that begins no comment, and is a directive all the same.",
        "User-agent: one\nnumber#1: x\nUser-agent: two\nDisallow: /\n",
        agent="one",
        allowed=("/",),
    ),
    Case(
        GROUPS,
        "Only the first rule set of an agent counts.",
        "User-agent: bot\nDisallow: /a\n\nUser-agent: bot\nDisallow: /b\n",
        agent="bot",
        forbidden=("/a",),
        allowed=("/b",),
    ),
    *(
        _open(
            f"{agent} knows 1.0 only and is really limited.",
            agent,
            f"{_IMAGES} /order.shtml /order.cgi {_BLACKHOLE}",
        )
        for agent in ("fredsbot", "pandabot", "chives", "megachives")
    ),
    _open(
        "popularsite knows 1.0 only and gets a longer rule set.",
        "popularsite",
        f"{_IMAGES} /order.shtml /order.cgi /blackhole/info98.shtml"
        " /blackhole/info99.html /blackhole/info99.gif /blackhole/info8.html"
        " /blackhole/info/page2.shtml",
    ),
    *(
        _site(f"{agent} knows 2.0: in order of appearance.", agent, f"{_INDEX} {_INFO}")
        for agent in ("alfred", "newchives", "oscarbot")
    ),
    *(
        _site(
            f"{agent} by the older text: images, scripts and includes are closed, "
            "/images/index.html is explicitly allowed.",
            agent,
            "/index.html /images/index.html /blackhole/index.html"
            " /blackhole/info98.html /blackhole/info/index.html"
            " /blackhole/info/page1.html /blackhole/info/page4.html"
            " /blackhole/info/thankyou.html",
            OLD_TEXT,
            "extended2 old text",
        )
        for agent in ("alfred", "newchives", "oscarbot")
    ),
    _site("hackerbot may retrieve index pages only.", "hackerbot", _INDEX),
    _site("suckemdry may retrieve HTML pages only.", "suckemdry", _HTML),
    *(
        _site(f"{agent} may retrieve HTML pages only.", agent, _HTML)
        for agent in ("vacuumweb", "spanwebbot", "spiderbot")
    ),
    _site("Nobody else should visit at all.", "otherbot", ""),
)

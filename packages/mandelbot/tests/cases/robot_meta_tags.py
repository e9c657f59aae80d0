"""Where HTML has a page's robot tags, and where what looks like one is none, as a
table.
"""

from __future__ import annotations

from cases.robot_tags import NOFOLLOW, NOINDEX, NONE, TagCase, meta

HTML = "HTML (WHATWG)"

CASES = (
    TagCase(
        f"{HTML}, 13.1.2.3 'Attributes'",
        "Attributes in any order, with quotes of either kind or none.",
        page=(
            "<meta content='noindex' name=robots><meta content=nofollow name='robots'/>"
        ),
        means=NONE,
    ),
    TagCase(
        f"{HTML}, 13.1.2.3 'Attributes'",
        "White space around the equals sign and within the tag.",
        page='<meta\n\tname = "robots"\n\fcontent\r\n=\r\n"noindex"\n>',
        means=NOINDEX,
    ),
    TagCase(
        f"{HTML}, 13.2.5.33 'Attribute name state'",
        "Of an attribute that is there twice the first counts.",
        page='<meta name="robots" name="other" content="noindex" content="nofollow">',
        means=NOINDEX,
    ),
    TagCase(
        f"{HTML}, 13.5 'Named character references'",
        "Character references in names and values.",
        page='<meta name="&#114;obots" content="no&#x69;ndex&comma; nofollow">',
        means=NONE,
    ),
    *(
        TagCase(
            f"{HTML}, 13.2.5 'Tokenization'",
            f"What is in {what} is no tag, and what comes after is.",
            page=f"<head>{before}{meta('noindex')}{after}{meta('nofollow')}</head>",
            means=NOFOLLOW,
        )
        for what, before, after in (
            ("a comment", "<!-- ", " -->"),
            ("a comment with a strange end", "<!-- ", " --!>"),
            ("a script", "<script>var x = '", "';</script>"),
            ("a script with a comment", "<SCRIPT TYPE=a><!--\n", "\n//--></SCRIPT >"),
            ("a style", "<style>/* ", " */</style>"),
            ("a title", "<title>", "</title>"),
            ("noscript", "<noscript>", "</noscript>"),
            ("a template", "<template>", "</template>"),
            (
                "a template in a template",
                "<template><template></template>",
                "</template>",
            ),
            ("a value", "<link title='", "'>"),
        )
    ),
    *(
        TagCase(
            f"{HTML}, 13.2.6.4.4 'The \"in head\" insertion mode'",
            f"What comes after {what} is not of the head.",
            page=f"<html><head>{meta('noindex')}{end}{meta('nofollow')}",
            means=NOINDEX,
        )
        for what, end in (
            ("the body's beginning", "</head><body>"),
            ("the body's beginning in capitals", "</HEAD>\n<BODY class=x>"),
            ("an element that cannot be in a head", "<p>"),
            ("such an element after the head's end", "</head>\n<div>"),
            ("an image", "<img src=x>"),
            ("the body's end", "</body>"),
            ("a title that does not end", "<title>"),
            ("a comment that does not end", "<!--"),
        )
    ),
    *(
        TagCase(
            f"{HTML}, 13.2.6.4 'The rules for parsing tokens in HTML content'",
            f"{what} ends no head.",
            page=f"<!doctype html><html><head>{before}{meta('noindex')}",
            means=NOINDEX,
        )
        for what, before in (
            ("The end tag of the head", "</head>"),
            (
                "Another beginning after it",
                "</head><html lang=en><head></head><noframes></noframes>",
            ),
            ("A processing instruction", '<?xml version="1.0"?>'),
            ("A short comment", "<!-->"),
            ("A comment nearly as short", "<!--->"),
            ("An end tag out of place", "</p></div>"),
            (
                "A base, a link, a meta",
                '<base href="/"><link rel=x><meta charset=utf-8>',
            ),
            ("A markup declaration", "<![CDATA[x]]>"),
            ("Text out of place", "text < & >"),
            (
                "Markup in a value",
                '<meta name=description content="<p>The <body> element</p>">',
            ),
            ("A head in a script", "<script>d.write('<head></head><body>')</script>"),
            (
                "A head after an end of another kind, in a script",
                "<script>d.write('</style></head><body>')</script>",
            ),
            ("A head in a comment", "<!-- <head></head><body> -->"),
            ("A quote too many", '<meta name="description" content="say "hello" to">'),
            ("A tag in another's", '<link rel="a"b" <link>'),
        )
    ),
    *(
        TagCase(
            f"{HTML}, 13.2.5 'Tokenization'",
            "A tag that does not end is none.",
            page=meta("nofollow") + page,
            means=NOFOLLOW,
        )
        for page in (
            "<meta name=robots content=noindex",
            '<meta name="robots" content="noindex>',
            "<meta name=robots content='noindex",
            "<meta name=robots content=",
        )
    ),
    TagCase(
        f"{HTML}, 4.2.5 'The meta element'",
        "Without content, or with its name in another attribute, it says nothing.",
        page=(
            '<meta name=robots><meta property="robots" content="noindex">'
            '<meta name="" content="noindex"><meta content="noindex">'
        ),
    ),
    *(
        TagCase(
            f"{HTML}, 13.2.3.2 'Determining the character encoding'",
            f"A page in {encoding}.",
            page=f"{mark}<!doctype html>\n{meta('noindex, nöarchive')}".encode(
                encoding
            ),
            means=NOINDEX,
            unknown=("nöarchive",),
        )
        for encoding, mark in (
            *(("utf-8", ""), ("utf-8", "\ufeff"), ("utf-8", "\0"), ("latin-1", "")),
            *(
                ("utf-16-le", "\ufeff"),
                ("utf-16-le", ""),
                ("utf-16-le", "\n <!-- か -->"),
            ),
            *(
                ("utf-16-be", "\ufeff"),
                ("utf-16-be", ""),
                ("utf-16-be", "\n <!-- か -->"),
            ),
        )
    ),
    TagCase(
        f"{HTML}, 13.2.3.2 'Determining the character encoding'",
        "A page in ISO-2022-JP, whose text has ASCII's bytes.",
        page=f"<title>あ</title>{meta('noindex, あ')}".encode("iso2022_jp"),
        means=NOINDEX,
        unknown=("あ",),
    ),
)

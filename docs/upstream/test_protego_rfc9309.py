"""RFC 9309 by its sections: a file, a robot, a URL, and whether it may be fetched."""

import pytest

from protego import Protego

CASES = [
    # 2.1: The last group may have no rules, which allows everything.
    pytest.param(
        'User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot',
        'ExampleBot',
        'https://www.site.example/',
        True,
    ),
    # 2.1: The last group may have no rules, which allows everything.
    pytest.param(
        'User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot',
        'ExampleBot',
        'https://www.site.example/a',
        True,
    ),
    # 2.1: A group is ended by a User-agent line, not by a blank line.
    pytest.param(
        'User-agent: ExampleBot\nDisallow: /a\n\nDisallow: /b\nUser-agent: *\nDisallow: /c',
        'ExampleBot',
        'https://www.site.example/c',
        True,
    ),
    # 2.1: A group is ended by a User-agent line, not by a blank line.
    pytest.param(
        'User-agent: ExampleBot\nDisallow: /a\n\nDisallow: /b\nUser-agent: *\nDisallow: /c',
        'ExampleBot',
        'https://www.site.example/a',
        False,
    ),
    # 2.1: A group is ended by a User-agent line, not by a blank line.
    pytest.param(
        'User-agent: ExampleBot\nDisallow: /a\n\nDisallow: /b\nUser-agent: *\nDisallow: /c',
        'ExampleBot',
        'https://www.site.example/b',
        False,
    ),
    # 2.2: White space may stand around every element, or nowhere; a comment may end any line.
    pytest.param(
        ' user-agent\t:\tExampleBot\t# me\n\tdisallow:/a#b\n',
        'ExampleBot',
        'https://www.site.example/b',
        True,
    ),
    # 2.2: White space may stand around every element, or nowhere; a comment may end any line.
    pytest.param(
        ' user-agent\t:\tExampleBot\t# me\n\tdisallow:/a#b\n',
        'ExampleBot',
        'https://www.site.example/a',
        False,
    ),
    # 2.2: White space may stand around every element, or nowhere; a comment may end any line.
    pytest.param(
        ' user-agent\t:\tExampleBot\t# me\n\tdisallow:/a#b\n',
        'ExampleBot',
        'https://www.site.example/ab',
        False,
    ),
    # 2.2: A pattern may be empty.
    pytest.param(
        'user-agent: ExampleBot\ndisallow:\nallow:',
        'ExampleBot',
        'https://www.site.example/',
        True,
    ),
    # 2.2: Empty lines may stand between User-agent lines.
    pytest.param(
        'user-agent: ExampleBot\n\n# and\nuser-agent: Other\ndisallow: /',
        'ExampleBot',
        'https://www.site.example/',
        False,
    ),
    # 2.2.1: The product token is found in the User-Agent header.
    pytest.param(
        'user-agent: ExampleBot\ndisallow: /',
        'Mozilla/5.0 (compatible; ExampleBot/0.1; https://www.example.com/bot.html)',
        'https://www.site.example/',
        False,
    ),
    # 2.2.1: The product token is matched in any case.
    pytest.param(
        'user-agent: EXAMPLEBOT\ndisallow: /',
        'examplebot',
        'https://www.site.example/',
        False,
    ),
    # 2.2.1: Groups that match the same product token are merged.
    pytest.param(
        'user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz',
        'ExampleBot',
        'https://www.site.example/qux',
        True,
    ),
    # 2.2.1: Groups that match the same product token are merged.
    pytest.param(
        'user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz',
        'ExampleBot',
        'https://www.site.example/foo',
        False,
    ),
    # 2.2.1: Groups that match the same product token are merged.
    pytest.param(
        'user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz',
        'ExampleBot',
        'https://www.site.example/bar',
        False,
    ),
    # 2.2.1: Groups that match the same product token are merged.
    pytest.param(
        'user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz',
        'ExampleBot',
        'https://www.site.example/baz',
        False,
    ),
    # 2.2.1: Without a group of its own a robot obeys the group of *.
    pytest.param(
        'user-agent: *\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: BazBot\ndisallow: /baz',
        'ExampleBot',
        'https://www.site.example/baz',
        True,
    ),
    # 2.2.1: Without a group of its own a robot obeys the group of *.
    pytest.param(
        'user-agent: *\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: BazBot\ndisallow: /baz',
        'ExampleBot',
        'https://www.site.example/foo',
        False,
    ),
    # 2.2.1: Without a group of its own a robot obeys the group of *.
    pytest.param(
        'user-agent: *\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: BazBot\ndisallow: /baz',
        'ExampleBot',
        'https://www.site.example/bar',
        False,
    ),
    # 2.2.1: Without any group no rules apply.
    pytest.param(
        'user-agent: BazBot\ndisallow: /',
        'ExampleBot',
        'https://www.site.example/',
        True,
    ),
    # 2.2.1: Without any group no rules apply.
    pytest.param(
        'user-agent: BazBot\ndisallow: /',
        'ExampleBot',
        'https://www.site.example/baz',
        True,
    ),
    # 2.2.2: Matching begins with the first octet of the path and is case sensitive.
    pytest.param(
        'user-agent: *\ndisallow: /a',
        'Mandelbot',
        'https://www.site.example/A',
        True,
    ),
    # 2.2.2: Matching begins with the first octet of the path and is case sensitive.
    pytest.param(
        'user-agent: *\ndisallow: /a',
        'Mandelbot',
        'https://www.site.example/b/a',
        True,
    ),
    # 2.2.2: Matching begins with the first octet of the path and is case sensitive.
    pytest.param(
        'user-agent: *\ndisallow: /a',
        'Mandelbot',
        'https://www.site.example/',
        True,
    ),
    # 2.2.2: Matching begins with the first octet of the path and is case sensitive.
    pytest.param(
        'user-agent: *\ndisallow: /a',
        'Mandelbot',
        'https://www.site.example/a',
        False,
    ),
    # 2.2.2: Matching begins with the first octet of the path and is case sensitive.
    pytest.param(
        'user-agent: *\ndisallow: /a',
        'Mandelbot',
        'https://www.site.example/abc',
        False,
    ),
    # 2.2.2: The match with the most octets is used, whatever the order.
    pytest.param(
        'user-agent: *\nallow: /a/b\ndisallow: /a/b/c\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/a/b',
        True,
    ),
    # 2.2.2: The match with the most octets is used, whatever the order.
    pytest.param(
        'user-agent: *\nallow: /a/b\ndisallow: /a/b/c\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/a/b/d',
        True,
    ),
    # 2.2.2: The match with the most octets is used, whatever the order.
    pytest.param(
        'user-agent: *\nallow: /a/b\ndisallow: /a/b/c\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/a/b/c',
        False,
    ),
    # 2.2.2: The match with the most octets is used, whatever the order.
    pytest.param(
        'user-agent: *\nallow: /a/b\ndisallow: /a/b/c\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/a/c',
        False,
    ),
    # 2.2.2: Of equivalent rules Allow is used.
    pytest.param(
        'user-agent: *\ndisallow: /a\nallow: /a',
        'Mandelbot',
        'https://www.site.example/a',
        True,
    ),
    # 2.2.2: What no rule matches is allowed.
    pytest.param(
        'user-agent: *\ndisallow: /a',
        'Mandelbot',
        'https://www.site.example/b',
        True,
    ),
    # 2.2.2: /robots.txt is implicitly allowed.
    pytest.param(
        'user-agent: *\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/robots.txt',
        True,
    ),
    # 2.2.2: /robots.txt is implicitly allowed.
    pytest.param(
        'user-agent: *\ndisallow: /',
        'Mandelbot',
        'https://example.com/robots.txt',
        True,
    ),
    # 2.2.2: /robots.txt is implicitly allowed.
    pytest.param(
        'user-agent: *\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/robots.txt?a',
        False,
        marks=pytest.mark.xfail(strict=True, reason='/robots.txt is implicitly allowed.'),
    ),
    # 2.2.2: /robots.txt is implicitly allowed.
    pytest.param(
        'user-agent: *\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/robots.txt/',
        False,
    ),
    # 2.2.2: /robots.txt is implicitly allowed.
    pytest.param(
        'user-agent: *\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/a/robots.txt',
        False,
    ),
    # 2.2.2: A query is compared as it stands.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar?baz=quz',
        'Mandelbot',
        'https://www.site.example/foo/bar%3Fbaz=quz',
        True,
        marks=pytest.mark.xfail(strict=True, reason='A query is compared as it stands.'),
    ),
    # 2.2.2: A query is compared as it stands.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar?baz=quz',
        'Mandelbot',
        'https://www.site.example/foo/bar?baz=qux',
        True,
    ),
    # 2.2.2: A query is compared as it stands.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar?baz=quz',
        'Mandelbot',
        'https://www.site.example/foo/bar?baz=quz',
        False,
    ),
    # 2.2.2: A reserved character equals itself.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar?baz=https://foo.bar',
        'Mandelbot',
        '/foo/bar?baz=https://foo.bar',
        False,
    ),
    # 2.2.2: A character outside ASCII equals its octets escaped.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar/ツ',
        'Mandelbot',
        'https://www.site.example/foo/bar/',
        True,
    ),
    # 2.2.2: A character outside ASCII equals its octets escaped.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar/ツ',
        'Mandelbot',
        'https://www.site.example/foo/bar/%E3%83%85',
        True,
    ),
    # 2.2.2: A character outside ASCII equals its octets escaped.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar/ツ',
        'Mandelbot',
        'https://www.site.example/foo/bar/ツ',
        False,
    ),
    # 2.2.2: A character outside ASCII equals its octets escaped.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar/ツ',
        'Mandelbot',
        'https://www.site.example/foo/bar/%E3%83%84',
        False,
    ),
    # 2.2.2: A character outside ASCII equals its octets escaped.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar/ツ',
        'Mandelbot',
        'https://www.site.example/foo/bar/%e3%83%84',
        False,
    ),
    # 2.2.2: Escaped octets outside ASCII stay escaped.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar/%E3%83%84',
        'Mandelbot',
        'https://www.site.example/foo/bar/',
        True,
    ),
    # 2.2.2: Escaped octets outside ASCII stay escaped.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar/%E3%83%84',
        'Mandelbot',
        'https://www.site.example/foo/bar/ツ',
        False,
    ),
    # 2.2.2: Escaped octets outside ASCII stay escaped.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar/%E3%83%84',
        'Mandelbot',
        'https://www.site.example/foo/bar/%E3%83%84',
        False,
    ),
    # 2.2.2: Escaped unreserved characters equal the characters.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar/%62%61%7A',
        'Mandelbot',
        'https://www.site.example/foo/bar/bax',
        True,
    ),
    # 2.2.2: Escaped unreserved characters equal the characters.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar/%62%61%7A',
        'Mandelbot',
        'https://www.site.example/foo/bar/baz',
        False,
    ),
    # 2.2.2: Escaped unreserved characters equal the characters.
    pytest.param(
        'user-agent: *\ndisallow: /foo/bar/%62%61%7A',
        'Mandelbot',
        'https://www.site.example/foo/bar/%62az',
        False,
    ),
    # 2.2.2: Rules that are in no group are ignored.
    pytest.param(
        'disallow: /a\nuser-agent: *\ndisallow: /b',
        'Mandelbot',
        'https://www.site.example/a',
        True,
    ),
    # 2.2.2: Rules that are in no group are ignored.
    pytest.param(
        'disallow: /a\nuser-agent: *\ndisallow: /b',
        'Mandelbot',
        'https://www.site.example/b',
        False,
    ),
    # 2.2.3: $ designates the end of the pattern.
    pytest.param(
        'user-agent: *\nallow: /this/path/exactly$\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/this/path/exactly',
        True,
    ),
    # 2.2.3: $ designates the end of the pattern.
    pytest.param(
        'user-agent: *\nallow: /this/path/exactly$\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/this/path/exactly/not',
        False,
    ),
    # 2.2.3: $ designates the end of the pattern.
    pytest.param(
        'user-agent: *\nallow: /this/path/exactly$\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/this/path/exactly?a',
        False,
    ),
    # 2.2.3: * designates any characters, none too.
    pytest.param(
        'user-agent: *\nallow: /this/*/exactly\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/this/path/exactly',
        True,
    ),
    # 2.2.3: * designates any characters, none too.
    pytest.param(
        'user-agent: *\nallow: /this/*/exactly\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/this//exactly',
        True,
    ),
    # 2.2.3: * designates any characters, none too.
    pytest.param(
        'user-agent: *\nallow: /this/*/exactly\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/this/a/b/exactly/more',
        True,
    ),
    # 2.2.3: * designates any characters, none too.
    pytest.param(
        'user-agent: *\nallow: /this/*/exactly\ndisallow: /',
        'Mandelbot',
        'https://www.site.example/this/exactly',
        False,
    ),
    # 2.2.3: An escaped * matches the character.
    pytest.param(
        'user-agent: *\ndisallow: /path/file-with-a-%2A.html',
        'Mandelbot',
        'https://www.example.com/path/file-with-a-b.html',
        True,
    ),
    # 2.2.3: An escaped * matches the character.
    pytest.param(
        'user-agent: *\ndisallow: /path/file-with-a-%2A.html',
        'Mandelbot',
        'https://www.example.com/path/file-with-a-*.html',
        False,
    ),
    # 2.2.3: An escaped * matches the character.
    pytest.param(
        'user-agent: *\ndisallow: /path/file-with-a-%2A.html',
        'Mandelbot',
        'https://www.example.com/path/file-with-a-%2A.html',
        False,
    ),
    # 2.2.3: An escaped * matches the character.
    pytest.param(
        'user-agent: *\ndisallow: /path/file-with-a-%2A.html',
        'Mandelbot',
        'https://www.example.com/path/file-with-a-%2a.html',
        False,
    ),
    # 2.2.3: An escaped $ matches the character.
    pytest.param(
        'user-agent: *\ndisallow: /path/foo-%24',
        'Mandelbot',
        'https://www.example.com/path/foo-',
        True,
    ),
    # 2.2.3: An escaped $ matches the character.
    pytest.param(
        'user-agent: *\ndisallow: /path/foo-%24',
        'Mandelbot',
        'https://www.example.com/path/foo-$',
        False,
    ),
    # 2.2.3: An escaped $ matches the character.
    pytest.param(
        'user-agent: *\ndisallow: /path/foo-%24',
        'Mandelbot',
        'https://www.example.com/path/foo-%24x',
        False,
    ),
    # 2.2.4: Other records do not end a group.
    pytest.param(
        'user-agent: *\ndisallow: /a\nsitemap: https://example.com/sitemap.xml\ndisallow: /b',
        'Mandelbot',
        'https://www.site.example/a',
        False,
    ),
    # 2.2.4: Other records do not end a group.
    pytest.param(
        'user-agent: *\ndisallow: /a\nsitemap: https://example.com/sitemap.xml\ndisallow: /b',
        'Mandelbot',
        'https://www.site.example/b',
        False,
    ),
    # 2.2.4: Other records do not end a run of User-agent lines.
    pytest.param(
        'user-agent: ExampleBot\ncrawl-delay: 1\nuser-agent: Other\ndisallow: /a',
        'ExampleBot',
        'https://www.site.example/a',
        False,
        marks=pytest.mark.xfail(strict=True, reason='Other records do not end a run of User-agent lines.'),
    ),
    # 5.1: The group of *: no .gif, no /example/, but /publications/.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'otherbot',
        'https://www.site.example/publications/',
        True,
    ),
    # 5.1: The group of *: no .gif, no /example/, but /publications/.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'otherbot',
        'https://www.site.example/publications/a.pdf',
        True,
    ),
    # 5.1: The group of *: no .gif, no /example/, but /publications/.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'otherbot',
        'https://www.site.example/a.gif?x',
        True,
    ),
    # 5.1: The group of *: no .gif, no /example/, but /publications/.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'otherbot',
        'https://www.site.example/a.gif',
        False,
    ),
    # 5.1: The group of *: no .gif, no /example/, but /publications/.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'otherbot',
        'https://www.site.example/example/',
        False,
    ),
    # 5.1: The group of *: no .gif, no /example/, but /publications/.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'otherbot',
        'https://www.site.example/example/page.html',
        False,
    ),
    # 5.1: foobot has access to two prefixes only.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'foobot',
        'https://www.site.example/example/page.html',
        True,
    ),
    # 5.1: foobot has access to two prefixes only.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'foobot',
        'https://www.site.example/example/allowed.gif',
        True,
    ),
    # 5.1: foobot has access to two prefixes only.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'foobot',
        'https://www.site.example/',
        False,
    ),
    # 5.1: foobot has access to two prefixes only.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'foobot',
        'https://www.site.example/publications/',
        False,
    ),
    # 5.1: foobot has access to two prefixes only.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'foobot',
        'https://www.site.example/example/other.html',
        False,
    ),
    # 5.1: barbot shares a group.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'barbot',
        'https://www.site.example/',
        True,
    ),
    # 5.1: barbot shares a group.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'barbot',
        'https://www.site.example/example/allowed.gif',
        True,
    ),
    # 5.1: barbot shares a group.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'barbot',
        'https://www.site.example/a.gif',
        True,
    ),
    # 5.1: barbot shares a group.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'barbot',
        'https://www.site.example/example/page.html',
        False,
    ),
    # 5.1: bazbot shares a group.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'bazbot',
        'https://www.site.example/',
        True,
    ),
    # 5.1: bazbot shares a group.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'bazbot',
        'https://www.site.example/example/allowed.gif',
        True,
    ),
    # 5.1: bazbot shares a group.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'bazbot',
        'https://www.site.example/a.gif',
        True,
    ),
    # 5.1: bazbot shares a group.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'bazbot',
        'https://www.site.example/example/page.html',
        False,
    ),
    # 5.1: quxbot has an empty group: all is allowed.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'quxbot',
        'https://www.site.example/',
        True,
    ),
    # 5.1: quxbot has an empty group: all is allowed.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'quxbot',
        'https://www.site.example/example/page.html',
        True,
    ),
    # 5.1: quxbot has an empty group: all is allowed.
    pytest.param(
        'User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF',
        'quxbot',
        'https://www.site.example/a.gif',
        True,
    ),
    # 5.2: The longest match is used.
    pytest.param(
        'User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif',
        'foobot',
        'https://example.com/example/page/disallow.gif',
        True,
    ),
    # 5.2: The longest match is used.
    pytest.param(
        'User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif',
        'foobot',
        'https://example.com/example/page/disallowed.gif',
        False,
    ),
]


@pytest.mark.parametrize(("body", "agent", "url", "allowed"), CASES)
def test_rfc9309(body, agent, url, allowed):
    assert Protego.parse(body).can_fetch(url, agent) is allowed

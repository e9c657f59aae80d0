"""Well-known robots: their operators, purposes and documents.

Reports list them and show which of them may fetch what. The table is no promise: robots
come and go, and a request can claim any name. Names of AI robots were compared with the
public list ``ai-robots-txt/ai.robots.txt`` and Google's with its own list, in the month
of the row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from mandelbot.robotstxt.agents import names_in_order

if TYPE_CHECKING:
    from mandelbot.robotstxt.agents import Agent
    from mandelbot.robotstxt.robots_txt import RobotsTxt
    from mandelbot.robotstxt.verdict import Verdict

Kind = Literal["search", "ai", "seo", "archive", "preview", "ads"]

KINDS: dict[Kind, str] = {
    "search": "Search engines",
    "ai": "AI crawlers and assistants",
    "seo": "SEO tools",
    "archive": "Archives",
    "preview": "Link previews",
    "ads": "Advertising",
}
"""The kinds in their order, with their titles."""


class KnownRobot(NamedTuple):
    """A robot, by its name in User-agent lines."""

    name: str
    kind: Kind
    operator: str
    source: str
    """The document of its operator."""
    dated: str
    """The month or year of the last comparison with the source, in ISO 8601."""
    refuses: tuple[str, ...] = ()
    """The categories of use that an owner refuses by a Disallow for it: see
    `preferences`.
    """
    is_token: bool = False
    """Whether the name is never sent: it only controls the use of another robot's
    pages.
    """


_GOOGLE = "https://developers.google.com/crawling/docs/crawlers-fetchers/google-common-crawlers"
_GOOGLE_SPECIAL = "https://developers.google.com/crawling/docs/crawlers-fetchers/google-special-case-crawlers"
_BING = "https://www.bing.com/webmasters/help/which-crawlers-does-bing-use-8c184ec0"
_YANDEX = "https://yandex.com/support/webmaster/en/robot-workings/check-yandex-robots"
_APPLE = "https://support.apple.com/en-us/119829"
_SEZNAM = "https://o-seznam.cz/napoveda/vyhledavani/en/seznambot-crawler/"
_PETAL = "https://webmaster.petalsearch.com/site/petalbot"
_PINTEREST = "https://help.pinterest.com/en/business/article/pinterestbot"
_OPENAI = "https://platform.openai.com/docs/bots"
_ANTHROPIC = (
    "https://support.claude.com/en/articles/8896518-does-anthropic-crawl-data-from-the-web-"
    "and-how-can-site-owners-block-the-crawler"
)
_PERPLEXITY = "https://docs.perplexity.ai/guides/bots"
_META = "https://developers.facebook.com/docs/sharing/webmasters/web-crawlers"
_FACEBOOKBOT = "https://developers.facebook.com/docs/sharing/bot"
_AMAZON = "https://developer.amazon.com/amazonbot"
_DUCKDUCKGO = "https://duckduckgo.com/duckduckgo-help-pages/results"
_MOZ = "https://moz.com/help/moz-procedures/crawlers"
_ARCHIVE = "https://archive.org/details/archive.org_bot"
_CCBOT = "https://commoncrawl.org/ccbot"
_MISTRAL = "https://docs.mistral.ai/robots"
_X = "https://developer.x.com/en/docs/x-for-websites"
_LIST = "https://github.com/ai-robots-txt/ai.robots.txt"
_KELLEY = (
    "https://datatracker.ietf.org/doc/draft-kelley-aipref-training-preference-signal/"
)
_BAIDU = "https://help.baidu.com/question?prod_id=99"
_DATAFORSEO = "https://dataforseo.com/dataforseo-bot"
_LINKEDIN = "https://www.linkedin.com/robots.txt"
_DUCKASSIST = f"{_DUCKDUCKGO}/duckassistbot"
_BEFORE_CLAUDEBOT = "Anthropic, before ClaudeBot"
_TRAINING = ("train-ai",)
_ANSWERS = ("ai-input",)
_BOTH = _TRAINING + _ANSWERS

KNOWN_ROBOTS: tuple[KnownRobot, ...] = tuple(
    KnownRobot(*row)
    for row in (
        ("Googlebot", "search", "Google", _GOOGLE, "2026-11"),
        ("Googlebot-Image", "search", "Google", _GOOGLE, "2026-11"),
        ("Googlebot-News", "search", "Google", _GOOGLE, "2026-11"),
        ("Googlebot-Video", "search", "Google", _GOOGLE, "2026-11"),
        ("Storebot-Google", "search", "Google", _GOOGLE, "2026-11"),
        ("GoogleOther", "search", "Google", _GOOGLE, "2026-11"),
        ("Bingbot", "search", "Microsoft", _BING, "2025"),
        ("DuckDuckBot", "search", "DuckDuckGo", f"{_DUCKDUCKGO}/duckduckbot", "2025"),
        ("YandexBot", "search", "Yandex", _YANDEX, "2025"),
        ("YandexImages", "search", "Yandex", _YANDEX, "2025"),
        ("Baiduspider", "search", "Baidu", _BAIDU, "2025"),
        ("Applebot", "search", "Apple", _APPLE, "2026-11"),
        ("Slurp", "search", "Yahoo", "https://help.yahoo.com/kb/SLN22600.html", "2025"),
        ("SeznamBot", "search", "Seznam.cz", _SEZNAM, "2025"),
        ("Yeti", "search", "Naver", "https://naver.me/spd", "2025"),
        ("PetalBot", "search", "Huawei", _PETAL, "2026-11"),
        ("Qwantbot", "search", "Qwant", "https://help.qwant.com/bot/", "2026-11"),
        ("MojeekBot", "search", "Mojeek", "https://www.mojeek.com/bot.html", "2025"),
        ("GPTBot", "ai", "OpenAI", _OPENAI, "2026-11", _TRAINING),
        ("OAI-SearchBot", "ai", "OpenAI", _OPENAI, "2026-11", _ANSWERS),
        ("ChatGPT-User", "ai", "OpenAI", _OPENAI, "2026-11", _ANSWERS),
        ("ClaudeBot", "ai", "Anthropic", _ANTHROPIC, "2026-11", _TRAINING),
        ("Claude-SearchBot", "ai", "Anthropic", _ANTHROPIC, "2026-11", _ANSWERS),
        ("Claude-User", "ai", "Anthropic", _ANTHROPIC, "2026-11", _ANSWERS),
        ("Google-Extended", "ai", "Google", _GOOGLE, "2026-11", _BOTH, True),
        ("Google-CloudVertexBot", "ai", "Google", _GOOGLE, "2026-11", _ANSWERS),
        ("Applebot-Extended", "ai", "Apple", _APPLE, "2026-11", _TRAINING, True),
        ("Meta-ExternalAgent", "ai", "Meta", _META, "2026-11", _TRAINING),
        ("Meta-ExternalFetcher", "ai", "Meta", _META, "2026-11", _ANSWERS),
        ("Meta-WebIndexer", "ai", "Meta", _META, "2026-11"),
        ("FacebookBot", "ai", "Meta", _FACEBOOKBOT, "2026-11", _TRAINING),
        ("PerplexityBot", "ai", "Perplexity", _PERPLEXITY, "2025", _ANSWERS),
        ("Perplexity-User", "ai", "Perplexity", _PERPLEXITY, "2025", _ANSWERS),
        ("CCBot", "ai", "Common Crawl", _CCBOT, "2026-11", (*_TRAINING, "tdm")),
        ("Amazonbot", "ai", "Amazon", _AMAZON, "2026-11", _TRAINING),
        ("Amzn-SearchBot", "ai", "Amazon", _AMAZON, "2026-11"),
        ("Amzn-User", "ai", "Amazon", _AMAZON, "2026-11"),
        ("Bytespider", "ai", "ByteDance", _LIST, "2026-11", _TRAINING),
        ("DuckAssistBot", "ai", "DuckDuckGo", _DUCKASSIST, "2026-11", _ANSWERS),
        ("MistralAI-User", "ai", "Mistral AI", _MISTRAL, "2026-11", _ANSWERS),
        ("cohere-ai", "ai", "Cohere", _LIST, "2026-11"),
        ("AI2Bot", "ai", "Ai2", "https://allenai.org/crawler", "2026-11", _TRAINING),
        ("Diffbot", "ai", "Diffbot", _LIST, "2026-11"),
        ("ImagesiftBot", "ai", "ImageSift", "https://imagesift.com/about", "2026-11"),
        ("anthropic-ai", "ai", _BEFORE_CLAUDEBOT, _LIST, "2026-08", _TRAINING),
        ("Brightbot", "ai", "Bright Data", _LIST, "2026-08", _TRAINING),
        ("cohere-training-data-crawler", "ai", "Cohere", _LIST, "2026-08", _TRAINING),
        ("Cotoyogi", "ai", "ROIS", _LIST, "2026-08", _TRAINING),
        ("DeepSeekBot", "ai", "DeepSeek", _LIST, "2026-08", _TRAINING),
        ("ICC-Crawler", "ai", "NICT", _LIST, "2026-08", _TRAINING),
        ("img2dataset", "ai", "its users", _LIST, "2026-08", _TRAINING),
        ("omgili", "ai", "Webz.io", _LIST, "2026-08", _TRAINING),
        ("PanguBot", "ai", "Huawei", _LIST, "2026-08", _TRAINING),
        ("TikTokSpider", "ai", "ByteDance", _LIST, "2026-08", _TRAINING),
        ("Timpibot", "ai", "Timpi", _LIST, "2026-08", _TRAINING),
        ("Webzio-Extended", "ai", "Webz.io", _LIST, "2026-08", _TRAINING, True),
        (
            "__usage_ai-training",
            "ai",
            "any crawler",
            _KELLEY,
            "2026-11",
            _TRAINING,
            True,
        ),
        ("AhrefsBot", "seo", "Ahrefs", "https://ahrefs.com/robot", "2025"),
        ("SemrushBot", "seo", "Semrush", "https://www.semrush.com/bot/", "2025"),
        ("MJ12bot", "seo", "Majestic", "https://mj12bot.com/", "2025"),
        ("DotBot", "seo", "Moz", f"{_MOZ}/dotbot", "2025"),
        ("rogerbot", "seo", "Moz", f"{_MOZ}/rogerbot", "2025"),
        ("DataForSeoBot", "seo", "DataForSEO", _DATAFORSEO, "2026-11"),
        ("BLEXBot", "seo", "WebMeUp", "https://webmeup-crawler.com/", "2026-11"),
        ("Barkrowler", "seo", "Babbar", "https://www.babbar.tech/crawler", "2026-11"),
        ("serpstatbot", "seo", "Serpstat", "https://serpstatbot.com/", "2025"),
        ("archive.org_bot", "archive", "Internet Archive", _ARCHIVE, "2026-11"),
        ("ia_archiver", "archive", "Internet Archive, Alexa before", _ARCHIVE, "2025"),
        ("facebookexternalhit", "preview", "Meta", _META, "2026-11"),
        ("Twitterbot", "preview", "X", f"{_X}/cards/guides/getting-started", "2025"),
        ("LinkedInBot", "preview", "LinkedIn", _LINKEDIN, "2025"),
        ("Slackbot", "preview", "Slack", "https://api.slack.com/robots", "2025"),
        ("Discordbot", "preview", "Discord", "https://discordapp.com", "2025"),
        ("Pinterestbot", "preview", "Pinterest", _PINTEREST, "2025"),
        ("AdsBot-Google", "ads", "Google", _GOOGLE_SPECIAL, "2026-11"),
        ("AdsBot-Google-Mobile", "ads", "Google", _GOOGLE_SPECIAL, "2026-11"),
        ("Mediapartners-Google", "ads", "Google", _GOOGLE_SPECIAL, "2026-11"),
    )
)
"""The robots, by kind."""


#: Robots whose Disallow refuses a use, by their lower-case names.
CONTROL_TOKENS = {robot.name.lower(): robot for robot in KNOWN_ROBOTS if robot.refuses}
#: Names that no request has, in lower case: they only control a use.
TOKENS = frozenset(robot.name.lower() for robot in KNOWN_ROBOTS if robot.is_token)


class Fallback(NamedTuple):
    """A group that a robot obeys if the file has none for it, before that for ``*``."""

    name: str
    """Of the robot."""
    group: str
    source: str
    """The document of its operator that says so."""
    dated: str
    """The month or year of the last comparison with the source, in ISO 8601."""


_YANDEX_AGENT = "https://yandex.com/support/webmaster/en/robot-workings/user-agent"
_YANDEXS = ("Bot", "Images", "Video", "Media", "Blogs", "News", "MobileBot")
_GOOGLEBOTS = (
    "Googlebot-Image",
    "Googlebot-Mobile",
    "Googlebot-News",
    "Googlebot-Video",
    "Google-CloudVertexBot",
    "Google-InspectionTool",
)

FALLBACKS = (
    *(Fallback(f"Yandex{of}", "Yandex", _YANDEX_AGENT, "2026-11") for of in _YANDEXS),
    # "If robots instructions don't mention Applebot but do mention Googlebot, the Apple
    # robot will follow Googlebot instructions."
    Fallback("Applebot", "Googlebot", _APPLE, "2025"),
    *(Fallback(of, "Googlebot", _GOOGLE, "2026-11") for of in _GOOGLEBOTS),
    Fallback("GoogleOther-Image", "GoogleOther", _GOOGLE, "2026-11"),
    Fallback("GoogleOther-Video", "GoogleOther", _GOOGLE, "2026-11"),
)
"""Google's are in its dialect, too: its robots read files by that."""


class IgnoresStar(NamedTuple):
    """A robot that obeys the groups that name it, and never the group for ``*``."""

    name: str
    source: str
    """The document of its operator that says so."""
    dated: str
    """The month or year of the last comparison with the source, in ISO 8601."""


#: "The global user agent (*) is ignored", in the list of special-case crawlers.
IGNORE_STAR = tuple(
    IgnoresStar(name, _GOOGLE_SPECIAL, "2026-11")
    for name in (
        "AdsBot-Google",
        "AdsBot-Google-Mobile",
        "Mediapartners-Google",
        "APIs-Google",
    )
)

_GROUPS = {one.name.lower(): one.group.lower() for one in FALLBACKS}
_IGNORING = frozenset(one.name.lower() for one in IGNORE_STAR)
_GOOGLES = {robot.name.lower() for robot in KNOWN_ROBOTS if robot.operator == "Google"}
_DIALECTS = dict.fromkeys(_GOOGLES | _IGNORING, "google")
_DIALECTS["mandelbot"] = "mandelbot"


def with_fallback(agent: Agent) -> Agent:
    """Return the names of a robot, each with that of the group that it falls back to.

    `agent` itself, if none of its names has one.
    """
    names = names_in_order(agent)
    if _GROUPS.keys().isdisjoint(names):
        return agent
    found: list[str] = []
    for name in names:
        found.append(name)
        if name in _GROUPS:
            found.append(_GROUPS[name])
    return tuple(dict.fromkeys(found))


def ignores_star(agent: Agent) -> bool:
    """Return whether a robot obeys only groups that name it: see `IGNORE_STAR`."""
    return not _IGNORING.isdisjoint(names_in_order(agent))


def dialect_of(agent: Agent) -> str | None:
    """Return the dialect of a robot, or None if that is not known."""
    names = names_in_order(agent)
    return next((_DIALECTS[name] for name in names if name in _DIALECTS), None)


def own_dialects() -> dict[str, str]:
    """Return the dialect of each robot for which it is known, by lower-case name."""
    return dict(_DIALECTS)


def known_robot_verdict(robots: RobotsTxt, url: str, agent: Agent) -> Verdict:
    r"""Return the verdict of a robot whose operator documents how it picks its group.

    `RobotsTxt.verdict` answers for a crawler that obeys its dialect. Some known robots
    fall back to the group of another one (`FALLBACKS`), or ignore the group for ``*``
    (`IGNORE_STAR`). Of all other robots the verdict is that of `RobotsTxt.verdict`.

    >>> from mandelbot import RobotsTxt
    >>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /\n")
    >>> print(known_robot_verdict(robots, "/", "AdsBot-Google (+http://www.google.com)"))
    allowed: no group names this robot, and it ignores the group for *
    """
    from mandelbot.robotstxt.verdict import Verdict  # noqa: PLC0415 -- a table until here

    verdict = robots.verdict(url, with_fallback(agent))
    if verdict.agent != "*" or not ignores_star(agent):
        return verdict
    reason = Verdict.STAR_IGNORED
    if verdict.reason in {Verdict.ROBOTS_TXT, Verdict.NOT_A_URL, Verdict.SWAPPED}:
        reason = verdict.reason
    return Verdict(allowed=True, rule=None, agent=None, reason=reason)

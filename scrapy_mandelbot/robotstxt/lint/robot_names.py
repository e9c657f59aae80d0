"""Names of robots that are met in robots.txt files, for finding misspelt ones."""

from __future__ import annotations

from scrapy_mandelbot.robotstxt.known_robots import KNOWN_ROBOTS

_OTHERS = """
adsbot-google adsbot-google-mobile ahrefsbot ai2bot aihitbot alphabot amazonbot anthropic-ai
applebot applebot-extended archive.org_bot aspiegelbot awariobot backlinkcrawler
baiduspider baiduspider-image baiduspider-video barkrowler bingbot bingpreview blexbot botify
brightbot bytespider ccbot chatgpt-user claude-searchbot claude-user claude-web claudebot
cliqzbot cognitivebot coccocbot cohere-ai cohere-training-data-crawler copyscape dataforseobot
daum deepcrawl diffbot discobot discordbot domainstatsbot dotbot duckassistbot duckduckbot
duckduckgo-favicons-bot emailcollector emailsiphon emailwolf exabot facebookbot facebookexternalhit
facebot feedfetcher-google freefind friendlycrawler gigabot google-cloudvertexbot google-extended
google-inspectiontool googlebot googlebot-image googlebot-mobile googlebot-news googlebot-video
googleother googleother-image googleother-video gptbot grapeshot gsa-crawler heritrix httrack
ia_archiver icc-crawler imagesiftbot img2dataset ioncrawl issuecrawler jikespider kangaroo
larbin libwww linguee linkchecker linkdexbot linkedinbot linkfluence linkwalker lipperhey
ltx71 magpie-crawler mail.ru_bot mandelbot mauibot mediapartners-google megaindex megalodon
meta-externalagent meta-externalfetcher mj12bot mojeekbot msnbot msnbot-media naverbot
nerdybot netcraftsurveyagent netestate newsnow nutch oai-searchbot obot omgili omgilibot
orangebot pagesinventory panscient perplexity-user perplexitybot petalbot pinterestbot
piplbot proximic psbot pulsepoint qwantify qwantbot rogerbot rytebot safednsbot scooter
scoutjet scrapy searchmetricsbot seekport seekportbot semrushbot
semrushbot-ba semrushbot-sa semrushbot-si semrushbot-swa semanticscholarbot seobilitybot
seokicks seokicks-robot seznambot sidewinder siteauditbot sitebot sitecheckerbot sitesnagger
slackbot slurp smtbot sogou sosospider spbot spinn3r surveybot swiftbot teleport teleportpro
telegrambot teoma trendictionbot turnitinbot twitterbot ubicrawler uptimerobot velenpublicwebcrawler
voilabot voltron webcopier webcrawler webmeup-crawler webreaper webstripper webzip wget
whatsapp wonderbot wotbox xaldon xenu xenu's yacybot yahoo-slurp yandex yandexaccessibilitybot
yandexadditional yandexblogs yandexbot yandeximages yandexmedia yandexmetrika yandexmobilebot
yandexnews yandexvideo yeti yodaobot youdaobot yisouspider youbot zealbot zgrab zoominfobot zyborg
""".split()  # noqa: SIM905 - words to be read

ROBOT_NAMES = sorted({robot.name.lower() for robot in KNOWN_ROBOTS} | set(_OTHERS))
"""In lower case."""

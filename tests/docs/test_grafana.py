"""The dashboard and the alerts ask for metrics that there are, and work."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
from pages import DOCS, PAGES, page

from scrapy_mandelbot.report.measurements import METRICS

FOLDER = DOCS / "grafana"
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
RULES = (FOLDER / "rules.yml").read_text()
ENDINGS = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
LABELS = {
    *(
        "spider",
        "reason",
        "state",
        "case",
        "le",
        "server_address",
        "server_port",
        "url_scheme",
    ),
    *("http_response_status_code", "error_type"),
    "instance",  # Prometheus' own: which process
}


def in_prometheus(metric):
    """Return the names that Prometheus has for a metric."""
    name = metric.name.replace(".", "_") + ("_seconds" if metric.unit == "s" else "")
    return [name + ending for ending in ENDINGS.get(metric.kind, [""])]


THERE_ARE = {name for one in METRICS for name in in_prometheus(one)}
QUERIES = [target["expr"] for one in DASHBOARD["panels"] for target in one["targets"]]
ASKED = {
    word for text in (*QUERIES, RULES) for word in re.findall(r"mandelbot_\w+", text)
}


def test_only_metrics_that_there_are_are_asked_for():
    """By names and labels that stay."""
    assert ASKED <= THERE_ARE
    for text in (
        *QUERIES,
        *re.findall(r"expr: (?:>-)?([^#]*?)\n +(?:for|labels):", RULES),
    ):
        listed = re.findall(r"\b(?:by|on) \(([^)]*)\)", text)
        matched = re.findall(r"[{,](\w+)(?:=|!=|=~)", text)
        assert {
            *matched,
            *(label for one in listed for label in one.split(", ")),
        } <= LABELS, text


def test_the_dashboard_leaves_out_nothing_that_alerts():
    """What a rule asks for can be looked at."""
    shown = " ".join(QUERIES)
    assert {
        word for word in re.findall(r"mandelbot_\w+", RULES) if word not in shown
    } == set()


def test_panels_have_their_own_places():
    """No two overlap, on 24 columns; each has a title, a text and a query."""
    taken = set()
    for one in DASHBOARD["panels"]:
        place = one["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, one["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert one["title"]
        assert one["description"]
        assert one["targets"]
    numbers = [one["id"] for one in DASHBOARD["panels"]]
    assert len(set(numbers)) == len(numbers)


def test_the_dashboard_is_of_grafanas_schema():
    """Grafana's own types take each of its keys, and give it back as it is."""
    pytest.importorskip(
        "grafana_foundation_sdk", reason="Grafana's types are not installed"
    )
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models.dashboard import Dashboard

    register_default_plugins()
    back = json.loads(JSONEncoder().encode(Dashboard.from_json(DASHBOARD)))
    assert differences(DASHBOARD, back) == []


def differences(one, other, path=""):
    """Return where the written data differs or lacks something; it may have more."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            found
            for key, value in one.items()
            for found in differences(value, other.get(key, "nothing"), f"{path}/{key}")
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [
            found for n, pair in pairs for found in differences(*pair, f"{path}/{n}")
        ]
    return [] if one == other else [f"{path}: {one!r} became {other!r}"]


def test_the_page_says_what_to_do_at_each_alert():
    """Each rule has a row with its severity."""
    rules = re.findall(r"alert: (\w+).*?severity: (\w+)", RULES, re.DOTALL)
    listed = re.findall(r"^ +(Mandelbot\w+), (\w+); ", page("went_wrong"), re.MULTILINE)
    assert sorted(listed) == sorted(rules)
    tested = (FOLDER / "rules_test.yml").read_text()
    for name, _ in rules:
        assert re.search(rf"{name} }}", tested), "when it does not fire"
        assert re.search(rf"alertname: {name}\n +exp_alerts", tested), "when it does"


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool")
def test_prometheus_takes_the_rules_and_the_queries(tmp_path):
    """They fire at what their tests say, and at nothing else."""
    command = ["promtool", "test", "rules", "rules_test.yml"]
    ended = subprocess.run(
        command, cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    queries = [one.replace('"$spider"', '".*"') for one in QUERIES]
    rules = [{"record": f"query:{n}", "expr": one} for n, one in enumerate(queries)]
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    ended = subprocess.run(
        ["promtool", "check", "rules", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "word",
    ["503", "alert", "grafana", "docker", "migrat", "troubleshoot", "prometheus"],
)
def test_what_people_look_for_is_on_a_page(word):
    """By the stems of the words, as the search has them."""
    pages = [path.read_text("utf-8") for path in PAGES]
    assert any(re.search(rf"\b{word}", text, re.IGNORECASE) for text in pages)

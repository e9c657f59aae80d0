"""The files for systemd and Kubernetes are valid, as far as a test without either can
show.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap

import pytest
from pages import DOCS

TEXT = (DOCS / "services.rst").read_text("utf-8")


def blocks(kind: str) -> list[str]:
    found = re.findall(rf"\.\. code-block:: {kind}\n\n((?: {{4}}.*\n|\n)+)", TEXT)
    return [textwrap.dedent(one) for one in found]


def test_the_systemd_unit_is_valid(tmp_path):
    """It has a section each, and systemd itself, where it is there, finds nothing
    wrong.
    """
    (unit,) = blocks("ini")
    assert re.findall(r"^\[(\w+)\]", unit, re.MULTILINE) == [
        "Unit",
        "Service",
        "Install",
    ]
    assert "Restart=on-failure" in unit
    path = tmp_path / "shops.service"
    path.write_text(unit.replace("/srv/shops", "/tmp"))
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        return
    said = subprocess.run(
        [analyze, "verify", str(path)], capture_output=True, text=True, check=False
    )
    assert "shops.service" not in said.stderr, said.stderr


def test_the_manifests_say_what_a_crawl_needs():
    """A disk for one machine, a restart after a failure alone, and time to end."""
    yaml = pytest.importorskip("yaml")
    manifests = [one for block in blocks("yaml") for one in yaml.safe_load_all(block)]
    kinds = {one["kind"]: one for one in manifests}
    assert [*kinds] == ["PersistentVolumeClaim", "CronJob", "Job"]
    assert kinds["PersistentVolumeClaim"]["spec"]["accessModes"] == ["ReadWriteOncePod"]
    cron = kinds["CronJob"]["spec"]
    assert cron["concurrencyPolicy"] == "Forbid"
    for spec in (cron["jobTemplate"]["spec"], kinds["Job"]["spec"]):
        assert "completions" not in spec
        pod = spec["template"]["spec"]
        assert pod["restartPolicy"] == "OnFailure"
        assert pod["terminationGracePeriodSeconds"] > 180  # Scrapy's DOWNLOAD_TIMEOUT
        (container,) = pod["containers"]
        assert container["args"][0] == "shops"
        mounts = {one["name"] for one in container.get("volumeMounts", [])}
        assert mounts == {one["name"] for one in pod.get("volumes", [])}

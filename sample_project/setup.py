"""Packs the project into an egg, as ``scrapyd-deploy`` does."""

from setuptools import find_packages, setup

setup(
    name="sample_project",
    version="1.0",
    packages=find_packages(),
    package_data={"sample_project.demoweb": ["robots/*.txt"]},
    entry_points={"scrapy": ["settings = sample_project.settings"]},
)

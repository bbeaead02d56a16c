"""The description of an archive as an RO-Crate 1.1: what each file is, and what made it.

See https://www.researchobject.org/ro-crate/specification/1.1; a crate is JSON-LD in one file.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from embedalloc.study.archive.container import Files
from embedalloc.study.archive.contents import CONFIGURATION, METADATA, SOURCE, digest_bytes

Entity = dict[str, Any]
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
#: Kinds of files by suffix; what the system says of suffixes differs between machines.
_KINDS = {
    "parquet": "application/vnd.apache.parquet",
    "md": "text/markdown",
    "yaml": "application/yaml",
    "json": "application/json",
    "py": "text/x-python",
    "smk": "text/x-python",
    "pdf": "application/pdf",
    "png": "image/png",
    "html": "text/html",
    "csv": "text/csv",
    "tex": "text/x-tex",
    "svg": "image/svg+xml",
    "css": "text/css",
    "js": "text/javascript",
} | dict.fromkeys(("txt", "rst", "toml", "lock", "cff", "data", "tsv"), "text/plain")
#: A crate needs a date; without a release there is none to tell.
_NO_DATE = "1980-01-01"


def describe_crate(
    files: Files,
    *,
    citation: Mapping[str, Any],
    titles: Mapping[str, str],
    versions: Mapping[str, str],
    machine: Mapping[str, str],
    commit: str | None,
) -> bytes:
    """Return the metadata of a crate of some files.

    Parameters
    ----------
    files
        All files by name, but for the metadata and the manifest.
    citation
        What CITATION.cff says of this software and of the paper.
    titles
        Titles of figures by stem.
    versions, machine
        What the results were computed with.
    commit
        Of the checkout that the source comes from, if it is one.
    """
    described = [_file(name, content, titles) for name, content in sorted(files.items())]
    packages = [
        {"@id": f"#{name}", "@type": "SoftwareApplication", "name": name, "version": number}
        for name, number in sorted(versions.items())
    ]
    paper = citation["references"][0]
    graph = [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "conformsTo": {"@id": SPECIFICATION},
            "about": {"@id": "./"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"A finished run of the study of: {paper['title']}",
            "description": (
                "Configuration, tables, figures, verdicts, receipts of all jobs and the source "
                "that made them. figures/report.html shows the results; source/README.md says "
                "how to check this archive on another machine."
            ),
            "datePublished": str(citation.get("date-released", _NO_DATE)),
            "license": {"@id": f"https://spdx.org/licenses/{citation['license']}"},
            "mainEntity": {"@id": "figures/report.html"},
            "mentions": [{"@id": "#run"}],
            "hasPart": [{"@id": entity["@id"]} for entity in described],
        },
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": "The run",
            "description": "; ".join(f"{what}: {found}" for what, found in sorted(machine.items())),
            "instrument": {"@id": "#source"},
            "object": [{"@id": CONFIGURATION}],
            "result": _refer(entity for entity in described if not _is_source(entity)),
        },
        {
            "@id": "#source",
            "@type": "SoftwareSourceCode",
            "name": citation["title"],
            "version": commit or str(citation["version"]),
            "license": {"@id": f"https://spdx.org/licenses/{citation['license']}"},
            "softwareRequirements": _refer(packages),
            "hasPart": _refer(entity for entity in described if _is_source(entity)),
        },
        {
            "@id": f"https://spdx.org/licenses/{citation['license']}",
            "@type": "CreativeWork",
            "name": str(citation["license"]),
        },
        *packages,
        *described,
    ]
    # The context of 1.1 is older than this word of schema.org.
    context = [f"{SPECIFICATION}/context", {"sha256": "http://schema.org/sha256"}]
    crate = {"@context": context, "@graph": graph}
    return (json.dumps(crate, indent=1, ensure_ascii=True) + "\n").encode()


def read_titles(figures: bytes) -> dict[str, str]:
    """Return the titles of the figures by stem, from workflow/report/figures.yaml."""
    return {stem: str(figure["title"]) for stem, figure in yaml.safe_load(figures).items()}


def _refer(entities: Any) -> list[Entity]:
    return [{"@id": entity["@id"]} for entity in entities]


def _is_source(entity: Entity) -> bool:
    return str(entity["@id"]).startswith(f"{SOURCE}/")


def _file(name: str, content: bytes, titles: Mapping[str, str]) -> Entity:
    *_, last = name.split("/")
    stem, _, suffix = last.rpartition(".")
    entity: Entity = {"@id": name, "@type": "File", "name": titles.get(stem, last)}
    if suffix in _KINDS:
        entity["encodingFormat"] = _KINDS[suffix]
    return entity | {"contentSize": str(len(content)), "sha256": digest_bytes(content)}


def digests_in(metadata: bytes) -> dict[str, str]:
    """Return the digests that a crate gives its files, by name."""
    graph: Sequence[Entity] = json.loads(metadata)["@graph"]
    return {entity["@id"]: entity["sha256"] for entity in graph if entity["@type"] == "File"}

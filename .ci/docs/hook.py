"""What the site needs beyond what a page of the repository says: mkdocs calls these."""

import html
import json
import os
import posixpath
import re
from pathlib import Path

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[2]
REF = os.environ.get("LEAT_DOCS_REF", "main")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def slug(title, separator):
    """Return the anchor that GitHub gives a heading, so that links lead there on both."""
    title = html.unescape(re.sub(r"</?(?:code|em|strong|a)\b[^>]*>", "", title))
    return re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", separator)


def on_config(config):
    config.mdx_configs["toc"] = {"slugify": slug, "permalink": True, "toc_depth": 3}
    config.edit_uri = None if REF != "main" else config.edit_uri
    return config


def on_page_markdown(markdown, page, config, files):
    here = posixpath.dirname("docs/" + page.file.src_uri)

    def lead(match):
        path, hash_, anchor = match[1].partition("#")
        to = posixpath.normpath(posixpath.join(here, path))
        if not path or "://" in match[1] or to == "docs" or to.startswith("docs/"):
            return match[0]
        if not (ROOT / to).exists():
            raise PluginError(f"{page.file.src_uri}: {match[1]} leads nowhere")
        kind = "tree" if (ROOT / to).is_dir() else "blob"
        return f"]({config.repo_url}/{kind}/{REF}/{to}{hash_}{anchor})"

    return LINK.sub(lead, markdown)


def on_post_build(config):
    """List the releases that stand beside each other, for the menu of versions."""
    shelf = Path(config.site_dir).parent
    names = [p.name for p in shelf.iterdir() if (p / "index.html").exists()]
    names.sort(key=lambda n: [int(d) for d in re.findall(r"\d+", n)], reverse=True)
    listed = [{"version": n, "title": n, "aliases": ["latest"] if n == names[0] else []} for n in names]
    (shelf / "versions.json").write_text(json.dumps(listed), encoding="utf-8")
    (shelf / "index.html").write_text(f'<meta http-equiv="refresh" content="0; url={names[0]}/">', encoding="utf-8")

"""Page of a service's endpoints, without scripts from elsewhere."""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

_HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body{{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}}
pre{{background:#f4f4f4;padding:.7rem;overflow:auto}}</style></head><body><h1>{title}</h1>
<p>{description} The same as <a href="openapi.json">OpenAPI</a>. All but <code>/health</code>,
<code>/ready</code> and this page need the header <code>Authorization: Bearer TOKEN</code>.</p>
"""


def page_of(description: Mapping[str, Any]) -> str:
    """Return an OpenAPI description as HTML."""
    about = description["info"]
    parts = [_HEAD.format(title=escape(about["title"]), description=escape(about["description"]))]
    for path, operations in description["paths"].items():
        for verb, operation in operations.items():
            parts.append(f"<h2><code>{verb.upper()} {escape(path)}</code></h2>")
            parts.append(f"<p>{escape(operation.get('description', ''))}</p><ul>")
            for status, response in operation["responses"].items():
                parts.append(f"<li>{escape(status)}: {escape(response['description'])}</li>")
            parts.append("</ul>")
    for name, schema in description.get("components", {}).get("schemas", {}).items():
        shown = escape(json.dumps(schema, indent=2))
        parts.append(f"<h3><code>{escape(name)}</code></h3><pre>{shown}</pre>")
    return "\n".join([*parts, "</body></html>"])

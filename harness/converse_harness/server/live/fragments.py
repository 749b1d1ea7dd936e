"""The HTML of the live page: the page without calls, the head of a fake, and one call. (stub until the viewer is there)"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from converse_harness.secrets import mask
from converse_harness.server.live.feed import Shown, ShownFake


@lru_cache(maxsize=1)
def _script() -> str:
    return files("converse_harness.server.live").joinpath("live.js").read_text("utf-8")


def page() -> bytes:
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>converse-harness</title>
<p id="state">Connecting ...</p><main id="fakes"></main><script>{_script()}</script>""".encode()


def policy() -> str:
    digest = b64encode(sha256(_script().encode()).digest()).decode()
    return f"default-src 'none'; connect-src 'self'; script-src 'sha256-{digest}'; frame-ancestors 'none'"


def rendered(shown: Shown, fake: ShownFake) -> Mapping[str, object]:
    if shown.kind == "fake":
        return {"id": fake.id, "html": f"<h2>{escape(fake.fake.url)}</h2>"}
    call = fake.calls[shown.call]
    return {"id": fake.id, "html": f"<article>{escape(mask(call.asked))} {escape(mask(call.outline))}</article>"}

"""Shapes in which people and programs show a secret; written without a look at how the search works.

A shape is a template. `{value}` is the value, in one way of writing it: `{value:json}`. The other slots are its name:
`{ENV}` DB_PASSWORD, `{snake}` db_password, `{camel}` dbPassword, `{Pascal}` DbPassword, `{kebab}` db-password,
`{dotted}` db.password, `{Label}` Db password. For headers, `{name}` is the name and `{low}` its lower case.
"""
# ruff: noqa: E501 - a row of a table stands on one line

from __future__ import annotations

import base64
import bz2
import gzip
import html
import json
import lzma
import quopri
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote


def _each_line(before: str) -> Callable[[str], str]:
    return lambda text: "\n".join(before + line for line in text.split("\n"))


def _numbered(form: str) -> Callable[[str], str]:
    return lambda text: "\n".join(form.format(at) + line for at, line in enumerate(text.split("\n"), 12))


SPELT: Final[Mapping[str, Callable[[str], str]]] = {
    "": str,
    "json": lambda text: json.dumps(text)[1:-1],
    "json2": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "html": html.escape,
    "percent": lambda text: quote(text, safe=""),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "in2": lambda text: text.replace("\n", "\n  "),
    "in4": lambda text: text.replace("\n", "\n    "),
    "line": lambda text: text.replace("\n", "\\n"),
    "folded": lambda text: text.replace("\n", " "),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "cat -n": _numbered("{:6}\t"),
    "grep -n": _numbered("certs/key.pem:{}:"),
    "less -N": _numbered("{:>7} "),
    **{mark: _each_line(mark) for mark in ("> ", "+", "// ", "# ", "web-1  | ", "│ ")},
    "lines": lambda text: "[\n" + "".join(f"  {json.dumps(line)},\n" for line in text.split("\n")) + "]",
    "joined": lambda text: " +\n".join(json.dumps(line + "\n") for line in text.split("\n")),
    "colour": lambda text: "\n".join(f"\x1b[32m+\x1b[m\x1b[32m{line}\x1b[m" for line in text.split("\n")),
    "cells": lambda text: text.replace("\n", "<br>"),
    "cookie": lambda text: max(re.findall(r"=([^;]{20,})", text), key=len),
}
"""Ways of writing a value, which stand behind the colon of a slot."""


class WrittenOut(str):
    """A text that a template writes in one of the ways of SPELT."""

    __slots__ = ()

    def __format__(self, way: str) -> str:
        return SPELT[way](str(self))


def slots(name: str, value: str) -> dict[str, WrittenOut]:
    """What a template may have, by the words of a name and a value."""
    words = name.replace("-", " ").lower().split()
    capital = [word.capitalize() for word in words]
    made = {
        "value": value,
        "name": name,
        "low": name.lower(),
        "ENV": "_".join(words).upper(),
        "snake": "_".join(words),
        "camel": "".join([words[0], *capital[1:]]),
        "Pascal": "".join(capital),
        "kebab": "-".join(words),
        "dotted": ".".join(words),
        "Label": " ".join([words[0].upper() if words[0] == "aws" else capital[0], *words[1:]]),
        "Title": " ".join(capital),
    }
    return {key: WrittenOut(text) for key, text in made.items()}


TEMPLATES: Final[Mapping[str, Mapping[str, str]]] = {
    # What is recognised alone
    "token line": {
        "alone": "{value}",
        "in a sentence": "I found {value} in the logs of today.",
        "in quotes": 'It answered "{value}", and then nothing.',
        "in typographic quotes": "It is «{value}».",
        "in backticks": "Use `{value}` for this.",
        "in Markdown bold": "Use **{value}** for this.",
        "in a Markdown fence": "Here it is:\n\n```\n{value}\n```\n\nKeep it safe.",
        "in angle brackets": "Send <{value}> back.",
        "in brackets": "It is gone ({value}) [{value}].",
        "in a quoted mail": "On Friday Ada wrote:\n> {value}\n>\n> Ada",
        "in a list": "- first\n- {value}\n- last",
        "in HTML": "<p>It is <b>{value:html}</b>.</p>",
        "in XML CDATA": "<note><![CDATA[{value}]]></note>",
        "in a list of JSON": '["a", "{value:json}", "b"]',
        "in CSV": "1,ada,{value},2026-01-01\n2,bob,,2026-01-02",
        "in TSV": "1\tada\t{value}\t2026-01-01",
        "in a log line": "2026-11-27T10:11:12.123Z INFO app.main - connected with {value} (attempt 1)",
        "in an error": "Error: {value} was refused: 403",
    },
    # What has a name
    "named token": {
        "export of a shell": "export {ENV}={value}",
        "export of a shell, quoted": 'export {ENV}="{value}"',
        "before a command": "{ENV}='{value}' python main.py",
        "fish": "set -x {ENV} {value}",
        "Windows, set": "set {ENV}={value}",
        "PowerShell": '$env:{ENV} = "{value}"',
        "docker run -e": "docker run -e {ENV}={value} image",
        "an option": "tool --{kebab} {value} --verbose",
        "an option with =": "tool --{kebab}={value}",
        "here-doc": "cat > .env <<'EOF'\nDEBUG=1\n{ENV}={value}\nEOF",
        ".env": "# local\nDEBUG=1\n{ENV}={value}\nPORT=8080\n",
        "ini": "[default]\nregion = us-east-1\n{snake} = {value}\n",
        "properties": "app.region=x\nspring.{dotted}={value}\n",
        "properties of Hadoop": "fs.s3a.{dotted}={value}",
        "TOML": '[auth]\n{snake} = "{value}"\n',
        "YAML": "auth:\n  {snake}: {value}\n  region: x\n",
        "YAML, quoted": "auth:\n  {camel}: '{value}'\n",
        "YAML, block": "auth:\n  {snake}: |\n    {value}\n  region: x\n",
        "YAML, folded": "auth:\n  {snake}: >-\n    {value}\n  region: x\n",
        "YAML, list": "environment:\n  - {ENV}={value}\n  - A=b\n",
        "Kubernetes, env": "env:\n  - name: {ENV}\n    value: {value}\n",
        "Kubernetes, Secret": "kind: Secret\ndata:\n  {ENV}: {value:base64}\n",
        "GitHub Actions": "      env:\n        {ENV}: {value}\n      run: make",
        "Dockerfile": "FROM x\nENV {ENV}={value}\nRUN make",
        "systemd": "[Service]\nEnvironment={ENV}={value}\n",
        "Terraform": 'variable "x" {{}}\n{snake} = "{value}"\n',
        "JSON": '{{"region": "x", "{snake}": "{value:json}"}}',
        "JSON, compact": '{{"{camel}":"{value:json}","x":1}}',
        "JSON, Pascal": '{{\n  "{Pascal}": "{value:json}",\n  "X": 1\n}}',
        "JSON in JSON": '{{"body": "{{\\"{snake}\\": \\"{value:json2}\\"}}"}}',
        "JSON, name and value": '{{"env": [{{"name": "{ENV}", "value": "{value:json}"}}]}}',
        "Python": '{ENV} = "{value}"',
        "Python, os.environ": "os.environ['{ENV}'] = '{value}'",
        "Python, setdefault": 'os.environ.setdefault("{ENV}", "{value}")',
        "Python, dict": "settings = {{'{snake}': '{value}', 'x': 1}}",
        "Python, argument": 'client = Client(region="x", {snake}="{value}")',
        "Python, annotated": '{snake}: str = "{value}"',
        "Python, getenv": 'x = os.getenv("{ENV}", "{value}")',
        "Python, locals of a traceback": "region     = 'x'\n{snake} = '{value}'\nself       = <Client>",
        "JavaScript": 'const {camel} = "{value}";',
        "JavaScript, object": "const c = {{ {camel}: '{value}', x: 1 }};",
        "JavaScript, process.env": "process.env.{ENV} = '{value}';",
        "TypeScript, or": 'const k = process.env.{ENV} ?? "{value}";',
        "Go": '{camel} := "{value}"',
        "Go, Setenv": 'os.Setenv("{ENV}", "{value}")',
        "Java": 'private static final String {ENV} = "{value}";',
        "Java, setProperty": 'System.setProperty("{dotted}", "{value}");',
        "Java, setter": 'config.set{Pascal}("{value}");',
        "C#": 'var options = new Options {{ {Pascal} = "{value}" }};',
        "Ruby": "ENV['{ENV}'] = '{value}'",
        "PHP": "define('{ENV}', '{value}');",
        "PHP, array": "'{snake}' => '{value}',",
        "Rust": 'let {snake}: &str = "{value}";',
        "SQL": "SET {snake} = '{value}';",
        "XML element": "<config><{camel}>{value:html}</{camel}></config>",
        "XML attribute": '<server {camel}="{value:html}" port="1"/>',
        ".NET configuration": '<add key="{Pascal}" value="{value:html}" />',
        "property list": "<key>{Pascal}</key>\n<string>{value:html}</string>",
        "HTML table": "<tr><td>{Label}</td><td>{value:html}</td></tr>",
        "HTML list": "<dt>{Label}</dt><dd><code>{value:html}</code></dd>",
        "HTML input": '<input type="hidden" name="{snake}" value="{value:html}">',
        "HTML meta": '<meta name="{kebab}" content="{value:html}">',
        "a sentence": "The {snake} is {value} and expires soon.",
        "a sentence with a colon": "your {Label} is: {value}",
        "a label": "{Label}: {value}",
        "a title": "{Title}: {value}",
        "a label, bold value": "{Label}: **{value}**",
        "a bold label": "**{Label}:** `{value}`",
        "a label in a list": "- {Label} = {value}",
        "a prompt": "{Label} [None]: {value}",
        "a label with a remark": "{Label} (new): {value}",
        "a label for somebody": "{Label} for prod = {value}",
        "an arrow": "{Label} → {value}",
        "a dash": "{Label} – {value}",
        "a label above": "{Label}\n{value}\n",
        "Markdown table": "| name | value |\n|---|---|\n| {Label} | `{value}` |\n",
        "CSV, two columns": "User,{Label}\nada,{value}\n",
        "CSV, rows": "name,value\n{ENV},{value}\n",
        "TSV": "{Pascal}\t{value}\tx",
        "columns of a terminal": "Key              Value\n---              -----\n{snake}    {value}\n",
        "table with bars": "+------+------+\n| {snake} | {value} |\n+------+------+",
        "table of aws": "||  {Pascal}     |  {value}  ||",
        "table in a box": "┌──────┬──────┐\n│ {Label} │ {value} │\n└──────┴──────┘",
        "log line": "2026-11-27 10:11:12,123 DEBUG config {snake}={value} region=x",
        "log line of JSON": '{{"level":"info","ts":1.5,"msg":"x","{snake}":"{value:json}"}}',
        "query of a URL": "GET /v1/items?x=1&{snake}={value:percent}&y=2 HTTP/1.1",
        "body of a form": "user=ada&{snake}={value:percent}&x=1",
        "multipart form": 'Content-Disposition: form-data; name="{snake}"\n\n{value}\n--x--',
        "curl --data": "curl -d '{snake}={value}' https://api.example.com/x",
        "HAR, query": '{{"queryString": [{{"name": "{snake}", "value": "{value:json}"}}]}}',
        "cat -n": "    11\tDEBUG=1\n    12\t{ENV}={value}\n    13\tPORT=1",
        "grep -n": "config/.env:12:{ENV}={value}",
        "diff": "@@ -1,2 +1,2 @@\n-{ENV}=old\n+{ENV}={value}\n DEBUG=1",
        "diff of JSON": '-  "{snake}": "{value:json}",\n+  "{snake}": "",',
        "in a comment": "# {ENV}={value}",
        "quoted mail": "> Hello,\n> {ENV}={value}\n> Ada",
        "prompt of a shell": "$ echo ${ENV}\n{value}\n$ ",
        "jq -C": '\x1b[1;39m{{\n  \x1b[0m\x1b[34;1m"{camel}"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m"{value:json}"\x1b[0m\n}}',
        "terraform plan": '  \x1b[32m+\x1b[0m\x1b[0m {snake} = \x1b[0m\x1b[1m"{value}"\x1b[0m',
        "grep --color of the name": "\x1b[35mx.env\x1b[m\x1b[36m:\x1b[m\x1b[01;31m\x1b[K{ENV}\x1b[m\x1b[K={value}",
        "rich table": "│ \x1b[36m{Label}\x1b[0m │ \x1b[32m{value}\x1b[0m │",
    },
    # Headers
    "header": {
        "a line": "{name}: {value}",
        "a line in lower case": "{low}: {value}",
        "a request": "GET /x HTTP/1.1\r\nHost: api.example.com\r\n{name}: {value}\r\nAccept: */*\r\n\r\n",
        "curl -H": "curl -s https://api.example.com/x -H '{name}: {value}' | jq .",
        "curl -H, double quotes": 'curl -H "{name}: {value:json}" https://api.example.com',
        "curl -v": "> GET /x HTTP/1.1\n> Host: a\n> {name}: {value}\n> Accept: */*",
        "wget --header": "wget --header='{name}: {value}' https://a.example.com",
        "HTTPie": "http GET a.example.com '{name}:{value}'",
        "Python, dict": "headers = {{'{name}': '{value}', 'Accept': '*/*'}}",
        "Python, item": "session.headers['{name}'] = '{value}'",
        "Python, pairs of bytes": "[(b'{low}', b'{value}'), (b'accept', b'*/*')]",
        "repr of httpx": "Headers([('host', 'a'), ('{low}', '{value}')])",
        "JavaScript, fetch": "fetch(url, {{ headers: {{ '{name}': '{value}' }} }})",
        "JavaScript, setHeader": "request.setHeader('{name}', '{value}');",
        "Go": 'req.Header.Set("{name}", "{value:json}")',
        "Java": '.header("{name}", "{value:json}")',
        "C#": 'client.DefaultRequestHeaders.Add("{name}", "{value:json}");',
        "PHP": "'{name}' => '{value}',",
        "PowerShell": '$h = @{{ "{name}" = "{value}" }}',
        "JSON": '{{"headers": {{"{name}": "{value:json}", "Accept": "*/*"}}}}',
        "JSON, lists": '{{"headers": {{"{low}": ["{value:json}"]}}}}',
        "JSON, pairs": '[["Accept", "*/*"], ["{name}", "{value:json}"]]',
        "HAR": '{{"headers": [{{"name": "{name}", "value": "{value:json}"}}]}}',
        "Postman": '{{"header": [{{"key": "{name}", "value": "{value:json}", "type": "text"}}]}}',
        "YAML": "headers:\n  {name}: {value}\n  Accept: x",
        "YAML, vcr": "headers:\n  {name}:\n  - {value}\n  Accept:\n  - x",
        "nginx": 'proxy_set_header {name} "{value}";',
        "Markdown": "Send the header `{name}: {value}`.",
        "Markdown table": "| header | value |\n|---|---|\n| {name} | {value} |",
        "quoted mail": "> {name}: {value}\n> Ada",
        "log line": "10:11:12 DEBUG send header {name}: {value}",
        "logfmt": 'level=debug {low}="{value:json}" status=200',
        "http.client debug": "send: b'GET /x HTTP/1.1\\r\\nHost: a\\r\\n{name}: {value}\\r\\n\\r\\n'",
        "HTML table": "<tr><td>{name}</td><td>{value:html}</td></tr>",
        "cat -n": "     3\t{name}: {value}\n     4\tx",
        "diff": "+{name}: {value}",
        "colours": "\x1b[36m{name}\x1b[39m: \x1b[33m{value}\x1b[39m",
    },
    # Blocks of lines
    "block": {
        "alone": "{value}",
        "in a Markdown fence": "Here it is:\n\n```\n{value}\n```\n",
        "indented": "key:\n    {value:in4}\n",
        "YAML, block": "tls:\n  key: |\n    {value:in4}\n  x: y\n",
        "YAML, quoted": 'key: "{value:json}"\n',
        ".env": '{ENV}="{value}"\nX=1',
        ".env, one line": '{ENV}="{value:line}"',
        "JSON": '{{"{snake}": "{value:json}", "x": 1}}',
        "JSON in JSON": '{{"body": "{{\\"{snake}\\": \\"{value:json2}\\"}}"}}',
        "Python": '{ENV} = """{value}"""\n',
        "here-doc": "cat > id <<'EOF'\n{value}\nEOF\nchmod 600 id",
        "echo": "echo '{value}' > key",
        "XML": "<key>\n{value:html}\n</key>",
        "one line": "key = {value:folded}",
        "base64": "data:\n  tls.key: {value:base64}\n",
        "with CRLF": "{value:crlf}",
        "a quoted mail": "{value:> }",
        "cat -n": "{value:cat -n}",
        "grep -n": "{value:grep -n}",
        "less -N": "{value:less -N}",
        "diff": "@@ -0,0 +1,9 @@\n{value:+}",
        "comment of C": "{value:// }",
        "comment of a shell": "{value:# }",
        "docker compose": "{value:web-1  | }",
        "table bars": "{value:│ }",
        "source, list of lines": "{value:lines}",
        "source, joined": "{value:joined}",
        "coloured diff": "{value:colour}",
        "Markdown table": "| {value:cells} |",
    },
    # Cookies outside headers
    "cookie": {
        "a cookie jar": "# Netscape HTTP Cookie File\n.x.com\tTRUE\t/\tTRUE\t1900000000\tsid\t{value:cookie}\n",
        "storage state": '{{"cookies": [{{"name": "sid", "value": "{value:cookie}", "domain": "x.com", "path": "/"}}]}}',
        "curl -b": "curl -b 'sid={value:cookie}' https://x.com",
        "document.cookie": 'document.cookie = "sid={value:cookie}; path=/";',
        "Python, dict": "cookies={{'sessionid': '{value:cookie}'}}",
        "Python, dict()": "requests.get(url, cookies=dict(sid='{value:cookie}'))",
        "Python, set": "session.cookies.set('sid', '{value:cookie}', domain='x.com')",
        "Python, item": 'session.cookies["sid"] = "{value:cookie}"',
        "Python, repr of a cookie": "Cookie(version=0, name='sid', value='{value:cookie}', port=None)",
        "Playwright": "context.add_cookies([{{'name': 'sid', 'value': '{value:cookie}', 'url': 'https://x.com'}}])",
        "Puppeteer": "await page.setCookie({{name: 'sid', value: '{value:cookie}', url: 'https://x.com'}});",
        "Express": "res.cookie('sid', '{value:cookie}', {{ httpOnly: true }});",
        "JavaScript, set": "Cookies.set('sid', '{value:cookie}')",
        "Python, repr of a jar": "<RequestsCookieJar[<Cookie sid={value:cookie} for x.com/>]>",
        "HAR": '{{"cookies": [{{"name": "session", "value": "{value:cookie}", "path": "/", "httpOnly": true}}]}}',
        "Selenium": "driver.add_cookie({{'name': 'sessionid', 'value': '{value:cookie}'}})",
        "JSON, response": '{{"set-cookie": ["sid={value:cookie}; Path=/; HttpOnly"]}}',
    },
}  # fmt: skip


@dataclass(frozen=True)
class Hiding:
    """A way of writing in which the characters of a secret are others, or stand apart, and how a reader undoes it.

    `hide` gets a text and a position in the secret.
    """

    hide: Callable[[str, int], str]
    undo: Callable[[str], str]


def _within(mark: str) -> Hiding:
    return Hiding(lambda text, at: text[:at] + mark + text[at:], lambda text: text.replace(mark, ""))


def _each(form: str, pattern: str, base: int) -> Hiding:
    """Every character as its number."""
    return Hiding(
        lambda text, at: "".join(form.format(ord(one)) for one in text),
        lambda text: re.sub(pattern, lambda found: chr(int(found[1], base)), text),
    )


def _packed(pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes]) -> Hiding:
    """Bytes in base64."""
    return Hiding(
        lambda text, at: "data: " + base64.b64encode(pack(text.encode())).decode(),
        lambda text: unpack(base64.b64decode(text.partition(": ")[2])).decode("latin-1"),
    )


def _deflated(data: bytes) -> bytes:
    return zlib.compress(data)[2:-4]


_COLOURS: Final = re.compile("\x1b\\[[0-9;]*[A-Za-z]")


def _colours(form: str) -> Hiding:
    return Hiding(lambda text, at: form.format(text[:at], text[at:]), lambda text: _COLOURS.sub("", text))


def _rows(text: str) -> Iterator[tuple[str, bytes]]:
    """The rows of a dump: the place in eight digits, and sixteen bytes."""
    data = text.encode()
    return ((f"{at:08x}", data[at : at + 16]) for at in range(0, len(data), 16))


def _xxd(text: str) -> str:
    shown = ((at, row, "".join(chr(one) if 32 <= one < 127 else "." for one in row)) for at, row in _rows(text))
    return "\n".join(f"{at}: {row.hex(' ', 2):39}  {plain}" for at, row, plain in shown)


def _hexdump(text: str) -> str:
    return "\n".join(
        f"{at}  {row[:8].hex(' ')}  {row[8:].hex(' '):23}  |{row.decode('latin-1')}|" for at, row in _rows(text)
    )


def _undumped(width: int) -> Callable[[str], str]:
    """Read the bytes of a dump whose columns of numbers are so wide."""
    return lambda text: bytes.fromhex("".join(line[10 : 10 + width] for line in text.split("\n"))).decode("latin-1")


HIDINGS: Final[Mapping[str, Hiding]] = {
    "a colour around": _colours("\x1b[32m{}{}\x1b[0m"),
    "a colour inside": _colours("\x1b[01;31m\x1b[K{}\x1b[m\x1b[K{}"),
    "a zero-width space inside": _within("\u200b"),
    "a soft hyphen inside": _within("\u00ad"),
    "a word joiner inside": _within("\u2060"),
    "<wbr> inside": _within("<wbr>"),
    "quoted-printable": Hiding(
        lambda text, at: f"{text[:at].replace('=', '=3D')}=\n{text[at:].replace('=', '=3D')}",
        lambda text: quopri.decodestring(text.encode()).decode("latin-1"),
    ),
    "quoted-printable, CRLF": Hiding(
        lambda text, at: f"{text[:at].replace('=', '=3D')}=\r\n{text[at:].replace('=', '=3D')}",
        lambda text: quopri.decodestring(text.encode()).decode("latin-1"),
    ),
    "source, +": _within('" + "'),
    "source, + and a new line": _within('" +\n    "'),
    "source, side by side": _within('"\n    "'),
    "source, one quotation mark": _within("' + '"),
    "a backslash at the end of a line": _within("\\\n"),
    "escapes with x": _each("\\x{:02x}", r"\\x([0-9a-f]{2})", 16),
    "escapes with u": _each("\\u{:04x}", r"\\u([0-9a-f]{4})", 16),
    "escapes in octal": _each("\\{:03o}", r"\\([0-7]{3})", 8),
    "HTML, numbers": _each("&#{};", r"&#(\d+);", 10),
    "HTML, hexadecimal": _each("&#x{:x};", r"&#x([0-9a-f]+);", 16),
    "percent": _each("%{:02X}", r"%([0-9A-F]{2})", 16),
    "percent twice": Hiding(
        lambda text, at: quote("".join(f"%{ord(one):02X}" for one in text), safe=""),
        lambda text: unquote(unquote(text)),
    ),
    "base64": _packed(bytes, bytes),
    "base64 in lines": Hiding(
        lambda text, at: base64.encodebytes(f"{'x ' * 40}{text}".encode()).decode(),
        lambda text: base64.b64decode(text).decode("latin-1"),
    ),
    "base64 for URLs": Hiding(
        lambda text, at: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
        lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("latin-1"),
    ),
    "hexadecimal": Hiding(lambda text, at: text.encode().hex(), lambda text: bytes.fromhex(text).decode("latin-1")),
    "hexadecimal with spaces": Hiding(
        lambda text, at: text.encode().hex(" "), lambda text: bytes.fromhex(text).decode("latin-1")
    ),
    "gzip": _packed(lambda data: gzip.compress(data, mtime=0), gzip.decompress),
    "deflate": _packed(_deflated, lambda data: zlib.decompress(data, -15)),
    "zlib": _packed(zlib.compress, zlib.decompress),
    "bz2": _packed(bz2.compress, bz2.decompress),
    "xz": _packed(lzma.compress, lzma.decompress),
    "UTF-16": _packed(lambda data: data.decode().encode("utf-16-le"), lambda data: data.decode("utf-16-le").encode()),
    "base85": Hiding(
        lambda text, at: base64.b85encode(text.encode()).decode(), lambda text: base64.b85decode(text).decode("latin-1")
    ),
    "ascii85": Hiding(
        lambda text, at: base64.a85encode(text.encode(), adobe=True).decode(),
        lambda text: base64.a85decode(text, adobe=True).decode("latin-1"),
    ),
    "xxd": Hiding(lambda text, at: _xxd(text), _undumped(39)),
    "hexdump -C": Hiding(lambda text, at: _hexdump(text), _undumped(48)),
    "a list of numbers": Hiding(
        lambda text, at: json.dumps([*text.encode()]), lambda text: bytes(json.loads(text)).decode("latin-1")
    ),
    "a list of characters": Hiding(lambda text, at: json.dumps([*text]), lambda text: "".join(json.loads(text))),
    "JSON, four deep": Hiding(
        lambda text, at: json.dumps({"a": json.dumps({"b": json.dumps({"c": json.dumps({"d": text})})})}),
        lambda text: json.loads(json.loads(json.loads(json.loads(text)["a"])["b"])["c"])["d"],
    ),
}
"""Each is tried on the plainest text of a kind, PLAIN."""

PLAIN: Final[Mapping[str, str]] = {
    "token": "it is {value}",
    "line": "it is {value}",
    "named": "{ENV}={value}",
    "header": "{name}: {value}",
    "block": "{value}",
}
"""The plainest text by the first group of a kind."""

READ: Final[Mapping[str, Callable[[str], str]]] = {
    "html": html.unescape,
    "percent": unquote,
    "base64": lambda text: base64.b64decode(re.findall(r"[A-Za-z0-9+/=]{20,}", text)[-1]).decode("latin-1"),
}
"""How a reader undoes a way of SPELT that changes the characters of a secret."""

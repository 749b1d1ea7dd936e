"""Find tool schemas in what is installed: each is a name and a JSON Schema."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

Schema = dict[str, Any]
Found = Iterator[tuple[str, Schema]]

PYTHON_SERVERS: Final = ("mcp-server-git", "mcp-server-fetch", "mcp-server-time")
"""MCP servers that Python packages install; pydantic made their schemas."""

NODE_SERVERS: Final = (
    ("context7-mcp",),
    ("mcp-server-everything", "stdio"),
    ("mcp-server-filesystem", "."),
    ("mcp-server-github",),
    ("mcp-server-gitlab",),
    ("mcp-server-google-maps",),
    ("mcp-server-memory",),
    ("mcp-server-sequential-thinking",),
    ("mcp-server-slack",),
    ("notion-mcp-server",),
    ("playwright-mcp",),
)
"""MCP servers that npm installs, with arguments. Most schemas are made by zod, those of Notion from OpenAPI."""

MODELS: Final = ("anthropic.types", "langchain_community.tools", "openai.types.chat", "openai.types.responses")
"""Packages with models of pydantic."""

_TOKENS: Final = (
    *("GITHUB_PERSONAL_ACCESS_TOKEN", "GITLAB_PERSONAL_ACCESS_TOKEN", "GOOGLE_MAPS_API_KEY", "NOTION_TOKEN"),
    *("SLACK_BOT_TOKEN", "SLACK_TEAM_ID"),
)
"""Variables without which a server does not start; nothing reads their values before a tool runs."""

_LONGEST: Final = 20_000
"""Longer schemas are left out: no model takes them as a tool."""

_MOST: Final = 60
_OPERATIONS: Final = 130


def of_servers(folder: Path) -> Found:
    """The tools of all MCP servers; `folder` is that of npm's commands."""
    for name in PYTHON_SERVERS:
        yield from _of_server(name, name)
    for name, *arguments in NODE_SERVERS:
        yield from _of_server(name, str(folder / name), *arguments)


def _of_server(name: str, *command: str) -> Found:
    """The tools of one MCP server, asked over its standard streams."""
    environ = {**os.environ, **dict.fromkeys(_TOKENS, "ntn_x")}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        about = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "schemas", "version": "1"}}
        for question in (
            {"id": 1, "method": "initialize", "params": about},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/list", "params": {}},
        ):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **question}) + "\n")
            server.stdin.flush()
        for line in server.stdout:
            answer: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if answer.get("id") == 2:
                for tool in answer["result"]["tools"]:
                    yield f"{name}: {tool['name']}", tool["inputSchema"]
                break
        server.kill()


def of_models() -> Found:
    """Models of pydantic in released packages, up to 60 of each package."""
    from pydantic import BaseModel

    for package in MODELS:
        found: dict[str, Schema] = {}
        for info in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            try:
                module = importlib.import_module(info.name)
            except Exception:  # noqa: BLE001 - a module that needs another package is left out
                continue
            for name, value in vars(module).items():
                if inspect.isclass(value) and issubclass(value, BaseModel) and value.__module__ == module.__name__:
                    try:
                        schema = value.model_json_schema()
                    except Exception:  # noqa: BLE001 - a model of Python objects has no JSON Schema
                        continue
                    if schema.get("type") == "object" and len(json.dumps(schema)) <= _LONGEST:
                        found[f"{info.name}.{name}"] = schema
        yield from list(found.items())[:_MOST]


def of_operations(file: Path) -> Found:
    """Operations of an OpenAPI document, as tools: the parameters, and the body as one more."""
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    operations = [each for path in document["paths"].values() for each in path.values() if "operationId" in each]
    random.Random(1).shuffle(operations)
    found = 0
    for operation in operations:
        try:
            schema = _arguments(operation, document)
        except RecursionError:
            continue
        if found < _OPERATIONS and len(json.dumps(schema)) <= _LONGEST:
            found += 1
            yield f"{file.stem}: {operation['operationId']}", schema


def _arguments(operation: dict[str, Any], document: dict[str, Any]) -> Schema:
    parameters = _resolved(operation.get("parameters", []), document)
    properties = {each["name"]: each["schema"] for each in parameters}
    required = [each["name"] for each in parameters if each.get("required")]
    body = _resolved(operation.get("requestBody", {}), document).get("content", {}).get("application/json", {})
    if "schema" in body:
        properties["body"] = body["schema"]
        required.append("body")
    return {"type": "object", "properties": properties, "required": required}


def _resolved(value: Any, document: dict[str, Any]) -> Any:
    """A part of the document with what its references name. Raises RecursionError for one that contains itself."""
    if isinstance(value, list):
        return [_resolved(each, document) for each in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        target: Any = document
        for step in value["$ref"][2:].split("/"):
            target = target[step]
        return _resolved(target, document)
    return {key: _resolved(each, document) for key, each in value.items() if key not in ("example", "examples")}

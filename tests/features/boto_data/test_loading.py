"""A session reads of botocore's data what the files contain now, whoever wrote into it before."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partialmethod
from pathlib import Path
from typing import Any

import botocore
import botocore.loaders
import botocore.session
import pytest
from botocore.config import Config

from converse_harness.features.boto_data.loading import keep

DATA = Path(botocore.BOTOCORE_ROOT, "data")
SERVICES = ("bedrock-runtime", "dynamodb", "rds", "sts")
FILES = [
    str(path.relative_to(DATA)).removesuffix(".gz").removesuffix(".json")
    for pattern in ("*.json*", *(f"{service}/*/*.json*" for service in SERVICES))
    for path in DATA.glob(pattern)
]


def another() -> Any:
    """One more module `botocore.loaders`, because the data of the first one are kept while this test runs."""
    spec = importlib.util.spec_from_file_location("more_loaders", botocore.loaders.__file__)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def loaders() -> Iterator[Any]:
    """A module `botocore.loaders` whose data are kept."""
    made = another()
    end = keep(made)
    yield made
    end()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Any]:
    """A module `botocore.loaders` whose data folder has one service, and is kept."""
    made = another()
    made.Loader.BUILTIN_DATA_PATH = str(tmp_path / "data")
    made.Loader.CUSTOMER_DATA_PATH = str(tmp_path / "models")
    write(tmp_path / "data/one/2020-01-01/service-2.json", "first")
    end = keep(made)
    yield made
    end()


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(content if isinstance(content, dict) else {"content": content}).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def load(loader: Any, service: str = "one") -> Any:
    return loader.load_service_model(service, "service-2").get("content")


def contents(loaders: Any) -> dict[str, str]:
    return {name: json.dumps(loaders.Loader().load_data(name)) for name in FILES}


def session(loaders: Any) -> botocore.session.Session:
    made = botocore.session.Session()
    made.register_component("data_loader", loaders.Loader())
    return made


def use(made: botocore.session.Session) -> None:
    """Make clients, in whose making botocore completes endpoints, resolves references and merges extras."""
    for service in SERVICES:
        for config in (Config(retries={"mode": "legacy"}), Config(use_fips_endpoint=True)):
            made.create_client(
                service, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b", config=config
            )
        made.get_available_regions(service)


def test_clients_write_into_the_data_and_the_next_session_does_not_see_it(loaders: Any) -> None:
    plain = another()
    first = session(plain)
    use(first)
    loader = first.get_component("data_loader")
    changed = [name for name in ("endpoints", "_retry", "partitions") if loader.load_data(name) != plain_data(name)]
    assert changed  # otherwise this test proves nothing
    for _ in range(2):
        use(session(loaders))
    assert contents(loaders) == contents(plain)


def plain_data(name: str) -> Any:
    return another().Loader().load_data(name)


def test_a_session_keeps_what_a_test_wrote_and_no_other_gets_it(loaders: Any) -> None:
    first, second = loaders.Loader(), loaders.Loader()
    for loader in (first, second):
        loader.load_service_model("bedrock-runtime", "service-2")
    model = first.load_service_model("bedrock-runtime", "service-2")
    model["shapes"].clear()
    first.load_data("endpoints")["partitions"][0]["services"].clear()
    first.list_available_services("service-2").clear()
    assert first.load_service_model("bedrock-runtime", "service-2")["shapes"] == {}
    for loader in (second, loaders.Loader()):
        assert "Message" in loader.load_service_model("bedrock-runtime", "service-2")["shapes"]
        assert "s3" in loader.load_data("endpoints")["partitions"][0]["services"]
        assert "s3" in loader.list_available_services("service-2")


def test_a_file_is_read_once(loaders: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: str, mode: str) -> Any:
            opened.append(path)
            return method(path, mode)

        return call

    for suffix, method in loaders._JSON_OPEN_METHODS.items():
        monkeypatch.setitem(loaders._JSON_OPEN_METHODS, suffix, counted(method))
    use(session(loaders))
    assert any(Path(path).name.startswith("endpoints.json") for path in opened)
    assert len(opened) == len(set(opened))
    opened.clear()
    use(session(loaders))
    assert opened == []


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_a_file_that_changed_is_read_again(own: Any, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data/one/2020-01-01/service-2{suffix}"
    (tmp_path / "data/one/2020-01-01/service-2.json").unlink()
    write(path, "first")
    assert load(own.Loader()) == load(own.Loader()) == "first"
    write(path, "second, longer")
    assert load(own.Loader()) == "second, longer"
    before = path.stat()
    write(path, "third,  longer")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert load(own.Loader()) == "third,  longer"
    write(path.with_name("new"), "fourth, longer")
    os.utime(path.with_name("new"), ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    os.replace(path.with_name("new"), path)
    if suffix == ".json":
        assert load(own.Loader()) == "fourth, longer"
    path.unlink()
    with pytest.raises(own.DataNotFoundError):
        load(own.Loader())


def test_a_file_without_gzip_is_preferred(own: Any, tmp_path: Path) -> None:
    folder = tmp_path / "data/one/2020-01-01"
    (folder / "service-2.json").unlink()
    write(folder / "service-2.json.gz", "compressed")
    assert load(own.Loader()) == "compressed"
    write(folder / "service-2.json", "plain")
    assert load(own.Loader()) == "plain"
    (folder / "service-2.json").unlink()
    assert load(own.Loader()) == "compressed"


def test_a_later_version_is_found(own: Any, tmp_path: Path) -> None:
    assert load(own.Loader()) == "first"
    write(tmp_path / "data/one/2021-01-01/service-2.json", "later")
    assert load(own.Loader()) == "later"
    shutil.rmtree(tmp_path / "data/one/2021-01-01")
    assert load(own.Loader()) == "first"


def test_a_new_service_is_found(own: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert own.Loader().list_available_services("service-2") == ["one"]
    write(data / "another/2021-01-01/service-2.json", "new")
    os.utime(data, ns=(1, data.stat().st_mtime_ns + 1))  # the clock of some file systems is slow
    assert own.Loader().list_available_services("service-2") == ["another", "one"]
    assert own.Loader().list_available_services(type_name="service-2") == ["another", "one"]
    assert own.Loader().list_available_services("paginators-1") == []
    assert load(own.Loader(), "another") == "new"
    shutil.rmtree(data / "another")
    os.utime(data, ns=(1, data.stat().st_mtime_ns + 2))
    with pytest.raises(own.UnknownServiceError):
        load(own.Loader(), "another")


@pytest.mark.parametrize("place", ["models", "elsewhere"])
def test_files_of_other_folders_are_read_each_time(own: Any, tmp_path: Path, place: str) -> None:
    """Those of `~/.aws/models` and AWS_DATA_PATH. They come first, also if nothing but their content has changed."""
    extra = [] if place == "models" else [str(tmp_path / place)]
    path = tmp_path / place / "one/2020-01-01/service-2.json"
    assert load(own.create_loader(os.pathsep.join(extra) or None)) == "first"
    for content in ("aaaa", "bbbb"):
        write(path, content)
        os.utime(path, ns=(1, 1))
        assert load(own.create_loader(os.pathsep.join(extra) or None)) == content
    write(tmp_path / place / "more/2020-01-01/service-2.json", "more")
    assert own.create_loader(os.pathsep.join(extra) or None).list_available_services("service-2") == ["more", "one"]
    shutil.rmtree(tmp_path / place)
    assert load(own.create_loader(os.pathsep.join(extra) or None)) == "first"
    assert own.create_loader(os.pathsep.join(extra) or None).list_available_services("service-2") == ["one"]


def test_data_path_of_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the botocore of this run, with the setting as it is."""

    def services() -> list[str]:
        return [name for name in botocore.session.Session().get_available_services() if name.startswith("zz")]

    assert services() == []
    write(tmp_path / "zz-mine/2020-01-01/service-2.json", "mine")
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))
    assert services() == ["zz-mine"]
    monkeypatch.delenv("AWS_DATA_PATH")
    assert services() == []


def test_extras_are_merged_for_the_loader_that_wants_them(own: Any, tmp_path: Path) -> None:
    extras = tmp_path / "data/one/2020-01-01/service-2.sdk-extras.json"
    write(extras, {"merge": {"content": "merged"}})
    for _ in range(2):
        assert load(own.Loader()) == "merged"
        assert load(own.Loader(include_default_extras=False)) == "first"
        assert own.Loader().load_data("one/2020-01-01/service-2") == {"content": "first"}
    extras.unlink()
    assert load(own.Loader()) == "first"


def test_loaders_of_others_do_it_themselves(own: Any) -> None:
    class Upper(own.JSONFileLoader):  # type: ignore[misc]  # `own` is a module that the fixture has made
        def _load_file(self, full_path: str, open_method: Any) -> Any:
            return {"content": "FIRST"} if os.path.isfile(full_path) else None

    class Nothing(own.Loader):  # type: ignore[misc]
        def _potential_locations(self, name: object = None, *_: object, **__: object) -> Iterator[str]:
            yield from ()

    assert load(own.Loader()) == "first"
    assert load(own.Loader(file_loader=Upper())) == "FIRST"
    assert load(own.Loader()) == "first"
    assert own.Loader().list_available_services("service-2") == ["one"]
    assert Nothing().list_available_services("service-2") == []


def test_a_loader_without_botocores_folder_does_not_see_it(own: Any, tmp_path: Path) -> None:
    assert load(own.Loader()) == "first"
    loader = own.Loader(extra_search_paths=[str(tmp_path)], include_default_search_paths=False)
    assert loader.list_available_services("service-2") == []


def test_a_loader_remembers_its_list(own: Any, tmp_path: Path) -> None:
    loader = own.Loader()
    listed = loader.list_available_services("service-2")
    write(tmp_path / "models/new/2020-01-01/service-2.json", "new")
    assert loader.list_available_services("service-2") is listed


def test_threads_at_once(loaders: Any) -> None:
    def data(_: int) -> list[Any]:
        return [loaders.Loader().load_data(name) for name in ("endpoints", FILES[-1])]

    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(data, range(8))]
    assert found == [[another().Loader().load_data(name) for name in ("endpoints", FILES[-1])]] * 8


def test_in_the_end_nothing_is_replaced() -> None:
    made = another()

    def methods() -> list[dict[str, Any]]:
        return [{**vars(each)} for each in (made.JSONFileLoader, made.Loader)]

    before = methods()
    end = keep(made)
    assert methods() != before
    end()
    assert methods() == before


def test_a_wrapper_of_others_stays_and_nothing_is_kept_below_it(tmp_path: Path) -> None:
    made = another()
    made.Loader.BUILTIN_DATA_PATH = str(tmp_path)
    path = tmp_path / "one/2020-01-01/service-2.json"
    write(path, "aaaa")
    end = keep(made)
    read, listed = made.JSONFileLoader.load_file, made.Loader.list_available_services
    made.JSONFileLoader.load_file = wrapper = partialmethod(read)
    made.Loader.list_available_services = partialmethod(listed)
    assert load(made.Loader()) == "aaaa"
    end()
    assert vars(made.JSONFileLoader)["load_file"] is wrapper
    times = path.stat()
    path.write_text(path.read_text("utf-8").replace("aaaa", "bbbb"), "utf-8")  # the same inode and size
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert load(made.Loader()) == "bbbb"

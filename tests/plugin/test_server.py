"""The fixture `converse_server`: a fake for every `with`, and an outcome for those that are left open."""

import pytest

# It has a client over the real socket: the fixture `converse` is not open, so nothing is answered in process.
LOOP = """
from agent import ask
from converse_harness import reply
"""


def test_each_with_has_a_fake_of_its_own_also_inside_given(project: pytest.Pytester) -> None:
    project.makepyfile(
        LOOP
        + """
from hypothesis import given, settings, strategies as st

@settings(max_examples=20)
@given(st.text(min_size=1))
def test_property(converse_server, text):
    with converse_server.script(reply.text(text)) as fake:
        assert ask("?", endpoint_url=fake.url) == text
    assert len(fake.calls) == 1

def test_two_at_once(converse_server):
    with converse_server.script(reply.text("a")) as one, converse_server.script(reply.text("b")) as two:
        assert ask("?", endpoint_url=two.url) == "b"
        assert ask("?", endpoint_url=one.url) == "a"

def test_it_is_the_same_server(converse_server, request):
    assert converse_server.fakes == []
"""
    )
    project.runpytest().assert_outcomes(passed=3)


def test_a_fake_left_open_fails_only_its_own_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        LOOP
        + """
import pytest

def test_unused(converse_server):
    fake = converse_server.script(reply.text("a"), reply.text("b"))
    assert ask("?", endpoint_url=fake.url) == "a"

def test_unexpected(converse_server):
    fake = converse_server.script()
    with pytest.raises(Exception):
        ask("?", endpoint_url=fake.url)

def test_fine(converse_server):
    fake = converse_server.script(reply.text("a"))
    assert ask("?", endpoint_url=fake.url) == "a"

@pytest.mark.converse(unused="allow")
def test_allowed(converse_server):
    converse_server.script(reply.text("a"))

def test_all_are_closed(converse_server):
    assert converse_server.fakes == []
"""
    )
    result = project.runpytest()
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*UnusedReplies: 1 scripted reply was not used.",
            "*- Bedrock Converse calls at http://127.0.0.1:*/fake-* -*",
            'call 1  Converse us.amazon.nova-lite-v1:0, 1 message, last: text "?"',
            "*UnexpectedCall: call 1 has no reply: nothing is scripted.",
        ]
    )


def test_one_of_a_wider_fixture_stays_open_until_that_ends(project: pytest.Pytester) -> None:
    project.makepyfile(
        LOOP
        + """
import pytest

@pytest.fixture(scope="module")
def model(converse_server):
    with converse_server.script() as fake:
        fake.always(reply.text("hi"))
        yield fake

@pytest.mark.parametrize("number", [1, 2])
def test_it(model, number):
    assert ask("?", endpoint_url=model.url) == "hi"
    assert len(model.calls) == number
"""
    )
    project.runpytest().assert_outcomes(passed=2)


def test_a_fake_that_a_fixture_opens_has_the_settings_of_its_scope(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nconverse_seed = 3")
    project.makepyfile(
        LOOP
        + """
import pytest

@pytest.fixture(scope="module")
def shared(converse_server):
    with converse_server.script() as fake:
        yield fake

@pytest.fixture
def fake(converse_server):
    with converse_server.script(reply.text("a")) as fake:
        yield fake

@pytest.mark.converse(unused="allow", rules="off")
def test_allowed(shared, fake):
    ask(" ", endpoint_url=fake.url)
    assert (fake.endpoint.seed, shared.endpoint.seed) == (3, 3)
    fake.script(reply.text("b"))

def test_refused(shared, fake):
    for each in fake, shared:
        with pytest.raises(Exception, match="blank"):
            ask(" ", endpoint_url=each.url)
"""
    )
    result = project.runpytest()
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*RefusedRequest: Bedrock would refuse call 1: *"])


def test_a_function_of_the_script_that_raises_fails_the_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        LOOP
        + """
def test_function(converse_server):
    fake = converse_server.script(lambda call: reply.text(call.last_user_text.no_such_method()))
    try:
        ask("?", endpoint_url=fake.url)
    except Exception:
        pass

def test_predicate(converse_server):
    fake = converse_server.script()
    fake.when(lambda call: call.no_such_attribute).always(reply.text("a"))
    try:
        ask("?", endpoint_url=fake.url)
    except Exception:
        pass
"""
    )
    result = project.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*AttributeError: 'str' object has no attribute 'no_such_method'*"])
    result.stdout.fnmatch_lines(["*AttributeError: 'Call' object has no attribute 'no_such_attribute'*"])


def test_nothing_is_left_after_a_failing_session_and_an_interrupt(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import threading

        def pytest_unconfigure():
            print("\\nleft:", [thread.name for thread in threading.enumerate() if "converse" in thread.name])
        """
    )
    project.makepyfile(
        LOOP
        + """
def test_it(converse_server):
    fake = converse_server.script(reply.text("a"))
    ask("?", endpoint_url=fake.url)
    raise KeyboardInterrupt
"""
    )
    result = project.runpytest_subprocess("-s", timeout=60)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["left: []"])

"""One table of all kinds of secrets. A kind has a pattern, and hints: every text with such a secret contains a hint.

The patterns do not match hashes, ids, signatures of reasoning content, or prose about secrets. A secret without a
distinctive prefix is detected only beside its own name or the name of its service. The patterns are simple: how a text
is quoted, coloured, escaped or broken into lines is undone before they are used (`readable`, `views`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from converse_harness.secrets.randomness import holds_random, is_password, is_password_of_url, looks_random
from converse_harness.secrets.separators import ASSIGNED, GIVEN, IS


@dataclass(frozen=True, slots=True)
class SecretKind:
    """One kind of secret. Every match of `pattern` contains one of the `hints`, in upper or lower case.

    Hints are in lower case; a text without any of them is not searched, which saves most of the time. The secret is the
    whole match; if the pattern has a group `kept`, it is the part of the match after this group. `masked`: calls to AWS
    normally contain such a secret, so masking it in a recording causes no warning. `source` is the site or tool that
    documents the format. `beside_name`: the pattern requires the name of the service, because the secret alone looks
    like any random word. `accepts` returns whether a secret that the pattern matches is one: many words fit a pattern.
    `weak`: the kind is used only for what no other kind matches. `at_hint`: every match begins with a hint.
    """

    name: str
    hints: tuple[str, ...]
    pattern: str
    masked: bool = False
    source: str = ""
    beside_name: bool = False
    accepts: Callable[[str], bool] = bool
    weak: bool = False
    at_hint: bool = False


_START: Final = r"(?<![A-Za-z0-9])"
_BASE64_START: Final = r"(?<![A-Za-z0-9+/_-])"
_PLAIN: Final = r"[!#-%*-+./:=?-Z^_a-z~0-9-]"
_NO_SECRET: Final = "".join(
    f"(?<!{word}token)(?<!{word}.token)"
    for word in (
        *("next", "page", "continuation", "pagination", "client", "request", "sync", "start", "starting"),
        *("resume", "cursor", "lock", "update", "change", "action"),
    )
)
"""A token is no secret after one of these words: it stands for a page, a retry or a version."""


def _keys(key: str, words: str) -> str:
    """Return a pattern of `key` after one of these words."""
    return f"{key}(?:{'|'.join(f'(?<={word}{key})|(?<={word}[ _.-]{key})' for word in words.split())})"


_SECRET_KEYS: Final = (
    "api subscription function functions access auth signing encryption secret master storage account service app "
    "application"
)
_NO_KEY: Final = "".join(
    f"(?<!{word}-key)"
    for word in (
        *("idempotency", "partition", "routing", "cache", "surrogate", "primary", "foreign", "sort"),
        *("public", "object", "websocket", "s3"),
    )
)
"""A key in a header is no secret after one of these words: it names something."""
_NAMES: Final = (
    rf"(?i:token{_NO_SECRET}|secret|{_keys('key', _SECRET_KEYS)}|(?<=[a-z]-)key{_NO_KEY}(?=[\"'\\]{{0,2}}\s?[:=,]))"
)
_ARGUMENTS: Final = (
    rf"(?:TOKEN|SECRET|{_keys('KEY', _SECRET_KEYS.upper())}|(?<=-)token(?i:{_NO_SECRET})|(?<=-)secret|(?<=-)key)"
)
_BREAK: Final = r"(?:\\[nr]|<br ?/?>|[\s\"'+,>|#*\\-])"
_KEY_LINE: Final = rf"{_BREAK}{{1,40}}"
_SHORT_LINE: Final = rf"{_BREAK}{{1,16}}"
_QUOTES: Final = r"[\"'\\]{1,3}"
_OF_JWK: Final = "(?:d|p|q|dp|dq|qi|k)"
_COOKIE: Final = r"[\w!#$%&*+.^|~-]{1,64}=[^\s;,\"'\\<>]*"
_URL_IS: Final = r"(?:=|%3D|%253D|\\u003[dD])"
_URL_VALUE: Final = r"""(?!\*\*\*|REDACTED)(?:(?!%26|%2526)[^&\s"'<>\\,;()\[\]{}]){8,}"""

ACCOUNT_IN_ARN: Final = SecretKind(
    "an AWS account id",
    ("arn",),
    # The ARN may be in a URL path, where each colon is %3A, or %253A if the path was quoted twice.
    r"(?P<kept>\barn(?P<colon>:|%3[Aa]|%253[Aa])(?:(?:(?!(?P=colon))[^\s\"'])*(?P=colon)){3})\d{12}(?!\d)",
    masked=True,
)
ACCOUNT_BY_NAME: Final = SecretKind(
    "an AWS account id",
    ("account", "owner", "registr"),
    r"(?P<kept>(?:(?i:account[ _-]?ids?|aws[ _-]?account(?:[ _-]?(?:number|no))?|bucket[ _-]?owner|owner[ _-]?ids?"
    rf"|registry[ _-]?ids?|registries)(?:{GIVEN}|\s)|(?<![A-Za-z])(?i:account){IS}"
    r"(?!20\d\d[01]\d[0-3]\d[0-2]\d[0-5]\d)))"
    # A time such as 202611271530 and a number of things are no account id.
    r"\d{12}(?!\d| (?:bytes|calls|documents|files|items|lines|ms|records|requests|rows|seconds|tokens|units|users)\b)",
    masked=True,
)
ACCOUNT_IN_ADDRESS: Final = SecretKind(
    "an AWS account id",
    (".dkr", ".signin.aws", "sqs", "queue.amazonaws"),
    r"(?P<kept>\b(?:sqs\.[a-z0-9-]+|[a-z0-9-]+\.queue|queue)\.amazonaws\.com(?:\.cn)?(?:/|%2F))\d{12}(?!\d)"
    r"|(?<!\d)\d{12}(?=\.dkr[.-]ecr|\.signin\.aws)",
    masked=True,
)
ACCOUNTS: Final = (ACCOUNT_IN_ARN, ACCOUNT_BY_NAME, ACCOUNT_IN_ADDRESS)

DOCUMENTED: Final = frozenset(
    {
        *("123456789012", "111122223333", "444455556666", "777788889999", "012345678901"),
        *("AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE", "AKIAI44QH8DHBEXAMPLE"),
        *("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY"),
    }
)
"""Account ids and keys of AWS's documentation. They are nobody's, so they are no secrets."""


def _token(name: str, begins: tuple[str, ...], rest: str, source: str) -> SecretKind:
    """Return a SecretKind for secrets that begin with one of `begins`. `rest` matches the text after the prefix."""
    # The lookbehind follows the prefix, because `re` searches quickly for a pattern that begins with literal text.
    any_of = "|".join(rf"{begin}(?<![A-Za-z0-9]{begin})" for begin in map(re.escape, begins))

    def accepts(secret: str) -> bool:
        return looks_random(secret[max(len(begin) for begin in begins if secret.startswith(begin)) :])

    return SecretKind(name, tuple(map(str.lower, begins)), rf"(?:{any_of}){rest}", source=source, accepts=accepts)


def _by_name(name: str, owners: tuple[str, ...], value: str, source: str) -> SecretKind:
    """Return a SecretKind for secrets that are detected only beside a name of their service.

    `owners` are these names, and `value` is the pattern of the secret itself.
    """
    any_of = "|".join(map(re.escape, owners))
    word = r"[ \t_.-]{0,3}(?:[a-z]{1,12}[ \t_.-]{0,3}){0,2}(?:key|token|secret|password)s?"
    pattern = rf"(?P<kept>(?i:{any_of})(?i:{word}){GIVEN}){value}(?![A-Za-z0-9])"
    return SecretKind(name, owners, pattern, source=source, beside_name=True)


KINDS: Final = (
    *ACCOUNTS,
    SecretKind(
        "the signature of a URL",
        ("x-amz-", "x-goog-", "sig", "key-pair-id", "awsaccesskeyid", "googleaccessid"),
        r"(?P<kept>(?:(?i:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token))"
        rf"|(?:[?&;]|%26|%3F|\\u0026)(?:sig|Signature|Key-Pair-Id|AWSAccessKeyId|GoogleAccessId)){_URL_IS}){_URL_VALUE}",
        masked=True,
    ),
    SecretKind(  # AWS repeats this header in its error for a wrong signature
        "the session token of a signed request",
        ("security-",),
        rf"(?P<kept>(?i:x-amz-security-token){GIVEN})[A-Za-z0-9+/=%_-]{{16,}}",
        masked=True,
    ),
    # This kind comes before the access key id, because a masked access key id could not show that a secret follows.
    SecretKind(
        "an AWS secret access key",
        ("secret", "akia", "asia", "abia", "acca"),
        # 40 hex digits are a commit id or digest, not a key. After an access key id, a key must contain a digit, a
        # capital and a small letter. The AWS CLI prints a time between the two, if the credentials expire.
        rf"(?P<kept>(?i:secret[_ .-]?(?:access[_ .-]?)?key|aws[_ .-]?secret|access[_ .-]?key[_ .-]?secret){GIVEN}"
        rf"|{_START}A(?:KI|SI|BI|CC)A[A-Z0-9]{{16}}(?:[\s\"'`*,;:|\u2502\u2503]|\d{{4}}-\d\d-\d\dT[\d:.+]{{8,20}}Z?){{1,40}}"
        r"(?=[A-Za-z+/]{0,39}\d)(?=[a-z0-9+/]{0,39}[A-Z])(?=[A-Z0-9+/]{0,39}[a-z]))"
        r"(?![0-9a-f]{40})[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/])",
    ),
    SecretKind(
        "an AWS access key id",
        ("akia", "asia", "abia", "acca"),
        rf"{_START}A(?:KI|SI|BI|CC)A[A-Z0-9]{{16}}(?![A-Z0-9])",
    ),
    SecretKind(
        "an AWS session token",
        ("session", "iqojb3jpz2lu", "ogzxivyxdz"),
        rf"(?P<kept>(?i:aws_session_token){GIVEN}|(?i:session[_ -]?token){GIVEN}(?=[A-Za-z0-9+/=_-]{{100}}))"
        # The token needs a digit and a capital: the second half of aws_session_token=aws_session_token is not a secret.
        r"(?=[A-Za-z+/=_-]*\d)(?=[a-z0-9+/=_-]*[A-Z])[A-Za-z0-9+/=_-]{16,}"
        rf"|{_BASE64_START}(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz)[A-Za-z0-9+/=%_-]{{32,}}",
    ),
    SecretKind("a Bedrock API key", ("absk",), rf"{_BASE64_START}ABSK[A-Za-z0-9+/]{{16,}}={{0,2}}"),
    SecretKind(
        "a short-term Bedrock API key", ("bedrock-api-key-",), rf"{_START}bedrock-api-key-[A-Za-z0-9+/=_-]{{16,}}"
    ),
    SecretKind(
        "a bearer token",
        ("bearer",),
        # "the bearer responsibilities" is not a secret. A WebSocket client sends: Sec-WebSocket-Protocol: bearer, TOKEN
        rf"(?P<kept>{_START}[Bb](?:earer|EARER)[,:]?\s+)[A-Za-z0-9._~+/=-]{{16,}}",
        accepts=looks_random,
    ),
    SecretKind(
        "the value of an Authorization header",
        ("authorization", "aws4-hmac"),
        rf"(?P<kept>(?i:authorization){ASSIGNED}(?!(?i:bearer)|AWS4-)(?:[A-Za-z][A-Za-z0-9-]{{1,19}}\s+)?)"
        r"(?:\w+=[\"\\]{0,3}[^\s\"\\,=]{1,200}[\"\\]{0,3}(?:,\s{0,3}\w+=[\"\\]{0,3}[^\"\\\n]{1,200}[\"\\]{0,3}){1,20}|\w+=\\?\"[^\"\\\n]{12,200}"
        r"|[A-Za-z0-9._~+/:=-]{12,})"
        r"|AWS4-HMAC-SHA256\s+Credential=[\w.%+-]+/[\w.%/+-]+",
        accepts=holds_random,
    ),
    SecretKind("a signature of AWS", ("signature=",), r"(?P<kept>\bSignature=)[0-9a-f]{64}"),
    SecretKind(
        "a cookie",
        ("cookie", "curl"),
        # The whole header, since it may hold several; an option of curl.
        rf"(?P<kept>(?i:\b(?:set-)?cookies?){GIVEN}|\bcurl\b[^\n]{{0,300}}?\s-b\s?[\"']?)"
        rf"{_COOKIE}(?:;\s?(?:{_COOKIE}|[\w-]{{1,20}}\b)){{0,80}}",
        accepts=holds_random,
    ),
    SecretKind(
        "a cookie",
        ("cookie", "\ttrue\t", "\tfalse\t"),
        # A member of JSON with the cookie's name, a dict, an item, a call with the name and the value (of a library, of
        # a browser), and a line of a cookie jar of Netscape.
        r"(?P<kept>(?i:\bcookie) [\w.-]{1,64}: "
        r"|(?i:\bcookies?)[\"']?\s?[:=]\s?(?:[\[{(]{1,2}\s?[\"'][\w.-]{1,64}[\"']\s?:|dict\([\w-]{1,64}=)\s?[\"']"
        r"|(?i:cookies?)(?:(?:\.set|\.add)?\(\s?[\"'][\w.-]{1,64}[\"'],|\[[\"'][\w.-]{1,64}[\"']\]\s?=)\s?[\"']"
        r"|(?i:cookies?)\(\[?\{?[^\n]{0,80}?\bname[\"']?\s?[:=]\s?[\"'][\w.-]{1,64}[\"'],\s?[\"']?value[\"']?\s?[:=]\s?[\"']"
        r"|\t(?:TRUE|FALSE)\t[^\t\n]{1,200}\t(?:TRUE|FALSE)\t\d{1,20}\t[^\t\n]{1,200}\t)"
        r"[^\s;,\"'=]{16,}",
        accepts=holds_random,
    ),
    SecretKind("an Anthropic API key", ("sk-ant-",), rf"{_START}sk-ant-[A-Za-z0-9_-]{{16,}}"),
    SecretKind(
        "an OpenAI API key",
        ("sk-",),
        rf"{_START}sk-(?:(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{{16,}}|[A-Za-z0-9]{{20,}})",
        accepts=lambda secret: looks_random(secret[3:]),
    ),
    SecretKind("a Google API key", ("aiza",), rf"{_BASE64_START}AIza[A-Za-z0-9_-]{{35}}(?![A-Za-z0-9_-])"),
    SecretKind("a Google OAuth token", ("ya29.", "gocspx-"), rf"{_START}(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{{20,}}"),
    SecretKind(
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{30,}}|github_pat_[A-Za-z0-9_]{{22,}})",
    ),
    SecretKind(
        "a GitLab token",
        tuple(f"gl{each}-" for each in ("pat", "dt", "rt", "ptt", "cbt", "ft", "soat", "imt", "agent", "ffct", "oas")),
        rf"{_START}gl(?:pat|dt|rt|ptt|cbt|ft|soat|imt|agent|ffct|oas)-[A-Za-z0-9_-]{{20,}}",
    ),
    SecretKind(
        "a Slack token",
        ("xox", "xapp-"),
        rf"{_START}(?:xox[abeoprs]-(?=[A-Za-z-]*\d)[A-Za-z0-9-]{{10,}}|xapp-\d-[A-Za-z0-9-]{{10,}})",
        accepts=lambda secret: looks_random(secret[5:]),
    ),
    SecretKind(
        "a Slack token",
        ("hooks.slack.com",),
        rf"{_START}hooks\.slack\.com/(?:services|workflows|triggers)/(?!T0+/B0+/X)[A-Za-z0-9+/]{{30,}}",
    ),
    SecretKind(
        "a Stripe key",
        ("k_live_", "k_test_", "whsec_"),
        rf"{_START}(?:[rs]k_(?:live|test)_[A-Za-z0-9]{{16,}}|whsec_[A-Za-z0-9+/]{{24,}})",
    ),
    SecretKind(
        "a Hugging Face token", ("hf_", "api_org_"), rf"{_START}(?:hf|api_org)_[A-Za-z0-9]{{30,}}", accepts=looks_random
    ),
    SecretKind(
        "an npm token", ("npm_",), rf"{_START}npm_[A-Za-z0-9]{{30,}}", accepts=lambda secret: looks_random(secret[4:])
    ),
    SecretKind("a PyPI token", ("pypi-age",), rf"{_START}pypi-AgE[A-Za-z0-9_-]{{16,}}"),
    SecretKind(
        "a JSON Web Token",
        ("eyj",),
        rf"{_START}eyJ[A-Za-z0-9_-]{{10,}}\.[A-Za-z0-9_-]{{4,}}\.[A-Za-z0-9_-]{{10,}}",
    ),
    SecretKind(
        "a private key",
        ("private key", "openssh-key-v1\0"),
        # The match ends after the END line, whatever separates the lines. If there is no END line, the match ends after
        # the last line of base64.
        r"-----? ?BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-----?"
        r"(?=[^\x00]{0,300}?[A-Za-z0-9+/=]{16})"
        r"(?:(?:(?!----)[^\x00]){16,16384}-----? ?END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-----?"
        r"|[^\x00]{0,300}?[A-Za-z0-9+/=]{16,}(?:(?:\\[nr]|<br ?/?>|[\s\"'+,>|E#*\\-]){1,40}[A-Za-z0-9+/=]{40,})*"
        r"(?:(?:[\r\n]|\\[nr])+[A-Za-z0-9+/=]+)*)"
        # The end of a key, such as `tail` prints it.
        rf"|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{40,76}}{_SHORT_LINE}(?:[A-Za-z0-9+/=]{{4,76}}{_SHORT_LINE}){{0,60}}"
        r"(?<=-)END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-----?"
        r"|openssh-key-v1\x00",
        accepts=lambda key: holds_random(key) or key.startswith("openssh"),
    ),
    SecretKind(
        "the body of a private key",
        (
            *("ibaak", "ibadanbgkqhkig9w0b", "caqawbqydk2v", "caqewbqydk2v", "ageambmgbyqgsm49", "ageambagbyqgsm49"),
            *("mhccaqee", "migkagebbd", "bgkqhkig9w0bbq0w", "b3blbnnzac1rzxktdje"),
        ),
        # DER in base64 without its first line: PKCS #1, PKCS #8 (RSA, Ed25519, EC), SEC 1, encrypted, OpenSSH.
        r"(?<![A-Za-z0-9+/])(?:MI[IG][A-Za-z0-9+/]{1,6}IBA(?:AK|DANBgkqhkiG9w0B)|M[CF][A-Za-z0-9+/]CAQ[AE]wBQYDK2V"
        r"|MI[IG][A-Za-z0-9+/]{1,4}AgEAM(?:BMG|BAG)ByqGSM49|MHcCAQEE|MIGkAgEBBD|MII[A-Za-z0-9+/]{1,12}BgkqhkiG9w0BBQ0w"
        rf"|b3BlbnNzaC1rZXktdjE)[A-Za-z0-9+/]{{16,}}(?:{_KEY_LINE}[A-Za-z0-9+/]{{40,}})*(?:{_KEY_LINE}[A-Za-z0-9+/]{{8,}})?={{0,2}}",
        source="RFC 5208, RFC 8017, RFC 5915",
    ),
    SecretKind(
        "a private key of PuTTY",
        ("private-lines:",),
        rf"(?P<kept>Private-Lines: ?\d{{1,4}}){_KEY_LINE}(?:[A-Za-z0-9+/=]{{16,}}{_KEY_LINE}){{1,200}}"
        r"(?:Private-MAC: ?[0-9a-f]{40,128})?",
        source="putty.org.uk",
    ),
    SecretKind(
        "a private key by its name",
        ("private", "shared"),
        rf"(?P<kept>(?i:private[_ ]?key|pre_?shared_?key){IS})"
        r"(?:[A-Za-z0-9+/]{43}=(?![A-Za-z0-9+/=])|(?:0x)?[0-9a-fA-F]{64}(?![0-9a-zA-Z]))",
        source="wireguard.com, ethereum.org",
        beside_name=True,
        accepts=looks_random,
    ),
    SecretKind(
        "a JSON Web Key",
        ("kty", "jwk"),
        # In a text, and as a member, whose key `views` names.
        # The members of a private key of RSA follow each other in any order.
        rf"(?P<kept>{_QUOTES}kty{_QUOTES}\s?:[^{{}}]{{1,4000}}?{_QUOTES}{_OF_JWK}{_QUOTES}\s{{0,3}}:\s{{0,8}}{_QUOTES}"
        rf"|\bjwk {_OF_JWK}: )[A-Za-z0-9_-]{{22,800}}(?![A-Za-z0-9_+/=-])"
        rf"(?:{_QUOTES}\s{{0,3}},\s{{0,20}}{_QUOTES}{_OF_JWK}{_QUOTES}\s{{0,3}}:\s{{0,8}}{_QUOTES}[A-Za-z0-9_-]{{22,800}})"
        r"{0,6}",
        source="RFC 7517",
        beside_name=True,
        accepts=looks_random,
    ),
    # Secrets of other services that agents use, as documented by the vendor or by gitleaks 8 (2025).
    _token("a LangSmith key", ("lsv2_pt_", "lsv2_sk_"), r"[0-9a-f]{32}_[0-9a-f]{10}", "docs.smith.langchain.com"),
    _token("a Langfuse key", ("sk-lf-",), r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "langfuse.com/docs"),
    _token("a Tavily key", ("tvly-",), r"(?:dev-|prod-)?[A-Za-z0-9_-]{24,}", "docs.tavily.com"),
    _token("a Groq key", ("gsk_",), r"[A-Za-z0-9]{48,}", "console.groq.com"),
    _token("an xAI key", ("xai-",), r"[A-Za-z0-9]{70,}", "docs.x.ai"),
    _token("a Perplexity key", ("pplx-",), r"[A-Za-z0-9]{40,}", "gitleaks"),
    _token("a Replicate token", ("r8_",), r"[A-Za-z0-9]{37}(?![A-Za-z0-9])", "replicate.com/docs"),
    _token("a Pinecone key", ("pcsk_",), r"[A-Za-z0-9_]{40,}", "docs.pinecone.io"),
    _token("a Firecrawl key", ("fc-",), r"[0-9a-f]{32}(?![0-9a-z])", "docs.firecrawl.dev"),
    _token("an E2B key", ("e2b_",), r"[0-9a-f]{40}(?![0-9a-z])", "e2b.dev/docs"),
    _token("a Jina key", ("jina_",), r"[0-9a-f]{32}[A-Za-z0-9_-]{20,}", "jina.ai"),
    _token("an Nvidia key", ("nvapi-",), r"[A-Za-z0-9_-]{60,}", "docs.nvidia.com"),
    _token("an ElevenLabs key", ("sk_",), r"[0-9a-f]{48}(?![0-9a-z])", "elevenlabs.io/docs"),
    _token("a SendGrid key", ("SG.",), r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", "gitleaks"),
    _token("a Vault token", ("hvs.", "hvb.", "hvr."), r"[A-Za-z0-9_-]{24,}", "developer.hashicorp.com"),
    _token("a Docker token", ("dckr_pat_", "dckr_oat_"), r"[A-Za-z0-9_-]{24,}", "docs.docker.com"),
    _token("a Databricks token", ("dapi",), r"[0-9a-f]{32}(?:-\d)?(?![0-9a-z])", "gitleaks"),
    _token("a DigitalOcean token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{64}", "gitleaks"),
    _token("a Shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[0-9a-fA-F]{32}", "gitleaks"),
    _token("a Notion token", ("ntn_",), r"\d{8,12}[A-Za-z0-9]{30,}", "gitleaks"),
    _token(
        "a Notion token of old",
        ("secret_",),
        r"[A-Za-z0-9]{43}(?![A-Za-z0-9_])",
        "developers.notion.com",
    ),
    _token("a Linear key", ("lin_api_", "lin_oauth_"), r"[A-Za-z0-9]{32,}", "gitleaks"),
    _token("an Atlassian token", ("ATATT3", "ATCTT3", "ATBB"), r"[A-Za-z0-9_=-]{24,}", "gitleaks"),
    _token("a Sentry token", ("sntrys_", "sntryu_"), r"[A-Za-z0-9+/=_-]{40,}", "gitleaks"),
    _token("a Grafana token", ("glsa_", "glc_"), r"[A-Za-z0-9+/_]{32,}", "gitleaks"),
    _token("a New Relic key", ("NRAK-", "NRJS-"), r"[A-Z0-9a-z]{19,}", "gitleaks"),
    _token("a Postman key", ("PMAK-",), r"[0-9a-f]{24}-[0-9a-f]{34}", "gitleaks"),
    _token("a Figma token", ("figd_",), r"[A-Za-z0-9_-]{38,}", "developers.figma.com"),
    _token("a Supabase key", ("sbp_", "sb_secret_"), r"[A-Za-z0-9_-]{30,}", "supabase.com/docs"),
    _token("a PlanetScale token", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), r"[A-Za-z0-9_=.-]{32,}", "gitleaks"),
    _token("a RubyGems key", ("rubygems_",), r"[0-9a-f]{48}", "gitleaks"),
    _token("a Doppler token", ("dp.pt.", "dp.st.", "dp.ct."), r"[A-Za-z0-9._-]{40,}", "gitleaks"),
    _token("an Airtable token", ("pat",), r"[A-Za-z0-9]{14}\.[0-9a-f]{64}", "airtable.com/developers"),
    _token("an Alibaba key", ("LTAI",), r"[A-Za-z0-9]{20}(?![A-Za-z0-9])", "gitleaks"),
    _token("an age key", ("AGE-SECRET-KEY-1",), r"[A-Z0-9]{58}", "gitleaks"),
    _token("a 1Password token", ("ops_eyJ",), r"[A-Za-z0-9+/=]{200,}", "gitleaks"),
    _token("a Fireworks key", ("fw_",), r"[A-Za-z0-9]{22,}(?![A-Za-z0-9_])", "docs.fireworks.ai"),
    _token("a Cerebras key", ("csk-",), r"[a-z0-9]{40,}", "inference-docs.cerebras.ai"),
    _token("a LlamaCloud key", ("llx-",), r"[A-Za-z0-9]{40,}", "docs.cloud.llamaindex.ai"),
    _token("a Helicone key", ("sk-helicone-",), r"[a-z0-9-]{24,}", "docs.helicone.ai"),
    _token("an Apify token", ("apify_api_",), r"[A-Za-z0-9]{30,}", "docs.apify.com"),
    _token("a Browserbase key", ("bb_live_", "bb_test_"), r"[A-Za-z0-9_-]{20,}", "docs.browserbase.com"),
    _token("a PostHog key", ("phx_",), r"[A-Za-z0-9]{40,}", "posthog.com/docs"),
    _token("a Fly.io token", ("fo1_", "fm1a_", "fm1r_", "fm2_"), r"[A-Za-z0-9_+/-]{43,}={0,3}", "gitleaks"),
    _token("a Neon key", ("napi_",), r"[a-z0-9]{60,}", "neon.com/docs"),
    _token("a Netlify token", ("nfp_",), r"[A-Za-z0-9]{36,}", "docs.netlify.com"),
    _token("a Render key", ("rnd_",), r"[A-Za-z0-9]{24,}", "render.com/docs"),
    _token("a Tailscale key", ("tskey-",), r"[a-z]+-[A-Za-z0-9]{8,}-[A-Za-z0-9]{20,}", "tailscale.com/kb"),
    _token("a Heroku token", ("HRKU-",), r"[A-Za-z0-9_-]{36,}", "devcenter.heroku.com"),
    _token("an OpenShift token", ("sha256~",), r"[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])", "gitleaks"),
    _token("a Pulumi token", ("pul-",), r"[0-9a-f]{40}(?![0-9a-z])", "gitleaks"),
    _token("a Prefect key", ("pnu_", "pnb_"), r"[A-Za-z0-9]{36}(?![A-Za-z0-9])", "gitleaks"),
    _token("a Dynatrace token", ("dt0c01.", "dt0s01."), r"[A-Z0-9a-z]{24}\.[A-Z0-9a-z]{64}", "gitleaks"),
    _token("a Sourcegraph token", ("sgp_",), r"(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40}(?![0-9a-zA-Z])", "gitleaks"),
    _token("a SonarQube token", ("squ_", "sqp_", "sqa_"), r"[0-9a-f]{40}(?![0-9a-z])", "docs.sonarsource.com"),
    _token("a Brevo key", ("xkeysib-", "xsmtpsib-"), r"[0-9a-f]{64}-[A-Za-z0-9]{16}", "gitleaks"),
    _token("a HubSpot token", ("pat-na1-", "pat-eu1-"), r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "gitleaks"),
    _token("a Contentful token", ("CFPAT-",), r"[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])", "www.contentful.com/developers"),
    _token("a Trello token", ("ATTA",), r"[0-9a-f]{64,}", "developer.atlassian.com"),
    _token("a Typeform token", ("tfp_",), r"[A-Za-z0-9_.=-]{40,}", "gitleaks"),
    _token("a ReadMe key", ("rdme_",), r"[a-z0-9]{70}", "gitleaks"),
    _token("a Square token", ("sq0atp-", "sq0csp-"), r"[A-Za-z0-9_-]{22,60}", "gitleaks, detect-secrets"),
    _token("a GitLab runner's token", ("GR1348941",), r"[A-Za-z0-9_-]{20,}", "gitleaks, detect-secrets"),
    _token("a Razorpay key", ("rzp_live_", "rzp_test_"), r"[A-Za-z0-9]{14}(?![A-Za-z0-9])", "razorpay.com/docs"),
    _token("a Duffel token", ("duffel_live_", "duffel_test_"), r"[A-Za-z0-9_=-]{43}", "gitleaks"),
    _token("an EasyPost key", ("EZAK", "EZTK"), r"[A-Za-z0-9]{54}(?![A-Za-z0-9])", "gitleaks"),
    _token("a Shippo token", ("shippo_live_", "shippo_test_"), r"[0-9a-fA-F]{40}", "gitleaks"),
    SecretKind(
        "a secret of Azure AD",
        ("q~",),
        r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])",
        source="gitleaks",
    ),
    SecretKind(
        "a Terraform token",
        (".atlasv1.",),
        r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}",
        source="gitleaks",
    ),
    SecretKind(
        "a hook of Microsoft Teams",
        (".webhook.office.com",),
        r"(?P<kept>\.webhook\.office\.com/webhookb2/)[0-9a-f@-]{70,}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36}",
        source="gitleaks",
    ),
    SecretKind(
        "a Telegram token",
        (":aa",),
        r"(?<![A-Za-z0-9])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])",
        source="core.telegram.org/bots",
    ),
    SecretKind(
        "a Discord token",
        ("discord",),
        rf"(?P<kept>discord(?:app)?\.com/api/webhooks/\d{{17,20}}/|(?i:discord)[A-Za-z0-9 _.-]{{0,20}}{GIVEN})"
        r"(?:[A-Za-z0-9_-]{60,}|[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})",
        source="discord.com/developers",
    ),
    SecretKind(
        "a key of Azure storage",
        ("accountkey",),
        rf"(?P<kept>(?i:AccountKey){GIVEN})[A-Za-z0-9+/]{{86}}==",
        source="learn.microsoft.com",
    ),
    SecretKind(
        "the password of a URL",
        ("://",),
        # Manuals write user:password@host, programs ${PASSWORD}: those are none. A token may stand alone before the @,
        # or as the user. The host may be a variable, or missing.
        r"(?P<kept>://(?:(?=[\w-]{20,}(?::(?:x-oauth-basic)?)?@)|[^\s:/@\"<>]{0,64}:))[^\s/@\"<>]{5,200}(?=@[A-Za-z0-9\[/$])",
        source="RFC 3986, 3.2.1",
        accepts=is_password_of_url,
    ),
    SecretKind(
        "the password of a command",
        ("curl", "sshpass", "login", "redis-cli", "mysql", "mongo"),
        r"(?P<kept>\bcurl\b[^\n]{0,300}?\s(?:-[A-Za-z]{0,6}u|--user)[ =]?[\"']?[^\s:\"']{1,64}:"
        r"|\b(?:sshpass|(?:docker|podman) login|redis-cli|mysql(?:dump)?|mongo(?:sh|dump)?)\b[^\n|;&]{0,200}?"
        r"\s-[pa]\s?[\"']?)"
        r"(?=[^\s\"']{0,40}[A-Za-z])[^\s\"']{6,200}",
        source="the manuals of these programs",
        accepts=is_password_of_url,
    ),
    SecretKind(
        "a key in the query of a URL",
        ("key=", "auth=", "sid=", "code=", "session="),
        r"(?P<kept>[?&](?:key|auth|sid|code|session)=)[A-Za-z0-9._~%+/=-]{20,400}",
        beside_name=True,
        accepts=looks_random,
        weak=True,
    ),
    SecretKind(
        "the password of a database",
        ("jdbc:oracle",),
        r"(?P<kept>jdbc:oracle:\w+:[\w.-]{1,64}/)[^\s/@\"<>]{6,200}(?=@)",
        source="docs.oracle.com",
        accepts=is_password,
    ),
    SecretKind(
        "a signature of CloudFront",
        ("policy=", "signature="),
        r"(?P<kept>[?&](?:Signature|Policy)=)[A-Za-z0-9_~.%+/=-]{32,}",
        source="docs.aws.amazon.com",
        masked=True,
    ),
    _by_name("a Twilio key", ("twilio",), r"(?:SK)?[0-9a-f]{32}", "www.twilio.com/docs"),
    _by_name("a Cohere key", ("cohere", "co_api"), r"[A-Za-z0-9]{40}", "gitleaks"),
    _by_name("a Mistral key", ("mistral",), r"[A-Za-z0-9]{32}", "docs.mistral.ai"),
    _by_name("a key of Together AI", ("together",), r"[0-9a-f]{64}", "docs.together.ai"),
    _by_name(
        "a Datadog key",
        ("datadog", "dd_api", "dd_app", "dd-api", "dd-app", "ddapi"),
        r"[0-9a-f]{32}(?:[0-9a-f]{8})?",
        "gitleaks",
    ),
    _by_name("a Serper key", ("serper", "serpapi"), r"[0-9a-f]{40}(?:[0-9a-f]{24})?", "serper.dev"),
    _by_name("a Cloudflare token", ("cloudflare", "cf_api"), r"[A-Za-z0-9_-]{37,40}", "gitleaks"),
    _by_name("a Deepgram key", ("deepgram", "assemblyai"), r"[0-9a-f]{32}(?:[0-9a-f]{8})?", "developers.deepgram.com"),
    _by_name(
        "a Pinecone key of old", ("pinecone",), r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "docs.pinecone.io"
    ),
    _by_name("a Weights & Biases key", ("wandb",), r"[0-9a-f]{40}", "docs.wandb.ai"),
    _by_name("an Exa key", ("exa",), r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "docs.exa.ai"),
    _by_name("a key of Azure", ("azure",), r"(?:[0-9a-f]{32}|[A-Za-z0-9]{84})", "learn.microsoft.com"),
    _by_name("an IBM Cloud key", ("ibm",), r"[A-Za-z0-9_-]{44}", "detect-secrets"),
    _by_name("a Mailgun key", ("mailgun",), r"(?:key-)?[0-9a-f]{32}(?:-[0-9a-f]{8}){0,2}", "gitleaks"),
    _by_name("a Mailchimp key", ("mailchimp",), r"[0-9a-f]{32}-us\d{1,2}", "detect-secrets"),
    _by_name("an Okta token", ("okta",), r"00[A-Za-z0-9_-]{40}", "gitleaks"),
    _by_name("a Snyk token", ("snyk",), r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "gitleaks"),
    _by_name("an Algolia key", ("algolia",), r"[0-9a-f]{32}", "gitleaks"),
    _by_name("an Asana token", ("asana",), r"(?:\d/\d{10,20}(?:/\d{10,20})?:)?[0-9a-f]{32}", "gitleaks"),
    _by_name("a Heroku key", ("heroku",), r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", "gitleaks"),
    SecretKind(
        "a token, key or secret beside its name",
        ("token", "secret", "key"),
        # Tokens of pages and of retries are no secrets.
        rf"(?P<kept>{_NAMES}(?:{ASSIGNED}|(?i:\sis\s|\sis:\s|\swas\s)|[ \t]{{1,4}}[\"'])|{_ARGUMENTS} )"
        rf"(?=[^\s\d]*\d){_PLAIN}{{20,400}}(?![(\[{{<])",
        accepts=looks_random,
        beside_name=True,
        weak=True,
        at_hint=True,
    ),
    SecretKind(
        "a password beside its name",
        ("pass", "pwd", "login", "identified by", "requirepass"),
        rf"(?P<kept>(?i:pass(?:word|wd|phrase)|pwd)(?:{ASSIGNED}|[ \t]{{1,4}}[\"'])|(?i:identified by\s[\"'])"
        # The word alone is often a result, and a statement of Python.
        rf"|(?<![A-Za-z])(?i:pass){IS}|(?:(?<=[A-Za-z0-9]_)(?i:pass)|(?<=[a-z])Pass|(?<=[Dd][Bb][ -])pass){ASSIGNED}"
        rf"|(?i:requirepass)\s|login\s\S{{1,64}}\spassword\s)[!#-%(-:=?-_a-{{}}~]{{8,200}}",
        accepts=is_password,
        beside_name=True,
        weak=True,
        at_hint=True,
    ),
)
"""All kinds of secrets, in the order in which `secrets.mask` masks them."""

"""Kinds of secrets, as their vendors document them; written without a look at the patterns of the search.

Each value is drawn when it is needed, so that nobody who searches this project for secrets finds one.
"""
# ruff: noqa: E501 - a row of a table stands on one line

from __future__ import annotations

import base64
import json
import re
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

ALNUM: Final = string.ascii_letters + string.digits

ALPHABETS: Final[Mapping[str, str]] = {
    "alnum": ALNUM,
    "lower": string.ascii_lowercase + string.digits,
    "CAPITALS": string.ascii_uppercase + string.digits,
    "letters": string.ascii_letters,
    "digits": string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "base32": string.ascii_uppercase + "234567",
    "base64": f"{ALNUM}+/",
    "url": f"{ALNUM}-_",
    "password": f"{ALNUM}!#%*+-.?^~",
    "special": f"{ALNUM}$:{{}}!*",
    "bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}
"""What `{40:base64}` in a form draws from."""


def _key(begin: str, width: int = 64) -> Callable[[Random, int], str]:
    """Lines of a key: base64 that begins as its format does, of which all but the last are full."""

    def made(chance: Random, count: int) -> str:
        body = begin + characters(chance, "base64", width * count - len(begin) + 42) + "=="
        return "\n".join(body[at : at + width] for at in range(0, len(body), width))

    return made


def _b64url(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def _jwt(chance: Random, length: int) -> str:
    head = _b64url({"alg": "HS256", "typ": "JWT"})
    body = _b64url({"sub": characters(chance, "digits", 10), "iat": chance.randint(17 * 10**8, 18 * 10**8)})
    return f"{head}.{body}.{characters(chance, 'url', length)}"


def _in_base64(form: str) -> Callable[[Random, int], str]:
    return lambda chance, _: base64.b64encode(filled(form, chance).encode()).decode()


MADE: Final[Mapping[str, Callable[[Random, int], str]]] = {
    "pkcs8": _key("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"),
    "rsa": _key("MIIEpAIBAAKCAQEA"),
    "openssh": _key("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ", 70),
    "end": _key(""),
    "pgp": _key("lQOYBF"),
    "ssh2": _key("P2/56wAA", 70),
    "jwt": _jwt,
    "login": _in_base64("app:{18:alnum}"),
    "presigned": _in_base64(
        "bedrock.amazonaws.com/?Action=CallWithBearerToken&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential="
        "ASIA{16:base32}%2F20261127%2Fus-east-1%2Fbedrock%2Faws4_request&X-Amz-Expires=43200&X-Amz-Signature={64:hex}"
    ),
    "bedrock": _in_base64("BedrockAPIKey-{4:lower}-at-{12:digits}:{44:base64}"),
}
"""What else may be drawn."""

_DRAWN: Final = re.compile(r"\{(\d+):(\w+)\}")


def characters(chance: Random, alphabet: str, length: int) -> str:
    """Random characters, at least one of each class in the alphabet, as nearly all real tokens of this length have."""
    letters = ALPHABETS[alphabet]
    classes = [
        one for one in (string.ascii_lowercase, string.ascii_uppercase, string.digits) if set(one) <= set(letters)
    ]
    while True:
        text = "".join(chance.choices(letters, k=length))
        if length < 8 or all(set(text) & set(one) for one in classes):
            return text


def filled(form: str, chance: Random) -> str:
    """The form with its `{40:base64}` drawn."""

    def draw(found: re.Match[str]) -> str:
        count, name = int(found[1]), found[2]
        return MADE[name](chance, count) if name in MADE else characters(chance, name, count)

    return _DRAWN.sub(draw, form)


@dataclass(frozen=True)
class KindOfSecret:
    """A kind: how people call it, in which groups of shapes it comes, its names in code or headers, its form.

    In a form, `[[...]]` is what nobody may read. Without it, all of the value is the secret.
    """

    title: str
    groups: str
    names: tuple[str, ...]
    forms: tuple[str, ...]

    def drawn(self, chance: Random, turn: int) -> tuple[str, str, tuple[str, ...]]:
        """One name, one value with that name, and the secret parts of that value. `turn` chooses among several."""
        name = self.names[turn % len(self.names)]
        text = filled(self.forms[turn % len(self.forms)], chance)
        secrets = tuple(each for part in _SECRET.findall(text) or [text] for each in part.split("\n") if len(each) > 7)
        return name, text.replace("[[", "").replace("]]", ""), secrets


_SECRET: Final = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)

Table = tuple[tuple[str, str, str], ...]

TOKENS: Final[Table] = (
    ("an AWS access key id", "aws access key id|access key id", "AKIA{16:base32}|ASIA{16:base32}"),
    ("an AWS session token", "aws session token|session token", "IQoJb3JpZ2luX2VjE{260:base64}="),
    ("a Bedrock API key", "aws bearer token bedrock", "ABSK{1:bedrock}"),
    ("a short-term Bedrock API key", "aws bearer token bedrock", "bedrock-api-key-{1:presigned}"),
    ("an Anthropic API key", "anthropic api key", "sk-ant-api03-{93:url}AA|sk-ant-admin01-{93:url}AA"),
    ("an OpenAI API key", "openai api key", "sk-proj-{74:url}T3BlbkFJ{74:url}|sk-{20:alnum}T3BlbkFJ{20:alnum}"),
    ("a Google API key", "google api key|gemini api key", "AIzaSy{33:url}"),
    ("a Google OAuth token", "google access token", "ya29.a0{170:url}"),
    ("a Google client secret", "google client secret", "GOCSPX-{28:url}"),
    ("a GitHub token", "github token", "ghp_{36:alnum}|gho_{36:alnum}|ghs_{36:alnum}"),
    ("a GitHub token, fine-grained", "github token", "github_pat_11{20:CAPITALS}_{59:alnum}"),
    ("a GitLab token", "gitlab token", "glpat-{20:url}|gldt-{20:url}"),
    (
        "a Slack token",
        "slack bot token",
        "xoxb-{12:digits}-{13:digits}-{24:alnum}|xapp-1-A{10:CAPITALS}-{13:digits}-{64:hex}",
    ),
    ("a Stripe key", "stripe secret key", "sk_live_{99:alnum}|rk_live_{24:alnum}"),
    ("a Stripe webhook secret", "stripe webhook secret", "whsec_{32:alnum}"),
    ("a Hugging Face token", "hf token", "hf_{34:letters}|hf_{34:alnum}"),
    ("an npm token", "npm token", "npm_{36:alnum}"),
    ("a PyPI token", "pypi token", "pypi-AgEIcHlwaS5vcmcCJ{150:url}"),
    ("a JSON Web Token", "id token|jwt", "{43:jwt}"),
    ("a SendGrid key", "sendgrid api key", "SG.{22:url}.{43:url}"),
    ("a Docker token", "docker token", "dckr_pat_{27:url}"),
    ("a Databricks token", "databricks token", "dapi{32:hex}"),
    ("a Shopify token", "shopify access token", "shpat_{32:hex}"),
    ("a Vault token", "vault token", "hvs.{90:url}"),
    ("a DigitalOcean token", "digitalocean token", "dop_v1_{64:hex}"),
    ("a Telegram token", "telegram bot token", "{10:digits}:AA{33:url}"),
    ("a secret of Azure AD", "azure client secret", "{3:alnum}8Q~{34:alnum}"),
    ("a LangSmith key", "langsmith api key", "lsv2_pt_{32:hex}_{10:hex}"),
    ("a Groq key", "groq api key", "gsk_{52:alnum}"),
    ("an xAI key", "xai api key", "xai-{80:alnum}"),
    ("an age key", "sops age key", "AGE-SECRET-KEY-1{58:bech32}"),
    ("a Linear key", "linear api key", "lin_api_{40:alnum}"),
)
"""Values that are recognised alone: their kind, their names in code, their forms."""

NAMED: Final[Table] = (
    ("an AWS secret access key", "aws secret access key|secret access key|aws secret key", "{40:base64}"),
    ("a key of Azure storage", "azure storage key|account key", "{86:base64}=="),
    ("a key of Azure OpenAI", "azure openai api key", "{32:hex}"),
    ("a Twilio token", "twilio auth token", "{32:hex}"),
    ("a Datadog key", "datadog api key|dd api key", "{32:hex}"),
    ("a Mistral key", "mistral api key", "{32:alnum}"),
    ("a Cohere key", "cohere api key", "{40:alnum}"),
    ("an OAuth access token", "access token", "{43:url}|{64:hex}"),
    ("an OAuth refresh token", "refresh token", "{43:url}|{64:hex}"),
    ("an OAuth client secret", "client secret", "{40:alnum}|{64:hex}"),
    ("an API key of any service", "api key|apikey", "{32:alnum}|{40:hex}"),
    ("a token of any service", "auth token|secret token|verification token", "{40:alnum}|{40:hex}"),
    ("a secret key of any service", "secret key|signing secret|webhook secret", "{50:password}|{64:hex}|{44:base64}"),
    ("a password in a configuration", "db password|password|smtp password|db pass", "{16:alnum}|{20:password}"),
)
"""Random words that only their name shows to be secrets."""

HEADERS: Final[Table] = (
    ("a bearer token", "Authorization", "Bearer [[{43:url}]]|Bearer [[{64:hex}]]"),
    ("a bearer token of letters", "Authorization", "Bearer [[{40:letters}]]"),
    ("Authorization: Basic", "Authorization|Proxy-Authorization", "Basic [[{1:login}]]"),
    ("Authorization without a scheme", "Authorization", "[[{40:alnum}]]"),
    ("Authorization: Token", "Authorization", "Token [[{40:hex}]]|token [[{40:alnum}]]"),
    ("Authorization: ApiKey", "Authorization", "ApiKey [[{40:alnum}]]|GenieKey [[{36:alnum}]]"),
    ("Authorization: a scheme with hyphens", "Authorization", "Zoho-oauthtoken [[{40:hex}]]|Klaviyo-API-Key [[{40:alnum}]]"),
    ("Authorization: Bot", "Authorization", "Bot [[{40:alnum}]]"),
    ("Authorization: Digest", "Authorization", 'Digest username="ada", realm="x", nonce="{16:hex}", uri="/", response="[[{32:hex}]]"'),
    ("Authorization: Hawk", "Authorization", 'Hawk id="a7", ts="1700000000", nonce="k3k4j5", mac="[[{43:base64}=]]"'),
    ("Authorization: Negotiate", "Authorization", "Negotiate [[YII{120:base64}]]|NTLM [[TlRMTVNTUAAD{80:base64}]]"),
    ("Authorization: SharedKey", "Authorization", "SharedKey account:[[{43:base64}=]]"),
    ("Authorization: OAuth", "Authorization", 'OAuth oauth_consumer_key="ck", oauth_signature="[[{27:alnum}%3D]]"'),
    ("a signature of AWS", "Authorization", "AWS4-HMAC-SHA256 Credential=AKIA{16:base32}/20261127/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=[[{64:hex}]]"),
    ("X-Amz-Security-Token", "X-Amz-Security-Token", "[[IQoJb3JpZ2luX2VjE{260:base64}=]]"),
    ("x-api-key", "x-api-key|X-API-Key", "[[{40:alnum}]]"),
    ("api-key", "api-key", "[[{32:hex}]]"),
    ("apikey", "apikey", "[[{32:alnum}]]"),
    ("Ocp-Apim-Subscription-Key", "Ocp-Apim-Subscription-Key", "[[{32:hex}]]"),
    ("the key of a service", "X-Service-Key|DD-APPLICATION-KEY|Fastly-Key|X-Appwrite-Key", "[[{40:alnum}]]|[[{64:hex}]]"),
    ("x-functions-key", "x-functions-key", "[[{54:url}==]]"),
    ("X-CSRF-Token", "X-CSRF-Token|X-XSRF-TOKEN", "[[{43:url}]]|[[{64:hex}]]"),
    ("X-Auth-Token", "X-Auth-Token", "[[{40:alnum}]]"),
    ("PRIVATE-TOKEN", "PRIVATE-TOKEN", "[[{20:alnum}]]"),
    ("Sec-WebSocket-Protocol", "Sec-WebSocket-Protocol", "bearer, [[{40:alnum}]]"),
    ("a cookie", "Cookie|Set-Cookie", "sid=[[{32:alnum}]]|session=[[{40:hex}]]; Path=/; HttpOnly"),
    ("a cookie behind another", "Cookie", "theme=dark; sid=[[{32:alnum}]]; lang=de"),
    ("a cookie behind a secret one", "Cookie", "a=[[{32:alnum}]]; session=[[{32:alnum}]]; c=d"),
    ("a cookie of letters", "Cookie", "sid=[[{40:letters}]]"),
)  # fmt: skip
"""Headers: how they are called here, the names of the header, the forms of its value."""

URLS: Final[Table] = (
    ("the password of a URL", "database url", "postgresql://app:[[{16:alnum}]]@db:5432/x|redis://:[[{20:alnum}]]@cache:6379/0|mongodb+srv://app:[[{20:alnum}]]@c0.x1.mongodb.net/db|amqp://app:[[{20:alnum}]]@mq:5672/%2F|mysql+pymysql://app:[[{20:alnum}]]@db/x"),
    ("the password of a URL, special", "database url", "postgresql://app:[[pa$$w0rd{9:special}]]@db:5432/x|mysql://root:[[{9:alnum}:{9:alnum}]]@db/x|redis://default:[[{9:alnum}{{9:alnum}]]@cache:6379"),
    ("the password of a URL, short", "database url", "postgresql://app:[[{4:lower}{2:digits}{4:lower}]]@db:5432/x|mysql://root:[[{10:digits}]]@db/x|redis://:[[{6:alnum}{2:digits}({3:alnum}]]@cache:6379|postgres://app:[[{3:lower}{1:digits}{6:lower}]]@/x?host=/tmp|postgres://app:[[{12:lower}7]]@$DB_HOST/x"),
    ("a token of a URL", "git url", "https://[[{40:alnum}]]:x-oauth-basic@git.example.com/x|https://[[{40:alnum}]]@git.example.com/x.git|https://oauth2:[[{40:alnum}]]@git.example.com/x.git"),
    ("the password of a mailbox", "smtp url", "smtps://u%40x.com:[[{20:alnum}]]@smtp.x.com:465"),
    ("a signed URL of S3", "url", "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=60&X-Amz-Signature=[[{64:hex}]]&X-Amz-SignedHeaders=host"),
    ("a signed URL of S3, of old", "url", "https://b.s3.amazonaws.com/k?AWSAccessKeyId=AKIA{16:base32}&Signature=[[{26:alnum}%3D]]&Expires=1900000000"),
    ("a signed URL of Google", "url", "https://storage.googleapis.com/b/k?X-Goog-Expires=900&X-Goog-Signature=[[{512:hex}]]"),
    ("a signed URL of Google, of old", "url", "https://storage.googleapis.com/b/k?GoogleAccessId=a@b.iam.gserviceaccount.com&Expires=1900000000&Signature=[[{340:alnum}%3D%3D]]"),
    ("a signed URL of Azure", "sas url", "https://a.blob.core.windows.net/c/k?sv=2026-02-06&se=2027-01-01&sr=b&sp=r&sig=[[{43:alnum}%3D]]"),
    ("a signed URL of CloudFront", "url", "https://d1.cloudfront.net/k?Policy={120:alnum}__&Signature=[[{340:url}__]]&Key-Pair-Id=K{13:CAPITALS}|https://d1.cloudfront.net/k?Expires=1900000000&Signature=[[{340:url}__]]&Key-Pair-Id=K{13:CAPITALS}"),
    ("an API key in a query", "url", "https://api.example.com/v1?q=x&api_key=[[{32:alnum}]]|https://api.example.com/v1?apikey=[[{32:hex}]]&q=x"),
    ("an access token in a query", "url", "https://api.example.com/v1?access_token=[[{43:url}]]&q=x|https://x.com/cb#access_token=[[{43:url}]]&token_type=bearer"),
    ("a key in a query", "url", "https://api.example.com/v1?key=[[{32:alnum}]]&q=x|https://api.example.com/v1?q=x&auth=[[{40:hex}]]|https://x.com/?sid=[[{32:alnum}]]|https://x.com/cb?code=[[{43:url}]]&state=x"),
    ("a Slack token in a hook", "slack webhook url", "https://hooks.slack.com/services/T{10:CAPITALS}/B{10:CAPITALS}/[[{24:alnum}]]"),
    ("a hook of Discord", "discord webhook url", "https://discord.com/api/webhooks/{19:digits}/[[{68:url}]]"),
    ("jdbc:postgresql", "jdbc url", "jdbc:postgresql://h:5432/db?user=app&password=[[{20:alnum}]]"),
    ("jdbc:oracle:thin", "jdbc url", "jdbc:oracle:thin:scott/[[{16:alnum}]]@//h:1521/x"),
    ("jdbc:sqlserver", "jdbc url", "jdbc:sqlserver://h:1433;databaseName=x;user=sa;password=[[{20:alnum}]];encrypt=true"),
    ("ODBC", "odbc connection string", "Driver={ODBC Driver 18 for SQL Server};Server=tcp:h,1433;UID=app;PWD=[[{20:alnum}]];Encrypt=yes"),
    ("ADO.NET", "connection string", "Server=tcp:h,1433;Database=x;User ID=app;Password=[[{20:alnum}]];Encrypt=True;"),
    ("libpq", "dsn", "host=db port=5432 dbname=x user=app password=[[{20:alnum}]] sslmode=require"),
    ("a password of curl", "command", "curl -su ada:[[{16:alnum}]] https://x.com|curl --user 'ada:[[{20:password}]]' https://x.com|wget --password=[[{16:alnum}]] https://x.com"),
    ("a password of a command", "command", "sshpass -p [[{16:alnum}]] ssh h|docker login -u ada -p '[[{20:alnum}]]' r.example.com|redis-cli -h db -a [[{16:alnum}]] ping|mysql -u root -p[[{16:alnum}]] x|mongosh -u ada -p [[{16:alnum}]] db"),
    ("a password of netrc", "netrc", "machine api.example.com login ada password [[{20:alnum}]]"),
    ("a password in SQL", "sql", "CREATE USER app WITH PASSWORD '[[{16:alnum}]]';|ALTER USER app IDENTIFIED BY '[[{16:alnum}]]';"),
    ("a password of Redis", "redis conf", "requirepass [[{20:alnum}]]"),
    ("AccountKey of Azure", "azure storage connection string", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=[[{86:base64}==]];EndpointSuffix=core.windows.net"),
    ("SharedAccessKey of Azure", "servicebus connection string", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=[[{43:base64}=]]"),
)  # fmt: skip
"""Lines that are recognised alone, with a secret in them: URLs and connection strings."""

_PEM: Final = "-----BEGIN {0}-----\n[[{{12:{1}}}]]\n-----END {0}-----"

BLOCKS: Final[Table] = (
    ("a private key", "private key", _PEM.format("PRIVATE KEY", "pkcs8")),
    ("a private key of RSA", "private key", _PEM.format("RSA PRIVATE KEY", "rsa")),
    ("a private key of OpenSSH", "ssh key", _PEM.format("OPENSSH PRIVATE KEY", "openssh")),
    ("a private key of PGP", "gpg private key", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n[[{12:pgp}]]\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----"),
    ("a private key without its first line", "private key", "[[{12:pkcs8}]]\n-----END PRIVATE KEY-----"),
    ("the end of a private key", "private key", "[[{6:end}]]\n-----END RSA PRIVATE KEY-----"),
    ("a private key of PuTTY", "ssh key", "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: me\nPublic-Lines: 1\nAAAAC3NzaC1lZDI1NTE5AAAAI\nPrivate-Lines: 1\n[[AAAAI{43:base64}]]\nPrivate-MAC: [[{64:hex}]]"),
    ("a private key of SSH2", "ssh key", '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: "me"\n[[{12:ssh2}]]\n---- END SSH2 ENCRYPTED PRIVATE KEY ----'),
    ("a key of WireGuard", "wg key", "[Interface]\nPrivateKey = [[{42:base64}0=]]\nAddress = 10.0.0.2/32"),
    ("a JSON Web Key", "jwk", '{"kty": "RSA", "n": "{40:url}", "e": "AQAB", "d": "[[{340:url}]]", "p": "[[{170:url}]]"}|{"kty": "EC", "crv": "P-256", "x": "{43:url}", "d": "[[{43:url}]]"}'),
    ("a PKCS#8 key without head lines", "private key", "[[MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{1560:base64}]]|[[MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg{136:base64}]]"),
)  # fmt: skip
"""Values of several lines, or as long."""


def _kinds() -> Iterator[KindOfSecret]:
    for groups, table in (
        ("token named", TOKENS),
        ("named", NAMED),
        ("header", HEADERS),
        ("line named", URLS),
        ("block", BLOCKS),
    ):
        for title, names, forms in table:
            every = f"{groups} cookie" if "cookie" in title else groups
            yield KindOfSecret(title, every, tuple(names.split("|")), tuple(forms.split("|")))


KINDS_OF_SECRETS: Final = tuple(_kinds())

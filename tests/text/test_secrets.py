"""Secrets: what is one, what only looks like one, and that masking leaves none.

All values are made up when the tests run, so that no scanner takes them for real ones.
"""

import random
import string

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row, each_text

from memoranda.text.secrets import HIDDEN, find_secrets, mask_secrets, mentions_secret, secret_kind

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
MADE = random.Random(18)  # noqa: S311 - made up, and always the same


def made(length, signs=LETTERS):
    """Return made-up signs, with letters of both cases and digits where the signs have them."""
    while True:
        found = "".join(MADE.choice(signs) for _ in range(length))
        if sum(map(str.isdigit, found)) >= length // 10 or not set(signs) & set(string.digits):
            return found


SEED = "legal winner thank year wave sausage worth useful legal winner thank yellow"
# (kind, what is said around the secret, the secret).
TABLE = [
    ("an AWS access key", "The key id: {}", "AKIA" + made(16, string.ascii_uppercase + "234567")),
    ("a key", "aws {}", made(40, LETTERS + "+/")),
    ("a key", "aws_secret_access_key = {}", made(40)),
    ("an Azure key", "EndpointSuffix=core;{};", "AccountKey=" + made(86, LETTERS + "+/") + "=="),
    ("a key", "of the storage account {}", made(86, LETTERS + "+/") + "=="),
    ("a Google key", "use {}", "AIza" + made(35)),
    ("an Anthropic key", "use {}", "sk-ant-api03-" + made(40)),
    ("an API key", "of OpenAI {}", "sk-proj-" + made(40)),
    ("an API key", "of Groq {}", "gsk_" + made(52)),
    ("an API key", "of Vault {}", "hvs." + made(24)),
    ("a GitHub token", "push with {}", "ghp_" + made(36)),
    ("a GitHub token", "push with {}", "github_pat_" + made(22) + "_" + made(40)),
    ("a GitLab token", "push with {}", "glpat-" + made(20)),
    ("a Hugging Face token", "log in with {}", "hf_" + made(34)),
    ("an npm token", "publish with {}", "npm_" + made(36)),
    ("a PyPI token", "publish with {}", "pypi-AgE" + made(60)),
    ("a Docker token", "docker login {}", "dckr_pat_" + made(27)),
    ("a Slack token", "the bot has {}", "xoxb-" + made(12, string.digits) + "-" + made(24)),
    ("a webhook address", "post to https://{}", "hooks.slack.com/services/T0AB/B0CD/" + made(24)),
    ("a Discord token", "the bot has {}", "M" + made(24) + "." + made(6) + "." + made(30)),
    ("a Telegram token", "the bot has {}", "12" + made(7, string.digits) + ":" + made(35)),
    ("a Twilio key", "call with {}", "SK" + made(32, HEX)),
    ("a SendGrid key", "mail with {}", "SG." + made(22) + "." + made(43)),
    ("a Mailchimp key", "mail with {}", made(32, HEX) + "-us12"),
    ("a Shopify token", "the shop has {}", "shpat_" + made(32, HEX)),
    ("a Square token", "pay with {}", "sq0atp-" + made(22)),
    ("a Stripe key", "pay with {}", "sk_live_" + made(24)),
    ("a DigitalOcean token", "deploy with {}", "dop_v1_" + made(64, HEX)),
    ("a token", "the session {}", "eyJ" + made(20) + ".eyJ" + made(40) + "." + made(43)),
    ("a token", "Authorization: {}", "Bearer " + made(32)),
    ("a login", "Authorization: {}", "Basic YW5hOmh1bnRlcjIy"),
    ("a one-time code", "scan {}", "otpauth://totp/x?" + "secret=" + made(16)),
    ("a secret in an address", "at postgres{}db.example.org/x", "://ana:" + made(10) + "@"),
    ("a private key", "{}", "-----BEGIN RSA " + "PRIVATE KEY-----\n" + made(64) + "\n"),
    ("a wallet key", "it is {}", "xprv" + made(107, "abcdefghijkmnopqrstuvwxyzABC123456789")),
    ("a key", "it is {}", made(64, HEX)),
    ("a card number", "Pay with {}, please", "4111 1111 1111 1111"),
    ("an IBAN", "to {} at once", "DE89 3704 0044 0532 0130 00"),
    ("a password", "my recovery phrase is {}", SEED),
    ("a password", "The wifi password is {}", "sunflower"),
    ("a password", "the wifi password is {}.", "correct horse battery staple"),
    ("a password", "The password for the router is {} now", "tulip22"),
    ("a password", "{} is my password", "tulip22"),
    ("a password", "DB_PASSWORD={}", "s3cret!"),
    ("a password", '{{"name": "password", "value": "{}"}}', "tr4vel99x"),
    ("a password", "My password is:\n{}", "hunter22"),
    ("a password", "Das WLAN-Passwort lautet {}", "sonnenblume"),
    ("a password", "Mein Datenbankpasswort ist {}", "Sommer2024"),
    ("a password", "La contraseña del wifi es {}", "girasol"),
    ("a password", "Le mot de passe : {}", "tournesol"),
    ("a password", "A senha do wifi é {}", "girassol9"),
    ("a password", "Set DB_PASSWORD to {}", "tr0ub4dor&3"),
    ("a password", "pw: {}", "Summer2026!"),
    ("a password", "login: ana / {}", "Winter2027!"),
    ("a password", "my password (for the bank) is {}", "Winter2026!"),
    ("a password", "我的密码是{}。", "abc12345"),
    ("a password", "Wi-Fiのパスワードは{}です", "tulip-22-x"),
    ("a PIN or code", "the combination of the safe is {}", "12-34-56"),
    ("a PIN or code", "My PIN is {}", "4711"),
    ("a PIN or code", "Der Türcode ist {}", "4711"),
    ("a PIN or code", "El código de la alarma es {}", "4711"),
    ("a PIN or code", "le digicode, c'est ça: pin {}", "4711"),
    ("a key", "api_key={}", made(12, HEX)),
    ("a key", "Mein API-Schlüssel ist {}", made(12, HEX)),
    ("the number of a document", "My passport number is {}", "X1234567"),
    ("the number of a document", "Meine Reisepassnummer: {}", "C01X0006H"),
]


@each_row(("kind", "said", "secret"), TABLE)
def test_each_kind_of_secret_is_found_and_masked(kind, said, secret):
    """The kind is named, nothing of the secret is left, and what is said around it stays."""
    text = said.format(secret)
    assert secret_kind(text) == kind
    masked = mask_secrets(text)
    assert secret.strip() not in masked
    assert HIDDEN in masked
    assert masked.startswith(said.replace("{{", "{").split("{}")[0][:6])
    assert find_secrets(masked) == ()


@each_text
def test_what_only_looks_like_a_secret_is_left_alone(text):
    """Words about secrets, numbers that identify things, names of files, addresses, long words.

    The user forgot the password. | The password is required. | The password policy is strict.
    The password was changed yesterday, and is now stronger.
    The user's password manager is Bitwarden. | The password is in the drawer.
    password: str, user: str | password = getpass() | password=${DB_PASSWORD}
    Das Passwort ist abgelaufen. | La contraseña es segura. | Le mot de passe est obligatoire.
    The passwordless login has 12 steps. | The secret is patience. | The pin is in the drawer.
    The token limit is 128000 tokens, as in gpt-4o-mini. | The order number is 1234 5678 9012 3456.
    Order 4111 1111 1111 1111 was sent. | Order A7K2-99X1-BB3D-2024 and parcel 1Z999AA10123456784.
    The user's phone is +351 912 345 678, or 0170 1234567. | ISBN 978-3-16-148410-0 is a good book.
    The commit is d89d461a2b3c4d5e6f708192a3b4c5d6e7f80910.
    Fixed in 3f2a9c1; git revert d89d461a2b3c4d5e6f708192a3b4c5d6e7f80910
    its sha256 is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
    id 550e8400-e29b-41d4-a716-446655440000 | 550e8400-e29b-41d4-a716-446655440000
    DE12 ABCD EFGH IJKL, and AT99 1234 5678 9012 3456 are none.
    Donaudampfschifffahrtsgesellschaftskapitänsmütze
    Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz2024
    https://example.org/join?room=daily&id=AbCd12EfGh34IjKl56MnOp78
    The server listens on http://localhost:8080/path@version.
    /usr/lib/python3.11/site-packages/x86_64-linux-gnu/v2/Main4.swift
    src/App2/Views3/LoginScreen4Controller5.swift | v1.2.3-rc4+build.20240115
    2024-01-15T10:30:00Z, 20240115T103000Z | iPhone15ProMax256GB and GalaxyS24Ultra512GB
    Write to ana@example.org. | The user has a skill-based job and a risk-averse-investment-plan.
    The user takes a task-oriented-management-course on sk-learn-based-models. | 0000 0000 0000 0000
    Basic understanding of chemistry is enough. | I gave my password to Ana, and to nobody else.
    Reset your password to unlock the door. | This combination is 100% cotton.
    login: see /docs / 2026
    The alarm code changed on 12-03-26.
    They walk, talk, and laugh about what they can still remember from that year.
    Assign: distribute test cases among team members. Cover all features. Handle errors.
    tired today, tired tomorrow: tired next week, tired next month, tired next year, tired next life
    Person0, Person1, Person2, Person3, Person4, Person5, Person6, Person7, Person8, Person9
    """
    assert find_secrets(text) == ()
    assert mask_secrets(text) == text


SIGNS = [
    "password",
    " is ",
    ": ",
    "pin ",
    "[…]",
    "\n",
    " ",
    '"',
    "://a:b",
    "sk-",
    "İ",
    "key=",
    "4111",
]
SAID = [said.format(secret) for _, said, secret in TABLE]
PIECES = st.sampled_from([*SAID, *(secret for _, _, secret in TABLE), *SIGNS])


@given(st.lists(PIECES | st.text(max_size=8), max_size=6).map("".join))
def test_masking_leaves_no_secret(text):
    """Whatever stands side by side; spans are in order, apart, and within the text."""
    spans = find_secrets(text)
    ends = [0, *(span.end for span in spans)]
    assert all(
        end <= span.start < span.end <= len(text) for end, span in zip(ends, spans, strict=False)
    )
    masked = mask_secrets(text)
    assert find_secrets(masked) == ()
    assert mask_secrets(masked) == masked


def test_what_speaks_of_a_secret_is_known():
    """In each language, and not within a longer word."""
    for text in ("my password", "das Passwort", "la contraseña", "le mot de passe", "a PIN"):
        assert mentions_secret(text)
    for text in ("spinning wheels", "I passed the exam", "a good day"):
        assert not mentions_secret(text)

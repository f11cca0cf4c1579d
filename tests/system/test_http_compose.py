"""Messages that the API composes of texts and files, as Python's email package reads them."""
import base64
import email
import email.policy

import pytest

from harness.http_api import Api

TEXT = "Hallo Jürgen,\n\n  vielen Dank für die Bestellung -- bis bald!\n--=_not a boundary\n.\nFrom here on.\n" + "x" * 2000 + "\n"
HTML = '<html><body><h1>Grüße</h1><img src="cid:logo@shop"></body></html>\n'
LOGO, INVOICE = bytes(range(256)) * 40, b"%PDF-1.7\n" + b"\0\r\n\xff" * 3000


@pytest.fixture
def api(mta):
    made = Api(mta)
    mta.start()
    made.allow("shop", "--scope", "submit,read")
    made.wait_until_ready()
    return made


def compose(api, key=None, **members):
    headers = {"Idempotency-Key": key} if key else {}
    return api.request("POST", "/v1/messages", {"from": "shop@test.example", "to": "other@test.example", **members}, headers=headers)


def delivered(mta, api, **members):
    """The one message that comes of it."""
    answer = compose(api, **members)
    assert answer.status == 202, answer.body
    [text] = mta.wait_mailbox(1, user="other")
    assert text.isascii() and max(map(len, text.splitlines())) <= 998
    message = email.message_from_string(text, policy=email.policy.default)
    assert not any(part.defects for part in message.walk()), [part.defects for part in message.walk()]
    assert message["Message-ID"] == answer.json["message_id"] and message["Date"].datetime
    return message


def encoded(content):
    return base64.encodebytes(content).decode()  # with line ends


def test_everything_at_once(mta, api):
    message = delivered(
        mta, api, subject="Ihre Bestellung №4711: „größer“ =?utf-8?Q?x?= " + "und länger " * 20, text=TEXT, html=HTML,
        headers={"From": "Jürgens \"Laden\" <shop@test.example>", "Reply-To": ["Müller, Karl <k@test.example>".replace("Müller, Karl", '"Müller, Karl"'), "b@test.example"],
                 "To": "Ann Other <other@test.example>", "X-Order": "4711", "X-Note": "schön",
                 "List-Unsubscribe": "<https://shop.example/unsubscribe/4711>, <mailto:u@shop.example>",
                 "References": " ".join(f"<{n}.0123456789@shop.example>" for n in range(40))},
        attachments=[{"name": "Rechnung für März.pdf", "type": "application/pdf", "content": encoded(INVOICE)},
                     {"name": "logo.png", "type": "image/png", "cid": "logo@shop", "content": encoded(LOGO)},
                     {"name": "x" * 200 + '"ä.csv', "type": "text/csv; charset=utf-8", "content": encoded("ü;1\n".encode())}])
    assert message["Subject"] == ("Ihre Bestellung №4711: „größer“ =?utf-8?Q?x?= " + "und länger " * 20).strip()
    assert [(each.display_name, each.addr_spec) for each in message["From"].addresses] == [('Jürgens Laden', "shop@test.example")]
    assert [each.display_name for each in message["Reply-To"].addresses] == ["Müller, Karl", ""]
    assert message["To"] == "Ann Other <other@test.example>" and message["X-Order"] == "4711" and message["X-Note"] == "schön"
    assert len(message["References"].split()) == 40 and message["List-Unsubscribe"].startswith("<https://shop.example/unsubscribe/4711>, ")
    assert message.get_content_type() == "multipart/mixed"
    alternative, invoice, table = message.iter_parts()
    plain, related = alternative.iter_parts()
    html, logo = related.iter_parts()
    assert (alternative.get_content_type(), related.get_content_type()) == ("multipart/alternative", "multipart/related")
    assert plain.get_content() == TEXT and html.get_content() == HTML
    assert (invoice.get_filename(), invoice.get_content_type(), invoice.get_content_disposition()) == ("Rechnung für März.pdf", "application/pdf", "attachment")
    assert invoice.get_content() == INVOICE and logo.get_content() == LOGO
    assert (logo["Content-ID"], logo.get_content_disposition(), logo.get_filename()) == ("<logo@shop>", "inline", "logo.png")
    assert table.get_filename() == "x" * 200 + '"ä.csv' and table.get_content() == "ü;1\n"


@pytest.mark.parametrize("text", ["", "plain\n", "no line end", "Grüße\r\nund mehr\r\n", "Привет, мир!\n" * 50, "tab\there = there\n", "trailing \n\n\n"],
                         ids=["empty", "plain", "cut", "latin", "cyrillic", "signs", "blanks"])
def test_a_text_alone(mta, api, text):
    message = delivered(mta, api, text=text)
    assert message["From"] == "shop@test.example" and message["To"] == "other@test.example" and "Subject" not in message
    expected = text.replace("\r\n", "\n")
    assert message.get_content_type() == "text/plain"
    assert message.get_content().replace("\r\n", "\n") == (expected if expected.endswith("\n") else expected + "\n")


def test_recipients_do_not_see_each_other(mta, api):
    assert compose(api, to=["other@test.example", "someone@test.example"], text="x").status == 202
    for user in ("other", "someone"):
        [text] = mta.wait_mailbox(1, user=user)
        assert "To: undisclosed-recipients:;" in text and ("someone@" if user == "other" else "other@") not in text


def test_the_same_request_is_the_same_message(mta, api):
    """Where the content counts, too: boundaries depend on it alone."""
    mta.config["idempotency"] = {"match": "content"}
    mta.write_config()
    mta.command("reload")
    members = {"text": "Thank you", "html": "<p>Thank you</p>", "attachments": [{"name": "a.txt", "content": encoded(b"a")}]}
    first, again = (compose(api, key="order-4711", **members) for _ in range(2))
    assert (first.status, again.status) == (202, 200) and again.json["id"] == first.json["id"]
    other = compose(api, key="order-4711", **{**members, "text": "No thanks"})
    assert other.status == 422 and other.json["code"] == "key-reused"


@pytest.mark.parametrize("members, why", [
    ({"text": "x", "headers": {"X-A": "1\r\nBcc: someone@test.example"}}, "headers.X-A"),
    ({"text": "x", "headers": {"X-A: 1\r\nBcc": "someone@test.example"}}, "headers: expected other fields"),
    ({"text": "x", "headers": {"Bcc": "someone@test.example"}}, 'other fields than "Bcc"'),
    ({"text": "x", "subject": "a\nBcc: someone@test.example"}, "subject: expected a line"),
    ({"attachments": [{"name": "a\"\r\nBcc: x", "content": ""}]}, "attachments.name"),
    ({"attachments": [{"name": "a", "type": "text/plain\r\n\r\nx", "content": ""}]}, "attachments.type"),
    ({"text": "x", "html": "y", "attachments": [{"cid": "a>\r\nX: y", "content": ""}]}, "attachments.cid"),
    ({"attachments": [{"name": "a", "content": "%%%"}]}, "Base64"),
    ({"raw": "x", "text": "y"}, '"raw": expected it without'), ({"subject": "x"}, "One of raw, text, html"),
], ids=["value", "name", "bcc", "subject", "file", "type", "cid", "base64", "both", "nothing"])
def test_what_is_wrong(mta, api, members, why):
    answer = compose(api, **members)
    assert answer.status == 400 and why in answer.json["detail"], answer.body


def test_the_largest_one(mta, block):
    mta.config["submit"]["message_size"] = "200KiB"
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"]}
    api = Api(mta)
    mta.start()
    api.allow("shop", "--scope", "submit")
    api.wait_until_ready()
    assert compose(api, text="x", attachments=[{"content": encoded(b"x" * 140_000)}]).status == 202
    refused = compose(api, text="x", attachments=[{"content": encoded(b"x" * 160_000)}])
    assert refused.status == 413 and refused.json["code"] == "too-large"

"""TLS reports (RFC 8460): what is counted, and what domains that ask for it are sent."""
import base64
import datetime
import email
import gzip
import json
import re

import pytest

from dnslib import TXT
from harness.certificates import make_certificate
from harness.sink import Sink
from test_mta_sts import Domain

pytestmark = pytest.mark.needs("own network")

RESULTS = {"starttls-not-supported", "certificate-host-mismatch", "certificate-expired", "certificate-not-trusted",
           "validation-failure", "tlsa-invalid", "dnssec-invalid", "dane-required", "sts-policy-fetch-error",
           "sts-policy-invalid", "sts-webpki-invalid"}


def check_shape(report):
    """RFC 8460, 4.4: which members there are, and of what kind."""
    def only(thing, needed, optional=()):
        assert set(needed) <= set(thing) <= set(needed) | set(optional), thing
        for name, kind in {**{n: str for n in optional if isinstance(optional, tuple)}, **needed}.items():
            if name in thing:
                assert isinstance(thing[name], kind), (name, thing[name])
    only(report, {"organization-name": str, "date-range": dict, "contact-info": str, "report-id": str, "policies": list})
    only(report["date-range"], {"start-datetime": str, "end-datetime": str})
    for each in report["date-range"].values():
        assert datetime.datetime.fromisoformat(each.replace("Z", "+00:00")).tzinfo
    assert report["policies"]
    for policy in report["policies"]:
        assert {"policy", "summary"} <= set(policy) <= {"policy", "summary", "failure-details"}
        assert {"policy-type", "policy-domain"} <= set(policy["policy"]) <= {"policy-type", "policy-domain", "policy-string", "mx-host"}
        assert policy["policy"]["policy-type"] in {"tlsa", "sts", "no-policy-found"}
        for name in ("policy-string", "mx-host"):
            assert all(isinstance(line, str) for line in policy["policy"].get(name, []))
        only(policy["summary"], {"total-successful-session-count": int, "total-failure-session-count": int})
        failed = 0
        for detail in policy.get("failure-details", []):
            only(detail, {"result-type": str, "failed-session-count": int},
                 ("sending-mta-ip", "receiving-mx-hostname", "receiving-mx-helo", "receiving-ip", "failure-reason-code"))
            assert detail["result-type"] in RESULTS
            failed += detail["failed-session-count"]
        assert failed <= policy["summary"]["total-failure-session-count"]
    return report


class Reported(Domain):
    """… and where it wants its reports: by mail at reports.example, or at its web server."""

    def __init__(self, mta, names, network, folder):
        super().__init__(mta, names, network, folder)
        mta.config["tls_reports"] = {"enabled": True, "organization": "Test Ltd", "contact": "ask@test.example",
                                     "from": "reports@test.example", "delay": "0s"}
        mta.config["smtp_client"]["workers"] = 1
        self.totals = mta.spool / "state/tls-reports"

    def ask(self, *uris):
        self.names.add("_smtp._tls.remote.example", "TXT", TXT(f"v=TLSRPTv1; rua={','.join(uris)}"))

    def day_ends(self):
        """What was counted becomes yesterday's, while nothing runs."""
        self.mta.stop()
        [file] = [f for f in self.totals.iterdir() if f.suffix == ".json"]
        yesterday = datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=1)
        file.rename(self.totals / f"{yesterday}.json")
        self.mta.start()
        return yesterday

    def report(self):
        """As posted."""
        posts = [r for r in self.web.requests if r[0] == "POST"]
        return check_shape(json.loads(gzip.decompress(posts[-1][4])))


@pytest.fixture
def domain(mta, names, network, folder):
    one = Reported(mta, names, network, folder)
    yield one
    one.close()


def test_a_report_by_mail(mta, domain):
    reports = domain.host("mail.reports.example", 10, domain="reports.example")
    domain.publish()
    domain.ask("mailto:tls@reports.example")
    mta.start()
    mta.submit("user@remote.example")
    domain.sink.wait_for_one_to("user@remote.example")
    yesterday = domain.day_ends()
    got = reports.wait_for_one_to("tls@reports.example")
    mta.wait_log(r"remote.example: TLS report for .* mailed to <tls@reports.example>: [0-9A-F]{14}")
    assert got.sender == "reports@test.example"
    assert any(c.startswith("RCPT TO:<tls@reports.example>") and "NOTIFY=NEVER" in c for _, c in reports.commands)
    mail = email.message_from_bytes(got.content)
    assert mail.get_content_type() == "multipart/report" and mail.get_param("report-type") == "tlsrpt"
    assert mail["TLS-Report-Domain"] == "remote.example" and mail["TLS-Report-Submitter"] == "mta.test.example"
    assert mail["TLS-Required"] == "No" and mail["From"] == "<reports@test.example>"
    identity = f"{yesterday}.remote.example@mta.test.example"
    assert re.sub(r"\s+", " ", mail["Subject"]) == f"Report Domain: remote.example Submitter: mta.test.example Report-ID: <{identity}>"
    words, report = mail.get_payload()
    assert words.get_content_type() == "text/plain" and report.get_content_type() == "application/tlsrpt+gzip"
    start = int(datetime.datetime.combine(yesterday, datetime.time(), datetime.timezone.utc).timestamp())
    assert report.get_filename() == f"mta.test.example!remote.example!{start}!{start + 86399}.json.gz"
    content = check_shape(json.loads(gzip.decompress(base64.b64decode(report.get_payload()))))
    assert content["organization-name"] == "Test Ltd" and content["contact-info"] == "ask@test.example"
    assert content["report-id"] == identity
    assert content["date-range"] == {"start-datetime": f"{yesterday}T00:00:00Z", "end-datetime": f"{yesterday}T23:59:59Z"}
    [policy] = content["policies"]
    assert policy == {"policy": {"policy-type": "sts", "policy-string": ["version: STSv1", "mode: enforce", "max_age: 86400", "mx: host.example"],
                                 "policy-domain": "remote.example", "mx-host": ["host.example"]},
                      "summary": {"total-successful-session-count": 1, "total-failure-session-count": 0}}
    mta.stop()
    assert not [f for f in domain.totals.iterdir() if f.name.startswith(str(yesterday))]
    assert "reports.example" not in "".join(f.read_text() for f in domain.totals.iterdir()), "reports are not reported on"


def test_failures_are_told_to_the_web_server_that_asks(mta, domain):
    domain.wrong_certificate()
    domain.publish("testing")
    domain.ask("https://mta-sts.remote.example/v1/tlsrpt?a=b", "mailto:no-address")
    domain.web.put("/v1/tlsrpt?a=b", "thanks", status=201)
    mta.start()
    mta.submit("user@remote.example")
    domain.sink.wait_for_one_to("user@remote.example")
    domain.day_ends()
    mta.wait_log(r"remote.example: TLS report for .* posted to https://mta-sts.remote.example:443/v1/tlsrpt\?a=b")
    [post] = [r for r in domain.web.requests if r[0] == "POST"]
    assert post[3]["Content-Type"] == "application/tlsrpt+gzip"
    [policy] = domain.report()["policies"]
    assert policy["summary"] == {"total-successful-session-count": 0, "total-failure-session-count": 1}
    [detail] = policy["failure-details"]
    assert detail["result-type"] == "certificate-host-mismatch"
    assert detail["receiving-mx-hostname"] == "host.example" and detail["receiving-ip"] == domain.sink.address
    assert detail["receiving-mx-helo"] == "sink.example"
    assert detail["sending-mta-ip"] and detail["failed-session-count"] == 1


def test_a_policy_that_cannot_be_had_and_a_server_without_tls(mta, domain):
    domain.publish()
    domain.web.put("/.well-known/mta-sts.txt", "version: STSv2\n")
    domain.sink.use_certificate(None)
    domain.ask("https://mta-sts.remote.example/v1")
    domain.web.put("/v1", "")
    mta.start()
    mta.submit("user@remote.example")
    domain.sink.wait_for_one_to("user@remote.example")
    domain.day_ends()
    mta.wait_log("posted to")
    found = {policy["policy"]["policy-type"]: [d["result-type"] for d in policy["failure-details"]] for policy in domain.report()["policies"]}
    assert found == {"sts": ["sts-policy-invalid"], "no-policy-found": ["starttls-not-supported"]}


def test_who_does_not_ask_gets_nothing(mta, domain):
    mta.start()
    mta.submit("user@remote.example")
    domain.sink.wait_for_one_to("user@remote.example")
    yesterday = domain.day_ends()
    from harness.watch import wait_until
    wait_until(lambda: not (domain.totals / f"{yesterday}.json").exists(), 15, "the day to be done with")
    assert not domain.web.requests and not mta.logged("TLS report")


def test_what_cannot_be_delivered_waits(mta, domain):
    domain.ask("https://mta-sts.remote.example/v1")
    domain.web.put("/v1", "no", status=500)
    mta.start()
    mta.submit("user@remote.example")
    domain.sink.wait_for_one_to("user@remote.example")
    yesterday = domain.day_ends()
    mta.wait_log(r"could not be posted to https://mta-sts.remote.example:443/v1: the web server answered 500")
    domain.web.put("/v1", "yes")
    mta.restart()  # what is not delivered survives
    mta.wait_log("posted to")
    assert domain.report()["report-id"].startswith(str(yesterday))


def test_nothing_is_counted_where_reports_are_off(mta, domain):
    mta.config["tls_reports"] = {}
    mta.start()
    mta.submit("user@remote.example")
    domain.sink.wait_for_one_to("user@remote.example")
    mta.stop()
    assert not domain.totals.exists()

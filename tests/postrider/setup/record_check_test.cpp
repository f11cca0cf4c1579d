#include "daemons/postrider/setup/record_check.h"
#include <doctest/doctest.h>

using namespace postrider::setup;
using dns::LookupStatus;

namespace {

dns::Answer texts(std::vector<std::string> texts) {
    dns::Answer answer;
    answer.said = texts.empty() ? LookupStatus::no_data : LookupStatus::records;
    answer.texts = std::move(texts);
    return answer;
}

dns::Answer hosts(std::vector<dns::MxRecord> hosts) {
    dns::Answer answer;
    answer.said = hosts.empty() ? LookupStatus::no_name : LookupStatus::records;
    answer.mx = std::move(hosts);
    return answer;
}

const Record spf{RecordKind::spf, "example.com", "v=spf1 a:mail.example.com ip4:192.0.2.7 ~all"};
const Record dkim{RecordKind::dkim, "s._domainkey.example.com", "v=DKIM1; k=rsa; p=MIIBabc"};
const Record dmarc{RecordKind::dmarc, "_dmarc.example.com", "v=DMARC1; p=none"};
const Record sts{RecordKind::mta_sts, "_mta-sts.example.com", "v=STSv1; id=12", false};
const Record tls{RecordKind::tls_rpt, "_smtp._tls.example.com", "v=TLSRPTv1; rua=mailto:a@b.example", false};
const Record mx{RecordKind::mx, "example.com", "mail.example.com"};

} // namespace

TEST_CASE("a record is as wanted, missing, or different") {
    struct Row {
        const Record& wanted;
        dns::Answer published;
        Grade grade;
        std::string text;
    };
    for (const auto& row : {
             Row{spf, texts({"google-site-verification=1", spf.value}), Grade::good, spf.value},
             // others may be allowed as well, in any order and case
             Row{spf, texts({"V=SPF1 include:x.example  ip4:192.0.2.7 A:mail.example.com -all"}), Grade::good,
                 "V=SPF1 include:x.example  ip4:192.0.2.7 A:mail.example.com -all"},
             Row{spf, texts({"v=spf1 mx -all"}), Grade::bad,
                 "different: \"v=spf1 mx -all\" lacks \"a:mail.example.com ip4:192.0.2.7\""},
             Row{spf, texts({"v=spf1 a:mail.example.com ip4:192.0.2.70 ~all"}), Grade::bad,
                 "different: \"v=spf1 a:mail.example.com ip4:192.0.2.70 ~all\" lacks \"ip4:192.0.2.7\""},
             Row{spf, texts({spf.value, spf.value}), Grade::bad,
                 "different: there are 2 such records, and only one is allowed"},
             Row{spf, texts({"v=spf10 a", "something else"}), Grade::bad, "missing"},
             Row{spf, texts({}), Grade::bad, "missing"},
             Row{dkim, texts({"k=rsa;p=MIIB abc"}), Grade::good, "k=rsa;p=MIIB abc"},
             Row{dkim, texts({"v=DKIM1; p=MIIBabd"}), Grade::bad, "different: another key is published"},
             Row{dkim, texts({"v=DKIM1; p="}), Grade::bad,
                 "different: the key has been revoked (p= is empty or missing)"},
             Row{dkim, texts({"nonsense"}), Grade::bad, "different: the key has been revoked (p= is empty or missing)"},
             // its policy is the administrator's business
             Row{dmarc, texts({"v=DMARC1; p=reject; pct=50"}), Grade::good, "v=DMARC1; p=reject; pct=50"},
             Row{dmarc, texts({"v=DMARC1; rua=mailto:x@y.example"}), Grade::bad, "different: it has no policy (p=)"},
             Row{sts, texts({"v=STSv1; id=99;"}), Grade::good, "v=STSv1; id=99;"},
             Row{sts, texts({"v=STSv1"}), Grade::bad, "different: it has no id"},
             Row{sts, texts({}), Grade::note, "missing (optional)"},
             Row{tls, texts({"v=TLSRPTv1;rua=https://x.example/"}), Grade::good, "v=TLSRPTv1;rua=https://x.example/"},
             Row{tls, texts({"v=TLSRPTv1;"}), Grade::bad, "different: it has no address for reports (rua=)"},
             Row{mx, hosts({{5, "other.example"}, {20, "mail.example.com"}}), Grade::good, "mail.example.com"},
             Row{mx, hosts({{5, "other.example"}, {0, ""}}), Grade::bad,
                 "different: other.example, ., expected mail.example.com"},
             Row{mx, hosts({}), Grade::bad, "missing"},
         }) {
        CAPTURE(row.wanted.name);
        const auto finding = compare(row.wanted, row.published);
        CHECK(finding.grade == row.grade);
        CHECK(finding.text == row.text);
        CHECK(finding.subject == std::string(row.wanted.type()) + " " + row.wanted.name);
    }
}

TEST_CASE("a lookup that fails proves nothing, not even for what is optional") {
    dns::Answer failed;
    failed.why = "SERVFAIL";
    CHECK(compare(sts, failed).grade == Grade::bad);
    CHECK(compare(sts, failed).text == "the lookup failed: SERVFAIL");
}

// The DNS records that a domain needs for the mail that this host sends and receives for it. Pure: facts in, records
// out; knows neither the DNS nor files.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace postrider::setup {

struct KeyRecord {
    std::string selector; // "s1"
    std::string record;   // "v=DKIM1; k=rsa; p=…"
};

struct DomainFacts {
    std::string domain, host;         // as the DNS has them: lower case, ASCII, no dot at the end
    std::vector<KeyRecord> keys;      // of the domain's DKIM signatures
    std::vector<std::string> sources; // addresses in pools that mail may come from
    bool receives = false;            // the configuration accepts mail for the domain
};

enum class RecordKind { mx, spf, dkim, dmarc, mta_sts, tls_rpt };

struct Record {
    RecordKind kind;
    std::string name;     // without a dot at the end
    std::string value;    // of TXT: its text; of MX: the host
    bool required = true; // false: mail works without it
    std::string_view type() const { return kind == RecordKind::mx ? "MX" : "TXT"; }
    bool operator==(const Record&) const = default;
};

// Records of one purpose, and what they are for in one or two sentences.
struct RecordGroup {
    std::string purpose;
    std::vector<Record> records;
};

std::vector<RecordGroup> records_for(const DomainFacts& facts);

// The file that MTA-STS needs beside its record, at https://mta-sts.DOMAIN/.well-known/mta-sts.txt. Its lines end
// with CR and LF when it is served; here with LF.
std::string sts_policy(const DomainFacts& facts);

inline constexpr unsigned mx_preference = 10;

} // namespace postrider::setup

// Whatever a name server sends is read without harm, and what comes of it is bounded.
#include "daemons/common/net/dns/answer.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const auto type : {dns::Type::mx, dns::Type::a, dns::Type::aaaa, dns::Type::ptr, dns::Type::txt,
                            dns::Type::srv, dns::Type::cname, dns::Type::tlsa}) {
        const auto answer = dns::parse_answer({data, size}, "example.com", type);
        const auto records = answer.mx.size() + answer.addresses.size() + answer.names.size() + answer.texts.size() +
                             answer.srv.size() + answer.tlsa.size();
        if (records > dns::most_records) std::abort();
        const bool some = records > 0;
        for (const auto& text : answer.texts)
            if (text.size() > dns::longest_text) std::abort();
        const bool said =
            answer.said == dns::LookupStatus::records; // of MX there may be some that name no host, and nothing else
        if (some ? !said : said && type != dns::Type::mx) std::abort();
        for (const auto& record : answer.mx)
            if (!record.host.empty() && dns::canonical_name(record.host) != record.host) std::abort();
    }
    return 0;
}

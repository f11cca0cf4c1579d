// Whatever a name server sends is read without harm, and what comes of it is bounded.
#include "daemons/common/dns/answer.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const auto type : {dns::Type::mx, dns::Type::a, dns::Type::aaaa, dns::Type::ptr, dns::Type::cname, dns::Type::tlsa}) {
        const auto answer = dns::parse_answer({data, size}, "example.com", type);
        if (answer.mx.size() + answer.addresses.size() + answer.names.size() + answer.tlsa.size() > dns::most_records)
            std::abort();
        const bool some = !answer.mx.empty() || !answer.addresses.empty() || !answer.names.empty() || !answer.tlsa.empty();
        if (some != (answer.said == dns::Said::records)) std::abort();
        for (const auto& record : answer.mx)
            if (!record.host.empty() && dns::canonical_name(record.host) != record.host) std::abort();
    }
    return 0;
}

// Whatever stands at a domain's _mta-sts record or on its web server is read without harm; what is taken for a
// policy is bounded and means the same when said again.
#include "daemons/decide/tls/mta_sts.h"
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace decide::sts;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto id = parse_record(text); id && (id->empty() || id->size() > 32)) std::abort();
    const auto policy = parse_policy(text);
    if (!policy) return 0;
    if (policy->max_age > longest_age || policy->mx.size() > most_patterns) std::abort();
    if (policy->mx.empty() && policy->mode != Mode::none) std::abort();
    auto again = "version: STSv1\nmode: " + std::string(name_of(policy->mode)) +
                 "\nmax_age: " + std::to_string(policy->max_age) + "\n";
    for (const auto& mx : policy->mx) {
        again += "mx: " + mx + "\n";
        const bool wild = mx.starts_with("*.");
        if (!admits({&mx, 1}, wild ? "a" + mx.substr(1) : mx)) std::abort();
        if (wild && admits({&mx, 1}, "a.b" + mx.substr(1))) std::abort();
    }
    if (again.size() <= largest_policy && parse_policy(again) != policy) std::abort();
    return 0;
}

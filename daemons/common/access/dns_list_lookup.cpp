#include "daemons/common/access/dns_list_lookup.h"
#include "daemons/common/net/dns/answer.h"
#include <algorithm>

namespace common {

void DnsListLookup::begin(const common::IpAddress& address, OnAnswer on_answer) {
    on_answer_ = std::move(on_answer);
    auto name = dns::reverse_name(address); // "2.0.0.127.in-addr.arpa"
    for (const std::string_view end : {".in-addr.arpa", ".ip6.arpa"})
        if (name.ends_with(end)) name.resize(name.size() - end.size());
    lookups_.resize(lists_.size());
    answered_.assign(lists_.size(), false);
    open_ = lists_.size();
    for (std::size_t i = 0; i < lists_.size(); ++i)
        lookups_[i] =
            resolver_->look_up(name + "." + lists_[i].zone, dns::Type::a, [this, i](const dns::Answer& answer) {
                answered_[i] = true;
                take(lists_[i], answer);
            });
}

std::vector<std::string> DnsListLookup::abandon() {
    std::vector<std::string> silent;
    for (std::size_t i = 0; open_ > 0 && i < lists_.size(); ++i) {
        if (answered_[i]) continue;
        lookups_[i].cancel();
        silent.push_back(lists_[i].zone);
    }
    if (!silent.empty()) complete_ = false;
    open_ = 0;
    return silent;
}

void DnsListLookup::take(const config::DnsList& list, const dns::Answer& answer) {
    static const auto refused_to_answer = *common::Network::parse("127.255.255.0/24");
    --open_;
    bool refused = answer.said == dns::LookupStatus::failed, named = false;
    for (const auto& address : answer.addresses) {
        if (refused_to_answer.contains(address))
            refused = true;
        else
            named = named || common::contains(list.answers, address);
    }
    if (refused) complete_ = false;
    valid_ = std::min(valid_, std::chrono::seconds(answer.ttl));
    if (named) {
        sum_ += list.allow ? -static_cast<std::int64_t>(list.weight) : list.weight;
        if (!list.allow) named_by_ += (named_by_.empty() ? "" : ", ") + list.zone;
    }
    on_answer_(list, answer);
}

} // namespace common

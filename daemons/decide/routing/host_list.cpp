#include "daemons/decide/routing/host_list.h"
#include "libsmtp/text/trim.h"
#include <algorithm>

namespace decide {

static constexpr std::string_view separators = ", \t";

bool is_list(std::string_view text) { return smtp::trimmed(text).find_first_of(separators) != text.npos; }

std::vector<std::string_view> list_items(std::string_view text) {
    std::vector<std::string_view> out;
    for (auto at = text.find_first_not_of(separators); at < text.size();) {
        const auto end = std::min(text.find_first_of(separators, at), text.size());
        out.push_back(text.substr(at, end - at));
        at = text.find_first_not_of(separators, end);
    }
    return out;
}

std::optional<HostList> HostList::parse(std::string_view text) {
    if (text.starts_with("lmtp:/")) return {}; // one path, which may have commas
    const auto items = list_items(text);
    if (items.size() < 2 || items.size() > most) return {};
    HostList out;
    for (const auto item : items) {
        auto hop = NextHop::parse(item);
        if (!hop || hop->kind != NextHop::Kind::host) return {};
        out.hosts.push_back(*std::move(hop));
    }
    if (out.to_string().size() > longest) return {};
    return out;
}

std::string HostList::to_string() const {
    std::string out;
    for (const auto& host : hosts) out += (out.empty() ? "" : ",") + host.to_string();
    return out;
}

} // namespace decide

#include "daemons/decide/routing/transport_entry.h"
#include "daemons/decide/routing/host_list.h"
#include "daemons/decide/routing/route_name.h"
#include "daemons/decide/routing/routing.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide {

namespace {

using smtp::trimmed;
using Kind = TransportEntry::Kind;

// "5.1.2 moved away": status and text, as Postfix's error(8) and discard(8) have it: a status of another class is
// none, and no part of the text either.
TransportEntry ended(Kind kind, std::string_view rest, std::string_view otherwise, std::string_view default_text) {
    const auto blank = rest.find_first_of(" \t");
    TransportEntry out{kind, {}, std::string(otherwise), {}};
    if (const auto status = smtp::EnhancedStatus::parse(rest.substr(0, blank))) {
        if (rest.front() == otherwise.front())
            out.status = rest.substr(0, blank);
        else
            out.warning =
                fmt::format("{} has the wrong class for this entry: {} is used instead{}", status->text(), otherwise,
                            kind == Kind::fail && status->klass == 4 ? " (\"retry:\" defers mail)" : "");
        rest = blank == rest.npos ? std::string_view() : trimmed(rest.substr(blank));
    }
    out.value = rest.empty() ? std::string(default_text) : smtp::printable(rest, 300);
    return out;
}

std::optional<TransportEntry> hop(std::string text) {
    if (const auto list = HostList::parse(text)) return TransportEntry{Kind::next_hop, list->to_string(), {}, {}};
    const auto parsed = NextHop::parse(text);
    if (!parsed) return {};
    return TransportEntry{Kind::next_hop, parsed->to_string(), {}, {}};
}

// Postfix's "smtp:HOST" and ":HOST": brackets, a port, or nothing at all for the recipient's own domain.
std::optional<TransportEntry> by_smtp(std::string_view rest) { return hop(rest.empty() ? "mx" : std::string(rest)); }

std::optional<TransportEntry> by_lmtp(std::string_view rest) {
    const bool path = rest.starts_with('/') || rest.starts_with("unix:/"); // which may have a comma
    if (!path && is_list(rest)) {
        std::string hosts;
        for (const auto item : list_items(rest)) {
            const auto one = by_lmtp(item.starts_with("lmtp:") ? item.substr(5) : item);
            if (!one) return {};
            hosts += one->value + ",";
        }
        return hop(hosts);
    }
    if (rest.starts_with("unix:")) return hop("lmtp:" + std::string(rest.substr(5)));
    if (rest.starts_with("inet:")) rest.remove_prefix(5);
    if (rest.starts_with('/') || rest.starts_with('[')) return hop("lmtp:" + std::string(rest));
    const auto colon = rest.find(':'); // a bare host: LMTP knows no MX
    return hop("lmtp:[" + std::string(rest.substr(0, colon)) + "]" +
               std::string(colon == rest.npos ? std::string_view() : rest.substr(colon)));
}

} // namespace

std::optional<TransportEntry> TransportEntry::parse(std::string_view text, const TransportNames& names) {
    text = trimmed(text);
    const auto colon = text.find(':');
    const auto word = smtp::lowered(text.substr(0, colon));
    const auto rest = colon == text.npos ? std::string_view() : trimmed(text.substr(colon + 1));
    if (colon == text.npos || text.starts_with('[')) return text.empty() ? TransportEntry{} : hop(std::string(text));
    if (word.empty()) return rest.empty() ? TransportEntry{} : by_smtp(rest);
    if (word == "local") return TransportEntry{Kind::local, {}, {}, {}};
    if (word == "virtual") return TransportEntry{Kind::mailbox, {}, {}, {}};
    if (word == "smtp" || word == "relay") return by_smtp(rest);
    if (word == "lmtp") return by_lmtp(rest);
    if (word == "discard") return ended(Kind::discard, rest, "2.0.0", "as configured in a transport table");
    if (word == "error") return ended(Kind::fail, rest, "5.0.0", "mail for this address is not accepted");
    if (word == "defer" || word == "retry")
        return ended(Kind::defer, rest, "4.0.0", "mail for this address is deferred");
    const auto known = [](const std::vector<std::string>& all, std::string_view name) {
        return std::ranges::find(all, name) != all.end();
    };
    if (word == "command") {
        if (!known(names.commands, rest)) return {};
        return TransportEntry{Kind::command, std::string(rest), {}, {}};
    }
    // Postfix's transports of its master.cf, whose further words are for pipe(8).
    if (const auto name = text.substr(0, colon); known(names.commands, name))
        return TransportEntry{Kind::command, std::string(name), {}, {}};
    if (known(names.routes, word))
        if (const auto by = RouteName::parse_entry(word + ":" + std::string(rest)))
            return TransportEntry{Kind::next_hop, by->to_string(), {}, {}};
    return hop(std::string(text)); // relay.example.net:2525, srv:example.net
}

} // namespace decide

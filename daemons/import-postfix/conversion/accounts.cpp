// Our accounts at next hops: Postfix looks them up by next hop or by sender, Postrider's next hops name them.
// Passwords are never copied into the result.
#include "daemons/common/crypto/auth/credentials.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/import-postfix/conversion/steps.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/transports/next_hops.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace postrider {

namespace {

constexpr std::string_view maps = "smtp_sasl_password_maps", our_file = "/etc/postrider/credentials";

bool by_sender(const postfix::Entry& entry) {
    return !entry.key.starts_with('[') && entry.key.find('@') != entry.key.npos;
}

// No file of Postfix's will do: one has to be written, and check asks for it.
void to_be_written(Import& import, std::string why) {
    import.mark_unsupported(maps, fmt::format("{}: write \"HOST:PORT USER:PASSWORD\" for each account into {}, as in "
                                              "postrider-credentials(5)",
                                              why, our_file));
    import.set("smtp_client.credentials", toml(our_file), maps);
}

// Next hops by sender, each with the sender's account in it.
class SendersHops {
public:
    explicit SendersHops(Import& import) : import_(import) {}

    // Of sender_dependent_relayhost_maps, the first table before the second.
    void relays(const std::vector<postfix::Entry>& entries) {
        for (const auto& entry : entries)
            if (!find(entry.key)) hops_.push_back({entry.key, entry.value, {}});
    }

    void accounts(const std::vector<postfix::Entry>& entries) {
        const auto everyone = import_.words("relayhost");
        for (const auto& entry : entries) {
            if (!by_sender(entry)) continue;
            const auto user = entry.value.substr(0, entry.value.find(':'));
            const auto* domain = find(entry.key.substr(entry.key.find('@')));
            const auto usual = domain ? domain->hop : everyone.empty() ? "" : everyone.front();
            if (entry.key.starts_with('@')) // all its senders without an account of their own
                for (auto& each : hops_)
                    if (each.user.empty() && each.sender.ends_with(entry.key)) each.user = user;
            if (auto* own = find(entry.key))
                own->user = user;
            else if (!usual.empty())
                hops_.push_back({entry.key, usual, user});
            else
                import_.mark_unsupported(maps, fmt::format("{}: there is no relay host for that sender", entry.key));
        }
    }

    void write() const {
        std::vector<std::string> out;
        for (const auto& [sender, hop, user] : hops_) {
            auto next = next_hop(hop);
            if (next && !user.empty() && !next->starts_with('[')) { // an account is one at a host
                const auto colon = std::min(next->find(':'), next->size());
                next = fmt::format("[{}]{}", next->substr(0, colon), next->substr(colon));
                import_.add_remark(maps, fmt::format("{}: treated as that host itself, without an MX lookup", hop));
            }
            const auto whole = next && !user.empty() ? fmt::format("{}@{}", user, *next) : next.value_or("");
            if (decide::NextHop::parse(whole) && sender.find_first_of(" \t") == sender.npos)
                out.push_back(fmt::format("{} {}", sender, whole));
            else
                import_.mark_unsupported(maps, fmt::format("{}: \"{}\" with \"{}\" does not give a next hop "
                                                           "with an account",
                                                           sender, postfix::excerpt(user), postfix::excerpt(hop)));
        }
        if (out.empty()) return;
        import_.draft.set("table.sender_accounts.kind", toml("entries"),
                          "sender_dependent_relayhost_maps and smtp_sasl_password_maps");
        import_.draft.set("table.sender_accounts.entries", toml(out));
    }

private:
    struct Hop {
        std::string sender, hop, user; // "ann@example.com", "@example.com"; as Postfix writes it; "" no account
    };
    const Hop* find(std::string_view sender) const {
        const auto found = std::ranges::find(hops_, sender, &Hop::sender);
        return found == hops_.end() ? nullptr : &*found;
    }
    Hop* find(std::string_view sender) { return const_cast<Hop*>(std::as_const(*this).find(sender)); }

    Import& import_;
    std::vector<Hop> hops_;
};

void by_senders(Import& import, const std::vector<postfix::Entry>& entries) {
    SendersHops hops(import);
    std::vector<std::string> tables; // that cannot be copied stay behind
    for (const auto& word : import.words("sender_dependent_relayhost_maps")) {
        const auto type = postfix::parse_typed(word);
        const auto read = type && import.environment.exists(import.resolved_path(type->name)) &&
                                  type->type != "regexp" && type->type != "pcre"
                              ? table_entries(import, "sender_dependent_relayhost_maps", word)
                              : std::nullopt;
        if (read)
            hops.relays(*read);
        else if (auto table = converted_table(import, "sender_dependent_relayhost_maps", word))
            tables.push_back(*std::move(table));
    }
    hops.accounts(entries);
    hops.write();
    if (import.draft.has_section("table.sender_accounts")) tables.insert(tables.begin(), "table:sender_accounts");
    if (!tables.empty()) import.draft.set("sender_relay.tables", toml(tables), "sender_dependent_relayhost_maps");
    import.add_remark("sender_dependent_relayhost_maps",
                      "copied into [table.sender_accounts], with the account of each sender");
    to_be_written(import, "accounts by sender are now named by their next hops, in [table.sender_accounts]");
}

void from_file(Import& import, const std::string& path, const std::vector<postfix::Entry>& entries) {
    const auto read = auth::Credentials::parse(import.file(maps, path));
    if (!read) return to_be_written(import, fmt::format("{}: {}", path, read.error().why));
    import.set("smtp_client.credentials", toml(path), maps);
    std::vector<std::uint32_t> lines;
    for (const auto& entry : entries)
        if (!entry.key.starts_with('[')) lines.push_back(entry.line);
    if (!lines.empty())
        import.add_remark(
            maps, fmt::format("line {}: accounts are looked up by the name of the host that is connected to, not by "
                              "the domain whose MX host it is",
                              fmt::join(lines, ", ")));
}

} // namespace

void import_accounts(Import& import) {
    for (const auto* name :
         {"smtp_sasl_password_maps", "smtp_sasl_auth_enable", "smtp_sender_dependent_authentication"})
        import.mark_converted(name);
    if (!import.flag("smtp_sasl_auth_enable")) return;
    const auto words = import.words(maps);
    if (words.empty()) return;
    const auto type = postfix::parse_typed(words.front());
    if (words.size() > 1) return to_be_written(import, "several tables");
    if (!type || type->type == "inline") return to_be_written(import, "it is not a file");
    if (type->type == "static") return to_be_written(import, "one account for every host");
    const auto path = import.resolved_path(type->name);
    const auto entries = table_entries(import, maps, words.front());
    if (import.error) return;
    if (!entries) return to_be_written(import, fmt::format("a table of type \"{}\"", type->type));
    if (!import.environment.exists(path) && import.flag("smtp_sender_dependent_authentication"))
        return to_be_written(import, "accounts by sender are named by their next hops, in sender_relay.tables");
    const bool senders = std::ranges::any_of(*entries, by_sender);
    if (senders && import.flag("smtp_sender_dependent_authentication")) return by_senders(import, *entries);
    from_file(import, path, *entries);
}

} // namespace postrider

#include "daemons/import-postfix/restrictions/sender_logins.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/restrictions/access_rules.h"
#include "daemons/import-postfix/restrictions/losses.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

static postfix::Restriction without_warning(const postfix::Restriction& each) {
    if (each.word != "warn_if_reject") return each;
    const auto blank = std::min(each.more.find(' '), each.more.size());
    return {each.more.substr(0, blank), std::string(postfix::trimmed(std::string_view(each.more).substr(blank)))};
}

bool SenderLogins::is_word(std::string_view word) {
    return word.starts_with("reject_") && word.ends_with("sender_login_mismatch");
}

bool SenderLogins::is_one(const postfix::Restriction& restriction) {
    return is_word(without_warning(restriction).word);
}

// Postfix ignores these restrictions where AUTH is not offered.
bool SenderLogins::has_logins(const Import::Listener& listener) {
    return postfix::flag_of(import_.value(listener.values, "smtpd_sasl_auth_enable")).value_or(false);
}

std::string SenderLogins::owners(const Import::Listener& listener) {
    return has_logins(listener) ? import_.value(listener.values, "smtpd_sender_login_maps") : std::string();
}

bool SenderLogins::convert(const Import::Listener& listener, std::string_view list, std::string_view word) {
    const auto maps = owners(listener);
    import_.mark_converted("smtpd_sender_login_maps");
    if (maps.empty()) {
        const bool for_users =
            word == "reject_sender_login_mismatch" || word == "reject_authenticated_sender_login_mismatch";
        if (for_users && has_logins(listener)) import_.set("auth.sender_match", "true", list);
        return false;
    }
    convert_owners(maps);
    if (maps_ != maps)
        record_unguarded(
            import_, listener, list, word,
            fmt::format("{} has other tables: auth.sender_login_tables is for all listeners", listener.name));
    return has_owners();
}

bool SenderLogins::has_owners() const { return import_.draft.find("auth.sender_login_tables"); }

// Those of the first listener that has some. What has no counterpart is reported.
void SenderLogins::convert_owners(const std::string& maps) {
    if (!maps_.empty()) return;
    maps_ = maps;
    std::vector<std::string> tables;
    for (const auto& each : postfix::words_of(maps))
        if (auto table = converted_table(import_, "smtpd_sender_login_maps", each)) tables.push_back(*std::move(table));
    if (!tables.empty()) import_.set("auth.sender_login_tables", toml(tables), "smtpd_sender_login_maps");
}

void SenderLogins::convert_classes(const Import::Listener& listener) {
    access_.leave_out_of_classes([this](const auto& each) { return is_one(each) && !has_owners(); });
    const auto classes = import_.words("smtpd_restriction_classes");
    if (std::ranges::none_of(classes, [&](const auto& name) { return leads_to_one({name, ""}, true) != false; }))
        return;
    for (const auto& each : import_.listeners)
        if (const auto maps = owners(each); !maps.empty()) convert_owners(maps);
    if (!owners(listener).empty()) convert(listener, smtpd_lists[0].name, "smtpd_restriction_classes");
}

void SenderLogins::convert_results(const Import::Listener& listener, std::string_view list,
                                   const postfix::Restriction& restriction) {
    if (is_one(restriction)) return;
    const auto named = leads_to_one(restriction, has_owners());
    if (named == false) return;
    const auto [word, more] = without_warning(restriction);
    if (!owners(listener).empty()) {
        convert(listener, list, word);
        return;
    }
    if (!named) return;
    record_unguarded(import_, listener, list, fmt::format("{}{}{}", word, more.empty() ? "" : " ", more),
                     "it names a reject_sender_login_mismatch that has no effect there in Postfix, without "
                     "smtpd_sender_login_maps or AUTH, but here: see auth.sender_login_tables");
}

// `stays`: those in classes are not left out. None: who knows?
std::optional<bool> SenderLogins::leads_to_one(const postfix::Restriction& restriction, bool stays, int depth) {
    const auto [word, more] = without_warning(restriction);
    if (is_word(word)) return stays;
    if (word.starts_with("check_") && word.ends_with("_access")) return are_in(more);
    if (!access_.is_class(word) || depth > 5) return false;
    std::optional<bool> out = false;
    const auto of_class = postfix::restrictions_of(import_.value(word));
    for (const auto& each : of_class ? *of_class : std::vector<postfix::Restriction>{}) {
        const auto named = leads_to_one(each, stays, depth + 1);
        if (named == true) return true;
        if (!named) out.reset();
    }
    return out;
}

// Do the table's results name one? None: who knows?
std::optional<bool> SenderLogins::are_in(std::string_view table) {
    constexpr std::string_view text = "sender_login_mismatch";
    while (table.starts_with("proxy:")) table.remove_prefix(6);
    if (smtp::lowered(table).contains(text)) return true;
    if (const auto parts = postfix::tables_in(table, postfix::OfChain::all); parts.front() != table) {
        std::optional<bool> out = false;
        for (const auto& part : parts) {
            const auto named = are_in(part);
            if (named == true) return true;
            if (!named) out.reset();
        }
        return out;
    }
    const auto typed = postfix::parse_typed(table);
    constexpr std::string_view files[] = {"hash", "btree", "texthash", "dbm",    "cdb",
                                          "sdbm", "lmdb",  "cidr",     "regexp", "pcre"};
    if (!typed) return {};
    if (typed->type == "inline" || typed->type == "static") return false;
    if (std::ranges::find(files, typed->type) == std::end(files)) return {};
    if (typed->name.starts_with('{')) return false; // rules
    const auto content = import_.environment.read(import_.resolved_path(typed->name));
    if (!content) return {};
    return smtp::lowered(*content).contains(text);
}

} // namespace postrider

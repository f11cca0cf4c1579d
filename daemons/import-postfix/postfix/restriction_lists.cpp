#include "daemons/import-postfix/postfix/restriction_lists.h"
#include "daemons/import-postfix/postfix/lists.h"
#include <algorithm>

namespace postrider::postfix {

namespace {

// Followed by a word of their own; so is check_…_access.
constexpr std::string_view with_word[] = {"check_policy_service",   "reject_rbl_client",
                                          "permit_dnswl_client",    "reject_rhsbl_client",
                                          "reject_rhsbl_helo",      "reject_rhsbl_sender",
                                          "reject_rhsbl_recipient", "reject_rhsbl_reverse_client",
                                          "permit_rhswl_client",    "sleep"};

// Clients that they permit are not strangers.
constexpr std::string_view for_our_own[] = {"permit_mynetworks", "permit_sasl_authenticated", "permit_tls_clientcerts",
                                            "permit_tls_all_clientcerts", "permit_inet_interfaces"};

bool ends(std::string_view word) { return word == "reject" || word == "defer"; }

} // namespace

std::expected<std::vector<Restriction>, std::string> restrictions_of(std::string_view text) {
    auto words = split(text, ", \t\r\n");
    if (!words) return std::unexpected(words.error());
    std::vector<Restriction> out;
    for (std::size_t i = 0; i < words->size(); ++i) {
        auto& word = (*words)[i];
        const bool takes = std::ranges::find(with_word, word) != std::end(with_word) ||
                           (word.starts_with("check_") && word.ends_with("_access"));
        Restriction read{std::move(word), {}};
        if (takes && i + 1 < words->size()) read.more = std::move((*words)[++i]);
        if (!out.empty() && out.back().word == "warn_if_reject" && out.back().more.empty())
            out.back().more = read.more.empty() ? read.word : read.word + " " + read.more;
        else
            out.push_back(std::move(read));
    }
    return out;
}

bool permits_relay(const std::vector<Restriction>& list, std::string_view mine) {
    for (const auto& each : list) {
        if (each.word == mine || each.word == "permit") return true;
        if (ends(each.word) || each.word == "reject_unauth_destination" || each.word == "defer_unauth_destination")
            return false;
    }
    return true;
}

bool permits_by_name(const std::vector<Restriction>& list, std::string_view mine) {
    const auto first = std::ranges::find_if(list, [&](const auto& each) {
        return each.word == mine || each.word == "permit" || ends(each.word) ||
               each.word == "reject_unauth_destination" || each.word == "defer_unauth_destination";
    });
    return first != list.end() && first->word == mine;
}

bool rejects_untrusted(const std::vector<Restriction>& list) {
    for (const auto& each : list) {
        if (ends(each.word)) return true;
        if (each.word.starts_with("reject_") || each.word == "defer_unauth_destination" ||
            each.word == "warn_if_reject" || each.word == "sleep" ||
            std::ranges::find(for_our_own, each.word) != std::end(for_our_own))
            continue;
        return false; // tables, lists in the DNS, policy servers, classes: they may permit some clients
    }
    return false;
}

} // namespace postrider::postfix

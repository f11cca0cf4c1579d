#include "daemons/common/config/config.h"
#include "daemons/common/config/documents/documents.h"
#include "daemons/import-postfix/postfix/defaults.h"
#include "daemons/import-postfix/setting_map/setting_map.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

using namespace postrider;

namespace {

// Keys by section, "listen" for all of them, as the annotated sample has them.
std::map<std::string, std::set<std::string>> keys_there_are() {
    std::map<std::string, std::set<std::string>> out;
    std::istringstream sample(config::sample());
    std::string section;
    for (std::string line; std::getline(sample, line);) {
        if (line.starts_with("#[") || line.starts_with("["))
            section = line.substr(line.find('[') + 1), section = section.substr(0, section.find_first_of(".]"));
        else if (line.starts_with("#") && line.find(" = ") != line.npos && !line.starts_with("# "))
            out[section].insert(line.substr(1, line.find(" = ") - 1));
    }
    return out;
}

// One that Postfix only takes for the default of a newer one.
bool is_old_name(std::string_view name) {
    for (const auto part : {postfix::defaults_a_to_l(), postfix::defaults_m_to_smtp(), postfix::defaults_smtpd_to_z()})
        for (const auto& each : part)
            if (each.value == fmt::format("${}", name) || each.value.starts_with(fmt::format("${{{}:", name)) ||
                each.value.starts_with(fmt::format("${{{}?", name)))
                return true;
    return false;
}

} // namespace

TEST_CASE("every row has a name of its own, and keys that there are") {
    const auto known = keys_there_are();
    REQUIRE(known.at("queue").contains("expiry"));
    std::set<std::string_view> names;
    std::size_t exact = 0;
    for (const auto& subject : setting_map())
        for (const auto& row : subject.rows) {
            CAPTURE(row.name);
            CHECK(names.insert(row.name).second);
            if (row.name.find('*') == row.name.npos) {
                CHECK_MESSAGE((postfix::default_of(row.name) || is_old_name(row.name)),
                              "Postfix 3.7 has no such setting");
                ++exact;
            }
            CHECK((row.conversion == Conversion::obsolete || row.conversion == Conversion::none ||
                   row.conversion == Conversion::custom || !row.key.empty()));
            CHECK((row.key.empty() || (row.conversion != Conversion::obsolete && row.conversion != Conversion::none)));
            std::string_view rest = row.key;
            while (!rest.empty()) {
                const auto comma = std::min(rest.find(", "), rest.size());
                const auto path = rest.substr(0, comma);
                rest.remove_prefix(std::min(comma + 2, rest.size()));
                const auto section = std::string(path.substr(0, path.find('.')));
                const auto key = std::string(path.substr(path.rfind('.') + 1));
                CAPTURE(path);
                REQUIRE(known.contains(section));
                if (path != "policy.NAME" && path != "milter.NAME" && path != "listen.NAME" && !path.ends_with('"'))
                    CHECK(known.at(section).contains(key));
            }
        }
    CHECK(exact > 250);
}

TEST_CASE("every row is the row of something, and what Postfix does not know has none") {
    std::set<const SettingMapping*> used;
    for (const auto part :
         {postfix::defaults_a_to_l(), postfix::defaults_m_to_smtp(), postfix::defaults_smtpd_to_z()}) {
        CHECK(std::ranges::is_sorted(part, {}, &postfix::Default::name));
        for (const auto& [name, value] : part) {
            CAPTURE(name);
            const auto* row = mapping_of(name);
            CHECK(row);
            used.insert(row);
        }
    }
    for (const auto suffix : postfix::transport_settings()) {
        const auto* row = mapping_of("slow_" + std::string(suffix));
        REQUIRE(row);
        used.insert(row);
    }
    for (const auto& subject : setting_map())
        for (const auto& row : subject.rows) {
            CAPTURE(row.name);
            CHECK((used.contains(&row) || mapping_of(row.name) == &row));
        }
    CHECK(!mapping_of("smtpd_no_such_thing"));
}

TEST_CASE("of every setting the table says whether its loss leaves anything unguarded") {
    // Words of names that usually restrict, filter, limit or demand something.
    constexpr std::string_view guards[] = {"_restrictions", "_checks",     "reject_", "milters",    "_filter",
                                           "_access",       "_rate_limit", "forbid",  "strict_",    "security_",
                                           "authorized_",   "_ciphers",    "enforce", "match",      "login_maps",
                                           "exceptions",    "_protocols",  "verify",  "policy_maps"};
    // Those that only look like it: texts, codes and time limits of replies, exemptions, what only programs here
    // notice.
    constexpr std::string_view only_look_like_it[] = {"propagate_unmatched_extensions",
                                                      "smtpd_relay_before_recipient_restrictions",
                                                      "smtpd_null_access_lookup_key",
                                                      "duplicate_filter_limit",
                                                      "authorized_flush_users",
                                                      "authorized_verp_clients",
                                                      "smtpd_authorized_verp_clients",
                                                      "*_reject_code",
                                                      "relay_domains_reject_code",
                                                      "reject_code",
                                                      "smtpd_reject_footer*",
                                                      "smtpd_client_event_limit_exceptions",
                                                      "smtpd_client_connection_limit_exceptions",
                                                      "smtpd_command_filter",
                                                      "smtpd_dns_reply_filter",
                                                      "*_delivery_status_filter",
                                                      "smtp_reply_filter",
                                                      "address_verify_*",
                                                      "address_verify_sender_ttl",
                                                      "address_verify_positive_expire_time",
                                                      "address_verify_positive_refresh_time",
                                                      "address_verify_negative_expire_time",
                                                      "address_verify_negative_refresh_time",
                                                      "address_verify_poll_count",
                                                      "address_verify_poll_delay",
                                                      "address_verify_sender",
                                                      "address_verify_map",
                                                      "address_verify_cache_cleanup_interval",
                                                      "address_verify_pending_request_limit",
                                                      "address_verify_service_name",
                                                      "unverified_recipient_reject_code",
                                                      "unverified_recipient_reject_reason",
                                                      "unverified_sender_reject_code",
                                                      "unverified_sender_reject_reason",
                                                      "address_verify_negative_cache",
                                                      "smtp_address_verify_target",
                                                      "inet_protocols",
                                                      "parent_domain_matches_subdomains",
                                                      "smtpd_log_access_permit_actions",
                                                      "smtp_bind_address_enforce",
                                                      "smtpd_forbid_bare_newline_*",
                                                      "smtp_balance_inet_protocols",
                                                      "strict_smtputf8",
                                                      "default_filter_nexthop",
                                                      "body_checks_size_limit",
                                                      "masquerade_exceptions",
                                                      "internal_mail_filter_classes"};
    for (const auto& subject : setting_map())
        for (const auto& row : subject.rows) {
            CAPTURE(row.name);
            CHECK(row.if_lost != IfLost::unclassified);
            const bool looks =
                std::ranges::any_of(guards, [&](auto word) { return row.name.find(word) != row.name.npos; });
            const bool only = std::ranges::find(only_look_like_it, row.name) != std::end(only_look_like_it);
            CHECK_MESSAGE((row.if_lost == IfLost::unguarded || !looks || only), "does it guard nothing?");
            CHECK((!only || (looks && row.if_lost == IfLost::harmless)));
            // What the operator reads in [undecided].
            if (row.if_lost == IfLost::unguarded && row.conversion == Conversion::none) CHECK(!row.note.empty());
        }
}

TEST_CASE("the manual's list is that of the table") {
    const std::string path = std::string(SOURCE_ROOT) + "/man/postrider-from-postfix.7";
    std::ifstream file(path);
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    const std::string begin = ".\\\" The list begins: build/daemons/import-postfix/setting_map prints it.\n",
                      end = ".\\\" The list ends.\n";
    const auto from = page.find(begin), to = page.find(end);
    REQUIRE(from != page.npos);
    REQUIRE(to != page.npos);
    CHECK_MESSAGE(page.substr(from + begin.size(), to - from - begin.size()) == setting_map_manual(),
                  "run build/daemons/import-postfix/setting_map and put it there");
}

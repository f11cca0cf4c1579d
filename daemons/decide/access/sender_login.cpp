#include "daemons/decide/access/sender_login.h"
#include "daemons/decide/rewriting/address_keys.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <vector>

namespace decide::access {

namespace {

constexpr std::string_view between_users = " \t\r\n,";

bool has_user(std::string_view users, std::string_view login) {
    while (!users.empty()) {
        const auto begin = std::min(users.find_first_not_of(between_users), users.size());
        const auto end = std::min(users.find_first_of(between_users, begin), users.size());
        if (begin < end && smtp::same_ignoring_case(users.substr(begin, end - begin), login)) return true;
        users.remove_prefix(end);
    }
    return false;
}

// Its local part without quotation marks, its domain as it was said, and as the DNS has it.
std::vector<std::string> forms_of(const std::string& sender, const std::string& dns_domain) {
    const auto at = sender.rfind('@');
    const auto parsed = smtp::Mailbox::parse(sender);
    const auto local = parsed ? parsed->local_part : sender.substr(0, at);
    if (at == sender.npos) return {local};
    const auto domain = sender.substr(at + 1);
    std::vector<std::string> out = {local + "@" + domain};
    if (!dns_domain.empty() && !smtp::same_ignoring_case(domain, dns_domain)) out.push_back(local + "@" + dns_domain);
    return out;
}

// Who owns the address, as the first table says that has it; none: pending.
std::optional<Answer> owners_of(const Facts& facts, const RuleSet& rules, Questions& questions) {
    auto local = facts.sender_local == Facts::Ours::yes ? Answer::Status::found : Answer::Status::none;
    if (facts.sender_local == Facts::Ours::in_tables) local = facts.look_up_local(questions);
    if (local == Answer::Status::pending) return {};
    if (local == Answer::Status::failed) return Answer{.status = local};
    const auto bare = local == Answer::Status::found ? BareNames::yes : BareNames::no;
    for (const auto& form : forms_of(*facts.sender, facts.sender_domain))
        for (const auto& key : address_keys(form, rules.recipient_delimiter, bare))
            for (const auto& table : rules.sender_login_tables) {
                if (key.match != AddressKey::Match::whole && has_patterns(table)) continue;
                auto answer = questions.ask(Lookup::Kind::table, table, key.text);
                if (!answer || answer->status != Answer::Status::none) return answer;
            }
    return Answer{};
}

} // namespace

bool is_about_sender_login(Check check) {
    return check == Check::foreign_sender || check == Check::foreign_sender_of_user ||
           check == Check::foreign_sender_of_nobody || check == Check::foreign_known_sender;
}

Finding check_sender_login(const Rule& rule, const Facts& facts, const RuleSet& rules, Questions& questions) {
    if (!facts.sender || facts.sender->empty()) return {};
    const bool authenticated = !facts.login.empty();
    if (rule.check == (authenticated ? Check::foreign_sender_of_nobody : Check::foreign_sender_of_user)) return {};
    const auto owners = owners_of(facts, rules, questions);
    if (!owners) return {Finding::Kind::pending};
    const About sender{*facts.sender, sender_kind};
    if (owners->status == Answer::Status::failed)
        return {
            Finding::Kind::reject, {451, {4, 3, 0}, rejection_text(sender, "Temporary lookup failure")}, owners->why};
    const bool owned = owners->status == Answer::Status::found;
    if (!owned && (!authenticated || rule.check == Check::foreign_known_sender)) return {};
    if (owned && authenticated && has_user(owners->values.front(), facts.login)) return {};
    return {Finding::Kind::reject,
            {553,
             {5, 7, 1},
             rejection_text(sender, authenticated ? "not owned by user " + smtp::printable(facts.login, 100)
                                                  : std::string("not logged in"))}};
}

} // namespace decide::access

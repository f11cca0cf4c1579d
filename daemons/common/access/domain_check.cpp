#include "daemons/common/access/domain_check.h"
#include "daemons/common/text/idn.h"
#include <utility>

namespace common {

using decide::ClassAnswer;
using decide::TableAnswer;

std::string ascii_domain_of(std::string_view address) {
    const auto at = address.rfind('@');
    return at == address.npos ? "" : idn::ascii_domain(address.substr(at + 1));
}

static TableAnswer answer_to(decide::access::Questions& questions, const std::string& table, const std::string& key) {
    using Status = decide::access::Answer::Status;
    auto answer = questions.ask(decide::access::Lookup::Kind::table, table, key);
    if (!answer) return {TableAnswer::Status::not_yet, "", ""};
    if (answer->status == Status::failed) return {TableAnswer::Status::unreadable, "", std::move(answer->why)};
    return {answer->status == Status::found ? TableAnswer::Status::found : TableAnswer::Status::none, "", ""};
}

ClassAnswer class_of(const decide::DomainClasses& domains, const std::string& domain,
                     decide::access::Questions& questions) {
    return domains.find(domain, [&](const auto& table, const auto& key) { return answer_to(questions, table, key); });
}

decide::access::Answer::Status is_local(const decide::DomainClasses& domains, const std::string& domain,
                                        decide::access::Questions& questions) {
    using Status = decide::access::Answer::Status;
    const auto answer =
        domains.is_local(domain, [&](const auto& table, const auto& key) { return answer_to(questions, table, key); });
    if (answer) return *answer ? Status::found : Status::none;
    return answer.error().status == TableAnswer::Status::not_yet ? Status::pending : Status::failed;
}

DomainCheck::DomainCheck(const decide::DomainClasses& domains, std::string domain,
                         std::shared_ptr<AccessLookups> lookups)
    : domains_(domains), domain_(std::move(domain)), has_tables_(lookups != nullptr), answers_(std::move(lookups), {}) {
}

std::optional<ClassAnswer> DomainCheck::ask(Done done) {
    auto found = look_up();
    if (found) return found;
    done_ = std::move(done);
    fetch();
    return {};
}

std::optional<ClassAnswer> DomainCheck::look_up() {
    if (const auto named = domains_.by_name(domain_)) return *named;
    if (!has_tables_) // a reload has taken them away
        return std::unexpected(
            TableAnswer{TableAnswer::Status::unreadable, "", "tables of domains are no longer configured"});
    questions_.begin(answers_);
    auto found = class_of(domains_, domain_, questions_);
    if (!questions_.pending().empty()) return {};
    return found;
}

void DomainCheck::fetch() {
    answers_.fetch(questions_.pending(), [this] {
        auto found = look_up();
        if (!found) return fetch();
        const auto done = std::move(done_);
        done(*found); // may destroy this
    });
}

} // namespace common

#include "daemons/common/access/access_lookups.h"
#include <algorithm>
#include <fmt/format.h>

namespace common {

using decide::access::Answer;
using decide::access::Lookup;
using Status = Answer::Status;

// --- tables

static Answer answer_of(const tables::Answer& found) {
    switch (found.status) {
    case tables::Answer::Status::none: break;
    case tables::Answer::Status::found: return {Status::found, {found.value}};
    case tables::Answer::Status::unavailable: return {Status::failed, {}, found.why};
    case tables::Answer::Status::not_yet: return {Status::pending};
    }
    return {};
}

AccessLookups::AccessLookups(Loop& loop, Log& log, std::shared_ptr<dns::Resolver> resolver,
                             const std::vector<config::LookupTable>& sections, std::string maps_socket)
    : resolver_(std::move(resolver)),
      tables_(loop, log, [this](const std::string& table, const std::string& key) { answered(table, key); }) {
    tables_.configure(sections, std::move(maps_socket));
}

// The key is "" if all keys of the table are to be looked up again.
void AccessLookups::answered(const std::string& table, const std::string& key) {
    if (!key.empty()) {
        while (true) { // answer() may add and remove others
            const auto next = waiting_.find({table, key});
            if (next == waiting_.end()) return;
            answer(next);
        }
    }
    std::vector<std::string> keys;
    for (auto each = waiting_.lower_bound({table, ""}); each != waiting_.end() && each->first.first == table; ++each)
        keys.push_back(each->first.second);
    for (const auto& each : keys) tables_.ask(table, each);
}

void AccessLookups::answer(Waiting::iterator waiting) {
    const auto [table, key] = waiting->first;
    auto& whose = *waiting->second;
    auto found = answer_of(tables_.find(table, key));
    // Its cache has dropped the answer already: too many others are being asked for.
    if (found.status == Status::pending) found = {Status::failed, {}, fmt::format("table {}: overloaded", table)};
    std::erase(whose.waiting_, waiting);
    waiting_.erase(waiting);
    whose.known({Lookup::Kind::table, table, key}, std::move(found));
}

// --- one evaluation

AccessAnswers::AccessAnswers(std::shared_ptr<AccessLookups> shared, AskPolicy ask_policy,
                             AskVerification ask_verification)
    : shared_(std::move(shared)), ask_policy_(std::move(ask_policy)), ask_verification_(std::move(ask_verification)) {}

AccessAnswers::~AccessAnswers() {
    for (const auto& each : waiting_) shared_->waiting_.erase(each);
}

Answer AccessAnswers::find(Lookup::Kind kind, std::string_view source, std::string_view key) {
    if (!known_.empty()) {
        const auto known = known_.find({kind, std::string(source), std::string(key)});
        if (known != known_.end()) return known->second;
    }
    if (kind != Lookup::Kind::table) return {Status::pending};
    return answer_of(shared_->tables_.find(source, key));
}

void AccessAnswers::fetch(std::span<const Lookup> pending, std::function<void()> done) {
    done_ = std::move(done);
    open_ = pending.size() + 1; // one for this call: an answer may come at once
    for (const auto& lookup : std::vector<Lookup>(pending.begin(), pending.end())) {
        switch (lookup.kind) {
        case Lookup::Kind::table: fetch_table(lookup); break;
        case Lookup::Kind::policy_service:
            ask_policy_(lookup.source,
                        [this, lookup](std::string action) { known(lookup, {Status::found, {std::move(action)}}); });
            break;
        case Lookup::Kind::verification:
            if (!ask_verification_)
                known(lookup, {.status = Status::found, .why = "Address verification is not available"});
            else
                ask_verification_(lookup.key, [this, lookup](Answer answer) { known(lookup, std::move(answer)); });
            break;
        default: fetch_records(lookup);
        }
    }
    if (--open_ == 0) std::exchange(done_, nullptr)();
}

void AccessAnswers::fetch_table(const Lookup& lookup) {
    waiting_.push_back(shared_->waiting_.emplace(AccessLookups::Key{lookup.source, lookup.key}, this));
    shared_->tables_.ask(lookup.source, lookup.key);
}

void AccessAnswers::known(const Lookup& lookup, Answer answer) {
    known_.insert_or_assign(lookup, std::move(answer));
    if (--open_ == 0) std::exchange(done_, nullptr)();
}

// --- the DNS

void AccessAnswers::fetch_records(const Lookup& lookup) {
    using enum dns::Type;
    switch (lookup.kind) {
    case Lookup::Kind::mail_hosts: return ask_records(lookup, mx);
    case Lookup::Kind::name_servers: return ask_records(lookup, ns);
    case Lookup::Kind::texts: return ask_records(lookup, txt);
    default: break;
    }
    ask_records(lookup, a);
    ask_records(lookup, aaaa);
}

void AccessAnswers::ask_records(const Lookup& lookup, dns::Type type) {
    auto& records = records_[lookup];
    ++records.open;
    records.lookups.push_back(
        shared_->resolver_->look_up(lookup.key, type, [this, lookup, type, &records](const dns::Answer& answer) {
            take(records, type, answer);
            if (--records.open == 0) known(lookup, records.answer);
        }));
}

void AccessAnswers::take(Records& records, dns::Type type, const dns::Answer& answer) {
    auto& out = records.answer;
    switch (type) {
    case dns::Type::mx:
        for (const auto& each : answer.mx) out.values.push_back(each.host);
        break;
    case dns::Type::ns: out.values = answer.names; break;
    case dns::Type::txt: out.values = answer.texts; break;
    default:
        for (const auto& each : answer.addresses) out.values.push_back(each.to_string());
    }
    if (!out.values.empty())
        out.status = Status::found;
    else if (answer.said == dns::LookupStatus::failed)
        out = {Status::failed, {}, answer.why};
}

} // namespace common

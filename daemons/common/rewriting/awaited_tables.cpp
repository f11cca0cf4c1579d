#include "daemons/common/rewriting/awaited_tables.h"
#include <utility>

namespace common {

static decide::TableAnswer answer_of(tables::Answer&& answer) {
    using Status = decide::TableAnswer::Status;
    switch (answer.status) {
    case tables::Answer::Status::none: return {};
    case tables::Answer::Status::found: return {Status::found, std::move(answer.value), ""};
    case tables::Answer::Status::unavailable: return {Status::unreadable, "", std::move(answer.why)};
    case tables::Answer::Status::not_yet: break;
    }
    return {Status::not_yet, "", ""};
}

AwaitedTables::AwaitedTables(Loop& loop, Log& log)
    : tables_(loop, log, [this](const std::string& table, const std::string& key) {
          const decide::LookupRequest request{decide::LookupRequest::Kind::table, table, key};
          for (const auto& answered : waiters_) answered(request);
      }) {
    lookups_.table = [this](const std::string& table, const std::string& key) {
        return answer_of(tables_.find(table, key));
    };
}

void AwaitedTables::configure(const std::vector<config::LookupTable>& sections, std::string maps_socket) {
    tables_.configure(sections, std::move(maps_socket));
}

AwaitedTables::Waiter::Waiter(AwaitedTables& tables, Answered answered) : tables_(tables) {
    place_ = tables_.waiters_.insert(tables_.waiters_.end(), std::move(answered));
}

} // namespace common

#include "daemons/common/rewriting/awaited_tables.h"
#include "daemons/common/rewriting/table_answer.h"
#include <utility>

namespace common {

AwaitedTables::AwaitedTables(Loop& loop, Log& log)
    : tables_(loop, log, [this](const std::string& table, const std::string& key) {
          const decide::LookupRequest request{decide::LookupRequest::Kind::table, table, key};
          for (const auto& answered : waiters_) answered(request);
      }) {
    lookups_.table = [this](const std::string& table, const std::string& key) {
        return table_answer(tables_.find(table, key));
    };
}

void AwaitedTables::configure(const std::vector<config::LookupTable>& sections, std::string maps_socket) {
    tables_.configure(sections, std::move(maps_socket));
}

AwaitedTables::Waiter::Waiter(AwaitedTables& tables, Answered answered) : tables_(tables) {
    place_ = tables_.waiters_.insert(tables_.waiters_.end(), std::move(answered));
}

} // namespace common

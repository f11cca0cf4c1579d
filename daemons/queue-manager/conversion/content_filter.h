// The content filter behind the queue that mail goes through first, as the configuration in force says of where it came
// from (listen.<name>.content_filter, submit.content_filter). Not in messages' files: a filter that moves, or is no
// longer wanted, is so for queued mail as well. Only one that a rule has named (FILTER) is in the file: which rule that
// was is known when the message is accepted, and not later. Pure.
#pragma once
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/config/sections/server/submit.h"
#include "daemons/common/proto/route.h"
#include "libspool/format/envelope.h"
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace queue_manager {

// Its next hop; "" none. Mail that has come back from a filter goes to no other. Reports and copies, which this system
// makes, are not filtered.
std::string content_filter_of(const spool::Envelope& envelope, const std::vector<config::Listener>& listeners,
                              const config::Submit& submit);

// The destinations that are filters by the configuration, or were since the start: mail that is queued for a former one
// keeps its destination until the next start, and is still treated as mail for a filter. Of a filter that a rule has
// chosen, the message's file says that it is one.
class ContentFilters {
public:
    void add(const std::string& next_hop) {
        if (!next_hop.empty()) used_.insert(std::string(proto::route::via) + next_hop);
    }
    bool has(std::string_view destination) const { return used_.contains(destination); }

private:
    std::set<std::string, std::less<>> used_;
};

} // namespace queue_manager

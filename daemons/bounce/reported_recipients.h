// Who has been told of what, while questions are on their way to an answer: one that several are to be told of may fail
// half-way, and is put again as a whole, perhaps with others. Bounded: the oldest messages make room. Lost with the
// process; a report that is repeated then is better than none.
#pragma once
#include "daemons/bounce/composition.h"
#include "daemons/common/proto/report.h"
#include "libspool/format/queue_id.h"
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace bounce {

class Told {
public:
    static constexpr std::size_t most_messages = 4096, most_recipients = 250'000;

    // These know, by this answer so far.
    void note(const proto::report::Report& question, const Audience& audience, const proto::report::Reported& by);
    // Takes out of `audiences` those who know. What they know by, if there were any.
    std::optional<proto::report::Reported> leave_out(const proto::report::Report& question,
                                                     std::vector<Audience>& audiences) const;
    // The question is answered and will not come again.
    void forget(const proto::report::Report& question);

private:
    using Recipients = std::map<std::pair<smtp::ReportKind, std::uint32_t>, proto::report::Reported>;
    std::map<spool::QueueId, Recipients> messages_;
    std::size_t recipients_ = 0; // in all of them
};

} // namespace bounce

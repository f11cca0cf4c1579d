// Which reports have been sent, while requests are in progress: one with several reports may fail
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

class ReportedRecipients {
public:
    static constexpr std::size_t max_messages = 4096, max_recipients = 250'000;

    // These know, by this answer so far.
    void add(const proto::report::Report& question, const Addressee& addressee, const proto::report::Reported& by);
    // Takes out of `addressees` those who know. What they know by, if there were any.
    std::optional<proto::report::Reported> remove_reported(const proto::report::Report& question,
                                                           std::vector<Addressee>& addressees) const;
    // The question is answered and will not come again.
    void forget(const proto::report::Report& question);

private:
    using Recipients = std::map<std::pair<smtp::ReportKind, std::uint32_t>, proto::report::Reported>;
    std::map<spool::QueueId, Recipients> messages_;
    std::size_t recipients_ = 0; // in all of them
};

} // namespace bounce

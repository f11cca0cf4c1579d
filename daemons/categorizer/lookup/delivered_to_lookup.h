// Where messages have been before: each one's own word for it (Delivered-To), read from the spool when an expansion
// asks the first time. Knows no tables and no recipients.
#pragma once
#include "daemons/decide/rewriting/expansion_tables.h"
#include "libspool/disk/real_disk.h"
#include "libspool/format/queue_id.h"
#include <functional>
#include <memory>
#include <string>

namespace categorizer {

class DeliveredToLookup {
public:
    void configure(std::string spool);

    // ExpansionTables::delivered_before for this message; must not outlive this object. May block for a read of the
    // message's header. One that is gone or damaged has been nowhere: who delivers it says so.
    std::function<decide::TableAnswer(const std::string& address)> of(spool::QueueId id, spool::QueueId reused_file);

private:
    std::string spool_;
    std::unique_ptr<spool::RealDisk> disk_; // of spool_, opened when first needed
};

} // namespace categorizer

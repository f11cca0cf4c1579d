// What a clean stop keeps in index/snapshot, and a start recalls: the health of links and queues that are not
// well, with the hosts of such links, and which messages are due next. Reads and writes that file; must not
// know who uses it.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/decide/queue/engine.h"
#include "daemons/queue-manager/conversion/link_hosts.h"
#include "libspool/disk/disk.h"
#include "libspool/store/snapshot.h"
#include <optional>
#include <vector>

namespace queue_manager {

spool::Result<> save_snapshot(spool::Disk& disk, const decide::queue::Engine& engine, const LinkHostsByName& links,
                              smtp::Now now);

struct RecalledState {
    std::vector<spool::SnapshotMessage> first;                        // messages to be read first
    std::optional<std::vector<decide::queue::HealthSnapshot>> health; // for Engine::restore(); nothing: not known
    LinkHostsByName links;                                            // of those links
};
// The file is gone afterwards. What cannot be read is logged, and nothing is recalled.
RecalledState recall_snapshot(spool::Disk& disk, common::Log& log);

} // namespace queue_manager

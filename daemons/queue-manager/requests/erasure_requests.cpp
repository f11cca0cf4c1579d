#include "daemons/queue-manager/requests/erasure_requests.h"
#include "daemons/common/proto/control.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include <cerrno>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace queue_manager {

namespace code = proto::control::code;

namespace {

struct Forgotten {
    std::uint64_t removed = 0;
    std::string failure; // "" none
};

Forgotten remove_kept(spool::Disk& disk, const std::vector<spool::QueueId>& ids) {
    Forgotten done;
    for (const auto id : ids) {
        const auto gone = disk.unlink(spool::path_of_failed(id));
        if (gone)
            ++done.removed;
        else if (gone.error().code != ENOENT)
            done.failure = gone.error().what;
    }
    const auto directory = disk.open("failed", spool::Open::directory);
    if (const auto synced = directory ? disk.sync(*directory) : spool::Result<>(); !synced)
        done.failure = synced.error().what;
    return done;
}

} // namespace

void ErasureRequests::end_segment(const Request& request) {
    with_user_name(pool_, request, [this, request](std::string who) {
        journal_.end_segment(std::move(who), [this, request](std::uint64_t through) {
            if (through == 0)
                return replies_.refuse(request, "the journal cannot be written: nothing was erased", code::unavailable);
            replies_.send(request, {{"through", through}});
            replies_.finish(request);
        });
    });
}

void ErasureRequests::forget(const Request& request, const nlohmann::json& body) {
    std::vector<spool::QueueId> ids;
    if (const auto given = body.find("ids"); given != body.end() && given->is_array() && given->size() <= most_ids)
        for (const auto& each : *given)
            if (const auto id = spool::QueueId::parse(each.is_string() ? each.get<std::string>() : ""))
                ids.push_back(*id);
    if (ids.empty())
        return replies_.refuse(request, fmt::format("expected 1 to {} queue ids", most_ids), code::bad_request);
    pool_.post([this, &pool = pool_, request, ids = std::move(ids)] {
        auto done = remove_kept(pool.disk(), ids);
        pool.complete([this, request, done = std::move(done)] {
            if (!done.failure.empty()) return replies_.refuse(request, done.failure, code::failed);
            log_.info("failed/: {} messages removed by uid={}, because an address is erased", done.removed,
                      request.credentials.uid);
            replies_.send(request, {{"removed", done.removed}});
            replies_.finish(request);
        });
    });
}

} // namespace queue_manager

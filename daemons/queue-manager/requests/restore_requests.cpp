#include "daemons/queue-manager/requests/restore_requests.h"
#include "daemons/common/proto/control.h"
#include "libspool/format/queue_id.h"
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace queue_manager {

namespace code = proto::control::code;

struct RestoreRequests::Restoration {
    Request request;
    std::string who;
    bool all = false;
    std::vector<spool::QueueId> ids;
    std::size_t at = 0, open = 0;
    std::uint64_t changed = 0, skipped = 0;
    std::string why_not; // of the first one that was skipped
    std::string failure; // of the disk
    static constexpr std::size_t at_a_time = 32;
};

void RestoreRequests::restore(const Request& request, const nlohmann::json& body) {
    if (deps_.loading())
        return replies_.refuse(request, "the spool is still being read: try again later", code::loading);
    auto work = std::make_shared<Restoration>();
    work->request = request;
    work->all = body.value("all", false);
    if (const auto ids = body.find("ids"); ids != body.end() && ids->is_array())
        for (const auto& each : *ids) {
            const auto id = spool::QueueId::parse(each.is_string() ? each.get<std::string>() : "");
            if (!id)
                return replies_.refuse(request, fmt::format("{} is not a queue id", each.dump()), code::bad_request);
            work->ids.push_back(*id);
        }
    if (work->all != work->ids.empty())
        return replies_.refuse(request, "no messages given: expected \"ids\" or \"all\"", code::bad_request);
    with_user_name(deps_.pool, request, [this, work](std::string who) {
        work->who = std::move(who);
        deps_.files.when_put_away([this, work] { work->all ? list_removed(work) : restore_some(work); });
    });
}

void RestoreRequests::list_removed(const std::shared_ptr<Restoration>& work) {
    deps_.pool.post([this, work] {
        auto names = deps_.pool.disk().list("removed");
        deps_.pool.complete([this, work, names = std::move(names)] {
            if (!names) return replies_.refuse(work->request, names.error().what, code::failed);
            for (const auto& name : *names)
                if (const auto id = spool::QueueId::parse(name)) work->ids.push_back(*id);
            std::ranges::sort(work->ids, {}, &spool::QueueId::value);
            restore_some(work);
        });
    });
}

void RestoreRequests::restore_some(const std::shared_ptr<Restoration>& work) {
    work->open = 1; // this turn's own, so that the work does not end before all of these were asked for
    for (std::size_t n = 0; n < Restoration::at_a_time && work->at < work->ids.size(); ++n) {
        const auto id = work->ids[work->at++];
        ++work->open;
        deps_.intake.restore_removed(id, work->who,
                                     [this, work, id](spool::Result<> back) { restored(work, id, back); });
    }
    through(work);
}

void RestoreRequests::restored(const std::shared_ptr<Restoration>& work, spool::QueueId id,
                               const spool::Result<>& back) {
    if (back) {
        ++work->changed;
        deps_.log.info("{}: restored by {}", id.text(), work->who);
        deps_.events.changed(spool::journal::EventType::message_restored, id, {}, work->who, "");
    } else if (back.error().code == ENOENT || back.error().code == ENODATA) {
        ++work->skipped;
        if (work->why_not.empty())
            work->why_not = back.error().code == ENODATA
                                ? back.error().what
                                : fmt::format("{} is not among the removed messages (spool.removed_age)", id.text());
    } else {
        work->failure = back.error().what;
    }
    through(work);
}

void RestoreRequests::through(const std::shared_ptr<Restoration>& work) {
    if (--work->open > 0) return;
    const auto& request = work->request;
    if (!work->failure.empty())
        return replies_.refuse(
            request, fmt::format("{} messages were restored, then the disk failed: {}", work->changed, work->failure),
            code::failed);
    if (work->at < work->ids.size()) return restore_some(work);
    if (work->changed == 0)
        return replies_.refuse(request,
                               work->why_not.empty() ? "no removed messages are kept any longer (spool.removed_age)"
                                                     : work->why_not + ": nothing was restored",
                               code::no_match);
    replies_.send(request, {{"matched", work->ids.size()}, {"changed", work->changed}, {"skipped", work->skipped}});
    replies_.finish(request);
}

} // namespace queue_manager

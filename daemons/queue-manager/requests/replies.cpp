#include "daemons/queue-manager/requests/replies.h"
#include <array>
#include <fmt/format.h>
#include <pwd.h>

namespace queue_manager {

namespace {

std::string user_name(uid_t uid) {
    std::array<char, 4096> space;
    passwd entry, *found = nullptr;
    if (getpwuid_r(uid, &entry, space.data(), space.size(), &found) == 0 && found != nullptr) return found->pw_name;
    return fmt::format("uid {}", uid);
}

} // namespace

void with_user_name(spool::CommitPool& pool, const Request& request, std::function<void(std::string who)> then) {
    pool.post([&pool, request, then = std::move(then)]() mutable {
        auto who = request.who.empty() ? user_name(request.credentials.uid) : request.who;
        pool.complete([who = std::move(who), then = std::move(then)] { then(who); });
    });
}

} // namespace queue_manager

#include "daemons/categorizer/lookup/users.h"
#include <cerrno>
#include <pwd.h>
#include <utility>

namespace categorizer {

using namespace std::chrono_literals;
using decide::UserAnswer;

namespace {

constexpr std::size_t max_kept_users = 20'000;
constexpr auto known_for = 60s, unknown_for = 10s, unreadable_for = 2s;

} // namespace

struct Users::Work {
    uv_work_t request{};
    Users* owner = nullptr; // null: the answer is no longer wanted
    std::string name;
    ReservedIds reserved;
    UserAnswer answer = UserAnswer::unreadable;
};

UserAnswer look_up_system_user(const std::string& name, const ReservedIds& reserved) {
    std::vector<char> space(4096);
    for (;;) {
        passwd entry{};
        passwd* found = nullptr;
        const int error = getpwnam_r(name.c_str(), &entry, space.data(), space.size(), &found);
        if (error == EINTR) continue;
        if (error == ERANGE && space.size() < (1 << 20)) {
            space.resize(space.size() * 2);
            continue;
        }
        if (found) return reserved.has(found->pw_uid) ? UserAnswer::no_mailbox : UserAnswer::known;
        // The error for "no such user" varies between systems: getpwnam(3).
        if (error == 0 || error == ENOENT || error == ESRCH) return UserAnswer::unknown;
        return UserAnswer::unreadable;
    }
}

Users::Users(common::Loop& loop, std::function<void(const std::string&)> found)
    : loop_(loop), found_(std::move(found)) {}

Users::~Users() {
    for (auto& [name, work] : open_) work->owner = nullptr;
}

void Users::configure(const std::vector<std::string>& only, const ReservedIds& reserved) {
    reserved_ids_ = reserved;
    only_.clear();
    for (auto name : only) {
        for (char& c : name)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
        only_.insert(std::move(name));
    }
    cache_.clear();
}

smtp::Monotonic Users::now() const { return smtp::Monotonic(std::chrono::milliseconds(uv_now(&loop_.uv()))); }

UserAnswer Users::answer(const std::string& name) {
    if (!only_.empty()) return only_.contains(name) ? UserAnswer::known : UserAnswer::unknown;
    const auto kept = cache_.find(name);
    if (kept == cache_.end()) return UserAnswer::not_yet;
    if (now() < kept->second.until) return kept->second.answer;
    cache_.erase(kept);
    return UserAnswer::not_yet;
}

void Users::find(const std::string& name) {
    auto& work = open_[name];
    if (work) return;
    work = new Work;
    work->owner = this;
    work->name = name;
    work->reserved = reserved_ids_;
    work->request.data = work;
    uv_queue_work(
        &loop_.uv(), &work->request,
        [](uv_work_t* request) {
            auto& work = *static_cast<Work*>(request->data);
            work.answer = look_up_system_user(work.name, work.reserved);
        },
        [](uv_work_t* request, int) {
            auto* work = static_cast<Work*>(request->data);
            if (work->owner) work->owner->done(*work);
            delete work;
        });
}

void Users::done(Work& work) {
    open_.erase(work.name);
    if (cache_.size() >= max_kept_users) cache_.clear();
    const bool there = work.answer == UserAnswer::known || work.answer == UserAnswer::no_mailbox;
    const auto lasts = there ? known_for : work.answer == UserAnswer::unknown ? unknown_for : unreadable_for;
    cache_.insert_or_assign(work.name, CacheEntry{work.answer, now() + lasts});
    found_(work.name);
}

} // namespace categorizer

#include "daemons/local/as_user/child.h"
#include "daemons/local/as_user/as_user.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace local {

using spool::Error;
using spool::Result;

namespace {

bool has_ended(pid_t pid) {
    const auto waited = waitpid(pid, nullptr, WNOHANG);
    return waited == pid || (waited < 0 && errno == ECHILD);
}

} // namespace

void UnreapedProcesses::add(const std::string& user, pid_t pid) {
    const std::lock_guard lock(mutex_);
    pids_[user].push_back(pid);
}

std::size_t UnreapedProcesses::count(const std::string& user) {
    const std::lock_guard lock(mutex_);
    const auto its = pids_.find(user);
    if (its == pids_.end()) return 0;
    std::erase_if(its->second, has_ended);
    const auto left = its->second.size();
    if (left == 0) pids_.erase(its);
    return left;
}

std::size_t UnreapedProcesses::count() {
    const std::lock_guard lock(mutex_);
    std::size_t left = 0;
    for (auto& [user, pids] : pids_) left += pids.size() - std::erase_if(pids, has_ended);
    std::erase_if(pids_, [](const auto& each) { return each.second.empty(); });
    return left;
}

Result<> Child::start(std::string_view work, std::initializer_list<int> descriptors) {
    if (unreaped_.count(user_) >= UnreapedProcesses::max_per_user)
        return std::unexpected(
            Error{EBUSY, fmt::format("{} killed processes of user {} have not ended: a file system does not answer",
                                     UnreapedProcesses::max_per_user, user_)});
    pid_ = TRY(as_user::start_process(work, descriptors));
    watched_ = common::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    if (!watched_) {
        auto error = Error::from_errno("watch a delivering process");
        end();
        return std::unexpected(std::move(error));
    }
    return {};
}

bool Child::wait(int patience) {
    if (!running()) return true;
    pollfd ended{watched_.number(), POLLIN, 0};
    while (watched_ && poll(&ended, 1, patience) < 0 && errno == EINTR) continue;
    const auto waited = waitpid(pid_, &status_, WNOHANG);
    if (waited == 0 || (waited < 0 && errno == EINTR)) return false;
    pid_ = 0;
    return true;
}

void Child::end(int patience) {
    if (!running()) return;
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    if (wait(patience)) return;
    unreaped_.add(user_, pid_);
    pid_ = 0;
}

} // namespace local

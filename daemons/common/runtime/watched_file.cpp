#include "daemons/common/runtime/watched_file.h"
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <utility>

namespace common {

using namespace std::chrono_literals;

WatchedFile::Change WatchedFile::failed(std::string why) {
    there_ = false;
    stamp_ = {};
    if (why == problem_) return Change::none;
    problem_ = std::move(why);
    return Change::failed;
}

WatchedFile::Change WatchedFile::check(smtp::Now now) {
    if (looked_ && now.monotonic < next_look_) return Change::none;
    looked_ = true;
    next_look_ = now.monotonic + 1s;

    struct stat facts{};
    if (::stat(path_.c_str(), &facts) != 0) {
        const int code = errno;
        if (code == ENOENT && there_) {
            if (!std::exchange(away_, true)) away_since_ = now.monotonic;
            if (now.monotonic - away_since_ < 10s) return Change::none;
        }
        missing_ = code == ENOENT;
        return failed(std::strerror(code));
    }
    away_ = missing_ = false;
    if (!S_ISREG(facts.st_mode)) return failed("not a file");
    const auto ns = [](const timespec& t) { return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec; };
    const Stamp stamp{facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size), ns(facts.st_ctim),
                      ns(facts.st_mtim)};
    if (there_ && stamp == stamp_) return Change::none;
    const auto rested = now.wall.time_since_epoch() - std::chrono::nanoseconds(stamp.modified);
    if (there_ && rested >= smtp::Duration::zero() && rested < 1s) return Change::none;
    there_ = true;
    stamp_ = stamp;
    owner_ = facts.st_uid;
    return Change::changed;
}

} // namespace common

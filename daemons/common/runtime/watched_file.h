// A file that others change while it is in use: when to read it again. Checked at most
// once a second. A change is accepted when the file has not changed for a second, its
// removal after ten seconds: an editor may be writing it. Must not know its content.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <string>

namespace common {

class WatchedFile {
public:
    explicit WatchedFile(std::string path) : path_(std::move(path)) {}

    enum class Change : std::uint8_t {
        none,
        changed, // read it now
        failed,  // a new problem: see problem()
    };
    Change check(smtp::Now now);
    // The result of reading it. It failed, for the reason `why` (none: the same as before), and is retried each second;
    // or all is well.
    Change failed(std::string why);
    void clear_problem() { problem_.clear(); }

    const std::string& path() const { return path_; }
    const std::string& problem() const { return problem_; } // "No such file or directory"; "" none known
    bool missing() const { return missing_; }               // the problem is that the file does not exist
    std::uint64_t size() const { return stamp_.size; }      // as last seen
    std::uint32_t owner() const { return owner_; }          // uid, as last seen

private:
    struct Stamp {
        std::uint64_t device = 0, inode = 0, size = 0;
        std::int64_t changed = 0, modified = 0; // ns
        bool operator==(const Stamp&) const = default;
    };
    std::string path_, problem_ = {};
    Stamp stamp_;
    std::uint32_t owner_ = 0;
    bool looked_ = false, there_ = false, away_ = false, missing_ = false;
    smtp::Monotonic next_look_{}, away_since_{};
};

} // namespace common

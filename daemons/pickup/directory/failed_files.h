// failed/ in the pickup directory: files that could not be sent, each beside a text file with the reason. Belongs to us
// alone; owners of files read them there. Bounded for each user and in all.
#pragma once
#include "daemons/common/runtime/fd.h"
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace pickup {

class FailedFiles {
public:
    static constexpr std::size_t most = 10'000, most_of_user = 1000;

    // `directory`: an open descriptor of the pickup directory. Makes failed/ where there is none.
    static std::expected<FailedFiles, std::string> open(int directory);

    // The directory was removed: to be opened again.
    bool is_gone() const;

    // Moves the file `name` of the directory there; `stamp` makes its name unique. Its new name, or why it stays.
    std::expected<std::string, std::string> move(int directory, const std::string& name, uid_t owner,
                                                 std::int64_t stamp, std::string_view reason);

private:
    explicit FailedFiles(common::Fd fd) : fd_(std::move(fd)) { count(); }
    void count();
    bool is_full(uid_t owner) const;

    common::Fd fd_;
    std::map<uid_t, std::size_t> of_user_; // files, without the reasons
    std::size_t all_ = 0;
};

} // namespace pickup

// Files of users that say where their mail goes (.forward, :include: inside): requested from `local`, which reads
// them as the user; cached until an expansion has come to its end, and a second. A file that must not be trusted is
// logged and counts as none. Knows no syntax.
#pragma once
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/user_files.h"
#include "daemons/common/runtime/timer.h"
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace categorizer {

struct UserFile {
    std::string user;      // as for Users
    std::string path;      // "": the user's .forward; else absolute
    std::string extension; // of the address, for .forward+extension; "" none, and always "" with a path
    auto operator<=>(const UserFile&) const = default;
};

struct UserFileAnswer {
    enum class Said {
        none,       // no such file, or one that must not be trusted
        found,      // text
        unreadable, // why: mail waits
        not_yet,    // find() it
    };
    Said said = Said::none;
    std::string text, why;
    std::string path; // of the file that was read
};

class UserFiles {
public:
    // `found`: one that was not_yet is known now. What it asks again within the call has an answer.
    UserFiles(common::DaemonContext& context, std::function<void(const UserFile&)> found);
    UserFiles(const UserFiles&) = delete;
    UserFiles& operator=(const UserFiles&) = delete;

    void configure(const config::Local& settings);
    UserFileAnswer answer(const UserFile& file);
    // For one that was not_yet: `found` follows, not from within the call.
    void find(const UserFile& file);
    // A warning in the log about such a file: the same at most once an hour.
    void warn(const std::string& text);

private:
    struct OpenQuestion {
        std::uint64_t request = 0;
        smtp::Monotonic since{};
    };
    struct CacheEntry {
        UserFileAnswer answer;
        smtp::Monotonic at{};
    };
    void send(std::uint64_t request, const UserFile& file);
    void on_connected();
    void on_message(proto::user_files::Message&& message);
    void known(const UserFile& file, UserFileAnswer&& answer);
    void report_late_answers();
    void refused(const UserFile& file, const std::string& why);
    smtp::Monotonic now() const;

    common::DaemonContext& context_;
    std::function<void(const UserFile&)> found_;
    bool forward_ = true; // are there any .forward files?
    bool receiving_answers_ = false;
    std::map<UserFile, OpenQuestion> open_;
    std::map<std::uint64_t, UserFile> requests_;
    std::uint64_t last_request_ = 0;
    std::map<UserFile, CacheEntry> cache_;
    std::size_t cache_bytes_ = 0;
    std::map<std::string, smtp::Monotonic> last_warnings_; // warnings, by their text
    common::Timer late_;
    ipc::Connector<proto::user_files::Message> local_;
};

} // namespace categorizer

// The pickup directory: messages as files, whose owners are the submitters. Found at start, when the kernel reports a
// new one, and periodically; one file of each owner in turn. What is sent is removed; what cannot be is moved to
// failed/. A file's owner is all that is believed of it.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/pickup/directory/failed_files.h"
#include "daemons/pickup/directory/file_identity.h"
#include "daemons/pickup/directory/written_files.h"
#include "daemons/pickup/submission.h"
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace pickup {

class MailDirectory {
public:
    // `report_problem`: for `postrider status`; "" clears it.
    MailDirectory(SubmissionContext& context, std::function<void(std::string_view)> report_problem);
    ~MailDirectory();
    MailDirectory(const MailDirectory&) = delete;

    // The configuration has changed, or is there: opens the directory that it names, and scans it.
    void reconfigure();
    // Begins no further file.
    void close() { closed_ = true; }
    bool busy() const { return submission_ != nullptr || between_files_; }

private:
    void open();
    void forget();
    bool is_replaced() const;
    void open_failed();
    void watch();
    void take_events();
    void scan();
    bool is_left(const std::string& name, const struct stat& st) const;
    void add(const std::string& name, const struct stat& st);
    void next_file();
    bool begin_file(const std::string& name);
    bool is_whole(const std::string& name, const struct stat& st);
    bool is_acceptable(const std::string& name, const struct stat& st);
    void submit();
    void read_more();
    void answered(const proto::submit::Answer& answer);
    bool is_still_there() const;
    void remove();
    void move_aside(const std::string& name, const struct stat& st, std::string_view reason);
    void end_file();

    SubmissionContext& context_;
    std::function<void(std::string_view)> report_problem_;
    std::string path_; // "": none
    common::Fd directory_, inotify_, file_;
    std::optional<FailedFiles> failed_;
    common::Handle<uv_poll_t> watch_;
    common::Timer timer_;
    WrittenFiles written_;
    std::map<uid_t, std::deque<std::string>> waiting_; // still to be processed, by owner
    uid_t turn_ = 0;                                   // whose file was the last
    std::set<uid_t> throttled_users_;                  // users who have submitted enough for now
    std::map<std::string, FileIdentity> left_;         // that are done but could not be removed or moved
    std::string name_;                                 // of the file under way
    struct stat stat_{};                               // of it, when it was opened
    std::shared_ptr<Submission> submission_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); // for what runs at the end of a turn
    bool between_files_ = false, again_ = false, closed_ = false;
    bool unsettled_ = false,
         scan_soon_ = false; // some files may become whole; that is checked before the next interval
};

} // namespace pickup

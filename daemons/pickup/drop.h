// The drop directory: submissions left there while no pickup was running, one file each, frames as on the submit
// socket. Scanned at start, when the kernel reports a new file, and periodically. A file's owner is the submitting
// user; everything else in it is as untrusted as a stranger's.
#pragma once
#include "daemons/common/ipc/frame.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/pickup/submission.h"
#include <deque>
#include <map>
#include <set>
#include <string>

namespace pickup {

class Drop {
public:
    Drop(SubmissionContext& context);
    ~Drop();
    Drop(const Drop&) = delete;

    // Scans for files now and periodically from then on.
    void scan();
    // Begins no further file.
    void close() { closed_ = true; }
    bool busy() const { return submission_ != nullptr || between_files_; }

private:
    void watch();
    void next_file();
    bool open_file(const std::string& name);
    void read_more();
    void leave_in_place();
    void answered(const proto::submit::Answer& answer);
    void abort_unreadable(const std::string& why);
    void finish_name(const std::string& aside);
    void close_file();

    SubmissionContext& context_;
    common::Fd directory_, inotify_, file_;
    common::Handle<uv_poll_t> watch_;
    common::Timer timer_;
    std::deque<std::string> names_;   // still to be processed
    std::set<uid_t> throttled_users_; // users who have submitted enough for now
    std::map<std::string, std::string>
        finished_names_; // names that are done but not removed; why to quarantine/incomplete/, or ""
    std::string name_;   // of the file under way
    ipc::FrameReader frames_;
    std::shared_ptr<Submission> submission_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); // for what runs at the end of a turn
    bool between_files_ = false; // one is done, the next one is begun at the end of the turn
    bool again_ = false;         // a scan is due: something came meanwhile
    bool closed_ = false;
};

} // namespace pickup

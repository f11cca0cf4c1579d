// Answers the categorizer's questions about files of users: each file is read by a process of its own, a few at a
// time, one for each user. One that hangs (a dead file server, a user who stops it) is given up, and for a minute
// nothing of that user's is read: what one user does must not delay mail for others. Blocks nothing.
#pragma once
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/user_files.h"
#include "daemons/local/as_user/child.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace local {

namespace user_file {
struct ReadRequest;
}

class UserFiles {
public:
    // `unreaped` must outlive it. `patience`: for one file.
    UserFiles(common::DaemonContext& context, UnreapedProcesses& unreaped,
              smtp::Duration patience = std::chrono::seconds(20));
    ~UserFiles(); // processes under way are ended
    UserFiles(const UserFiles&) = delete;
    UserFiles& operator=(const UserFiles&) = delete;

    // Takes the socket "local" at the first call, and the settings each time.
    void configure(const config::Local& local, const config::Mta& mta, common::DaemonConfig& daemon_config);

private:
    using Client = ipc::Channel<proto::user_files::Message>;
    struct Question {
        std::uint64_t client = 0;
        proto::user_files::Read read;
    };
    class Reading;
    void welcome(std::unique_ptr<Client> client);
    void asked(Question&& question);
    void forget(std::uint64_t client);
    void mark_hung(const std::string& user);
    bool is_hung(const std::string& user) const;
    bool is_busy(const std::string& user) const;
    void go_on();
    void answer(const Question& question, proto::user_files::Answer&& answer);
    user_file::ReadRequest read_request_for(const proto::user_files::Read& read) const;

    common::DaemonContext& context_;
    UnreapedProcesses& unreaped_;
    const smtp::Duration patience_;
    std::vector<std::string> forward_;
    std::uint32_t minimum_uid_ = 1;
    bool change_ = false;
    std::string own_name_, home_; // single-user mode: of the user
    std::map<std::uint64_t, std::unique_ptr<Client>> clients_;
    std::uint64_t last_client_ = 0;
    std::map<std::string, std::deque<Question>> waiting_; // by user
    std::deque<std::string> users_;                       // of them, in round-robin order
    std::size_t waiting_count_ = 0;
    std::map<std::string, smtp::Monotonic> hung_until_; // by user
    std::list<std::unique_ptr<Reading>> readings_;
    common::TurnHook turn_; // removes finished readings, starts waiting ones
    std::unique_ptr<ipc::Listener> listener_;
};

} // namespace local

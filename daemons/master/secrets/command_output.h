// Runs one command line for its output: as another user, with a bare environment, bounded in time and output. Knows
// neither its purpose nor its caller.
#pragma once
#include "daemons/common/process/privileges.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include "libsmtp/auth/secret.h"
#include "libspool/disk/result.h"
#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>

namespace master {

class CommandOutput {
public:
    static constexpr smtp::Duration time_limit = std::chrono::seconds(30);
    static constexpr std::size_t size_limit = 16 * 1024; // bytes

    // `problem` "": this is all its output, and it succeeded. Called once; it may destroy the CommandOutput.
    using Done = std::function<void(smtp::Secret output, const std::string& problem)>;

    // By sh(1), in a session of its own. `user`: the user to become; null: as we are.
    static spool::Result<std::unique_ptr<CommandOutput>> run(common::Loop& loop, const std::string& command,
                                                             const common::Identity* user, Done done);
    ~CommandOutput(); // kills the command if it still runs
    CommandOutput(const CommandOutput&) = delete;
    CommandOutput& operator=(const CommandOutput&) = delete;

    pid_t pid() const { return pid_; }
    void has_ended(int status); // that of waitpid(2)
    // The output is no longer wanted: the command is killed, and done is not called.
    void abandon();

private:
    CommandOutput(common::Loop& loop, pid_t pid, common::Fd output, Done done);
    void read();
    void kill(std::string why);
    void finish_if_over();

    pid_t pid_;
    common::Fd output_;
    Done done_;
    common::Handle<uv_poll_t> poll_;
    common::Timer bound_;
    std::string text_, problem_;
    bool ended_ = false, at_end_ = false;
};

} // namespace master

// Carries out one Deliver: reads the message, finds and writes each recipient's mailbox, reports the results. Blocks;
// runs on a thread of a pool and shares nothing but what opens messages.
#pragma once
#include "daemons/common/config/sections/delivery/bounce.h"
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/local/as_user/child.h"
#include "daemons/local/delivery/messages.h"
#include "daemons/local/delivery/target_check.h"
#include "daemons/local/mailbox/mailbox.h"
#include <string>
#include <vector>

namespace local {

struct Settings {
    std::string hostname;
    config::Local local;
    std::vector<config::MailCommand> commands;
    bool soft_bounce = false;      // permanent failures become temporary
    std::uint32_t service_uid = 0; // ours, which is never a recipient's; 0: none, in single-user mode
    bool switch_users = false;     // each delivery in a process that is the recipient
    smtp::WallTime born;           // of this process: what arrived later was never delivered by another
};
Settings settings_of(const config::Local& local, const std::vector<config::MailCommand>& commands,
                     const config::Mta& mta, const config::Bounce& bounce, smtp::WallTime born);

// For the log: one recipient.
struct RecipientResult {
    std::string to, original_to, mailbox_of; // mailbox_of: the user, or the address of a virtual mailbox
    bool mailbox = false;                    // deferred: for the mailbox, whatever the message
    Verdict verdict;
    smtp::WallTime finished;
};

struct DeliveryResult {
    proto::delivery::Done done;
    std::vector<RecipientResult> lines;
    std::string trouble; // why the file is gone, unreadable or could not be read; "" for none
};

DeliveryResult deliver(SharedMessages& messages, const proto::delivery::Deliver& order, const Settings& settings,
                       TargetCheck& checks, UnreapedProcesses& unreaped);

// The fields that precede a message in a mailbox.
std::string prefix_fields(std::string_view reverse_path, std::string_view original_to, std::string_view to);
// "From sender  Fri Nov 20 15:54:58 2026", local time.
std::string from_line(std::string_view reverse_path, smtp::WallTime now);
// "1795190098.Q0A1B2C3D4E5F01R2.host": unique to this delivery, and the same at every attempt.
std::string maildir_name(spool::QueueId id, std::uint32_t recipient, smtp::WallTime arrived, std::string_view host);

} // namespace local

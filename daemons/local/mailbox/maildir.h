// A message into a Maildir: written to tmp/, synced, renamed into new/ under a name that is the same whenever
// this delivery is repeated, new/ synced. So it is there once, however often a crash has it tried.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/local/mailbox/local_text.h"
#include "daemons/local/mailbox/mailbox.h"

namespace local {

class Maildir final : public Mailbox {
public:
    explicit Maildir(const MailboxRequest& request) : request_(request), text_(FromLines::as_they_are) {}
    ~Maildir() override;
    std::optional<Verdict> open() override;
    std::optional<Verdict> write(std::string_view content) override;
    Verdict commit() override;

private:
    spool::Result<> open_directories();
    spool::Result<bool> is_there();
    spool::Result<> flush();

    MailboxRequest request_;
    LocalText text_;
    common::Fd tmp_, new_, cur_, file_;
    std::string tmp_name_;
    std::string buffer_;
};

} // namespace local

// A message at the end of an mbox: under an fcntl lock and a dot-lock, synced; what was not committed is cut
// off again. A crash in the middle may leave part of a message there, as with every mbox; one behind the sync
// leaves it whole, and the next try finds it there.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/local/mailbox/local_text.h"
#include "daemons/local/mailbox/mailbox.h"

namespace local {

class Mbox final : public Mailbox {
public:
    explicit Mbox(const MailboxRequest& request) : request_(request), text_(FromLines::quoted) {}
    ~Mbox() override;
    std::optional<Verdict> open() override;
    std::optional<Verdict> write(std::string_view content) override;
    Verdict commit() override;

private:
    spool::Result<> open_file();
    spool::Result<bool> try_lock();
    spool::Result<> flush();
    spool::Result<bool> is_there();
    std::optional<Verdict> too_large() const;

    MailboxRequest request_;
    LocalText text_;
    common::Fd file_;
    bool locked_ = false, dot_locked_ = false, dirty_ = false, made_ = false;
    std::int64_t size_before_ = 0, text_begins_ = 0; // of the file; behind the From line
    std::int64_t written_ = 0;                       // since
    std::string buffer_;
};

} // namespace local

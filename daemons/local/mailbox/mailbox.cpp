#include "daemons/local/mailbox/mailbox.h"
#include "daemons/local/mailbox/maildir.h"
#include "daemons/local/mailbox/mbox.h"
#include <cerrno>

namespace local {

using proto::delivery::Outcome;

static Verdict verdict(Outcome outcome, std::string status, std::string text) {
    Verdict out;
    out.outcome = outcome;
    out.status = std::move(status);
    out.text = std::move(text);
    return out;
}

Verdict delivered(std::string text) { return verdict(Outcome::delivered, "2.0.0", std::move(text)); }
Verdict deferred(std::string status, std::string text) {
    return verdict(Outcome::deferred, std::move(status), std::move(text));
}
Verdict failed(std::string status, std::string text) {
    return verdict(Outcome::failed, std::move(status), std::move(text));
}
Verdict of_mailbox(Verdict verdict) {
    verdict.mailbox = true;
    return verdict;
}

Verdict verdict_of(const spool::Error& error) {
    switch (error.code) {
    case EDQUOT: return deferred("4.2.2", "mailbox is over quota: " + error.what);
    case EFBIG: return deferred("4.2.2", "mailbox is too large: " + error.what);
    case ENOSPC: return deferred("4.3.1", "no space left: " + error.what);
    case EACCES:
    case EPERM: return of_mailbox(deferred("4.2.0", "not permitted: " + error.what));
    case ELOOP: return of_mailbox(deferred("4.2.0", "a symbolic link is not allowed here: " + error.what));
    default: return deferred("4.3.0", error.what);
    }
}

std::unique_ptr<Mailbox> open_mailbox(const MailboxRequest& request) {
    if (request.format == Format::maildir) return std::make_unique<Maildir>(request);
    return std::make_unique<Mbox>(request);
}

} // namespace local

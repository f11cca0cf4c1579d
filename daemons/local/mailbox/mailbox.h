// One delivery into one mailbox of any format, or to a command that takes mail like one: opened, written in pieces,
// committed. Everything blocks; runs on a thread of a pool or in a process that runs as the recipient. Knows nothing
// about queues.
#pragma once
#include "daemons/common/proto/delivery.h"
#include "libsmtp/delivery/remote_reply.h"
#include "libspool/disk/result.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace local {

// The result for one recipient.
// Of a reply it has: status ("2.0.0"), text ("delivered to maildir") and in_doubt (deferred: it may have been
// delivered nevertheless).
struct Verdict : smtp::Verdict {
    bool mailbox = false; // deferred: not because of the message; others into the same mailbox would fail, too
    static void fields(auto& m, auto& f) {
        f("outcome", m.outcome);
        f("status", m.status);
        f("text", m.text);
        f("mailbox", m.mailbox);
        f("in_doubt", m.in_doubt);
    }
};
Verdict delivered(std::string text);
Verdict deferred(std::string status, std::string text);
Verdict failed(std::string status, std::string text);
Verdict of_mailbox(Verdict verdict); // deferred: its failure is the mailbox's
// What an errno of a mailbox means: all but a wrong recipient may be fixed, so everything is deferred.
Verdict verdict_of(const spool::Error& error);

enum class Format : std::uint8_t { maildir, mbox, last_ = mbox };

// Where a message goes and what precedes it there.
struct MailboxRequest {
    Format format = Format::maildir;
    std::string path;
    std::uint32_t owner = 0;       // uid the mailbox must belong to …
    bool owned = true;             // … if that matters
    bool shared = false;           // mbox: made for its directory's group, which was granted, too (0660); else 0600
    std::uint64_t max_size = 0;    // mbox: bytes it may have; 0 no limit
    std::string done;              // text on success; "" the format's usual one
    std::int64_t lock_timeout = 0; // µs
    std::string name;              // Maildir: file name; the same whenever this delivery is retried
    bool may_be_delivered = false; // an earlier attempt may have succeeded: look for it (Maildir: also in cur/)
    std::string from_line;         // mbox: "From sender  Fri Nov 20 15:54:58 2026"
    std::string prefix;            // "Return-Path: <…>\n…": before the message, LF line ends
    std::string done_text() const {
        if (!done.empty()) return done;
        return format == Format::maildir ? "delivered to maildir" : "delivered to mailbox";
    }
    static void fields(auto& m, auto& f) {
        f("format", m.format);
        f("path", m.path);
        f("owner", m.owner);
        f("owned", m.owned);
        f("shared", m.shared);
        f("most", m.max_size);
        f("done", m.done);
        f("lock_timeout", m.lock_timeout);
        f("name", m.name);
        f("maybe_there", m.may_be_delivered);
        f("from_line", m.from_line);
        f("prefix", m.prefix);
    }
};

class Mailbox {
public:
    virtual ~Mailbox() = default; // discards what was not committed
    // A verdict here or from write() is final: the rest need not be called.
    virtual std::optional<Verdict> open() = 0;
    virtual std::optional<Verdict> write(std::string_view content) = 0; // CRLF, cut anywhere
    // Once all was written: on stable storage when the verdict is `delivered`.
    virtual Verdict commit() = 0;
};

std::unique_ptr<Mailbox> open_mailbox(const MailboxRequest& request);

} // namespace local

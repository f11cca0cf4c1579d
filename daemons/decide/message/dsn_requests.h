// What holds of a sender's wishes about reports (RFC 3461) for each recipient, once aliases and lists have been
// at it (5.2.7): an alias of one address passes them on; an alias of several passes them on without SUCCESS and
// is itself reported as expanded; a list with an owner is where the message was going, and what it sends on is
// mail of its own. Pure; knows the spool's values.
#pragma once
#include "libsmtp/dsn/report_kind.h"
#include "libspool/message/message_state.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace decide {

class DsnRequests {
public:
    // `state` must outlive it, unchanged.
    explicit DsnRequests(const spool::MessageState& state) : state_(state) {}

    // NOTIFY, as it holds for this recipient.
    spool::Notify notify(std::uint32_t recipient) const;
    // It is sent on by a list: ENVID, RET and ORCPT are those of the mail that came to the list, not of this.
    bool is_of_list(std::uint32_t recipient) const;
    // The ORCPT to send on and to report, "rfc822;user@example.org": the one given, else the address as it was
    // first given where it is another one now (5.2.1), else "".
    std::string original_recipient(std::uint32_t recipient) const;

    // Of a recipient that has been replaced by others: what is reported to its sender, if SUCCESS was requested.
    // Nothing: its one successor is reported. Expanded: an alias of several. Delivered: a list with an owner.
    std::optional<smtp::ReportKind> expansion(std::uint32_t recipient) const;
    // Replaced by `count` others, `of_list` of which have a reverse-path of the list's.
    static std::optional<smtp::ReportKind> expansion(std::size_t count, std::size_t of_list);

private:
    struct Successors {
        std::uint32_t count = 0, of_list = 0;
    };
    const std::vector<Successors>& successors() const;

    const spool::MessageState& state_;
    mutable std::vector<Successors> successors_; // by recipient; counted only if somebody asked for SUCCESS
};

} // namespace decide

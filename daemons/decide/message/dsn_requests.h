// Applies the sender's DSN requests (RFC 3461) to each recipient after alias and list expansion (5.2.7): an alias of
// one address passes them on; an alias of several passes them on without SUCCESS and is itself reported as expanded; a
// list with an owner is the destination, and what it sends on is mail of its own. Pure; knows the spool's values.
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

    // NOTIFY, as it applies to this recipient.
    spool::Notify notify(std::uint32_t recipient) const;
    // It must be reported to its sender that a host takes it that does not report about it (RFC 2852, 4.1.4).
    bool reports_relaying(std::uint32_t recipient) const;
    // It is sent on by a list: ENVID, RET and ORCPT are those of the mail that came to the list, not of this.
    bool is_of_list(std::uint32_t recipient) const;
    // The ORCPT to send on and to report, "rfc822;user@example.org": the one given, else the original address if it has
    // changed since (5.2.1), else "".
    std::string original_recipient(std::uint32_t recipient) const;

    // For a recipient that has been replaced by others: what is reported to the sender if SUCCESS was requested.
    // Nothing: its one successor is reported. Expanded: an alias of several. Delivered: a list with an owner.
    std::optional<smtp::ReportKind> expansion(std::uint32_t recipient) const;
    // Replaced by `count` others, `of_list` of which have the list's reverse-path.
    static std::optional<smtp::ReportKind> expansion(std::size_t count, std::size_t of_list);

private:
    struct Successors {
        std::uint32_t count = 0, of_list = 0;
    };
    const std::vector<Successors>& successors() const;

    const spool::MessageState& state_;
    mutable std::vector<Successors> successors_; // by recipient; counted only if any recipient requests SUCCESS
};

} // namespace decide

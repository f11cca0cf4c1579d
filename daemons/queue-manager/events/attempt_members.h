// A delivery attempt as members of an event. Knows the agents' reports; nothing of the journal's files.
#pragma once
#include "daemons/common/proto/delivery.h"
#include "libspool/journal/json_object.h"
#include <string_view>

namespace queue_manager {

// "mx.example.org[192.0.2.1]:25", "localhost[/run/lmtp]".
struct RemoteHost {
    std::string_view host, address;
    unsigned port = 0;
    bool operator==(const RemoteHost&) const = default;
};
RemoteHost remote_of(std::string_view text);

void append_remote(spool::journal::JsonObject& event, std::string_view text);

// The recipient, and the attempt that has this result.
void append_attempt(spool::journal::JsonObject& event, const proto::delivery::Done& done,
                    const proto::delivery::RecipientResult& result);
// The last lines of the conversation, as far as they concern that recipient; nothing if they were not kept.
void append_dialogue(spool::journal::JsonObject& event, const proto::delivery::Done& done, std::uint32_t recipient);
// Where the recipient's time went until this attempt.
spool::Waited waited_of(const proto::delivery::Done& done, const proto::delivery::RecipientResult& result);
void append_waited(spool::journal::JsonObject& event, const spool::Waited& waited);
// What was said, or found.
void append_reply(spool::journal::JsonObject& event, const smtp::RemoteReply& reply);
// The same of a failure, with its class.
void append_failure(spool::journal::JsonObject& event, const smtp::RemoteReply& reply);

} // namespace queue_manager

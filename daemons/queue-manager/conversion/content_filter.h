// The content filter behind the queue that mail goes through first, as the configuration in force says of where it came
// from (listen.<name>.content_filter, submit.content_filter). Not in messages' files: a filter that moves, or is no
// longer wanted, is so for queued mail as well, and no writer can choose where its mail is sent. Pure.
#pragma once
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/config/sections/server/submit.h"
#include "libspool/format/envelope.h"
#include <string>
#include <string_view>
#include <vector>

namespace queue_manager {

// Its next hop; "" none. Reports and copies, which this system makes, are not filtered.
std::string content_filter_of(const spool::Envelope& envelope, const std::vector<config::Listener>& listeners,
                              const config::Submit& submit);

// Whether it is one of them that this destination ("via:[127.0.0.1]:10024") leads to.
bool leads_to_content_filter(std::string_view destination, const std::vector<config::Listener>& listeners,
                             const config::Submit& submit);

} // namespace queue_manager

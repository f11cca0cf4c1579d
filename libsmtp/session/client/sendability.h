// What one server can be asked to take: a message that it cannot take as it stands, or a recipient whose address cannot
// be put into a command, is refused here, in the server's place. Pure; knows nothing of the conversation.
#pragma once
#include "libsmtp/session/client/client_options.h"
#include "libsmtp/session/client/extensions.h"
#include "libsmtp/session/client/transaction.h"
#include <cstdint>
#include <vector>

namespace smtp {

struct ServerTraits {
    const ClientOptions& options;
    const ServerExtensions& extensions;
    ChannelSecurity security;
};

// Takes off `pending` (recipients by their places) what cannot be sent, with its verdict in `result`. For a server
// without SMTPUTF8, `message` gets its domains in ASCII where that helps. True: it is sent with SMTPUTF8.
bool drop_unsendable(Transaction& message, std::vector<std::uint32_t>& pending, TransactionResult& result,
                     const ServerTraits& server, Monotonic now);

// RFC 2852: until the message must be delivered; 0 or less: that has passed.
std::int32_t seconds_left(const Transaction& message, Monotonic now);

} // namespace smtp

// How much TLS mail needs: from the levels of its recipients' domains and of the route, and from what the message
// itself says. Reads the shared context; knows no host and no connection.
#pragma once
#include "daemons/smtp-client/context/client_context.h"
#include "daemons/smtp-client/tls/tls_negotiation.h"
#include "libspool/message/message_reader.h"
#include <cstdint>
#include <string_view>
#include <vector>

namespace smtp_client {

// Of a link that is tried without mail: what the route of that pattern demands and shows.
TlsNeeds tls_needs_of_route(const ClientContext& context, std::string_view rule);
// Of mail of which nothing is known.
TlsNeeds tls_needs_by_default(const ClientContext& context);
// Of a transaction without a message.
TlsNeeds tls_needs_of(const ClientContext& context, const smtp::Transaction& transaction);
// Of a message for these of its recipients, by the route of that pattern.
TlsNeeds tls_needs_of(const ClientContext& context, const spool::MessageReader& message,
                      const std::vector<std::uint32_t>& recipients, std::string_view rule);

} // namespace smtp_client

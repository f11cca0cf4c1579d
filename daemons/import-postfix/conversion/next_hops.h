// Next hops and addresses of services, as Postfix writes them, in our notation. Nothing: there is no such notation for
// it.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace postrider {

class Import;

// "[relay.example]:587".
std::optional<std::string> next_hop(std::string_view text);
// Of the part after "lmtp:"; relative paths are in queue_directory.
std::optional<std::string> lmtp_hop(Import& import, std::string_view text);
// Is it one of the transports that return, delay or discard mail instead of sending it: "error:no mail here"?
bool keeps_mail_from_leaving(std::string_view transport);
// Of a milter or policy server; nothing: it has no numeric address.
std::optional<std::string> service_address(Import& import, std::string_view text);

} // namespace postrider

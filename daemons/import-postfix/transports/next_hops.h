// Next hops, transports and addresses of services, as Postfix writes them, in our notation. Nothing: there is no such
// notation for it.
#pragma once
#include "daemons/import-postfix/postfix/files.h"
#include "daemons/import-postfix/postfix/lists.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

class Import;

// "[relay.example]:587".
std::optional<std::string> next_hop(std::string_view text);
// Is there a program behind it that spawn(8) starts? Then the administrator has to: it is recorded as undecided. The
// path of its socket; nothing: it is at an address, or there is none.
std::optional<std::string> record_spawned(Import& import, const postfix::Destination& place);
// Of the part after "lmtp:"; relative paths are in queue_directory.
std::optional<std::string> lmtp_hop(Import& import, std::string_view text);
// Is it one of the transports that return, delay or discard mail instead of sending it: "error:no mail here"?
bool keeps_mail_from_leaving(std::string_view transport);
// Of a milter or policy server; nothing: it has no numeric address.
std::optional<std::string> service_address(Import& import, std::string_view text);

// The service of master.cf is named where transports are named, in main.cf or in a transport table.
bool is_used_transport(Import& import, const postfix::Service& service);
// … in a table of transport_maps.
bool is_named_by_transport_maps(Import& import, const postfix::Service& service);
// The pipe(8) services that become [command.<name>], by name: those that are used, and can be carried over.
std::vector<std::string> imported_programs(Import& import);
// "NAME:…", as transports are named: the name of such a service; "" it is none.
std::string program_of_transport(Import& import, std::string_view transport);
// Writes the section of a service, and its result.
void import_program(Import& import, const postfix::Service& service);

} // namespace postrider

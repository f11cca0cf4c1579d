// postscreen's tests of clients become those of [client_tests]. A test whose action is ignore, as it is by default, is
// not made: it rejects no client.
#pragma once

namespace postrider {

class DnsLists;
class Import;

void import_postscreen(Import& import, DnsLists& dns_lists);

} // namespace postrider

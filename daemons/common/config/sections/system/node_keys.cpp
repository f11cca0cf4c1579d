// The keys of other nodes.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/system/node.h"
#include "daemons/common/net/web_address.h"

namespace config {

using namespace std::chrono_literals;

namespace {

TextKey api_address(std::string& value) {
    return {[&value](std::string_view text) -> Refusal {
                const auto address = common::WebAddress::parse(text);
                if (!address) return address.error();
                if (address->target != "/") return "expected an address without a path, such as \"https://mx2:9587\"";
                value = text;
                return std::nullopt;
            },
            [&value] { return value; }};
}

} // namespace

Section section_for(Node& s) {
    return {
        "node.<name>",
        "Another node that messages can be moved to: \"postrider message move\" and \"postrider drain\" name it; see "
        "postrider-drain(7). At most 64 nodes; a name has letters, digits, \"-\" and \"_\".",
        {
            {"url", api_address(s.url),
             "Address of the API (http.listen) of that node. It must begin with https://; http:// is for this host "
             "only, unless allow_http is set. Required.",
             "\"https://mx2.example.com:9587\"", true},
            {"allow_http", BoolKey{&s.allow_http},
             "Whether url may be http:// although the node is another host: messages are then sent in plain text.", ""},
            {"token_file", any_text(s.token_file),
             "File with a token of that node, with the scope node: \"postrider token add NAME --scope node\" prints it "
             "there. Required. It must be readable only by root and the user mta.user; changes are applied within "
             "seconds.",
             "\"/etc/postrider/mx2.token\""},
            {"ca_file", any_text(s.ca_file),
             "File with the CA certificates (PEM) that the node's certificate is verified with. Default: those of "
             "smtp_client.tls_ca_file.",
             "\"/etc/postrider/nodes-ca.pem\""},
            {"timeout", DurationKey{&s.timeout, 1s, 10min},
             "Time limit for a message, including connection and answer. Without an answer the message is in doubt: "
             "the node is asked again until it answers.",
             ""},
        }};
}

} // namespace config

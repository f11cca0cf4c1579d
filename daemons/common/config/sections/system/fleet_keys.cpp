// The keys of the store that several nodes share.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/system/fleet.h"
#include "daemons/common/net/store_address.h"

namespace config {

namespace {

TextKey store_address(std::string& value) {
    return {[&value](std::string_view text) -> Refusal {
                if (!text.empty())
                    if (const auto address = common::StoreAddress::parse(text); !address) return address.error();
                value = text;
                return std::nullopt;
            },
            [&value] { return value; }};
}

constexpr EnumValue<FleetKeys> key_sharing[] = {
    {"strict", FleetKeys::strict}, {"local", FleetKeys::local}, {"off", FleetKeys::off}};

TextKey key_prefix(std::string& value) {
    return {[&value](std::string_view text) -> Refusal {
                constexpr std::size_t longest = 64;
                const auto allowed = [](char c) {
                    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                           c == '_' || c == '.' || c == ':';
                };
                if (text.empty() || text.size() > longest || !std::ranges::all_of(text, allowed))
                    return fmt::format("\"{}\" is not a valid prefix: expected at most {} letters, digits and any of "
                                       "\"-_.:\"",
                                       text.substr(0, longest), longest);
                value = text;
                return std::nullopt;
            },
            [&value] { return value; }};
}

} // namespace

Section section_for(Fleet& s) {
    return {
        "fleet",
        "A store (Redis 7, or Valkey) through which several nodes know of each other and share what they must have in "
        "common; see postrider-fleet(8). A single node needs none. While the store is away, each node works alone. "
        "Requires mta.node.",
        {
            {"store", store_address(s.store),
             "Address of the store: redis:// for plain text, rediss:// for TLS, then host, port (6379) and \"/\" with "
             "the number of a database (0). The certificate must be for that host. Empty: this node shares nothing.",
             "\"rediss://store.example.com:6379\"", true},
            {"user", any_text(s.user), "User of the store, as its access list (ACL) has it. Empty: the default user.",
             "\"postrider\""},
            {"password_file", any_text(s.password_file),
             "File with the password for the store, on one line. It must be readable only by root and the user "
             "mta.user; changes are applied within seconds.",
             "\"/etc/postrider/fleet.password\""},
            {"ca_file", any_text(s.ca_file),
             "File with the CA certificates (PEM) that the store's certificate is verified with. Default: those of "
             "smtp_client.tls_ca_file.",
             "\"/etc/postrider/fleet-ca.pem\""},
            {"expected_nodes", IntKey{&s.expected_nodes, 0, 1000},
             "Number of nodes that the fleet has, this one included. If fewer are present, \"postrider status\" says "
             "which are silent. 0: any number is right.",
             ""},
            {"prefix", key_prefix(s.prefix),
             "Beginning of the names of all keys in the store. It must be the same on all nodes, and different for "
             "each fleet in one database.",
             ""},
            {"keys", one_of(s.keys, key_sharing),
             "Whether an Idempotency-Key makes one message on all nodes together, or one on each of them. "
             "\"strict\": on all nodes; while the store is away, mail with such a key is rejected temporarily "
             "(451), because another node may have sent it. \"local\": on all nodes; while the store is away, "
             "such mail is accepted, and a repetition on another node is sent again. \"off\": on each node alone. Mail "
             "without a key never waits for the store.",
             ""},
        }};
}

} // namespace config

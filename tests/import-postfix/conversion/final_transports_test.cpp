#include "tests/import-postfix/conversion/machine.h"

using namespace postrider;

namespace {

// The entries that end transport.tables; "-": there is no such table.
std::string final_entries(const ImportResult& from) {
    const auto tables = key(from, "transport.tables");
    const auto at = tables.rfind("\"table:");
    if (at == tables.npos || !tables.ends_with("\"]")) return "-";
    const auto name = tables.substr(at + 7, tables.size() - at - 9);
    const auto read = toml::parse("entries = " + key(from, fmt::format("table.{}.entries", name)));
    std::string out;
    for (const auto& each : *read["entries"].as_array()) out += (out.empty() ? "" : ", ") + each.as_string()->get();
    return out;
}

constexpr const char* domains = "mydestination = here.example, localhost\nvirtual_mailbox_domains = boxes.example\n"
                                "virtual_transport = lmtp:unix:/run/lmtp\nrelay_domains = r.example\n";

} // namespace

TEST_CASE("default_transport = error: what is no domain of ours has no way") {
    for (const auto* transport :
         {"error:no mail leaves here", "error:5.1.2 none", "error", "error:", "discard:", "retry:later"}) {
        CAPTURE(transport);
        const auto from = imported(fmt::format("{}default_transport = {}\n", domains, transport));
        const std::string text = transport, last = text.contains(':') ? text : text + ":";
        CHECK(final_entries(from) ==
              "here.example :, localhost :, boxes.example :, r.example :, .r.example :, * " + last);
        CHECK(result_of(from, "default_transport").kind == SettingResult::Kind::converted);
        CHECK(key(from, "route.\"*\".next_hop") == "-");
        CHECK(undecided(from).empty());
    }
}

TEST_CASE("tables of transport_maps come first") {
    const auto from = imported("mydestination =\ndefault_transport = error:no\ntransport_maps = hash:/pf/t\n",
                               {{"/pf/t", "a.example smtp:[b.example]\n"}});
    CHECK(key(from, "transport.tables").starts_with("[\"text:/pf/t\", \"table:"));
    CHECK(final_entries(from) == "* error:no");
}

TEST_CASE("a class of domains without a way") {
    CHECK(final_entries(imported(std::string(domains) + "relay_transport = error:closed\n")) ==
          "r.example error:closed, .r.example error:closed");
    CHECK(final_entries(imported(std::string(domains) + "local_transport = error:local delivery disabled\n")) ==
          "here.example error:local delivery disabled, localhost error:local delivery disabled");
    CHECK(final_entries(imported(std::string(domains) + "relay_transport = error\ndefault_transport = error\n")) ==
          "here.example :, localhost :, boxes.example :, r.example error:, .r.example error:, * error:");
    // What is named in two classes belongs to the first.
    const auto both =
        imported("mydestination = here.example\nrelay_domains = $mydestination\nrelay_transport = error:no\n");
    CHECK(final_entries(both) == ".here.example error:no");
    // A null client has no domains.
    CHECK(final_entries(imported("mydestination =\nlocal_transport = error:local delivery disabled\n")) == "-");
    CHECK(final_entries(imported("relay_transport = error:no relaying\nrelay_domains =\n")) == "-");
}

TEST_CASE("a program for a class of domains") {
    const auto from = imported("mydestination = here.example\nrelay_domains = r.example\nrelay_transport = json\n", {},
                               smtp_line + "json unix - n n - - pipe user=vmail argv=/usr/bin/json ${recipient}\n");
    CHECK(final_entries(from) == "r.example command:json, .r.example command:json");
    CHECK(key(from, "command.json.user") == "\"vmail\"");
    CHECK(undecided(from).empty());
    const auto lines = undecided(drafted("relay_domains = r.example\nrelay_transport = uucp\n"));
    CHECK(std::ranges::any_of(lines, [](const auto& line) { return line.contains("relay_transport = uucp"); }));
}

TEST_CASE("domains that only a table knows, and transports by sender, cannot be told from the rest: to be decided") {
    const std::map<std::string, std::string> files = {{"/pf/d", "x.example x\n"}, {"/pf/s", "a@b.example smtp:\n"}};
    for (const auto* more : {"mydestination = hash:/pf/d\n", "relay_domains = hash:/pf/d\n",
                             "virtual_mailbox_domains = hash:/pf/d\nvirtual_transport = lmtp:unix:/run/lmtp\n",
                             "sender_dependent_default_transport_maps = hash:/pf/s\n"}) {
        CAPTURE(more);
        const auto from = imported(std::string("default_transport = error:no\n") + more, files);
        CHECK(final_entries(from) == "-");
        const auto lines = undecided(drafted(std::string("default_transport = error:no\n") + more, files));
        CHECK(
            std::ranges::any_of(lines, [](const auto& line) { return line.contains("default_transport = error:no"); }));
    }
}

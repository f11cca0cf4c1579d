#include "daemons/common/lookup/format/key_value.h"
#include "daemons/postrider/configuration/transport_lint.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace postrider;

TEST_CASE("values of a transport table that make mail wait, or mean something else than they seem to") {
    const auto odd = [](std::string_view text, MailboxDelivery mailboxes = MailboxDelivery::unconfigured) {
        std::vector<std::string> out;
        tables::Problems passed_over;
        tables::KeyValues entries(text, passed_over);
        while (const auto entry = entries.next())
            if (const auto why = lint_transport(entry->value, mailboxes, {}))
                out.push_back(fmt::format("{}: \"{}\"{}", entry->line, entry->value, *why));
        return out;
    };
    using Lines = std::vector<std::string>;
    CHECK(
        odd("# ours\n"
            "a.example [relay.example]:25\nb.example local:\nc.example :\nd.example smtp:\ne.example mx\n"
            "f.example error:5.1.2 gone\ng.example retry:4.3.2 later\nh.example discard:\ni.example lmtp:unix:/run/x\n"
            "no-value\n")
            .empty());
    CHECK(odd("a.example hold:\nb.example foo:bar baz\n") ==
          Lines{"1: \"hold:\" is not a valid next hop: mail for it waits",
                "2: \"foo:bar baz\" is not a valid next hop: mail for it waits"});
    CHECK(odd("a.example error:4.5.0 text") ==
          Lines{"1: \"error:4.5.0 text\": 4.5.0 has the wrong class for this entry: 5.0.0 is used instead "
                "(\"retry:\" defers mail)"});
    CHECK(odd("\n\na.example virtual:") ==
          Lines{"3: \"virtual:\": virtual_mailbox.deliver is not set: mail for it waits"});
    CHECK(odd("a.example virtual:", MailboxDelivery::configured).empty());
}

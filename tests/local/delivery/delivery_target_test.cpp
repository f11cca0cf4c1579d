#include "daemons/local/delivery/delivery_target.h"
#include <doctest/doctest.h>

using namespace local;
using Kind = DeliveryTarget::Kind;

TEST_CASE("a target says where a delivery goes") {
    config::Local settings;
    struct Row {
        std::string_view target;
        Kind kind;
        Format format;
        std::string_view path, command, done;
        bool owned;
    };
    const Row rows[] = {
        {"", Kind::mailbox, Format::mbox, "/var/mail/ann", "", "delivered to mailbox", true},
        {"|/usr/bin/vacation ann", Kind::command, Format::maildir, "", "/usr/bin/vacation ann",
         "delivered to command: /usr/bin/vacation ann", true},
        {"| \t\"a\tb\"  ", Kind::command, Format::maildir, "", "\"a\tb\"", "delivered to command: \"a?b\"", true},
        {"/srv/archive", Kind::mailbox, Format::mbox, "/srv/archive", "", "delivered to file: /srv/archive", false},
        {"/srv/archive/", Kind::mailbox, Format::maildir, "/srv/archive/", "", "delivered to file: /srv/archive/",
         false},
        {"~/mail/in", Kind::mailbox, Format::mbox, "/home/ann/mail/in", "", "delivered to file: /home/ann/mail/in",
         false},
        {"~/mail/", Kind::mailbox, Format::maildir, "/home/ann/mail/", "", "delivered to file: /home/ann/mail/", false},
        {"/dev/null", Kind::nowhere, Format::mbox, "/dev/null", "", "delivered to file: /dev/null", false},
        {"maildir:/srv/mail/x/", Kind::mailbox, Format::maildir, "/srv/mail/x/", "", "delivered to maildir", true},
        {"mbox:/srv/mail/x", Kind::mailbox, Format::mbox, "/srv/mail/x", "", "delivered to mailbox", true},
    };
    for (const auto& row : rows) {
        CAPTURE(row.target);
        const auto where = parse_target(row.target, settings, "ann", "/home/ann");
        REQUIRE(where);
        CHECK(where->kind == row.kind);
        CHECK(where->format == row.format);
        CHECK(where->path == row.path);
        CHECK(where->command == row.command);
        CHECK(where->done == row.done);
        CHECK(where->owned == row.owned);
    }
    for (const auto odd : {std::string_view("|"), std::string_view("| "), std::string_view("|a\0b", 4),
                           std::string_view("/a\0b", 4), std::string_view("/"), std::string_view("maildir:x"),
                           std::string_view("mbox:"), std::string_view("x"), std::string_view("mbox:/a\0b", 9)})
        CHECK_FALSE(parse_target(odd, settings, "ann", "/home/ann"));
    CHECK_FALSE(parse_target("~bob/x", settings, "ann", "/home/ann"));
    CHECK_FALSE(parse_target("~/x", settings, "ann", "")); // no home, no place in it
    CHECK(parse_target("~/x", settings, "root", "/")->path == "/x");
    settings.delivery.mailbox_command = "procmail";
    CHECK(parse_target("", settings, "ann", "/home/ann")->command == "procmail");
    CHECK(parse_target("/x", settings, "ann", "/home/ann")->command.empty());
}

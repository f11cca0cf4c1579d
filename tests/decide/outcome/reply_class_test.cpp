// What failures are about, as history and statistics have it.
#include "daemons/decide/outcome/reply_class.h"
#include <doctest/doctest.h>
#include <set>
#include <string>

using decide::class_of;
using smtp::Stage;

namespace {

struct Row {
    int code;
    const char* status;
    Stage stage;
    std::string_view expected;
};

void check(const Row& row) {
    CAPTURE(row.code);
    CAPTURE(row.status);
    CHECK(name_of(class_of({.stage = row.stage, .code = row.code, .status = row.status})) == row.expected);
}

} // namespace

TEST_CASE("the enhanced status tells it, of either severity and at any stage") {
    for (const Row& row : {Row{550, "5.1.1", Stage::rcpt, "bad-mailbox"},
                           {450, "4.1.1", Stage::final_dot, "bad-mailbox"},
                           {556, "5.1.10", Stage::rcpt, "bad-domain"},
                           {552, "5.2.2", Stage::rcpt, "mailbox-full"},
                           {550, "5.7.13", Stage::rcpt, "inactive-mailbox"},
                           {552, "5.3.4", Stage::mail, "too-large"},
                           {550, "5.7.26", Stage::final_dot, "authentication"},
                           {550, "5.7.25", Stage::banner, "reverse-name"},
                           {421, "4.7.28", Stage::mail, "rate-limited"},
                           {550, "5.7.1", Stage::mail, "policy"},
                           {0, "4.4.1", Stage::connect, "connection"},
                           {0, "5.4.6", Stage::none, "routing"},
                           {0, "4.7.5", Stage::tls, "tls"},
                           {0, "5.4.7", Stage::none, "expired"}})
        check(row);
}

TEST_CASE("without a status, or with one that says nothing, code and stage tell it") {
    for (const Row& row : {Row{550, "", Stage::rcpt, "bad-mailbox"},
                           {550, "5.0.0", Stage::final_dot, "policy"},
                           {554, "", Stage::banner, "blocked"},
                           {554, "", Stage::final_dot, "policy"},
                           {552, "", Stage::final_dot, "too-large"},
                           {452, "4.0.0", Stage::rcpt, "system-full"},
                           {450, "4.2.0", Stage::rcpt, "other"},
                           {502, "", Stage::ehlo, "protocol"},
                           {299, "", Stage::rcpt, "other"},
                           {0, "", Stage::lookup, "dns"},
                           {0, "", Stage::content, "connection"},
                           {0, "", Stage::local, "system"},
                           {0, "", Stage::none, "other"}})
        check(row);
}

TEST_CASE("every class has a name of its own") {
    std::set<std::string_view> names;
    for (std::size_t n = 0; n <= static_cast<std::size_t>(decide::ReplyClass::last_); ++n)
        names.insert(name_of(static_cast<decide::ReplyClass>(n)));
    CHECK(names.size() == static_cast<std::size_t>(decide::ReplyClass::last_) + 1);
}

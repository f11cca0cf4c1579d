// The client's conversation without TLS, as dialogues.
#include "tests/libsmtp/session/client_driver.h"

using namespace smtp;
using namespace smtp::testing;
using namespace std::chrono_literals;

TEST_CASE("one message, pipelined") {
    auto m = mail(1);
    m.transaction.parameters.size = 18;
    m.transaction.parameters.body = Body::eight_bit_mime;
    m.transaction.parameters.ret = Ret::headers;
    m.transaction.parameters.envid = "a+b";
    m.transaction.recipients[0].parameters.notify.success = true;
    m.transaction.recipients[0].parameters.orcpt = "rfc822;b@y";
    m.content = "..x\r\n.\r\nhi";
    play({m},
         script({hello, offers,
                 "C: MAIL FROM:<a@x> SIZE=18 BODY=8BITMIME RET=HDRS ENVID=a+2Bb\n"
                 "C: RCPT TO:<b@y> NOTIFY=SUCCESS ORCPT=rfc822;b@y\nC: DATA\n",
                 group_ok, "C: ...x\nC: ..\nC: hi\nC: .\nS: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"}),
         fmt::format("up\n1: {}ended well\n", delivered), {.quit = true});
}

TEST_CASE("HELO where EHLO is unknown; nothing is sent that was not offered") {
    auto m = mail(1);
    m.transaction.parameters.size = 18;
    m.transaction.parameters.ret = Ret::full;
    m.transaction.recipients[0].parameters.notify.never = true;
    play({m},
         script({hello, "S: 502 5.5.1 What?\nC: HELO client.test\n", plain,
                 "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\nS: 354 Go\n", body,
                 "S: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"}),
         fmt::format("up\n1: {}ended well\n", delivered), {.quit = true});
}

TEST_CASE("the next message's commands follow the final dot") {
    play({mail(1), mail(2), mail(3)},
         script({hello, offers, group, group_ok, body, group, "S: 250 2.0.0 Ok: queued as 1\n", group_ok, body, group,
                 "S: 250 2.0.0 Ok: queued as 1\n", group_ok, body, "S: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"}),
         fmt::format("up\n1: {0}2: {0}3: {0}ended well\n", delivered), {.quit = true});
    // A refusal after the dot is the first one's alone.
    play({mail(1), mail(2)},
         script({hello, offers, group, group_ok, body, group, "S: 554 5.6.0 Spam\n", group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: permanent 11 5.6.0 [host mx.test[192.0.2.1] said: 554 5.6.0 Spam (in reply to end of "
                     "DATA command)]\n2: {}",
                     delivered));
    // Lost behind the dot: the first is in doubt, the second untouched.
    play({mail(1), mail(2)}, script({hello, offers, group, group_ok, body, group, "S: (closes)\n"}),
         "up\nended: temporary 11 4.4.2 [lost connection with mx.test[192.0.2.1] while sending end of data "
         "-- message "
         "may be sent more than once] in doubt\ninterrupted 1: temporary 11 4.4.2 [lost connection with "
         "mx.test[192.0.2.1] while sending end of data -- message may be sent more than once] in doubt\n");
    // Answered and then closed: the second was not begun for anybody to see.
    play({mail(1), mail(2)},
         script({hello, offers, group, group_ok, body, group, "S: 250 2.0.0 Ok: queued as 1\nS: (closes)\nC: QUIT\n"}),
         fmt::format("up\n1: {}ended well\n", delivered));
    play({mail(1), mail(2)},
         script({hello, offers, group, group_ok, body, group,
                 "S: 250 2.0.0 Ok: queued as 1\nS: 421 Enough messages\nC: QUIT\n"}),
         fmt::format("up\n1: {}ended well\n", delivered));
    play({mail(1), mail(2)},
         script({hello, offers, group, group_ok, body, group, "S: 421 4.3.2 Going down\nC: QUIT\n"}),
         "up\n1: temporary 11 4.3.2 [host mx.test[192.0.2.1] said: 421 4.3.2 Going down (in reply to end of "
         "DATA "
         "command)]\nended well\n");
}

TEST_CASE("without pipelining, one command at a time, also between messages") {
    const std::string one = "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\nS: 354 Go\n" +
                            std::string(body) + "S: 250 2.0.0 Ok: queued as 1\n";
    play({mail(1), mail(2)}, script({hello, plain, one, one}), fmt::format("up\n1: {0}2: {0}", delivered));
    play({mail(1), mail(2)}, script({hello, offers, one, one}), fmt::format("up\n1: {0}2: {0}", delivered),
         {.pipelining = ClientSession::Pipelining::never});
}

TEST_CASE("each recipient has its own verdict") {
    play({mail(1, {"b@y", "c@y", "d@y"})},
         script({hello, offers, "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: RCPT TO:<c@y>\nC: RCPT TO:<d@y>\nC: DATA\n",
                 "S: 250 Ok\nS: 250 Ok\nS: 550-5.1.1 No\nS: 550 5.1.1 such user\nS: 250 Ok\nS: 354 Go\n", body,
                 "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {0}1: permanent 8 5.1.1 [host mx.test[192.0.2.1] said: 550 5.1.1 No such user (in reply "
                     "to RCPT TO command)]\n1: {0}",
                     delivered));
}

TEST_CASE("nobody accepted: no content, and RSET before the next") {
    const std::string_view refused = "1: temporary 8 4.0.0 [host mx.test[192.0.2.1] said: 450 Later (in reply to RCPT "
                                     "TO command)]\n";
    play({mail(1), mail(2)},
         script({hello, offers, group, "S: 250 Ok\nS: 450 Later\nS: 554 No recipients\nC: RSET\n", group, "S: 250 Ok\n",
                 group_ok, body, "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n{}2: {}", refused, delivered));
    // DATA taken for nobody (RFC 2920, 3.1) is answered with nothing.
    play({mail(1), mail(2)},
         script({hello, offers, group, "S: 250 Ok\nS: 450 Later\nS: 354 Go\nC: .\n", group, "S: 554 No recipients\n",
                 group_ok, body, "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n{}2: {}", refused, delivered));
    play({mail(1)}, script({hello, plain, "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 450 Later\n"}),
         fmt::format("up\n{}", refused));
    // No RSET after a refused MAIL: there is no transaction.
    play({mail(1), mail(2)},
         script({hello, offers, group, "S: 550 5.7.1 No\nS: 503 Need MAIL\nS: 503 Need MAIL\n", group, group_ok, body,
                 "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: permanent 7 5.7.1 [host mx.test[192.0.2.1] said: 550 5.7.1 No (in reply to MAIL FROM "
                     "command)]\n2: {}",
                     delivered));
}

TEST_CASE("too many recipients: the rest in a further transaction") {
    const std::string_view first = "C: MAIL FROM:<a@x>\nC: RCPT TO:<b@y>\nC: RCPT TO:<c@y>\nC: RCPT TO:<d@y>\nC: DATA\n"
                                   "S: 250 Ok\nS: 250 Ok\nS: 250 Ok\nS: 452 4.5.3 Too many\nS: 354 Go\n";
    play({mail(1, {"b@y", "c@y", "d@y"}), mail(2)},
         script({hello, offers, first, body,
                 "S: 250 2.0.0 Ok: queued as 1\nC: MAIL FROM:<a@x>\nC: RCPT TO:<d@y>\nC: DATA\n", group_ok, body, group,
                 "S: 250 2.0.0 Ok: queued as 1\n", group_ok, body, "S: 250 2.0.0 Ok: queued as 1\n"}),
         fmt::format("up\n1: {0}1: {0}1: {0}2: {0}", delivered));
    // Lost in the second round: the first round's are delivered.
    play({mail(1, {"b@y", "c@y", "d@y"})},
         script({hello, offers, first, body,
                 "S: 250 2.0.0 Ok: queued as 1\nC: MAIL FROM:<a@x>\nC: RCPT TO:<d@y>\nC: DATA\n", "S: (closes)\n"}),
         fmt::format("up\nended: {1}\ninterrupted 1: {0}1: {0}1: {1}\n", delivered,
                     "temporary 7 4.4.2 [lost connection with mx.test[192.0.2.1] while sending MAIL FROM]"));
    // A full mailbox is not "too many"; nor is there a further round when none was taken.
    for (std::string_view reply : {"452 4.2.2 Full", "452 4.5.3 Too many"})
        play({mail(1)}, script({hello, offers, group, "S: 250 Ok\nS: ", reply, "\nS: 503 None\n"}),
             fmt::format("up\n1: temporary 8 {} [host mx.test[192.0.2.1] said: {} (in reply to RCPT TO command)]\n",
                         reply.substr(4, 5), reply));
}

TEST_CASE("what a server cannot take is not offered to it") {
    auto large = mail(1), eight = mail(2), odd = mail(3, {"b@y\r\nRCPT TO:<c@y>"}), foreign = mail(4), secret = mail(5);
    secret.transaction.require_tls = true;
    large.transaction.parameters.size = 1001;
    eight.transaction.parameters.body = Body::eight_bit_mime;
    foreign.transaction.reverse_path = "\xc3\xa9@x";
    play({large, odd, foreign, secret}, script({hello, offers}),
         "up\n1: permanent 7 5.3.4 [message size 1001 exceeds size limit 1000 of server mx.test[192.0.2.1]]\n"
         "3: permanent 8 5.1.3 [recipient address cannot be sent: bad domain]\n"
         "4: permanent 7 5.6.7 [sender address is not ASCII, and SMTPUTF8 was not offered by host "
         "mx.test[192.0.2.1]]\n"
         "5: permanent 7 5.7.30 [message requires TLS on the whole path (REQUIRETLS), and host "
         "mx.test[192.0.2.1] was "
         "reached without]\n");
    play({eight}, script({hello, plain}),
         "up\n2: permanent 7 5.6.3 [message has 8-bit content, and 8BITMIME was not offered by host "
         "mx.test[192.0.2.1]]\n");
}

TEST_CASE("nothing that is no address gets into a command") {
    const auto refused = [](std::string_view address, std::string_view why) {
        auto to = mail(1, {std::string(address)}), from = mail(2);
        from.transaction.reverse_path = address;
        play({to, from}, script({hello, offers}),
             fmt::format("up\n1: permanent 8 5.1.3 [recipient address cannot be sent: {0}]\n"
                         "2: permanent 7 5.1.7 [sender address cannot be sent: {0}]\n",
                         why));
    };
    refused("b@y> NOTIFY=NEVER", "bad domain");
    refused("b@y NOTIFY=NEVER", "bad domain");
    refused("b> SIZE=1 <c@y", "invalid character in local part");
    refused("b c@y", "invalid character in local part");
    refused("<b@y>", "invalid character in local part");
    refused("\"b@y> NOTIFY=NEVER", "quote is not closed");
    refused("\"b\"> NOTIFY=NEVER<@y", "invalid character after local part");
    refused("b@@y", "bad domain");
    refused("b@[192.0.2.1] BODY=8BITMIME", "bad domain");
    refused("@y", "empty local part");
    // In quotes it is part of the name.
    play({mail(1, {"\"b> NOTIFY=NEVER\"@y"})},
         script({hello, plain, "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<\"b> NOTIFY=NEVER\"@y>\nS: 550 5.1.1 No\n"}),
         "up\n1: permanent 8 5.1.1 [host mx.test[192.0.2.1] said: 550 5.1.1 No (in reply to RCPT TO command)]\n");
}

TEST_CASE("SMTPUTF8 is asked for where the message needs it and the server has it") {
    constexpr std::string_view utf8_offers = "S: 250-mx.test\nS: 250-PIPELINING\nS: 250-DSN\nS: 250-8BITMIME\n"
                                             "S: 250 SMTPUTF8\n";
    auto ascii = mail(1), person = mail(1, {"j\xc3\xb6rg@b\xc3\xbc.example"}), header = mail(1), parts = mail(1);
    ascii.transaction.parameters.smtputf8 = true; // its sender said so, and there is nothing that needs it
    person.transaction.recipients[0].parameters.orcpt = "utf-8;J\xc3\xb6rg+1@y";
    header.transaction.utf8_header = true;
    parts.transaction.parameters.smtputf8 = true;
    parts.transaction.parameters.body = Body::eight_bit_mime;
    const auto talk = [](std::string_view mail_from, std::string_view rcpt_to) {
        return fmt::format("C: MAIL FROM:<a@x>{}\nC: RCPT TO:{}\nC: DATA\nS: 250 Ok\nS: 250 Ok\nS: 354 Go on\n"
                           "C: Subject: x\nC: \nC: hi\nC: .\nS: 250 2.0.0 Ok\n",
                           mail_from, rcpt_to);
    };
    play({ascii}, script({hello, utf8_offers, talk("", "<b@y>")}), "up\n1: delivered 11 2.0.0 [250 2.0.0 Ok]\n");
    play({person},
         script({hello, utf8_offers,
                 talk(" SMTPUTF8", "<j\xc3\xb6rg@b\xc3\xbc.example> ORCPT=utf-8;J\xc3\xb6rg\\x{2B}1@y")}),
         "up\n1: delivered 11 2.0.0 [250 2.0.0 Ok]\n");
    play({header}, script({hello, utf8_offers, talk(" SMTPUTF8", "<b@y>")}),
         "up\n1: delivered 11 2.0.0 [250 2.0.0 Ok]\n");
    play({parts}, script({hello, utf8_offers, talk(" BODY=8BITMIME SMTPUTF8", "<b@y>")}),
         "up\n1: delivered 11 2.0.0 [250 2.0.0 Ok]\n");
}

TEST_CASE("without SMTPUTF8 domains become A-labels, and what has no ASCII form is refused") {
    Setup setup;
    setup.ascii_domain = [](std::string_view domain) {
        return domain == "b\xc3\xbc.example" ? std::string("xn--b-eha.example") : std::string();
    };
    auto person = mail(1, {"j\xc3\xb6rg@y", "joe@b\xc3\xbc.example", "joe@\xc3\xbc.example", "joe@y"});
    person.transaction.reverse_path = "ann@b\xc3\xbc.example";
    auto header = mail(2);
    header.transaction.utf8_header = true;
    play({person},
         script({hello, offers,
                 "C: MAIL FROM:<ann@xn--b-eha.example>\nC: RCPT TO:<joe@xn--b-eha.example>\nC: RCPT TO:<joe@y>\n"
                 "C: DATA\nS: 250 Ok\nS: 250 Ok\nS: 250 Ok\nS: 354 Go on\n"
                 "C: Subject: x\nC: \nC: hi\nC: .\nS: 250 2.0.0 Ok\n"}),
         "up\n1: permanent 8 5.6.7 [recipient address is not ASCII, and SMTPUTF8 was not offered by host "
         "mx.test[192.0.2.1]]\n1: delivered 11 2.0.0 [250 2.0.0 Ok]\n"
         "1: permanent 8 5.6.7 [recipient address is not ASCII, and SMTPUTF8 was not offered by host "
         "mx.test[192.0.2.1]]\n1: delivered 11 2.0.0 [250 2.0.0 Ok]\n",
         setup);
    play({header}, script({hello, offers}),
         "up\n2: permanent 7 5.6.9 [message has header fields that are not ASCII, and SMTPUTF8 was not "
         "offered by "
         "host mx.test[192.0.2.1]]\n");
}

TEST_CASE("replies out of step end the conversation") {
    struct Case {
        std::string_view replies, stage;
        std::string_view code;
    };
    for (auto [replies, stage, code] : {Case{"S: 354 Go\n", "7", "354"}, Case{"S: 250 Ok\nS: 354 Go\n", "8", "354"},
                                        Case{"S: 250 Ok\nS: 250 Ok\nS: 250 Ok\n", "9", "250"}}) {
        const auto what = stage == "7" ? "MAIL FROM" : stage == "8" ? "RCPT TO" : "DATA command";
        const auto verdict = fmt::format("temporary {} 4.5.0 [protocol error from mx.test[192.0.2.1] while sending {}: "
                                         "unexpected reply {}]\n",
                                         stage, what, code);
        play({mail(1)}, script({hello, offers, group, replies}),
             fmt::format("up\nended: {0}interrupted 1: {0}no more pipelining\n", verdict));
    }
    play({}, script({hello, offers, "S: 250 Unasked\n"}), "up\nended well\nno more pipelining\n");
    play({}, script({hello, offers, "S: 421 4.4.2 Idle\nC: QUIT\n"}), "up\nended well\n");
    play({}, script({hello, offers, "S: (closes)\nC: QUIT\n"}), "up\nended well\n");
    // MAIL refused, yet a recipient taken: a dot might now deliver nothing to somebody.
    play({mail(1)}, script({hello, offers, group, "S: 550 No\nS: 250 Ok\n"}),
         "up\nended: temporary 9 4.5.0 [protocol error from mx.test[192.0.2.1] while sending DATA command: "
         "recipient "
         "accepted without a sender]\ninterrupted 1: permanent 7 5.0.0 [host mx.test[192.0.2.1] said: 550 No "
         "(in reply "
         "to MAIL FROM command)]\nno more pipelining\n");
}

// Every stage meets every mishap, with and without pipelining.
TEST_CASE("every stage and every mishap") {
    struct Step {
        Stage stage;
        std::string_view reply; // that leads on
    };
    const Step steps[] = {{Stage::banner, "220 Hi"}, {Stage::ehlo, ""},       {Stage::mail, "250 Ok"},
                          {Stage::rcpt, "250 Ok"},   {Stage::data, "354 Go"}, {Stage::final_dot, "250 Ok"}};
    for (auto pipelining : {ClientSession::Pipelining::if_offered, ClientSession::Pipelining::never})
        for (const auto& at : steps)
            for (std::string_view mishap :
                 {"451 4.3.0 No", "551 5.3.0 No", "421 4.3.2 Bye", "drop", "garbage", "silence"}) {
                CAPTURE(static_cast<int>(at.stage));
                CAPTURE(mishap);
                Driver driver({mail(1)}, 1 << 20, 1 << 20, {"client.test", "mx.test[192.0.2.1]", pipelining});
                for (const auto& step : steps) {
                    driver.write();
                    if (step.stage == at.stage) break;
                    if (step.stage == Stage::ehlo)
                        driver.feed("250-mx.test\r\n250-PIPELINING\r\n250 8BITMIME\r\n");
                    else
                        driver.feed(std::string(step.reply) + "\r\n");
                }
                driver.sent.clear();
                const bool reply = is_digit(mishap[0]);
                if (mishap == "drop")
                    driver.session.end_of_input(driver.now);
                else if (mishap == "garbage")
                    driver.feed("\x16\x03\x01 hello\r\n");
                else if (mishap == "silence") {
                    REQUIRE(driver.session.next_deadline());
                    driver.now = *driver.session.next_deadline() - 1us;
                    driver.session.expired(driver.now);
                    CHECK(!driver.session.over());
                    driver.session.expired(driver.now += 1us);
                } else
                    driver.feed(std::string(mishap) + "\r\n");
                driver.write();
                if (reply && mishap[0] != '4' && at.stage == Stage::ehlo) { // HELO next
                    CHECK(driver.sent == "HELO client.test\r\n");
                    continue;
                }
                const bool pipelined = pipelining == ClientSession::Pipelining::if_offered;
                if (reply && !mishap.starts_with("421") && pipelined)
                    for (int left = at.stage == Stage::mail ? 2 : at.stage == Stage::rcpt ? 1 : 0; left > 0; --left)
                        driver.feed("503 5.5.1 No\r\n");
                driver.write();
                CAPTURE(driver.log);
                const auto wanted =
                    fmt::format("{} {} ", mishap[0] == '5' ? "permanent" : "temporary", static_cast<int>(at.stage));
                CHECK(driver.log.find(wanted) != driver.log.npos);
                const bool before_mail = at.stage < Stage::mail;
                CHECK((driver.log.find("1: ") != driver.log.npos) == !before_mail);
                CHECK((driver.log.find("in doubt") != driver.log.npos) == (!reply && at.stage == Stage::final_dot));
                const bool goes_on = reply && !before_mail && !mishap.starts_with("421");
                CHECK(driver.session.over() == !goes_on);
                CHECK(driver.sent == (driver.session.over() && reply ? "QUIT\r\n" : ""));
            }
}

TEST_CASE("deadlines are for whole replies, and those of a message for its bytes") {
    Driver driver({mail(1)}, 1 << 20, 1 << 20, {"client.test", "mx.test[192.0.2.1]"});
    auto in = [&](Monotonic::duration d) { return driver.session.next_deadline() == driver.now + d; };
    driver.write();
    CHECK(in(300s));
    driver.now += 200s;
    driver.feed("220"); // a byte now and then keeps nobody waiting
    CHECK(in(100s));
    driver.feed(" x\r\n");
    CHECK(in(300s));
    driver.feed("250-x\r\n250 PIPELINING\r\n");
    CHECK(in(300s));
    driver.now += 250s;
    driver.feed("250 Ok\r\n250 Ok\r\n");
    CHECK(in(120s));
    driver.session.feed("354 Go\r\n", driver.now);
    driver.pump();
    CHECK(in(180s));
    driver.now += 100s;
    driver.session.wrote(5, driver.now);
    CHECK(in(180s));
    driver.session.wrote(16, driver.now);
    CHECK(in(600s));
    driver.now += 599s;
    driver.feed("250 2.0.0 Ok: queued as 1\r\n");
    CHECK(driver.log == fmt::format("up\n1: {}", delivered));
    CHECK(!driver.session.next_deadline());
}

TEST_CASE("a message that breaks off is never ended by a dot") {
    Driver driver({mail(1)}, 1 << 20, 1 << 20, {"client.test", "mx.test[192.0.2.1]"});
    driver.session.feed("220 x\r\n250-x\r\n250 PIPELINING\r\n", driver.now);
    driver.write();
    driver.session.feed("250 Ok\r\n250 Ok\r\n354 Go\r\n", driver.now);
    driver.sent.clear();
    driver.log.clear();
    REQUIRE(driver.session.next());
    driver.session.content("Subject: x\r\n", driver.now);
    driver.session.content_broken("checksum is wrong");
    driver.write();
    CHECK(driver.sent == "");
    CHECK(driver.log == "ended: temporary 10 4.3.0 [checksum is wrong]\ninterrupted 1: temporary 10 4.3.0 [checksum is "
                        "wrong]\n");
}

TEST_CASE("an answer before all of the message was sent cuts it short") {
    Driver driver({mail(1)}, 1 << 20, 1 << 20, {"client.test", "mx.test[192.0.2.1]"});
    driver.session.feed("220 x\r\n250-x\r\n250 PIPELINING\r\n", driver.now);
    driver.write();
    driver.session.feed("250 Ok\r\n250 Ok\r\n354 Go\r\n", driver.now);
    driver.sent.clear();
    driver.pump();
    driver.session.wrote(4, driver.now);
    driver.session.feed("552 5.3.4 Too big\r\n", driver.now);
    driver.write();
    CHECK(driver.sent == "");
    CHECK(
        driver.log.find("interrupted 1: permanent 10 5.3.4 [host mx.test[192.0.2.1] said: 552 5.3.4 Too big (in reply "
                        "to end of DATA command)]") != driver.log.npos);
    CHECK(driver.log.find("in doubt") == driver.log.npos);
}

TEST_CASE("DELIVERBY: the time that is left goes with MAIL; without it, mail that must not be late does not go") {
    const auto by = [](LateMail late, int left, bool trace = false) {
        auto m = mail(1);
        m.transaction.parameters.deliver_by = DeliverBy{.late = late, .trace = trace};
        m.transaction.deliver_by = Monotonic{} + std::chrono::seconds(left);
        return m;
    };
    const auto sent = [&](std::string_view offer, std::string_view words) {
        return script({hello, "S: 250-mx.test\nS: 250 ", offer, "\nC: MAIL FROM:<a@x>", words,
                       "\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\nS: 354 Go\n", body,
                       "S: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"});
    };
    const auto good = fmt::format("up\n1: {}ended well\n", delivered);
    play({by(LateMail::give_back, 90)}, sent("DELIVERBY", " BY=90;R"), good, {.quit = true});
    play({by(LateMail::give_back, 90, true)}, sent("DELIVERBY 90,FUTURE=1", " BY=90;RT"), good, {.quit = true});
    play({by(LateMail::notify, -5)}, sent("DELIVERBY 90", " BY=-5;N"), good, {.quit = true});
    play({by(LateMail::notify, 90)}, sent("SIZE", ""), good, {.quit = true});
    const auto refused = [&](std::string_view offer, int left, std::string_view why) {
        play({by(LateMail::give_back, left)}, script({hello, "S: 250-mx.test\nS: 250 ", offer, "\nC: QUIT\n"}),
             fmt::format("up\n1: permanent 7 5.4.7 [{}]\nended well\n", why), {.quit = true});
    };
    refused("SIZE", 90, "message must be delivered in time (BY), and host mx.test[192.0.2.1] does not offer DELIVERBY");
    refused("DELIVERBY 91", 90,
            "message must be delivered within 90 s (BY), and host mx.test[192.0.2.1] wants at least 91 s");
    refused("DELIVERBY", 0, "not delivered within the time that the sender has set (BY)");
}

TEST_CASE("XFORWARD goes before MAIL where it is offered; whatever its reply, the message goes") {
    const auto from = [](std::uint64_t id) {
        auto m = mail(id);
        m.transaction.came_from.name = ClientAttribute{ClientAttribute::Kind::given, std::string(255, 'n')};
        m.transaction.came_from.address = ClientAttribute{ClientAttribute::Kind::given, "192.0.2.7"};
        m.transaction.came_from.helo = ClientAttribute{ClientAttribute::Kind::given, std::string(255, 'h')};
        return m;
    };
    const auto first = "XFORWARD NAME=" + std::string(255, 'n') + " ADDR=192.0.2.7";
    const auto second = "XFORWARD HELO=" + std::string(255, 'h');
    const auto good = fmt::format("up\n1: {}ended well\n", delivered);
    const auto rest = script({"C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\nS: 354 Go\n", body,
                              "S: 250 2.0.0 Ok: queued as 1\nC: QUIT\n"});
    play({from(1)},
         script({hello, "S: 250-mx.test\nS: 250 XFORWARD NAME ADDR HELO\nC: ", first, "\nS: 250 Ok\nC: ", second,
                 "\nS: 501 No\n", rest}),
         good, {.quit = true});
    play({from(1)}, script({hello, "S: 250-mx.test\nS: 250 XFORWARD PORT\n", rest}), good, {.quit = true});
    play({from(1)}, script({hello, "S: 250-mx.test\nS: 250 SIZE\n", rest}), good, {.quit = true});
    play({mail(1)}, script({hello, "S: 250-mx.test\nS: 250 XFORWARD NAME\n", rest}), good, {.quit = true});
}

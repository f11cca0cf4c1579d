#include "daemons/decide/outcome/advice.h"
#include <cerrno>
#include <doctest/doctest.h>
#include <set>
#include <string>
#include <vector>

using namespace decide;
using smtp::Stage;
using Where = DeliveryFailure::Where;

TEST_CASE("advice speaks of what failed") {
    struct Row {
        DeliveryFailure failure;
        std::string_view word; // that the advice must have
    };
    const Row rows[] = {
        {{Where::recipient, Stage::none, 0, "5.1.1"}, "[local]"},
        {{Where::recipient, Stage::none, 0, "4.3.0"}, "table"},
        {{Where::recipient, Stage::none, 0, "5.4.6"}, "no destination"},
        {{.where = Where::suppression, .status = "5.7.1", .recipient = "ann@y.example"},
         "postrider suppress remove ann@y.example\""},
        {{Where::route, Stage::none, 0, "5.1.10"}, "null MX"},
        {{Where::route, Stage::none, 0, "5.1.2"}, "no such domain"},
        {{Where::route, Stage::none, 0, "4.4.3"}, "dns.servers"},
        {{Where::route, Stage::none, 0, "5.4.6"}, "local.domains"},
        {{Where::route, Stage::none, 0, "4.3.5"}, "[route]"},
        {{Where::records, Stage::tls, 0, "4.7.5"}, "TLSA"},
        {{Where::records, Stage::tls, 0, "4.4.2"}, "TLSA"},
        {{Where::policy, Stage::tls, 0, "4.7.4"}, "mta-sts.txt"},
        {{Where::conversation, Stage::lookup, 0, "4.4.4"}, "no address"},
        {{Where::conversation, Stage::connect, 0, "4.4.1"}, "firewall"},
        {{Where::conversation, Stage::banner, 554, "5.7.1"}, "block list"},
        {{Where::conversation, Stage::banner, 0, "4.4.2"}, "before a greeting"},
        {{Where::conversation, Stage::ehlo, 550, "5.7.1"}, "name in EHLO"},
        {{Where::conversation, Stage::tls, 0, "4.7.4"}, "does not offer it"},
        {{Where::conversation, Stage::tls, 0, "4.7.5"}, "openssl"},
        {{Where::conversation, Stage::tls, 0, "4.4.2"}, "openssl"},
        {{Where::conversation, Stage::auth, 535, "5.7.8"}, "smtp_client.credentials"},
        {{Where::conversation, Stage::auth, 0, "4.7.4"}, "offers no AUTH"},
        {{Where::conversation, Stage::mail, 553, "5.1.8"}, "sender"},
        {{Where::conversation, Stage::mail, 421, "4.7.0"}, "fewer connections"},
        {{Where::conversation, Stage::rcpt, 421, "4.7.0"}, "fewer connections"},
        {{Where::conversation, Stage::mail, 451, "4.7.1"}, "temporarily"},
        {{Where::conversation, Stage::mail, 530, "5.7.0"}, "authenticate"},
        {{Where::conversation, Stage::rcpt, 530, "5.7.0"}, "authenticate"},
        {{Where::conversation, Stage::rcpt, 550, "5.1.1"}, "no user of that name"},
        {{Where::conversation, Stage::rcpt, 552, "5.2.2"}, "full"},
        {{Where::conversation, Stage::rcpt, 452, "4.2.2"}, "full"},
        {{Where::conversation, Stage::rcpt, 554, "5.7.1"}, "relay"},
        {{Where::conversation, Stage::rcpt, 450, "4.2.0"}, "greylisting"},
        {{Where::conversation, Stage::rcpt, 0, "4.4.2"}, "connection was lost"},
        {{Where::conversation, Stage::none, 0, ""}, "temporarily"},
    };
    for (const auto& [failure, word] : rows) {
        const auto said = advice(failure);
        CHECK_MESSAGE(said.find(word) != said.npos, failure.status, " at ", static_cast<int>(failure.stage), ": ",
                      said);
    }
}

TEST_CASE("advice knows in which way a conversation failed") {
    using std::string_view;
    constexpr string_view mx = "mx.y.example[192.0.2.1]:25", socket = "localhost[/run/dovecot/lmtp]";
    struct Row {
        DeliveryFailure failure;
        std::vector<string_view> words; // that the advice must have
        std::vector<string_view> none;  // … and must not
    };
    const Row rows[] = {
        // Nobody speaks.
        {{.stage = Stage::banner, .status = "4.4.2", .host = mx, .silent = true},
         {"no greeting", "implicit_tls", "tarpit", "openssl s_client -connect 192.0.2.1:25", "greeting_timeout"},
         {"pipelining", "starttls"}},
        {{.stage = Stage::ehlo, .status = "4.4.2", .host = mx, .silent = true},
         {"EHLO", "tarpit", "nc 192.0.2.1 25"},
         {"pipelining"}},
        {{.stage = Stage::rcpt, .status = "4.4.2", .host = mx, .silent = true},
         {"stopped replying", "command_timeout"},
         {"pipelining"}},
        // It went away.
        {{.stage = Stage::banner, .status = "4.4.2", .host = mx},
         {"closed before", "block list", "implicit_tls"},
         {"pipelining"}},
        {{.stage = Stage::ehlo, .status = "4.4.2", .host = mx}, {"closed at EHLO"}, {"pipelining", "mta.hostname"}},
        {{.stage = Stage::mail, .status = "4.4.2", .host = mx}, {"connection was lost", "pipelining"}, {}},
        // It speaks something else.
        {{.stage = Stage::banner, .status = "4.5.0", .host = mx},
         {"host and port are correct", "nc 192.0.2.1 25"},
         {"block list"}},
        {{.stage = Stage::ehlo, .status = "4.5.0", .host = mx}, {"not valid SMTP"}, {"mta.hostname"}},
        {{.stage = Stage::rcpt, .status = "4.5.0", .host = mx}, {"another command", "pipelining"}, {"greylisting"}},
        // TLS from the first byte.
        {{.stage = Stage::tls, .status = "4.7.5", .host = "mx.y.example[192.0.2.1]:465", .wrapped = true},
         {"remove implicit_tls", "openssl s_client -connect 192.0.2.1:465"},
         {"starttls"}},
        // Sockets of this system.
        {{.stage = Stage::connect, .status = "4.4.1", .host = socket, .user = "postrider", .error = ENOENT},
         {"no socket /run/dovecot/lmtp", "ls -l /run/dovecot/lmtp"},
         {"nc -vz", "25", "[route"}},
        {{.stage = Stage::connect, .status = "4.4.1", .host = socket, .user = "postrider", .error = EACCES},
         {"/run/dovecot/lmtp is not accessible to postrider", "namei -l /run/dovecot/lmtp", "unix_listener"},
         {"nc -vz"}},
        {{.stage = Stage::connect, .status = "4.4.1", .host = socket, .user = "postrider", .error = ECONNREFUSED},
         {"at the socket /run/dovecot/lmtp", "postrider, which delivers the mail, must be able to write"},
         {"nc -vz"}},
        {{.stage = Stage::connect, .status = "4.4.1", .host = socket},
         {"/run/dovecot/lmtp", "the mail system's user, which delivers the mail, must be able to write"},
         {"USER"}},
        {{.stage = Stage::connect, .status = "4.4.1"}, {"nc -vz with the address", "ls -l"}, {"ADDRESS", "PORT"}},
        // Where it would come from.
        {{.stage = Stage::connect, .status = "4.4.1", .host = mx, .pool = "bulk", .error = EADDRNOTAVAIL},
         {"the pool bulk", "[pool.bulk]", "ip address"},
         {"nc -vz"}},
        {{.stage = Stage::connect, .status = "4.4.1", .host = mx, .error = EADDRNOTAVAIL},
         {"nc -vz 192.0.2.1 25"},
         {"pool"}},
        {{.stage = Stage::connect, .status = "4.4.1", .host = mx, .pool = "bulk", .error = ECONNREFUSED},
         {"nc -vz"},
         {"pool"}},
        {{.stage = Stage::connect, .status = "4.3.5", .pool = "bulk"}, {"[pool.bulk]"}, {"firewall"}},
        // SRV records.
        {{.where = Where::service, .status = "5.4.4", .domain = "provider.example"},
         {"dig SRV _submissions._tcp.provider.example; dig SRV _submission._tcp.provider.example",
          "srv:provider.example"},
         {"dig MX"}},
        {{.where = Where::service, .status = "4.4.3", .domain = "provider.example"},
         {"dig SRV _submissions._tcp.provider.example", "dns.servers"},
         {"dig MX"}},
        {{.where = Where::service, .status = "5.4.6", .domain = "provider.example"}, {"this host itself"}, {"dig"}},
        // What must be fixed here.
        {{.where = Where::recipient, .status = "4.3.5"}, {"fixed", "resumes automatically"}, {"no destination"}},
    };
    for (const auto& [failure, words, none] : rows) {
        const auto said = advice(failure);
        CAPTURE(said);
        for (const auto word : words) CHECK_MESSAGE(said.contains(word), word);
        for (const auto word : none) CHECK_MESSAGE(!said.contains(word), word);
    }
}

TEST_CASE("commands to compare by are ready to be used") {
    const auto has = [](const std::string& text, std::string_view what) { return text.find(what) != text.npos; };
    CHECK(has(advice({.where = Where::route, .status = "5.1.2", .domain = "y.example"}), "dig MX y.example"));
    DeliveryFailure silent{Where::conversation,           Stage::connect, 0, "4.4.1", "y.example",
                           "mx.y.example[192.0.2.1]:2525"};
    CHECK(has(advice(silent), "nc -vz 192.0.2.1 2525."));
    silent.stage = Stage::tls;
    CHECK(has(advice(silent), "-connect 192.0.2.1:2525."));
    silent.host = "mx.y.example[2001:db8::1]:25";
    CHECK(has(advice(silent), "-connect [2001:db8::1]:25."));
    silent.where = Where::records;
    CHECK(has(advice(silent), "TLSA _25._tcp.mx.y.example; "));
    silent.where = Where::policy;
    CHECK(has(advice(silent), "curl https://mta-sts.y.example/"));
    silent.where = Where::conversation;
    silent.stage = Stage::lookup;
    silent.host = "mx.y.example";
    CHECK(has(advice(silent), "dig A mx.y.example; dig AAAA mx.y.example."));
    for (std::string_view odd : {"[", "]", "x]", "[x", "]:[", "a[b]"}) // whatever it is, it ends
        silent.host = odd, static_cast<void>(advice(silent));
    silent.domain = "DOMAIN";
    silent.host = "HOST[ADDRESS]:PORT";
    CHECK(!advice(silent).empty());
}

TEST_CASE("whatever failed, there is something to say, and it ends as a sentence does") {
    for (auto where : {Where::recipient, Where::route, Where::service, Where::conversation})
        for (int stage = 0; stage <= static_cast<int>(Stage::last_); ++stage)
            for (int code : {0, 421, 450, 550})
                for (std::string_view status : {"", "4", "4.0.0", "5.7.1", "4.4.2", "x"})
                    CHECK(advice({where, static_cast<Stage>(stage), code, status}).ends_with('.'));
}

TEST_CASE("advice never shows a word that stands for something") {
    // Whatever is known of a failure, and whatever is not.
    const std::string_view hosts[] = {"",
                                      "mx.y.example",
                                      "mx.y.example[192.0.2.1]:25",
                                      "mx.y.example[2001:db8::1]:465",
                                      "[relay.y.example]:587",
                                      "localhost[/run/lmtp]",
                                      "[",
                                      "]["};
    const std::string_view statuses[] = {"",      "4.1.1",  "4.3.0", "4.3.5", "4.4.1", "4.4.2", "4.4.3",
                                         "4.4.4", "4.4.6",  "4.5.0", "4.7.4", "4.7.5", "4.7.8", "5.1.1",
                                         "5.1.2", "5.1.10", "5.2.1", "5.2.2", "5.7.1"};
    std::set<std::string> texts;
    for (int where = 0; where <= static_cast<int>(Where::conversation); ++where)
        for (int stage = 0; stage <= static_cast<int>(Stage::local); ++stage)
            for (const int code : {0, 421, 450, 530, 535, 554})
                for (const auto status : statuses)
                    for (const auto host : hosts)
                        for (const int error : {0, ENOENT, EACCES, ECONNREFUSED, EADDRNOTAVAIL})
                            for (const int known : {0, 1, 2, 3}) {
                                DeliveryFailure failure{.where = static_cast<Where>(where),
                                                        .stage = static_cast<Stage>(stage),
                                                        .code = code,
                                                        .status = status,
                                                        .host = host,
                                                        .error = error};
                                if (known & 1)
                                    failure.domain = "y.example", failure.pool = "bulk", failure.silent = true;
                                if (known & 2)
                                    failure.recipient = "ann@y.example", failure.user = "mail", failure.wrapped = true;
                                texts.insert(advice(failure));
                            }
    CHECK(texts.size() > 100);
    for (const auto& text : texts)
        for (const auto word : {"DOMAIN", "HOST", "ADDRESS", "PORT", "RECIPIENT", "POOL", "USER"})
            CHECK_MESSAGE(text.find(word) == text.npos, text);
}

TEST_CASE("what is not known of a server is left to be filled in") {
    const auto text = advice({.stage = Stage::tls, .status = "4.7.5", .domain = "y.example"});
    CHECK(text.find("-connect <address>:<port>") != text.npos);
    const auto relay = advice({.stage = Stage::tls, .status = "4.7.5", .host = "[relay.y.example]:587"});
    CHECK(relay.find("-connect relay.y.example:587") != relay.npos);
}

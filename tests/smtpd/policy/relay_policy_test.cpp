#include "daemons/common/config/config.h"
#include "daemons/smtpd/policy/relay_policy.h"
#include <doctest/doctest.h>

using namespace smtpd;
using Kind = RelayDecision::Kind;

namespace {

std::shared_ptr<const Rules> rules(config::Service service) {
    config::Config config;
    config.mta.hostname = "mx.test";
    config.mta.origin = "here.example";
    config.local.domains = {"here.example", "localhost"};
    config.relay.networks = {*common::Network::parse("192.0.2.0/24")};
    config.relay.domains = {"customer.example"};
    config::Listener listener;
    listener.name = "x";
    listener.service = service;
    listener.submitters = {*common::Network::parse("198.51.100.0/24")};
    return make_rules(std::make_shared<const Settings>(config), listener);
}

Client from(std::string_view address) { return client_of({*common::IpAddress::parse(address), 12345}); }

// By the names that the configuration lists.
RelayDecision judged_recipient(const std::shared_ptr<const Rules>& by, const Client& client, std::string_view path) {
    const auto parsed = *smtp::ForwardPath::parse(path);
    return evaluate_recipient(*by, client, parsed, *by->config->domains.by_name(recipient_domain(*by, parsed)));
}
RelayDecision to(std::string_view client, std::string_view path, config::Service service = config::Service::relay) {
    return judged_recipient(rules(service), from(client), path);
}
RelayDecision sender(std::string_view client, std::string_view path, config::Service service = config::Service::relay) {
    return evaluate_sender(*rules(service), from(client), *smtp::ReversePath::parse(path));
}

constexpr auto stranger = "203.0.113.5", ours = "192.0.2.7", submitter = "198.51.100.1";

} // namespace

TEST_CASE("nobody relays by accident") {
    for (auto path :
         {"user@remote.example", "user%remote.example@elsewhere.example", "\"user@remote.example\"@elsewhere.example",
          "user@[203.0.113.9]", "user@sub.here.example", "user@nothere.example", "user@ere.example"}) {
        const auto judged = to(stranger, path);
        CHECK_MESSAGE(judged.kind == Kind::reject, path);
        CHECK(judged.reply.code == 554);
        CHECK(judged.reply.status == smtp::EnhancedStatus{5, 7, 1});
    }
    CHECK(to(stranger, "user@remote.example").reply.text == "<user@remote.example>: Relay access denied");
    CHECK(to(ours, "user@remote.example").kind == Kind::accept);
    CHECK(to(submitter, "user@remote.example").kind == Kind::reject); // a submitter only on the submission listener
}

TEST_CASE("no stranger's mail is passed on to a host that may take its recipient for another one") {
    for (const auto* local : {"user%remote.example", "\"user@remote.example\"", "remote.example!user"}) {
        CAPTURE(local);
        const auto path = std::string(local) + "@customer.example";
        const auto judged = to(stranger, path);
        CHECK(judged.reply.line() == "554 5.7.1 <" + path + ">: Relay access denied");
        CHECK(judged.not_permitted);
        CHECK(to(ours, path).kind == Kind::accept);
        // Here it is a name of a user, which is known or not.
        CHECK(to(stranger, std::string(local) + "@here.example").kind == Kind::check);
        auto unchecked = *rules(config::Service::relay);
        auto settings = *unchecked.config;
        settings.local.check_recipients = false;
        unchecked.config = std::make_shared<const Settings>(settings);
        const auto parsed = *smtp::ForwardPath::parse(std::string(local) + "@here.example");
        CHECK(evaluate_recipient(unchecked, from(stranger), parsed, decide::AddressClass::local).reply.code == 554);
        CHECK(evaluate_recipient(unchecked, from(ours), parsed, decide::AddressClass::local).kind == Kind::accept);
        CHECK(evaluate_recipient(unchecked, from(stranger), *smtp::ForwardPath::parse("user@here.example"),
                                 decide::AddressClass::local)
                  .kind == Kind::accept);
    }
    CHECK(to(stranger, "user+x=y@customer.example").kind == Kind::accept);
}

TEST_CASE("while a table of domains cannot be asked, nobody relays by it and no recipient is lost") {
    const decide::ClassAnswer unknown =
        std::unexpected(decide::TableAnswer{decide::TableAnswer::Status::unreadable, "", "it is away"});
    const auto relay = rules(config::Service::relay);
    const auto path = *smtp::ForwardPath::parse("user@remote.example");
    const auto strangers = evaluate_recipient(*relay, from(stranger), path, unknown);
    CHECK(strangers.kind == Kind::reject);
    CHECK(strangers.reply.line() == "451 4.3.0 <user@remote.example>: Temporary lookup failure");
    CHECK_FALSE(strangers.not_permitted);
    // Ours wait in the queue instead.
    const auto of_ours = evaluate_recipient(*relay, from(ours), path, unknown);
    CHECK(of_ours.kind == Kind::accept);
    CHECK(of_ours.address == "user@remote.example");
    CHECK(evaluate_recipient(*relay, from(stranger), path, decide::AddressClass::virtual_mailbox).kind == Kind::check);
    CHECK(evaluate_recipient(*relay, from(stranger), path, decide::AddressClass::relay).kind == Kind::accept);
    CHECK(evaluate_recipient(*relay, from(stranger), path, decide::AddressClass::remote).reply.code == 554);
}

TEST_CASE("a user owns the name in local domains; while a table does not say which these are, senders wait") {
    auto made = *rules(config::Service::submission);
    auto settings = *made.config;
    settings.auth.sender_match = true;
    made.config = std::make_shared<const Settings>(settings);
    auto client = from(submitter);
    client.user = "ann";
    const auto judged = [&](std::string_view sender, const decide::ClassAnswer& where) {
        return evaluate_sender(made, client, *smtp::ReversePath::parse(sender), where).reply.line();
    };
    const auto asked = [&](std::string_view sender) {
        return sender_domain(made, client, *smtp::ReversePath::parse(sender));
    };
    const decide::ClassAnswer unknown =
        std::unexpected(decide::TableAnswer{decide::TableAnswer::Status::unreadable, "", "it is away"});
    CHECK(asked("ann@Table.Example") == "table.example");
    CHECK(asked("bob@table.example") == ""); // hers nowhere
    CHECK(asked("") == "");
    CHECK(evaluate_sender(made, client, *smtp::ReversePath::parse("ann@table.example"), decide::AddressClass::local)
              .kind == Kind::accept);
    CHECK(judged("ann@table.example", decide::AddressClass::virtual_mailbox) ==
          "553 5.7.1 <ann@table.example>: Sender address rejected: not owned by user ann");
    CHECK(judged("ann@table.example", unknown) ==
          "451 4.3.0 <ann@table.example>: Sender address rejected: Temporary lookup failure");
    client.user = "";
    CHECK(asked("ann@table.example") == "");
}

TEST_CASE("a certificate that is listed permits relaying; a table that cannot be read defers") {
    using Permission = CertificatePermission::Kind;
    const auto judged = [](Permission kind, config::Service service) {
        auto client = from(stranger);
        client.permission.kind = kind;
        return std::pair(evaluate_sender(*rules(service), client, *smtp::ReversePath::parse("ann@far.example")),
                         judged_recipient(rules(service), client, "user@remote.example"));
    };
    const auto relay = config::Service::relay, submission = config::Service::submission;
    CHECK(judged(Permission::permitted, relay).second.kind == Kind::accept);
    CHECK(judged(Permission::permitted, submission).first.kind == Kind::accept);
    // What a content filter sends back is not examined again: only its address opens that listener.
    CHECK(judged(Permission::permitted, config::Service::filtered).first.kind == Kind::reject);
    const auto none = judged(Permission::none, submission).first;
    CHECK((none.reply.code == 530 && none.not_permitted));
    CHECK(judged(Permission::none, relay).second.not_permitted);
    const auto unknown = judged(Permission::unavailable, relay).second;
    CHECK(unknown.reply.line() == "451 4.3.0 <user@remote.example>: Temporary lookup failure");
    CHECK(judged(Permission::unavailable, submission).first.reply.line() == "451 4.3.0 Temporary lookup failure");
}

TEST_CASE("XCLIENT describes a client that has shown no certificate") {
    auto proxy = from(ours);
    proxy.certificate = std::make_shared<tls::ClientCertificate>();
    proxy.permission = {CertificatePermission::Kind::permitted, "proxy", {}};
    smtp::ClientAttributes described;
    described.name = smtp::ClientAttribute{smtp::ClientAttribute::Kind::given, "mail.far.example"};
    const auto client = apply_xclient(proxy, described);
    REQUIRE(client);
    CHECK(!client->certificate);
    CHECK(client->permission.kind == CertificatePermission::Kind::none);
}

TEST_CASE("our own domains are asked about, relay domains are taken") {
    CHECK(to(stranger, "user@here.example").kind == Kind::check);
    CHECK(to(stranger, "user@HERE.example").kind == Kind::check);
    CHECK(to(ours, "user@here.example").kind == Kind::check);
    CHECK(to(stranger, "\"a@remote.example\"@here.example").kind == Kind::check);
    CHECK(to(stranger, "user@Customer.example").kind == Kind::accept);
}

TEST_CASE("where local recipients are not checked, those of other classes still are") {
    config::Config config;
    config.mta.hostname = "mx.test", config.mta.origin = "here.example";
    config.local.domains = {"here.example"};
    config.local.check_recipients = false;
    config.relay.domains = {"customer.example"};
    config.relay.recipients = {"text:/etc/postrider/relay_recipients"};
    config.addresses.virtual_alias.domains = {"alias.example"};
    config.addresses.virtual_mailbox.domains = {"boxes.example"};
    config::Listener listener;
    listener.name = "x";
    listener.service = config::Service::relay;
    const auto of = [&](std::string_view path) {
        const auto made = make_rules(std::make_shared<const Settings>(config), listener);
        return judged_recipient(made, from(stranger), path).kind;
    };
    CHECK(of("nobody@here.example") == Kind::accept);
    config.addresses.transport.tables = {"text:/etc/postrider/transport"}; // "error:" for all of them, perhaps
    CHECK(of("nobody@here.example") == Kind::check);
    config.relay.recipients.clear();
    CHECK(of("nobody@customer.example") == Kind::check);
    config.addresses.transport.tables.clear();
    CHECK(of("nobody@customer.example") == Kind::accept);
    config.relay.recipients = {"text:/etc/postrider/relay_recipients"};
    for (const auto* path : {"nobody@customer.example", "nobody@alias.example", "nobody@boxes.example"})
        CHECK_MESSAGE(of(path) == Kind::check, path);
    config.smtpd.check_recipients = false; // of no class
    CHECK(of("nobody@customer.example") == Kind::accept);
}

TEST_CASE("bare addresses") {
    CHECK(to(stranger, "postmaster").kind == Kind::accept);
    CHECK(to(stranger, "root").kind == Kind::reject);
    CHECK(to(stranger, "root").reply.line() ==
          "550 5.1.3 <root>: Recipient address rejected: need fully-qualified address");
    const auto completed = to(ours, "root");
    CHECK(completed.kind == Kind::check);
    CHECK(completed.address == "root@here.example");
    CHECK(sender(ours, "root").address == "root@here.example");
    CHECK(sender(stranger, "root").reply.line() ==
          "553 5.1.7 <root>: Sender address rejected: need fully-qualified address");
    CHECK(sender(stranger, "").kind == Kind::accept);
    CHECK(sender(stranger, "").address == "");
}

TEST_CASE("submission wants to know who it is") {
    constexpr auto service = config::Service::submission;
    const auto refused = sender(stranger, "a@here.example", service);
    CHECK(refused.kind == Kind::reject);
    CHECK(refused.reply.line() == "530 5.7.0 Authentication required");
    CHECK(sender(submitter, "a@here.example", service).kind == Kind::accept);
    CHECK(to(submitter, "user@remote.example", service).kind == Kind::accept);
}

TEST_CASE("a client's network") {
    CHECK(from("192.0.2.7").network == "192.0.2.7");
    CHECK(from("::ffff:192.0.2.7").peer() == "unknown[192.0.2.7]");
    CHECK(from("2001:db8:1:2:3:4:5:6").network == "2001:db8:1:2::/64");
    CHECK(from("127.0.0.1").peer() == "localhost[127.0.0.1]");
    CHECK(from("::1").peer() == "localhost[::1]");
}

TEST_CASE("XCLIENT makes it another client, of whom only what is said is known") {
    auto former = from(ours);
    former.name = "proxy.example";
    former.user = "ann";
    former.auth_method = "PLAIN";
    const auto described = [&](std::string_view text) {
        return apply_xclient(former, *smtp::parse_client_attributes(smtp::ClientCommand::xclient, text));
    };
    const auto spike = *described("NAME=spike.example ADDR=203.0.113.5 PORT=4711 DESTADDR=IPV6:2001:db8::25 "
                                  "DESTPORT=587 REVERSE_NAME=ptr.example");
    CHECK(spike.peer() == "spike.example[203.0.113.5]");
    CHECK(spike.network == "203.0.113.5");
    CHECK(spike.port == 4711);
    CHECK(spike.user == "");
    CHECK(spike.auth_method == "");
    CHECK(spike.reverse_name == "ptr.example");
    CHECK(spike.server_address == "2001:db8::25");
    CHECK(spike.server_port == 587);
    CHECK(described("ADDR=IPV6:2001:db8::1")->peer() == "unknown[2001:db8::1]");
    CHECK(described("ADDR=IPV6:2001:db8::1")->network == "2001:db8::/64");
    CHECK(described("PORT=1")->peer() == former.peer());
    CHECK(described("PORT=1")->user == "");
    CHECK(described("LOGIN=bob")->user == "bob");
    CHECK(described("LOGIN=bob")->auth_method == "XCLIENT");
    CHECK(described("NAME=[TEMPUNAVAIL]")->peer() == "unknown[192.0.2.7]");
    CHECK(described("ADDR=1.2.3").error().text == "Error: bad value of ADDR");
    CHECK(described("DESTADDR=here").error().text == "Error: bad value of DESTADDR");

    const auto nobody = *described("ADDR=[UNAVAILABLE]");
    CHECK(nobody.peer() == "unknown[unknown]");
    CHECK_FALSE(nobody.has_address());
    CHECK(judged_recipient(rules(config::Service::relay), nobody, "user@remote.example").kind == Kind::reject);
}

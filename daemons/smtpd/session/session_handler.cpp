#include "daemons/smtpd/session/session_handler.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/smtpd/session/policy_sources.h"
#include "daemons/smtpd/session/session_metrics.h"
#include "daemons/smtpd/session/session_replies.h"
#include "libsmtp/text/text.h"
#include <chrono>
#include <utility>

namespace smtpd {

using namespace std::chrono_literals;
using smtp::Reply;
using smtp::Verb;
using Verdict = proto::recipient_check::Verdict;

static constexpr std::size_t max_announced = 100'000; // durable messages the queue-manager has not taken yet

// Long lists are refused first when memory is short.
static bool has_room_for_recipient(const spool::ContentMemory& memory, const MessageIntake& message) {
    using Level = spool::ContentMemory::Level;
    return memory.level() < Level::scarce ||
           (memory.level() == Level::scarce && message.recipients_memory() < spool::ContentMemory::small);
}

// Logs why the client's certificate does not permit what has been rejected.
static void explain_refusal(const RelayDecision& decision, const Rules& rules, const Client& client,
                            const SessionLog& log) {
    if (!decision.not_permitted) return;
    if (const auto why = certificate_obstacle(rules, client); !why.empty())
        log.lines().info("client certificate of {} does not permit relaying: {}", client.peer(), why);
}

SessionHandler::SessionHandler(WorkerContext& worker, const Rules& rules, smtp::ServerSession& session, Client client,
                               Driver& driver)
    : worker_(worker), rules_(rules), session_(session), driver_(driver), client_(std::move(client)), peer_(client_),
      counted_network_(client_.network), number_(worker.next_session()),
      log_(worker.log, worker.metrics, *worker.door, rules.listener.name, number_, session, client_),
      domains_(worker, rules, log_, [this] { driver_.resume(); }) {
    // By the connection's own address, not by a client it describes; so it may describe one after the other.
    session_.grant({common::contains(rules_.listener.xclient_networks, peer_.address),
                    common::contains(rules_.listener.xforward_networks, peer_.address),
                    common::contains(rules_.config->smtpd.bare_newline_networks, peer_.address)});
}

SessionHandler::~SessionHandler() {
    if (recipient_check_ != 0) worker_.checker.cancel(recipient_check_);
    if (flush_request_ != 0) worker_.submission_queue.cancel(flush_request_);
}

void SessionHandler::handle(smtp::ServerEvent& event) {
    std::visit([this](auto& each) { on(each); }, event);
}

void SessionHandler::answer(const Reply& reply) {
    using enum smtp::ServerSession::AfterReply;
    session_.answer(reply, common::Loop::now().monotonic, reply.code == 521 ? close : proceed); // RFC 7504
}

void SessionHandler::reject(Verb command, const Reply& reply, std::string_view to, const Rejector& rejector) {
    const bool of_mail = command == Verb::mail || command == Verb::rcpt || command == Verb::end_of_message;
    const Reply said = of_mail ? with_soft_bounce(reply, rules_) : reply;
    log_.rejected_unless_protocol_error(command, said, message_.get(), to, rejector);
    answer(said);
}

void SessionHandler::answer_or_reject(Verb command, const Reply& reply) {
    if (reply.positive()) return answer(reply);
    reject(command, reply);
}

// --- connecting

void SessionHandler::on(smtp::event::Connect&) {
    if (tests_) worker_.loop.defer([gone = std::shared_ptr(std::move(tests_))] {}); // of the client before XCLIENT
    tests_ = make_client_tests(worker_, rules_, client_, number_);
    using Greeting = ClientTests::Greeting;
    if (tests_)
        tests_->begin(
            session_.proxied() ? Greeting::announced : Greeting::can_wait, session_.unparsed(),
            [this] {
                session_.answer({220, {}, ""}, common::Loop::now().monotonic,
                                smtp::ServerSession::AfterReply::announce);
                driver_.resume(); // a table has answered later: nothing else sends it
            },
            [this] {
                greet_if_prepared();
                driver_.resume();
            });
    const bool rejected = tests_ && tests_->rejection();
    if (rejected || named_by_proxy_ || !wants_name(*rules_.config, client_.address)) return greet_if_prepared();
    name_lookup_ =
        std::make_unique<NameLookup>(worker_.resolver, worker_.deadlines, client_.address,
                                     common::Loop::now().monotonic + rules_.config->smtpd.reverse_name_timeout,
                                     [this](const dns::ClientName::Names& names) {
                                         if (!names.confirmed.empty())
                                             client_.name = smtp::printable(names.confirmed, 255);
                                         if (client_.reverse_name.empty())
                                             client_.reverse_name = smtp::printable(names.reverse, 255);
                                         greet_if_prepared();
                                         driver_.resume();
                                     });
}

void SessionHandler::greet_if_prepared() {
    if (tests_ && tests_->rejection() && name_lookup_) name_lookup_->abandon();
    if (!preparing()) greet();
}

void SessionHandler::input_received() {
    if (tests_ && tests_->waiting() && tests_->talked(session_.unparsed())) greet_if_prepared();
}

void SessionHandler::client_gone() {
    if (!tests_ || !tests_->waiting()) return;
    tests_->hung_up();
    if (name_lookup_) name_lookup_->abandon();
    greet();
}

void SessionHandler::greet() {
    if (session_.proxied())
        log_.lines().info("XCLIENT from {}: the client is {}", peer_.peer(), client_.peer());
    else
        log_.lines().info("connect from {}", client_.peer());
    if (admission_ != ClientLimits::Admission::admitted) {
        const auto& reply = rules_.rejection_reply(admission_);
        count_reject(worker_.metrics, Verb::connect, reply);
        log_.record(Verb::connect, reply, nullptr, {}, {.rule = key_of(admission_), .limit = true});
        log_.lines().warning("{}", rules_.limit_exceeded_text(admission_, client_.peer()));
        return answer(reply);
    }
    if (tests_ && tests_->rejection()) {
        log_.rejected_quietly(Verb::connect, tests_->rejection()->reply, tests_->rejection()->rule);
        return answer(tests_->rejection()->reply);
    }
    session_.watch(tests_ ? tests_->watch() : smtp::ServerWatch());
    policy_chain_ = make_policy_chain(worker_, rules_, client_);
    access_ = make_access_control(worker_, rules_, client_);
    if (session_.greeted()) set_greeting(session_.helo(), session_.protocol()); // by the proxy
    if (rules_.listener.tls == config::ListenerTls::implicit && !tls_) return driver_.start_tls();
    send_banner();
}

void SessionHandler::send_banner() {
    with_policy_checks(Stage::connect, [this] {
        using enum smtp::ServerSession::AfterReply;
        session_.answer({220, {}, ""}, common::Loop::now().monotonic,
                        tests_ && tests_->talked_early() ? read_on : proceed);
    });
}

void SessionHandler::greet_unprepared() {
    if (!preparing()) return;
    if (tests_) tests_->abandon();
    if (name_lookup_) name_lookup_->abandon();
    greet();
}

void SessionHandler::set_greeting(std::string_view helo, std::string_view protocol) {
    const auto describe = [&](PolicyContext& context) {
        context.helo = smtp::printable(helo, 255);
        context.protocol = protocol;
    };
    if (policy_chain_) describe(policy_chain_->context);
    if (access_) describe(access_->context);
}

void SessionHandler::drop_greeting() {
    if (preparing()) log_.lines().info("connect from {}", client_.peer());
    tests_.reset();
    name_lookup_.reset();
    policy_chain_.reset();
    access_.reset();
}

void SessionHandler::on(smtp::event::Helo& helo) {
    xforward_.reset();
    session_.apply_settings(worker_.settings_of(rules_), common::Loop::now().monotonic);
    set_greeting(helo.name, helo.extended ? "ESMTP" : "SMTP");
    judge_certificate([this] { greeted(); });
}

void SessionHandler::greeted() {
    if (rules_.listener.certificate_required && tls_ && !session_.proxied())
        if (const auto rejection = certificate_rejection(client_, common::Loop::now().wall))
            return reject(Verb::helo, *rejection);
    with_policy_checks(
        Stage::helo, [this] { answer({250, {}, dynamic_capabilities(session_.offered(), common::Loop::now().wall)}); });
}

// --- certificates

// Again with each greeting: one that has expired, or is no longer listed, permits nothing.
void SessionHandler::judge_certificate(std::function<void()> then) {
    client_.permission = {};
    if (certificate_check_) // it may be the caller
        worker_.loop.defer([gone = std::shared_ptr(std::move(certificate_check_))] {});
    if (!client_.certificate) return then();
    certificate_check_ =
        std::make_unique<CertificateCheck>(rules_, *client_.certificate, worker_.policy_sources->access.lookups);
    auto found = certificate_check_->ask(common::Loop::now().wall, [this, then](CertificatePermission late) {
        client_.permission = std::move(late);
        then();
        driver_.resume();
    });
    if (!found) return;
    client_.permission = *std::move(found);
    then();
}

// --- TLS

void SessionHandler::on(smtp::event::StartTls&) {
    answer({220, {2, 0, 0}, "Ready to start TLS"});
    if (!session_.ending()) driver_.start_tls();
}

void SessionHandler::tls_unavailable() { // of a listener that must have it and cannot
    log_.lines().warning("no TLS for {}", client_.peer());
    if (session_.question_open())
        answer({421, {4, 7, 0}, rules_.normal.hostname + " TLS is not available"});
    else
        session_.disconnected();
}

void SessionHandler::tls_established(const tls::Session& tls) {
    tls_ = &tls;
    tls_facts_ = tls.info();
    worker_.metrics.count(common::MetricId::tls_sessions, common::tls_used(tls_facts_.version));
    session_.tls_up(common::Loop::now().monotonic);
    client_.user.clear(); // an identity from plain text may have been injected (RFC 3207, 4.2)
    client_.auth_method.clear();
    client_.certificate = session_.proxied() ? nullptr : tls_facts_.certificate; // else it is the proxy's
    client_.permission = {};
    constexpr std::string_view kinds[] = {"Anonymous", "Untrusted", "Trusted"};
    log_.lines().info("{} TLS connection established from {}{}: {}", kinds[static_cast<std::size_t>(tls_facts_.peer)],
                      client_.peer(), tls_facts_.server_name.empty() ? "" : " to " + tls_facts_.server_name,
                      tls_facts_.text());
    if (const auto* shown = tls_facts_.certificate.get())
        log_.lines().info("{}: subject_CN={}, issuer_CN={}, fingerprint={}, pkey_fingerprint={}{}{}", client_.peer(),
                          shown->subject, shown->issuer, shown->fingerprint, shown->key_fingerprint,
                          shown->problem.empty() ? "" : ": ", shown->problem);
    if (rules_.listener.tls == config::ListenerTls::implicit) send_banner();
}

// An alert of OpenSSL still goes out to the client; no reply of ours does.
void SessionHandler::tls_failed(std::string_view why) {
    worker_.metrics.count(common::MetricId::tls_failures);
    log_.lines().info("SSL_accept error from {}: {}", client_.peer(), why);
    session_.disconnected();
    if (session_.question_open()) answer({220, {}, ""}); // implicit TLS: lets the session see that the client is gone
}

// --- AUTH

void SessionHandler::on(smtp::event::Auth& auth) {
    if (!auth_)
        auth_ = std::make_unique<AuthExchange>(
            AuthExchange::Services{worker_.loop, worker_.deadlines, worker_.metrics, worker_.lockouts, worker_.rates,
                                   worker_.auth_limiter},
            rules_, client_, log_.lines(), [this](const AuthExchange::Answer& answer) { authenticated(answer); },
            [this](std::string_view user, std::string_view why, const Reply& reply) {
                log_.authentication_failed(auth_->mechanism(), user, why, reply);
            });
    auth_->start(std::move(auth.mechanism), auth.initial ? &*auth.initial : nullptr, tls_);
}

void SessionHandler::on(smtp::event::AuthLine& line) { auth_->respond(line.text); }

void SessionHandler::authenticated(const AuthExchange::Answer& step) {
    using Kind = AuthExchange::Answer::Kind;
    if (step.kind == Kind::success) {
        client_.user = step.user;
        client_.auth_method = auth_->mechanism();
        session_.watch({}); // users are not tested
    }
    if (step.kind == Kind::rejection)
        reject(Verb::auth, step.reply, {}, {.rule = step.limit, .limit = !step.limit.empty()});
    else
        answer(step.reply);
    driver_.resume();
}

// --- clients described by a listed peer: XCLIENT makes the session another client's, XFORWARD names the
// earlier client of a message for the log. TLS stays as it is: it is between the peer and us. (The PROXY
// protocol is over before there is a connection.)

// Nothing of the former client is kept: limits, lists, filters and policy apply to the new one.
void SessionHandler::on(smtp::event::Xclient& xclient) {
    auto client = apply_xclient(client_, xclient.attributes);
    if (!client) return reject(Verb::xclient, client.error());
    if (const auto over = too_many_connections_of(client->user, rules_, worker_.rates))
        return reject(Verb::xclient, *over, {}, {.rule = user_connections_key, .limit = true});
    client_ = *std::move(client);
    named_by_proxy_ = xclient.attributes.name || !xclient.attributes.address;
    if (name_lookup_) worker_.loop.defer([gone = std::shared_ptr(std::move(name_lookup_))] {}); // it may be the caller
    worker_.loop.defer([gone = std::shared_ptr(std::move(policy_chain_))] {}); // a check of it may be the caller
    worker_.loop.defer([gone = std::shared_ptr(std::move(access_))] {});
    xforward_.reset();
    log_.begin_row();
    const auto& limits = rules_.listener.limits;
    worker_.client_limits.release(counted_network_);
    admission_ = worker_.client_limits.admit(
        client_.network, {limits.sessions_per_network, limits.connections_per_minute}, common::Loop::now().monotonic);
    counted_network_ = admission_ == ClientLimits::Admission::admitted ? client_.network : "";
    answer({220, {}, ""});
}

void SessionHandler::on(smtp::event::Xforward& xforward) {
    if (!xforward_) xforward_ = std::make_unique<smtp::ClientAttributes>();
    using Part = smtp::ClientAttributes::Attribute smtp::ClientAttributes::*;
    for (const Part part :
         {&smtp::ClientAttributes::name, &smtp::ClientAttributes::address, &smtp::ClientAttributes::ident})
        if (xforward.attributes.*part) xforward_.get()->*part = std::move(xforward.attributes.*part);
    answer({250, {2, 0, 0}, "Ok"});
}

// --- policy

void SessionHandler::apply_access_rules(Stage stage, std::optional<Reply> relaying, std::function<void()> then) {
    if (!access_->concerns(stage)) return apply_verdict(stage, {}, then);
    describe_session(stage, access_->context);
    auto verdict = access_->ask(stage, std::move(relaying), [this, stage, then](const PolicyVerdict& late) {
        apply_verdict(stage, late, then);
        driver_.resume();
    });
    if (verdict) apply_verdict(stage, *verdict, then);
}

void SessionHandler::run_policy_chain(Stage stage, std::function<void()> then) {
    describe_session(stage, policy_chain_->context);
    auto verdict = policy_chain_->ask(stage, [this, stage, then](const PolicyVerdict& late) {
        apply_verdict(stage, late, then);
        driver_.resume();
    });
    if (verdict) apply_verdict(stage, *verdict, then);
}

void SessionHandler::describe_session(Stage stage, PolicyContext& context) const {
    context.stressed = worker_.stressed;
    context.sasl_method = client_.auth_method;
    context.sasl_user = client_.user;
    context.tls_version = tls_facts_.version;
    context.tls_cipher = tls_facts_.cipher;
    context.tls_peer = session_.proxied() ? std::string() : tls_facts_.peer_name; // else it is the proxy's
    context.certificate = client_.certificate;
    context.permission = client_.permission;
    context.recipient.clear();
    context.recipient_was_bare = false;
    context.postmaster = false;
    if (!message_) { // nothing of the previous one
        context.queue_id.clear();
        context.instance.clear();
        context.sender.clear();
        context.sasl_sender.clear();
        context.recipients = 0;
        context.size = 0;
    } else {
        const auto& envelope = message_->envelope();
        context.helo = envelope.helo;
        context.protocol = envelope.protocol;
        context.queue_id = message_->id_text();
        context.instance = fmt::format("{:x}.{}", number_, message_->id_text());
        context.sender = envelope.reverse_path;
        context.recipients = static_cast<std::uint32_t>(envelope.recipients.size());
        context.sasl_sender = envelope.sasl_sender;
        if (stage > Stage::rcpt && envelope.recipients.size() == 1)
            context.recipient = envelope.recipients.front().address;
        if (stage == Stage::end_of_data) context.size = session_.content_size();
    }
    if (stage == Stage::rcpt) {
        context.recipient = rcpt_.path.text();
        context.recipient_was_bare = rcpt_.path.mailbox.bare();
        context.postmaster = smtp::same_ignoring_case(rcpt_.path.mailbox.local_part, "postmaster");
    }
}

void SessionHandler::apply_verdict(Stage stage, const PolicyVerdict& verdict, const std::function<void()>& then) {
    const auto command = verb_of(stage);
    const auto to = stage == Stage::rcpt ? rcpt_.path.text() : std::string();
    for (const auto& note : verdict.notes) log_.note(command, note, message_.get(), to);
    if (verdict.kind == PolicyVerdict::Kind::reject) {
        const Reply said = with_soft_bounce(verdict.reply, rules_);
        const Rejector rejector{verdict.by, verdict.rule, verdict.by_limit};
        if (verdict.by != PolicySource::header_check)
            log_.rejected(command, said, message_.get(), to, rejector);
        else // its note is the line
            log_.record(command, said, message_.get(), to, rejector);
        answer(said);
        if (stage == Stage::mail || stage == Stage::end_of_data) end_transaction();
        return;
    }
    if (message_) message_->apply(verdict);
    then();
}

// --- envelope

Reception SessionHandler::reception() const {
    return {session_.helo(), session_.transaction_protocol(), tls_ ? &tls_facts_ : nullptr, xforward_ != nullptr};
}

void SessionHandler::on(smtp::event::Mail& mail) {
    auto domain = sender_domain(rules_, client_, mail.path);
    domains_.ask(std::move(domain), [this, mail = std::move(mail)](const decide::ClassAnswer& where) {
        auto decision = evaluate_sender(rules_, client_, mail.path, where);
        const auto refuse = [&](const Reply& reply) {
            explain_refusal(decision, rules_, client_, log_);
            reject(Verb::mail, reply);
        };
        if (decision.kind == RelayDecision::Kind::reject) return refuse(decision.reply);
        if (worker_.submission_queue.waiting() > max_announced)
            return refuse({451, {4, 3, 2}, "Error: queue overloaded, try again later"});
        const auto now = common::Loop::now();
        const std::chrono::seconds longest(session_.offered().future_release);
        if (mail.parameters.hold_until && *mail.parameters.hold_until > now.wall + longest)
            return refuse({501, {5, 5, 4}, "HOLDUNTIL exceeds the offered maximum"});
        if (ends_before_release(mail.parameters, now.wall))
            return refuse({501, {5, 5, 4}, "BY ends before HOLDFOR or HOLDUNTIL lets the message go"});
        const auto id = worker_.spool_writer.admit(mail.parameters.size.value_or(0), now);
        if (!id) return refuse(reply_for(id.error()));
        message_ = std::make_unique<MessageIntake>(
            MessageIntake::Services{worker_.spool_writer, worker_.submission_queue, worker_.keys, worker_.date}, rules_,
            client_, log_.lines(), *id,
            make_envelope(rules_, client_, reception(), mail, std::move(decision.address), now.wall),
            schedule_of(mail.parameters));
        log_.begin_row();
        if (policy_chain_) policy_chain_->context.size = mail.parameters.size.value_or(0);
        if (access_) access_->context.sender_was_bare = !mail.path.null() && mail.path.mailbox->bare();
        with_policy_checks(Stage::mail, [this] {
            static const Reply ok{250, {2, 1, 0}, "Ok"};
            answer(ok);
        });
    });
}

// Every client may reach postmaster, and users are not tested.
bool SessionHandler::rejected_by_tests(const smtp::event::Rcpt& rcpt) {
    if (!client_.user.empty() || smtp::same_ignoring_case(rcpt.path.mailbox.local_part, "postmaster")) return false;
    const auto rejection = tests_->at_recipient();
    session_.watch(tests_->watch());
    if (!rejection) return false;
    const auto said = with_soft_bounce(rejection->reply, rules_);
    log_.rejected(Verb::rcpt, said, message_.get(), rcpt.path.text(), {.rule = rejection->rule});
    answer(said);
    return true;
}

void SessionHandler::on(smtp::event::Rcpt& rcpt) {
    if (!has_room_for_recipient(worker_.spool_writer.memory(), *message_)) {
        worker_.spool_writer.check_memory();
        return reject(Verb::rcpt, reply_for(common::Unavailable::memory), rcpt.path.text());
    }
    if (tests_ && rejected_by_tests(rcpt)) return;
    rcpt_ = std::move(rcpt);
    domains_.ask(recipient_domain(rules_, rcpt_.path), [this](const decide::ClassAnswer& where) {
        auto decision = smtpd::evaluate_recipient(rules_, client_, rcpt_.path, where);
        if (!access_ || rcpt_.path.bare_postmaster()) return evaluate_recipient(std::move(decision));
        std::optional<Reply> relaying;
        if (decision.kind == RelayDecision::Kind::reject) relaying = decision.reply;
        explain_refusal(decision, rules_, client_, log_);
        apply_access_rules(Stage::rcpt, std::move(relaying), [this, decision] {
            if (access_->discards()) return add_recipient(rcpt_.path.text());
            evaluate_recipient(decision);
        });
    });
}

// What relay control, the recipient check and policies decide, once access rules have not rejected it.
void SessionHandler::evaluate_recipient(RelayDecision decision) {
    explain_refusal(decision, rules_, client_, log_);
    if (decision.kind == RelayDecision::Kind::reject) return reject(Verb::rcpt, decision.reply, rcpt_.path.text());
    const bool elsewhere = decision.kind == RelayDecision::Kind::accept; // only suppressed ones are refused there
    if (elsewhere && !worker_.checker.any_suppressed()) return take_recipient(std::move(decision.address));
    check_recipient({decision.address, message_->envelope().reverse_path},
                    [this, elsewhere, address = decision.address](const common::RecipientChecker::Answer& checked) {
                        if (checked.verdict == Verdict::known || (elsewhere && checked.verdict != Verdict::unknown))
                            return take_recipient(address);
                        const auto to = rcpt_.path.text();
                        reject(Verb::rcpt, recipient_rejection(to, checked), to);
                    });
}

void SessionHandler::check_recipient(common::RecipientChecker::Subject subject,
                                     std::function<void(const common::RecipientChecker::Answer&)> then) {
    const auto now = common::Loop::now().monotonic;
    if (const auto* known = worker_.checker.cached(subject, now)) return then(*known);
    recipient_check_ = worker_.checker.ask(
        std::move(subject), now, [this, then = std::move(then)](const common::RecipientChecker::Answer& answer) {
            recipient_check_ = 0;
            then(answer);
            driver_.resume();
        });
}

void SessionHandler::take_recipient(std::string address) {
    with_policy_chain(Stage::rcpt, [this, address = std::move(address)] { add_recipient(address); });
}

void SessionHandler::add_recipient(const std::string& address) {
    static const Reply ok{250, {2, 1, 5}, "Ok"};
    if (!message_->has_begun()) log_.message_begun(*message_, forwarded_text(xforward_.get()));
    message_->add_recipient(address, rcpt_);
    answer(ok);
}

// --- content

void SessionHandler::on(smtp::event::Data&) {
    with_policy_checks(Stage::data, [this] {
        static const Reply go_on{354, {}, "End data with <CR><LF>.<CR><LF>"};
        message_->begin_content(reception(), [this] {
            session_.reading_resumed(common::Loop::now().monotonic);
            driver_.resume();
        });
        answer(go_on);
    });
}

void SessionHandler::on(smtp::event::Chunk& chunk) { message_->append(chunk.bytes); }

void SessionHandler::on(smtp::event::EndOfData&) {
    if (const auto rejection = message_->finish()) {
        reject(Verb::end_of_message, *rejection);
        return end_transaction();
    }
    if (!message_->has_key()) return check_message();
    message_->claim_key([this](const std::optional<MessageIntake::Ended>& ended) {
        if (!ended) {
            check_message();
        } else {
            if (ended->duplicate)
                answer(ended->reply);
            else
                reject(Verb::end_of_message, ended->reply);
            end_transaction();
        }
        driver_.resume();
    });
}

void SessionHandler::check_message() {
    const auto id = message_->message_id();
    log_.lines_of_message().info("{}: message-id={}", message_->id_text(),
                                 id.empty() ? "<>" : id); // also of a message that is refused
    if (policy_chain_ || (access_ && access_->concerns(Stage::end_of_data))) {
        auto& whole = message_->open_for_filters();
        if (policy_chain_) policy_chain_->context.message = &whole;
    }
    with_policy_checks(Stage::end_of_data, [this] { commit_message(); });
}

void SessionHandler::commit_message() {
    const auto accept = [this] {
        answer({250, {2, 0, 0}, "Ok: queued as " + message_->id_text()});
        end_transaction();
    };
    if (!message_->is_kept()) return accept();
    message_->commit([this, accept](std::optional<common::Unavailable> failure) {
        if (failure) {
            reject(Verb::end_of_message, reply_for(*failure));
            end_transaction();
            return driver_.resume();
        }
        accept(); // This is the instant: the message is durable, and that is what a 250 is made of.
        driver_.resume();
        CRASH_POINT("smtpd.after_reply");
    });
}

void SessionHandler::end_transaction() {
    message_.reset();
    xforward_.reset();
    if (policy_chain_) policy_chain_->transaction_over();
    if (access_) access_->transaction_over();
}

void SessionHandler::on(smtp::event::Reset&) { end_transaction(); }

// --- VRFY, ETRN, unknown commands; the end

void SessionHandler::on(smtp::event::Vrfy& vrfy) {
    const auto path = path_to_verify(rules_, client_, vrfy.argument);
    if (!path) return answer_or_reject(Verb::vrfy, path.error());
    domains_.ask(recipient_domain(rules_, *path), [this, path = *path](const decide::ClassAnswer& where) {
        const auto address = recipient_to_verify(rules_, client_, path, where);
        if (!address) return answer_or_reject(Verb::vrfy, address.error());
        check_recipient({*address, ""}, [this, address = *address](const common::RecipientChecker::Answer& checked) {
            answer_or_reject(Verb::vrfy, verified_reply(address, checked));
        });
    });
}

void SessionHandler::on(smtp::event::Etrn& etrn) {
    const auto& listener = rules_.listener;
    const bool may =
        (listener.etrn_users && !client_.user.empty()) || common::contains(listener.etrn_networks, client_.address);
    if (!may) return reject(Verb::etrn, etrn_not_allowed(etrn.name));
    const auto now = common::Loop::now().monotonic;
    if (!worker_.rates.take("e" + client_.network, rules_.config->smtpd.etrn_per_hour, 1h, now))
        return reject(Verb::etrn, etrn_too_often(etrn.name), {}, {.rule = "etrn_per_hour", .limit = true});
    flush_request_ = worker_.submission_queue.try_now(
        etrn.name, etrn.scope == smtp::event::Etrn::Scope::with_subdomains,
        [this, node = etrn.name](const proto::submission::DomainFlushed* flushed) {
            flush_request_ = 0;
            if (flushed && flushed->obstacle.empty())
                log_.lines().info("etrn: {} from {}: {} deliveries", node, client_.peer(), flushed->deliveries);
            answer_or_reject(Verb::etrn, etrn_reply(node, flushed));
            driver_.resume();
        });
}

void SessionHandler::on(smtp::event::Unknown& unknown) {
    if (policy_chain_)
        policy_chain_->context.command = unknown.verb + (unknown.argument.empty() ? "" : " " + unknown.argument);
    with_policy_checks(Stage::unknown, [this, reply = unknown_command_reply(unknown)] { // a filter may have its own
        reject(Verb::unknown, reply);
    });
}

void SessionHandler::on(smtp::event::Refused& refused) { log_.refused_by_session(refused, message_.get()); }

void SessionHandler::on(smtp::event::Violation& violation) {
    if (!tests_) return;
    const auto rejection = tests_->violated(violation);
    if (!rejection || session_.ending()) return; // the session may have rejected it by itself
    log_.rejected_quietly(Verb::unknown, rejection->reply, rejection->rule);
    session_.shut_down(rejection->reply, common::Loop::now().monotonic, smtp::ServerSession::When::now);
}

void SessionHandler::on(smtp::event::Disconnect& disconnect) {
    if (tests_) tests_->session_over(disconnect.cause == smtp::event::Disconnect::Cause::lost);
    log_.disconnected(disconnect.cause);
}

} // namespace smtpd

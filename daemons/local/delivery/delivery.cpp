#include "daemons/local/delivery/delivery.h"
#include "daemons/common/delivery/delivered_to.h"
#include "daemons/common/delivery/message_description.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/text/idn.h"
#include "daemons/decide/addressing/command_words.h"
#include "daemons/decide/message/dsn_requests.h"
#include "daemons/decide/outcome/failure.h"
#include "daemons/local/as_user/user_process.h"
#include "daemons/local/command/command.h"
#include "daemons/local/delivery/delivery_target.h"
#include "libsmtp/message/address_list.h"
#include "libsmtp/message/header.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <tuple>
#include <unistd.h>

namespace local {
namespace {

using common::Identity;
using proto::delivery::Deliver;
using proto::delivery::Done;
using proto::delivery::Outcome;
using spool::MessageReader;

// The time a process has for each step.
constexpr smtp::Duration mailbox_timeout = std::chrono::minutes(1);

// What the message's file records about one recipient.
struct Addressee {
    std::uint32_t number = 0;
    spool::RecipientState recipient;
    std::string original;       // the address as it was given
    std::string sender;         // the reverse-path; "" the null one
    bool wants_success = false; // the sender gets a report
};
// … and of all of them.
struct Order {
    std::vector<Addressee> addressees;
    smtp::WallTime arrival{};
    std::optional<std::uint32_t> unknown; // there is no such recipient

    static Order of(const Deliver& deliver, const spool::MessageState& state) {
        Order out{.addressees = {}, .arrival = state.envelope.arrival, .unknown = {}};
        const decide::DsnRequests wishes(state);
        for (const auto number : deliver.recipients) {
            if (number >= state.recipients.size()) {
                out.unknown = number;
                break;
            }
            const auto& recipient = state.recipients[number];
            const auto& envelope = state.envelope_of(recipient);
            const auto& path = state.reverse_path_of(recipient);
            const bool told = state.envelope.trace != spool::Trace::none || spool::wants_success(wishes.notify(number));
            out.addressees.push_back({number, recipient,
                                      envelope.original.empty() ? envelope.address : envelope.original,
                                      path == "<>" ? "" : path, told});
        }
        return out;
    }
};

// A user name becomes part of a path.
bool is_plain_name(std::string_view user) {
    return !user.empty() && user.size() <= 255 && user.front() != '.' &&
           user.find_first_of(std::string_view("/\0", 2)) == user.npos;
}

// In single-user mode there is one user: that of this process.
Identity own_identity(const std::string& name) {
    const char* home = std::getenv("HOME");
    return {geteuid(), getegid(), {}, name, home ? home : "/"};
}

class Delivery {
public:
    Delivery(spool::QueueId id, const Order& order, const Settings& settings, MessageReader& reader,
             TargetCheck& checks, UnreapedProcesses& unreaped)
        : id_(id), order_(order), settings_(settings), reader_(reader), checks_(checks), unreaped_(unreaped) {}

    void run(DeliveryResult& out) {
        for (const auto& addressee : order_.addressees) {
            const auto verdict = to(addressee, out);
            if (!verdict) return;
            add(addressee, *verdict, out);
        }
        if (!order_.unknown) return;
        out.done.unreadable = out.done.results.empty();
        out.trouble = fmt::format("there is no recipient {}", *order_.unknown);
    }

private:
    // Is it what the configuration names for the user, and no file or command that they or an alias name?
    static bool is_own_mailbox(const Addressee& addressee) {
        const auto& target = addressee.recipient.target;
        return target.empty() || target.starts_with("maildir:") || target.starts_with("mbox:");
    }

    // Nothing if the message itself cannot be read; `out` then has the reason.
    std::optional<Verdict> to(const Addressee& addressee, DeliveryResult& out) {
        if (mailbox_failed_ && is_own_mailbox(addressee)) return mailbox_failed_; // it is one, however it is addressed
        auto verdict = deliver_to(addressee, out);
        if (verdict && verdict->mailbox && is_own_mailbox(addressee)) mailbox_failed_ = *verdict;
        return verdict;
    }

    std::optional<Verdict> deliver_to(const Addressee& addressee, DeliveryResult& out) {
        std::optional<Verdict> verdict;
        const auto mailbox = mailbox_of(addressee, verdict);
        if (!verdict) verdict = mailbox->open();
        if (!verdict) verdict = send_content(*mailbox, out);
        if (!verdict && !out.trouble.empty()) {
            if (out.done.results.empty()) return std::nullopt;
            verdict = deferred("4.3.0", out.trouble); // it could be read a moment ago
            out.trouble.clear();
        }
        return verdict ? *verdict : mailbox->commit();
    }

    std::optional<Verdict> send_content(Mailbox& mailbox, DeliveryResult& out) {
        for (std::uint64_t at = 0;;) {
            const auto piece = reader_.piece(at);
            if (!piece) {
                const bool damaged = std::holds_alternative<spool::Damaged>(piece.error());
                out.done.unreadable = damaged && out.done.results.empty();
                out.trouble = spool::text_of(piece.error());
                return std::nullopt;
            }
            if (piece->empty()) return std::nullopt;
            at += piece->size();
            if (auto verdict = mailbox.write(*piece)) return verdict;
        }
    }

    // Null: `verdict` is set.
    std::unique_ptr<Mailbox> mailbox_of(const Addressee& addressee, std::optional<Verdict>& verdict) {
        const spool::RecipientState& recipient = addressee.recipient;
        if ((verdict = detect_loop(recipient.address))) return nullptr;
        Identity user;
        if ((verdict = find_user(recipient, user))) return nullptr;
        const auto where = parse_target(recipient.target, settings_.local, user.name, user.home);
        if (!where)
            verdict = deferred(
                "4.3.5", fmt::format("\"{}\" is not a valid delivery target", smtp::printable(recipient.target, 128)));
        else if (where->kind == DeliveryTarget::Kind::nowhere)
            verdict = delivered(where->done);
        user_file::TargetReference names;
        if (!verdict) verdict = trust(addressee, user, names);
        if (verdict) return nullptr;
        if (where->kind == DeliveryTarget::Kind::command) return command_for(*where, addressee, user, std::move(names));
        if (where->kind == DeliveryTarget::Kind::program) return program_for(where->command, addressee, user, verdict);
        MailboxRequest request = request_for(addressee, *where, user);
        if (!settings_.switch_users) return open_mailbox(request);
        // Only where the configuration names the place: a user's own choice brings no rights.
        const bool mail_group = request.format == Format::mbox && recipient.target.empty();
        return std::make_unique<UserProcess>(
            user_process::Begin{as_user::identity_of(user), std::move(request), std::move(names), mail_group},
            mailbox_timeout, unreaped_);
    }

    // A command, a file or a mailbox that the spool names: does it come from a source that may name such targets?
    // `names`: the process that becomes the user has to check. In single-user mode no other user's rights are used.
    std::optional<Verdict> trust(const Addressee& addressee, const Identity& user, user_file::TargetReference& names) {
        const auto& recipient = addressee.recipient;
        if (recipient.target.empty() || !settings_.switch_users) return {};
        auto found = checks_.find(recipient.address, user.name, recipient.target);
        using Result = TargetCheck::Finding::Result;
        switch (found.result) {
        case Result::named: break;
        case Result::unreadable: return deferred("4.3.0", found.why);
        case Result::refused: return user_file::not_referenced(recipient.target, user.name);
        case Result::elsewhere:
            const auto& delimiter = settings_.local.recipient_delimiter;
            const auto local_part = idn::folded(local_part_of(recipient.address)); // as where the file was read
            const auto mark = delimiter.empty() ? local_part.npos : local_part.find(delimiter.front(), 1);
            names = {recipient.target, mark == local_part.npos ? "" : local_part.substr(mark + 1),
                     settings_.local.delivery.forward};
        }
        return {};
    }

    // Has this message been delivered there before, and come back?
    std::optional<Verdict> detect_loop(const std::string& address) {
        if (!delivered_to_) {
            // If the header cannot be read, neither can the content, and reading that reports the error.
            delivered_to_ = common::delivered_to(reader_).value_or(std::set<std::string>());
        }
        if (!delivered_to_->contains(smtp::lowered(address))) return {};
        return failed("5.4.6", "mail forwarding loop for " + smtp::printable(address, 320));
    }

    // The user to deliver as. Not set if a verdict is returned.
    std::optional<Verdict> find_user(const spool::RecipientState& recipient, Identity& user) const {
        if (!settings_.switch_users && recipient.user.empty() &&
            !decide::name_of_command(recipient.target).empty()) { // a program runs as this process
            const char* own = std::getenv("USER");
            user = own_identity(own ? own : "");
            return std::nullopt;
        }
        const bool named = !recipient.target.empty(); // by the configuration or an alias: not the sender's fault
        const std::string name = recipient.user.empty() ? local_part_of(recipient.address) : recipient.user;
        const auto unknown = [&] {
            if (!named) return failed("5.1.1", fmt::format("unknown user: \"{}\"", name));
            return deferred("4.3.5", fmt::format("there is no user \"{}\", as which to deliver to {}", name,
                                                 smtp::printable(recipient.target, 128)));
        };
        if (!is_plain_name(name)) return unknown();
        if (!settings_.switch_users) {
            user = own_identity(name);
            return std::nullopt;
        }
        auto found = common::look_up_user(name);
        if (!found) return found.error().code == ENOENT ? unknown() : verdict_of(found.error());
        if (found->uid == 0 || found->uid < settings_.local.minimum_uid)
            return deferred("4.3.5", named ? fmt::format("no mail is delivered as {} (user {}): configure another user",
                                                         name, found->uid)
                                           : fmt::format("mail for {} (user {}) is never written to a mailbox: create "
                                                         "an alias for the person who reads it, then run postrider "
                                                         "message requeue {}",
                                                         name, found->uid, id_.text()));
        if (found->uid == settings_.service_uid)
            return deferred("4.3.5", fmt::format("no mail is delivered as {}, the owner of the spool", name));
        user = *std::move(found);
        return {};
    }

    static std::string prefix_for(const Addressee& addressee) {
        return prefix_fields(addressee.sender, addressee.original, addressee.recipient.address);
    }

    std::unique_ptr<Mailbox> command_for(const DeliveryTarget& where, const Addressee& addressee, const Identity& user,
                                         user_file::TargetReference names) const {
        command::Run run{as_user::identity_of(user), where.command, {}, {}, std::move(names)};
        run.person.change = settings_.switch_users;
        const auto& delimiter = settings_.local.recipient_delimiter;
        run.environment = command::environment({user.name, user.home, addressee.sender, addressee.recipient.address,
                                                addressee.original, delimiter.empty() ? '\0' : delimiter.front()});
        // With a From line: what sorts mail into mboxes (procmail) takes it from here.
        auto prefix = from_line(addressee.sender, common::Loop::now().wall) + '\n' + prefix_for(addressee);
        return std::make_unique<Command>(std::move(run), std::move(prefix), mailbox_timeout,
                                         settings_.local.delivery.command_timeout, unreaped_);
    }

    // Null: `verdict` is set.
    std::unique_ptr<Mailbox> program_for(std::string_view name, const Addressee& addressee, const Identity& user,
                                         std::optional<Verdict>& verdict) const {
        const auto found = std::ranges::find(settings_.commands, name, &config::MailCommand::name);
        if (found == settings_.commands.end()) {
            verdict = deferred("4.3.5", fmt::format("there is no [command.{}]", name));
            return nullptr;
        }
        const auto& delimiter = settings_.local.recipient_delimiter;
        const auto mark = delimiter.empty() ? '\0' : delimiter.front();
        const auto& sender = addressee.sender.empty() ? found->null_sender : addressee.sender;
        auto words = decide::command_words(found->run, {.recipient = addressee.recipient.address,
                                                        .original_recipient = addressee.original,
                                                        .sender = sender,
                                                        .delimiter = mark,
                                                        .queue_id = id_.text(),
                                                        .size = reader_.size()});
        if (!words) {
            verdict = failed("5.1.3", words.error());
            return nullptr;
        }
        command::Run run{as_user::identity_of(user), std::string(name), std::move(*words), {}, {}};
        run.person.change = settings_.switch_users;
        run.environment = command::environment(
            {user.name, user.home, addressee.sender, addressee.recipient.address, addressee.original, mark});
        auto prefix = prefix_for(addressee);
        if (found->from_line) prefix.insert(0, from_line(addressee.sender, common::Loop::now().wall) + '\n');
        return std::make_unique<Command>(std::move(run), std::move(prefix), mailbox_timeout, found->timeout, unreaped_);
    }

    MailboxRequest request_for(const Addressee& addressee, const DeliveryTarget& where, const Identity& user) const {
        const spool::RecipientState& recipient = addressee.recipient;
        MailboxRequest request;
        request.format = where.format;
        request.path = where.path;
        request.owner = user.uid;
        request.owned = where.owned;
        request.max_size = settings_.local.delivery.mailbox_size;
        request.done = where.done;
        request.lock_timeout = settings_.local.lock_timeout.count();
        request.name = maildir_name(id_, addressee.number, order_.arrival, settings_.hostname);
        // An earlier attempt that succeeded can only be another process's, or one whose end was never recorded.
        request.may_be_delivered = order_.arrival < settings_.born || recipient.tries > 0 || recipient.in_doubt;
        request.from_line = from_line(addressee.sender, common::Loop::now().wall);
        request.prefix = prefix_for(addressee);
        return request;
    }

    static std::string local_part_of(const std::string& address) {
        const auto parsed = smtp::parse_address_list(address);
        return parsed && parsed->size() == 1 ? parsed->front().local_part : std::string();
    }

    void add(const Addressee& addressee, Verdict verdict, DeliveryResult& out) const {
        if (settings_.soft_bounce && verdict.outcome == Outcome::failed)
            verdict = deferred(decide::status_as(verdict.status, decide::Severity::temporary), verdict.text);
        smtp::RemoteReply reply;
        reply.status = verdict.status;
        reply.text = verdict.text.substr(0, 512);
        // The rest of a user's mail waits for the mailbox that the configuration names; of the files and commands
        // that the user or an alias names, each waits by itself.
        const bool mailbox = verdict.mailbox && is_own_mailbox(addressee);
        // Nothing was tried with a mailbox: the other messages of its queue would fail in the same way
        // (decide/failure.h).
        reply.stage = mailbox ? proto::delivery::Stage::none : proto::delivery::Stage::local;
        reply.in_doubt = verdict.in_doubt;
        out.done.results.push_back({addressee.number, verdict.outcome,
                                    static_cast<std::uint32_t>(out.done.replies.size()),
                                    verdict.outcome == Outcome::delivered && addressee.wants_success});
        out.done.replies.push_back(std::move(reply));
        const auto& [address, user, target] =
            std::tie(addressee.recipient.address, addressee.recipient.user, addressee.recipient.target);
        const bool own_user = target.empty() && !user.empty();
        out.lines.push_back(
            {address, addressee.original, own_user ? user : address, mailbox, verdict, common::Loop::now().wall});
    }

    const spool::QueueId id_;
    const Order& order_;
    const Settings& settings_;
    MessageReader& reader_; // of the content
    TargetCheck& checks_;
    UnreapedProcesses& unreaped_;
    std::optional<Verdict> mailbox_failed_;             // of all recipients here: they are in one queue
    std::optional<std::set<std::string>> delivered_to_; // what the header has, in lower case
};

} // namespace

Settings settings_of(const config::Local& local, const std::vector<config::MailCommand>& commands,
                     const config::Mta& mta, const config::Bounce& bounce, smtp::WallTime born) {
    Settings out;
    out.hostname = mta.hostname;
    out.local = local;
    out.commands = commands;
    out.soft_bounce = bounce.soft_bounce;
    out.switch_users = mta.users && geteuid() == 0; // an ordinary user cannot become another user
    out.born = born;
    if (out.switch_users)
        if (const auto service = common::look_up_user(mta.user)) out.service_uid = service->uid;
    return out;
}

DeliveryResult deliver(SharedMessages& messages, const Deliver& order, const Settings& settings, TargetCheck& checks,
                       UnreapedProcesses& unreaped) {
    DeliveryResult out;
    const auto started = common::Loop::now();
    out.done.connection = order.connection;
    out.done.delivery = order.delivery;
    out.done.queue_id = order.queue_id;
    out.done.started = started.wall.time_since_epoch().count();
    Order taken;
    Done description;
    for (const auto number : order.recipients) description.results.push_back({.recipient = number});
    auto reader = messages.open(order.queue_id, proto::delivery::file_of(order), [&](const spool::MessageState& state) {
        taken = Order::of(order, state);
        common::describe_message(description, order, state);
    });
    if (reader) {
        Delivery(order.queue_id, taken, settings, *reader, checks, unreaped).run(out);
    } else {
        const auto* error = std::get_if<spool::Error>(&reader.error());
        out.done.gone = error && error->code == ENOENT;
        out.done.unreadable = error == nullptr;
        out.trouble = spool::text_of(reader.error());
    }
    if (!out.trouble.empty() && !out.done.unreadable) { // the disk, or our own lack of descriptors: not the message
        for (std::uint32_t number : order.recipients) {
            out.done.results.push_back({number, Outcome::deferred, 0, false});
        }
        smtp::RemoteReply reply;
        reply.status = "4.3.0";
        reply.text = out.trouble.substr(0, 512);
        reply.stage = proto::delivery::Stage::local;
        out.done.replies = {reply};
    }
    common::copy_description(description, out.done);
    out.done.link = "local";
    out.done.in_queue = std::max<std::int64_t>(0, out.done.started - std::max(order.queued, order.arrived));
    out.done.transmission = (common::Loop::now().monotonic - started.monotonic).count();
    CRASH_POINT("local.before_done");
    return out;
}

std::string prefix_fields(std::string_view reverse_path, std::string_view original_to, std::string_view to) {
    return fmt::format("Return-Path: <{}>\nX-Original-To: {}\nDelivered-To: {}\n", reverse_path, original_to, to);
}

std::string from_line(std::string_view reverse_path, smtp::WallTime now) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm local{};
    localtime_r(&seconds, &local);
    static constexpr const char* weekdays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    std::string sender(reverse_path.empty() ? "MAILER-DAEMON" : reverse_path);
    std::replace(sender.begin(), sender.end(), ' ', '-'); // readers split at blanks
    return fmt::format("From {}  {} {} {:2} {:02}:{:02}:{:02} {}", sender, weekdays[local.tm_wday],
                       smtp::month_names[static_cast<std::size_t>(local.tm_mon)], local.tm_mday, local.tm_hour,
                       local.tm_min, local.tm_sec, local.tm_year + 1900);
}

std::string maildir_name(spool::QueueId id, std::uint32_t recipient, smtp::WallTime arrived, std::string_view host) {
    std::string name =
        fmt::format("{}.Q{}R{}.", std::chrono::floor<std::chrono::seconds>(arrived).time_since_epoch().count(),
                    id.text(), recipient);
    for (char c : host) // as the convention says
        name += c == '/' ? std::string("\\057") : c == ':' ? std::string("\\072") : std::string(1, c);
    return name;
}

} // namespace local

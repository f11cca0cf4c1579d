#include "daemons/sendmail/sendmail.h"
#include "daemons/common/commands/effective_config.h"
#include "daemons/common/commands/queue_flush.h"
#include "daemons/common/commands/queue_listing.h"
#include "daemons/common/lookup/aliases/address_lint.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/sendmail/input.h"
#include "daemons/sendmail/options.h"
#include "daemons/sendmail/smtp.h"
#include "daemons/sendmail/submit.h"
#include "libsmtp/message/address.h"
#include "libsmtp/message/submission_fixup.h"
#include <cctype>
#include <csignal>
#include <ctime>
#include <fmt/format.h>
#include <pwd.h>
#include <sysexits.h>
#include <unistd.h>

namespace sendmail {

namespace {

std::string_view program = "sendmail"; // as it was called, for complaints

int fail(int status, std::string_view text) {
    fmt::print(stderr, "{}: {}\n", program, text);
    return status;
}

struct User {
    std::string name, full_name;
};
User calling_user() {
    User user;
    const passwd* entry = ::getpwuid(::getuid());
    user.name = entry != nullptr && *entry->pw_name != '\0' ? entry->pw_name : fmt::format("uid{}", ::getuid());
    if (const char* name = std::getenv("NAME"); name != nullptr && *name != '\0') {
        user.full_name = name;
    } else if (entry != nullptr) {
        const std::string_view gecos = entry->pw_gecos;
        for (const char c : gecos.substr(0, gecos.find(','))) {
            if (c != '&') {
                user.full_name += c;
                continue;
            }
            const auto at = user.full_name.size(); // stands for the login name with a capital
            user.full_name += user.name;
            user.full_name[at] = static_cast<char>(std::toupper(static_cast<unsigned char>(user.full_name[at])));
        }
    }
    return user;
}

// -bv reads nothing: what is verified are the recipients.
spool::Result<std::string> message_for(const common::EffectiveConfig& config, const Options& options) {
    if (options.mode == Mode::verify) return std::string("Subject: Delivery Status Report requested\n\n");
    return read_message(0, options.dots, config.submit.message_size);
}

int deliver(const common::EffectiveConfig& config, const Options& options) {
    const auto message = message_for(config, options);
    if (!message) return fail(message.error().code == EFBIG ? EX_DATAERR : EX_IOERR, message.error().what);
    const auto user = calling_user();
    proto::submit::Begin begin;
    begin.sender = options.sender.value_or(user.name);
    begin.full_name = options.full_name.empty() ? user.full_name : options.full_name;
    for (const auto& each : options.recipients) begin.recipients.push_back({each, {}, options.notify});
    begin.from_header = options.from_header;
    begin.header_notify = options.notify;
    begin.ret = options.ret;
    begin.envid = options.envid;
    begin.body = options.body;
    begin.smtputf8 = options.smtputf8;
    begin.require_tls = options.require_tls;
    begin.requests = options.requests;
    if (options.verbose) begin.trace = spool::Trace::first_try;
    if (options.mode == Mode::verify) begin.trace = spool::Trace::verify;
    const auto now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    begin.zone = static_cast<std::int32_t>(local.tm_gmtoff / 60);
    const auto answer = submit(config, begin, *message);
    if (answer.status != EX_OK) return fail(answer.status, answer.text);
    if (!answer.text.empty()) {
        if (begin.trace != spool::Trace::none) fmt::print("{}: {}\n", program, answer.text);
        return EX_OK;
    }
    if (options.verbose) fmt::print("{}: queued{}\n", program, answer.queue_id.empty() ? "" : " as " + answer.queue_id);
    if (begin.trace != spool::Trace::none && !begin.sender.empty())
        fmt::print("Mail Delivery Status Report will be mailed to <{}>.\n", begin.sender);
    return EX_OK;
}

// Aliases are read from text as they change; what can be said is whether they will be understood. As with Postfix's
// newaliases, a line that is not is no failure: the others hold.
int check_aliases(const common::EffectiveConfig& config) {
    int status = EX_OK;
    for (const auto& path : config.local.aliases) {
        if (const auto text = common::read_file(path); !text) {
            status = fail(EXIT_FAILURE, text.error().what);
            continue;
        }
        for (const auto& each : common::lint_alias_file(path))
            fmt::print(stderr, "{}: warning: {}{}: {}\n", program, each.file,
                       each.line == 0 ? "" : fmt::format(":{}", each.line), each.message);
    }
    return status;
}

int flush(const common::EffectiveConfig& config, const Options& options) {
    common::FlushRequest what{options.only_message, options.only_site, ""};
    what.why = what.message.empty() ? "sendmail -qR" : "sendmail -qI";
    const auto outcome = common::flush_queue(config.spool, config.mta, what);
    return outcome.status == EX_OK ? EX_OK : fail(outcome.status, outcome.text);
}

} // namespace

int run(std::string_view name, const std::vector<std::string>& words) {
    common::keep_standard_descriptors();
    std::signal(SIGPIPE, SIG_IGN);
    const auto options = parse_options(name, words);
    if (options && options->mode == Mode::list) program = "mailq";
    if (options && options->mode == Mode::aliases) program = "newaliases";
    if (!options) return fail(EX_USAGE, options.error());
    if (options->mode == Mode::nothing) return EX_OK;
    const auto found = common::effective_config(options->config); // files it names are not our affair
    if (!found) return fail(EX_TEMPFAIL, found.error().front().to_string());
    if (!found->warning.empty()) fmt::print(stderr, "{}: warning: {}\n", program, found->warning);
    const auto* const config = &*found;
    switch (options->mode) {
    case Mode::deliver:
    case Mode::verify: return deliver(*config, *options);
    case Mode::smtp: return serve_smtp(*config);
    case Mode::list:
        return common::list_queue(config->spool.directory + "/run/showq", common::QueueListing::Form::text, program);
    case Mode::aliases: return check_aliases(*config);
    case Mode::flush: return flush(*config, *options);
    case Mode::nothing: break;
    }
    return EX_OK;
}

} // namespace sendmail

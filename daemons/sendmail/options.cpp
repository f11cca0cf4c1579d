#include "daemons/sendmail/options.h"
#include "daemons/common/submission/sender_requests.h"
#include "libsmtp/protocol/parameters.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <unistd.h>

namespace sendmail {

using namespace proto::submit;

namespace {

constexpr char letters[] =
    "+A:B:C:F:GIL:N:O:R:UV:X:b:ce:f:h:imno:p:r:q:tvx"; // the first word that is not an option ends them

Mode mode_by_name(std::string_view name) {
    if (const auto slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
    if (name.starts_with('-')) name.remove_prefix(1); // as a login shell is called
    if (name == "mailq") return Mode::list;
    if (name == "newaliases") return Mode::aliases;
    return Mode::deliver;
}

bool is(std::string_view text, std::string_view word) { return smtp::same_ignoring_case(text, word); }

// `out` is changed; a text is an error message.
std::string take_mode(std::string_view text, Options& out) {
    if (text == "m")
        out.mode = Mode::deliver;
    else if (text == "s")
        out.mode = Mode::smtp;
    else if (text == "p")
        out.mode = Mode::list;
    else if (text == "i")
        out.mode = Mode::aliases;
    else if (text == "v")
        out.mode = Mode::verify;
    else if (text == "d" || text == "D" || text == "l")
        return "-b" + std::string(text) + ": the mail system is started with `postrider start`";
    else
        return "-b" + std::string(text) + " is not supported";
    return {};
}

std::string take_queue(std::string_view text, Options& out) {
    if (text.starts_with('I') || text.starts_with('R')) {
        out.mode = Mode::flush;
        (text.front() == 'I' ? out.only_message : out.only_site) = text.substr(1);
        return text.size() == 1 ? "-q" + std::string(text) + " requires a value" : std::string();
    }
    if (text.starts_with('S')) return "-qS is not supported";
    if (out.mode == Mode::deliver) out.mode = Mode::nothing; // -q30m: how often the queue is run is configured
    return {};
}

std::string take_setting(std::string_view text, Options& out) {
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals);
    const auto value = equals == text.npos ? std::string_view() : text.substr(equals + 1);
    if (const auto field = common::request_field(name, value); !field.empty()) {
        if (value.empty() || value.size() > 200 || !std::ranges::all_of(value, smtp::is_printable))
            return "-O " + std::string(name) + ": expected a value of at most 200 printable ASCII characters";
        out.requests += field;
        return {};
    }
    bool* setting = is(name, "smtputf8") ? &out.smtputf8 : is(name, "requiretls") ? &out.require_tls : nullptr;
    if (setting == nullptr) return {}; // all others are accepted and ignored
    if (!is(value, "yes") && !is(value, "no")) return "-O " + std::string(name) + ": expected yes or no";
    *setting = is(value, "yes");
    return {};
}

std::string take(int letter, const std::string& value, Options& out) {
    switch (letter) {
    case 'B':
        if (!is(value, "7BIT") && !is(value, "8BITMIME")) return "-B " + value + ": expected 7BIT or 8BITMIME";
        out.body = is(value, "7BIT") ? Body::seven_bit : Body::eight_bit;
        return {};
    case 'C': out.config = value; return {};
    case 'F': out.full_name = value; return {};
    case 'I': out.mode = Mode::aliases; return {};
    case 'N':
        if (const auto notify = smtp::Notify::parse(value); notify && notify->given())
            out.notify = notify->bits();
        else
            return "-N " + value + ": expected never, or a list of success, failure and delay";
        return {};
    case 'O': return take_setting(value, out);
    case 'R':
        if (!is(value, "full") && !is(value, "hdrs")) return "-R " + value + ": expected full or hdrs";
        out.ret = is(value, "full") ? smtp::Ret::full : smtp::Ret::headers;
        return {};
    case 'V':
        if (value.size() > 100 || std::ranges::any_of(value, [](char c) { return c < 33 || c > 126; }))
            return "-V: an envelope id must have at most 100 printable characters and no spaces";
        out.envid = value;
        return {};
    case 'b': return take_mode(value, out);
    case 'f':
    case 'r': out.sender = value == "<>" ? std::string() : value; return {};
    case 'i': out.dots = DotHandling::literal; return {};
    case 'o':
        if (value == "i") out.dots = DotHandling::literal;
        return {};
    case 'q': return take_queue(value, out);
    case 't': out.from_header = true; return {};
    case 'v': out.verbose = true; return {};
    default: return {}; // A G L U X c e h m n p x: accepted, without effect
    }
}

} // namespace

std::expected<Options, std::string> parse_options(std::string_view name, const std::vector<std::string>& words) {
    Options out;
    out.mode = mode_by_name(name);
    std::vector<std::string> copies(words);
    copies.insert(copies.begin(), "sendmail");
    std::vector<char*> argv;
    for (auto& each : copies) argv.push_back(each.data());
    argv.push_back(nullptr);
    const int argc = static_cast<int>(copies.size());
    opterr = 0;
    optind = 0; // glibc: start again
    for (bool first = true;; first = false) {
        // -q alone takes no value, although it does in `letters`.
        const int at = first ? 1 : optind;
        if (at < argc && copies[static_cast<std::size_t>(at)] == "-q") {
            out.mode = Mode::flush;
            copies[static_cast<std::size_t>(at)] = "-n"; // a letter without effect in its place
            argv[static_cast<std::size_t>(at)] = copies[static_cast<std::size_t>(at)].data();
        }
        const int letter = ::getopt(argc, argv.data(), letters);
        if (letter == -1) break;
        if (letter == '?') {
            const char odd[] = {static_cast<char>(optopt), '\0'};
            return std::unexpected(std::string("-") + odd + " is not an option, or needs a value");
        }
        if (auto complaint = take(letter, optarg == nullptr ? std::string() : optarg, out); !complaint.empty())
            return std::unexpected(complaint);
    }
    for (int n = optind; n < argc; ++n) out.recipients.push_back(copies[static_cast<std::size_t>(n)]);
    const bool needs_recipients = out.mode == Mode::deliver || out.mode == Mode::verify;
    if (needs_recipients && out.recipients.empty() && !(out.from_header && out.mode == Mode::deliver))
        return std::unexpected("no recipients: give them as arguments, or in the header with -t");
    if (out.from_header && out.mode == Mode::smtp) return std::unexpected("-t and -bs cannot be combined");
    return out;
}

} // namespace sendmail

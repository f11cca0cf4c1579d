#include "daemons/common/filters/milter/session.h"
#include <fmt/format.h>

namespace milter {

namespace {

enum Action : std::uint32_t {
    add_headers = 0x1,
    change_body = 0x2,
    add_recipient = 0x4,
    remove_recipient = 0x8,
    change_headers = 0x10,
    quarantine = 0x20,
    change_sender = 0x40,
    add_recipient_with_parameters = 0x80,
    choose_macros = 0x100,
};
constexpr std::uint32_t offered_actions = 0x1ff;
// All steps may be skipped or remain unanswered; not offered: rejected recipients (0x800) and large packets.
constexpr std::uint32_t offered_steps = 0x1fffff & ~0x800u;

std::unexpected<smtp::Malformed> malformed(std::string why) { return std::unexpected(smtp::Malformed{std::move(why)}); }

std::string text(std::string_view one) { return std::string(one) + '\0'; }

// "550 5.7.1 text", as the filter wrote it.
std::optional<smtp::Reply> reply_of(std::string_view said) {
    const auto code = smtp::parse_number(said.substr(0, 3), 599);
    if (!code || *code < 400 || (said.size() > 3 && said[3] != ' ' && said[3] != '-')) return {};
    smtp::Reply reply{static_cast<int>(*code), {}, ""};
    for (auto rest = said; !rest.empty();) {
        auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.ends_with('\r')) line.remove_suffix(1);
        line.remove_prefix(std::min<std::size_t>(4, line.size()));
        const auto space = line.find(' ');
        if (const auto status = smtp::EnhancedStatus::parse(line.substr(0, space));
            status && status->klass == *code / 100) {
            reply.status = *status;
            line.remove_prefix(space == line.npos ? line.size() : space + 1);
        }
        if (!reply.text.empty()) reply.text += '\n';
        reply.text += smtp::printable(line, 400);
        if (reply.text.size() > 4000) break;
    }
    const auto klass = static_cast<std::uint16_t>(*code / 100);
    if (!reply.status.given()) reply.status = {klass, 7, 1};
    return reply;
}

} // namespace

bool Session::tell(char command, std::string_view data, const Macros& macros, Step skip, Step silent) {
    if (skipped(skip)) return false;
    if (!macros.empty()) {
        std::string list(1, command);
        for (const auto& [name, value] : macros) list += text(name) + text(value);
        append_packet(output_, 'D', list);
    }
    append_packet(output_, command, data);
    return wait_for(!skipped(silent));
}

bool Session::negotiate() {
    std::string data;
    append_number(data, 6);
    append_number(data, offered_actions);
    append_number(data, offered_steps);
    append_packet(output_, 'O', data);
    negotiating_ = true;
    return wait_for(true);
}

bool Session::connect(const std::string& name, const std::string& address, std::uint16_t port, const Macros& macros) {
    auto data = text(name);
    const bool v6 = address.find(':') != address.npos;
    data += address.empty() ? 'U' : v6 ? '6' : '4';
    if (!address.empty()) {
        data += static_cast<char>(port >> 8);
        data += static_cast<char>(port & 0xff);
        data += text(v6 ? "IPv6:" + address : address);
    }
    return tell('C', data, macros, no_connect, no_reply_connect);
}

bool Session::helo(const std::string& name, const Macros& macros) {
    return tell('H', text(name), macros, no_helo, no_reply_helo);
}
bool Session::mail(const std::string& path, const Macros& macros) {
    return tell('M', text(path), macros, no_mail, no_reply_mail);
}
bool Session::rcpt(const std::string& path, const Macros& macros) {
    return tell('R', text(path), macros, no_rcpt, no_reply_rcpt);
}
bool Session::data(const Macros& macros) { return tell('T', "", macros, no_data, no_reply_data); }
bool Session::unknown(const std::string& line) { return tell('U', text(line), {}, no_unknown, no_reply_unknown); }

bool Session::header(std::string_view name, std::string_view value) {
    if (!skipped(leading_space) && value.starts_with(' ')) value.remove_prefix(1);
    std::string data = text(name);
    for (const char c : value)
        if (c != '\r' && c != '\0') data += c; // folds are LF alone in this protocol
    data += '\0';
    return tell('L', data, {}, no_header, no_reply_header);
}

bool Session::end_of_header(const Macros& macros) {
    return tell('N', "", macros, no_end_of_header, no_reply_end_of_header);
}
bool Session::body(std::string_view chunk) { return tell('B', chunk, {}, no_body, no_reply_body); }

bool Session::end_of_message(const Macros& macros) {
    changes_ = {};
    at_end_ = true;
    return tell('E', "", macros, Step{}, Step{});
}

void Session::abort() { append_packet(output_, 'A'); }
void Session::quit() { append_packet(output_, 'Q'); }

std::expected<std::optional<Response>, smtp::Malformed> Session::next() {
    for (;;) {
        auto packet = reader_.next();
        if (!packet) return std::unexpected(std::move(packet).error());
        if (!*packet) return std::nullopt;
        const auto& [command, data] = **packet;
        if (!waiting_) return malformed(fmt::format("sent {:#x} without a request", command));
        if (negotiating_) return negotiated(**packet);
        Response word;
        switch (command) {
        case 'p': word.what = Response::What::progress; return word;
        case 'c': break;
        case 'a': word.what = Response::What::accept; break;
        case 'd': word.what = Response::What::discard; break;
        case 's':
            if (!skipped(may_skip)) return malformed("sent a skip that was not negotiated");
            word.what = Response::What::skip;
            break;
        case 'r':
            word.what = Response::What::refuse;
            word.reply = {550, {5, 7, 1}, "Command rejected"};
            break;
        case 't':
        case 'f':
            word.what = Response::What::refuse;
            word.reply = {451, {4, 7, 1}, "Service unavailable - try again later"};
            break;
        case '4':
            word.what = Response::What::refuse;
            word.reply = {421, {4, 7, 0}, "Service unavailable - closing"};
            break;
        case 'y': {
            const auto said = DataReader(data).text();
            const auto reply = said ? reply_of(*said) : std::nullopt;
            if (!reply) return malformed("an invalid reply");
            word.what = Response::What::refuse;
            word.reply = *reply;
            break;
        }
        default:
            if (auto taken = modified(**packet); !taken) return std::unexpected(taken.error());
            continue;
        }
        if (!data.empty() && command != 'y') return malformed("unexpected data in the reply");
        return on_response(std::move(word));
    }
}

// The answer to the request is complete.
std::expected<std::optional<Response>, smtp::Malformed> Session::on_response(Response word) {
    if (!reader_.empty()) return malformed("unexpected data after the reply");
    waiting_ = negotiating_ = false;
    if (std::exchange(at_end_, false) && (word.what == Response::What::proceed || word.what == Response::What::accept))
        word.changes = std::exchange(changes_, {});
    return word;
}

std::expected<std::optional<Response>, smtp::Malformed> Session::negotiated(const Packet& packet) {
    DataReader data(packet.data);
    const auto version = data.number(), actions = data.number(), steps = data.number();
    if (packet.command != 'O' || !steps) return malformed("did not negotiate");
    if (*version < 2 || *version > 6) return malformed(fmt::format("uses unknown version {}", *version));
    if ((*actions & ~offered_actions) != 0 || (*steps & ~offered_steps) != 0)
        return malformed("requests features that were not offered");
    actions_ = *actions;
    steps_ = *steps; // lists of macros may follow: all available macros are sent anyway
    return on_response({});
}

std::expected<void, smtp::Malformed> Session::modified(const Packet& packet) {
    DataReader data(packet.data);
    const auto allowed = [&](std::uint32_t action) { return at_end_ && (actions_ & action) != 0; };
    const auto no = [&] {
        return malformed(fmt::format("an invalid or unannounced modification {:#x}", packet.command));
    };
    changes_.size += packet.data.size() + 64;
    if (changes_.size > limit_) return malformed("too many modifications");
    switch (packet.command) {
    case 'h':
    case 'i':
    case 'm': {
        using What = HeaderChange::What;
        const auto what = packet.command == 'h' ? What::add : packet.command == 'i' ? What::insert : What::change;
        const auto index = what == What::add ? std::optional<std::uint32_t>(0) : data.number();
        auto name = data.text(), value = data.text();
        if (!allowed(what == What::change ? change_headers : add_headers) || !index || !name || !value || !data.ended())
            return no();
        if (!skipped(leading_space) && !value->empty()) value->insert(0, " ");
        changes_.headers.push_back({what, *index, *std::move(name), *std::move(value)});
        return {};
    }
    case 'b':
        if (!allowed(change_body)) return no();
        if (!changes_.body) changes_.body.emplace();
        *changes_.body += packet.data;
        return {};
    case '+':
    case '2':
    case '-': {
        const auto action = packet.command == '+'   ? add_recipient
                            : packet.command == '2' ? add_recipient_with_parameters
                                                    : remove_recipient;
        auto path = data.text();
        auto parameters = packet.command == '2' && !data.ended() ? data.text() : std::string();
        if (!allowed(action) || !path || !parameters || !data.ended()) return no();
        if (packet.command == '-')
            changes_.removed.push_back(*std::move(path));
        else
            changes_.added.push_back({*std::move(path), *std::move(parameters)});
        return {};
    }
    case 'e': {
        auto path = data.text();
        if (!allowed(change_sender) || !path) return no();
        changes_.sender = *std::move(path);
        return {};
    }
    case 'q': {
        auto why = data.text();
        if (!allowed(quarantine) || !why) return no();
        changes_.quarantine = why->empty() ? "quarantined by a filter" : smtp::printable(*why, 300);
        return {};
    }
    default: return malformed(fmt::format("an unknown reply {:#x}", packet.command));
    }
}

} // namespace milter

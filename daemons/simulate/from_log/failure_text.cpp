#include "daemons/simulate/from_log/failure_text.h"
#include <algorithm>
#include <cctype>

namespace postrider::simulate::from_log {

using smtp::Stage;

namespace {

constexpr std::size_t longest_reply = 200;

// Which part of the conversation "(in reply to …)" or "while …" names.
Stage stage_of(std::string_view words) {
    struct Word {
        std::string_view text;
        Stage stage;
    };
    static constexpr Word all[] = {{"greeting", Stage::banner},
                                   {"EHLO", Stage::ehlo},
                                   {"HELO", Stage::ehlo},
                                   {"LHLO", Stage::ehlo},
                                   {"TLS", Stage::ehlo},
                                   {"AUTH", Stage::ehlo},
                                   {"authenticating", Stage::ehlo},
                                   {"MAIL FROM", Stage::mail},
                                   {"RCPT TO", Stage::rcpt},
                                   {"end of", Stage::final_dot},
                                   {"message body", Stage::final_dot},
                                   {"final dot", Stage::final_dot},
                                   {"DATA", Stage::data}};
    for (const auto& each : all)
        if (words.find(each.text) != words.npos) return each.stage;
    return Stage::final_dot;
}

std::string_view behind_last(std::string_view text, std::string_view mark) {
    const auto at = text.rfind(mark);
    return at == text.npos ? std::string_view() : text.substr(at + mark.size());
}

bool has(std::string_view text, std::string_view lower) {
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    return std::ranges::search(text, lower, same).begin() != text.end();
}

// One that a scenario can hold: printable, not too long.
std::optional<Reply> reply_of(std::string_view said) {
    std::string line(said.substr(0, longest_reply));
    for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xc0) == 0x80)
        line.pop_back(); // a character that was cut
    if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xc0) line.pop_back();
    if (line.size() > 3 && line[3] == '-') line[3] = ' ';
    return Reply::parse(line);
}

std::optional<Failure> said(std::string_view text) {
    constexpr std::string_view refused = " refused to talk to me: ", said = " said: ";
    Failure out{.kind = FaultKind::replies};
    std::size_t at = text.find(refused), skipped = refused.size();
    if (at != text.npos) {
        out.at = Stage::banner;
    } else {
        at = text.find(said);
        skipped = said.size();
        if (at == text.npos) return {};
    }
    out.host = Relay::parse(text.substr(5, at - 5)); // behind "host "
    auto words = text.substr(at + skipped);
    if (const auto where = words.rfind(" (in reply to "); where != words.npos) {
        if (out.at != Stage::banner) out.at = stage_of(words.substr(where));
        words = words.substr(0, where);
    } else if (out.at != Stage::banner) {
        out.at = Stage::final_dot;
    }
    auto reply = reply_of(words);
    if (!reply) return {};
    out.reply = *std::move(reply);
    const bool for_now = out.reply.code < 500;
    out.greylisting = for_now && out.at >= Stage::rcpt &&
                      (has(words, "greylist") || has(words, "graylist") || has(words, "grey list"));
    out.unknown_user = !for_now && out.at == Stage::rcpt && out.reply.status.starts_with("5.1.");
    return out;
}

} // namespace

bool is_suspended(std::string_view text) { return text.starts_with("delivery temporarily suspended"); }

std::optional<Failure> parse_failure(std::string_view text) {
    if (text.starts_with("host ")) return said(text);
    if (text.starts_with("connect to ")) {
        text.remove_prefix(11);
        const auto end = text.find(": ");
        if (end == text.npos) return {};
        Failure out{.kind = has(text.substr(end), "timed out") ? FaultKind::silent : FaultKind::refuses};
        out.host = Relay::parse(text.substr(0, end));
        return out;
    }
    if (text.starts_with("lost connection with ") || text.starts_with("conversation with ")) {
        const bool silent = text.starts_with("conversation");
        text.remove_prefix(silent ? 18 : 21);
        const auto words = behind_last(text, " while ");
        if (words.empty()) return {};
        Failure out{.kind = silent ? FaultKind::silent : FaultKind::drops, .at = stage_of(words)};
        out.host = Relay::parse(text.substr(0, text.find(' ')));
        return out;
    }
    if (text.find("Name service error for name=") != text.npos)
        return Failure{.kind = text.find("try again") != text.npos ? FaultKind::no_dns : FaultKind::no_name};
    return {};
}

} // namespace postrider::simulate::from_log

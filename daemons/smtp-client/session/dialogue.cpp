#include "daemons/smtp-client/session/dialogue.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <utility>

namespace smtp_client {

using proto::delivery::DialogueLine;
using smtp::Stage;

namespace {

// At most longest_line of it. A part of a word may be one of an address, which could not be recognized then, to be
// hashed; so may a word after an open quotation mark.
std::string_view whole_words(std::string_view text) {
    if (text.size() <= Dialogue::longest_line) return text;
    text = text.substr(0, text.substr(0, Dialogue::longest_line + 1).rfind(' ') + 1);
    if (std::ranges::count(text, '"') % 2 == 1) text = text.substr(0, text.rfind('"'));
    return text;
}

} // namespace

void Dialogue::begin(std::string_view relay, DotReplies dot_replies) {
    dot_replies_ = dot_replies;
    std::erase_if(lines_, [](const Line& line) { return line.transaction.has_value(); });
    add({{}, {}, "-- "}, relay);
}

void Dialogue::sent(const smtp::client_event::CommandSent& command) {
    Line line{command.transaction, {}, "C: "};
    if (command.stage == Stage::rcpt) line.recipient = command.recipient;
    add(std::move(line), command.text);
}

void Dialogue::received(const smtp::client_event::ReplyReceived& said) {
    Line line{said.transaction, {}, "S: "};
    const bool of_each = said.stage == Stage::final_dot && dot_replies_ == DotReplies::of_each_recipient;
    if (said.stage == Stage::rcpt || of_each) line.recipient = said.recipient;
    add(std::move(line), said.reply.line());
}

void Dialogue::add(Line line, std::string_view text) {
    if (lines_.size() == most_lines) lines_.pop_front();
    line.text += smtp::printable(whole_words(text), longest_line);
    lines_.push_back(std::move(line));
}

void Dialogue::transaction_over(std::uint64_t id) {
    std::erase_if(lines_, [id](const Line& line) { return line.transaction == id; });
}

std::vector<DialogueLine> Dialogue::lines(std::uint64_t transaction,
                                          const std::vector<std::uint32_t>& recipients) const {
    std::vector<DialogueLine> out;
    for (const auto& line : lines_) {
        if (line.transaction && line.transaction != transaction) continue;
        if (!line.recipient)
            out.push_back({0, line.text});
        else if (*line.recipient < recipients.size())
            out.push_back({recipients[*line.recipient] + 1, line.text});
    }
    return out;
}

std::vector<DialogueLine> Dialogue::setup_lines() const {
    std::vector<DialogueLine> out;
    for (const auto& line : lines_)
        if (!line.transaction) out.push_back({0, line.text});
    return out;
}

} // namespace smtp_client

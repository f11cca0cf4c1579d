// The keys of programs that mail is delivered to.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/recipients/mail_command.h"
#include "daemons/decide/addressing/command_words.h"
#include <algorithm>
#include <fmt/format.h>

namespace config {

using namespace std::chrono_literals;

namespace {

// In order; a word may come twice.
ListKey words(std::vector<std::string>& values) {
    return {[&values] { values.clear(); },
            [&values](std::string_view text) -> Refusal {
                if (values.size() == MailCommand::most_words)
                    return fmt::format("too many words: expected at most {}", MailCommand::most_words);
                if (text.size() > MailCommand::longest_word || text.find('\0') != text.npos)
                    return fmt::format("expected words of at most {} bytes, without NUL", MailCommand::longest_word);
                if (const auto unknown = decide::unknown_place(text))
                    return fmt::format("\"{}\" has no meaning: expected {{recipient}}, {{original_recipient}}, "
                                       "{{sender}}, {{local}}, {{user}}, {{extension}}, {{domain}}, {{queue_id}} or "
                                       "{{size}}",
                                       *unknown);
                if (values.empty() && text.find('{') != text.npos) return "a program has no {...} in its path";
                values.emplace_back(text);
                return std::nullopt;
            },
            [&values] { return values; }};
}

} // namespace

Section section_for(MailCommand& s) {
    return {
        "command.<name>",
        "A program that mail is delivered to: a mailing list manager, a sorter of mail, a gateway. Transport tables "
        "(\"command:NAME\") and virtual_mailbox.deliver say for which recipients; their domains must be accepted, "
        "for example by relay.domains. The program gets the message on its standard input, once for each "
        "recipient, and its exit status is the result, as in sysexits(3): 0 delivered, 75 try again, 67 no such "
        "user; the first line of its output is part of the report. See postrider-local(8).",
        {
            {"run", words(s.run),
             "The program by its absolute path, and its arguments. No shell is involved. {recipient}, {local} (its "
             "local part), {user} (that without an extension), {extension}, {domain}, {original_recipient}, "
             "{sender}, {queue_id} and {size} (bytes) are replaced; mail for which a word would then begin with "
             "\"-\" is rejected, as programs take such words for options. Required.",
             "[\"/usr/lib/sympa/bin/queue\", \"{local}@{domain}\"]", true},
            {"user", any_text(s.user),
             "User of this system as whom the program runs. Required, but in single-user mode.", "\"list\""},
            {"timeout", DurationKey{&s.timeout, 1s, 24h},
             "Time limit for one message; a program that takes longer is killed, and the mail deferred.", ""},
            {"from_line", BoolKey{&s.from_line},
             "Whether the message begins with a line \"From SENDER DATE\", as in an mbox.", ""},
            {"null_sender", any_text(s.null_sender), "What {sender} is for reports, which have no sender.", ""},
        }};
}

} // namespace config

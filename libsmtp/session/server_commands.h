// The commands of SMTP as a server understands them: a table of what each requires, and a check of each that
// turns its argument into a question, a reply or a refusal. Pure: reads the state of the session, changes
// nothing.
#pragma once
#include "libsmtp/protocol/capabilities.h"
#include "libsmtp/session/server_client.h"
#include "libsmtp/session/server_events.h"
#include "libsmtp/session/server_settings.h"
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace smtp {

// From MAIL to the answer at the message's end.
struct ServerTransaction {
    bool open = false;            // MAIL was accepted
    bool chunking = false;        // its content comes by BDAT
    bool utf8 = false;            // it is one of SMTPUTF8; stays as it was until the next MAIL
    std::uint32_t recipients = 0; // accepted
};

// The state of the session when a command arrives.
struct CommandContext {
    const ServerSettings& settings;
    const Capabilities& offered;
    ServerRights rights;
    const ServerClient& client;
    ServerTransaction transaction;
};

// A question to the driver, answered by one Reply.
enum class Question : std::uint8_t {
    nothing,
    connect,
    helo,
    mail,
    rcpt,
    data,
    end_of_data,
    vrfy,
    etrn,
    start_tls,
    auth,
    xclient,
    xforward,
    unknown
};

// The result of a check.
struct Refuse {
    Reply reply;
};
struct Accept { // the session answers it by itself
    Reply reply;
};
struct Ask {
    Question question;
    ServerEvent event;
};
using CommandResult = std::variant<Refuse, Accept, Ask>;

struct Command {
    enum class Needs : std::uint8_t { nothing, greeting, mail };
    enum class Tls : std::uint8_t { not_needed, where_required };
    enum class Junk : std::uint8_t { no, yes }; // yes: it moves no mail; junk_commands limits these
    std::string_view name;
    Verb verb;
    Needs needs;
    Tls tls;
    Junk junk;
    CommandResult (*check)(const CommandContext& context, std::string_view argument); // null: BDAT
};

// The line's first word, and what follows it without the blanks around it.
std::pair<std::string_view, std::string_view> split_command(std::string_view line);
// Null: unknown.
const Command* find_command(std::string_view name);
// The first word of a web browser, a proxy or its scanner.
bool is_http_method(std::string_view name);
// Not for BDAT.
CommandResult check_command(const Command& command, const CommandContext& context, std::string_view argument);

// Whatever is wrong with BDAT, its bytes must not be taken for commands: refused, a chunk is read
// nonetheless.
struct Chunk {
    std::uint64_t size = 0;
    bool last = false;
};
// The argument of BDAT; none: malformed, and the end of the chunk is unknown.
std::optional<Chunk> parse_chunk(std::string_view argument);
// `received`: bytes of the message so far.
std::optional<Reply> refusal_of_chunk(const CommandContext& context, const Chunk& chunk, std::uint64_t received);

} // namespace smtp

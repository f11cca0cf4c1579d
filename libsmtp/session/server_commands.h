// The commands of SMTP as a server understands them: a table of what each needs, and a check of each that turns its
// argument into a question, a reply or a refusal. Pure: what the session is at goes in and is not changed.
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

// What the session is at when a command comes.
struct CommandContext {
    const ServerSettings& settings;
    const Capabilities& offered;
    ServerRights rights;
    const ServerClient& client;
    ServerTransaction transaction;
};

// What the driver is asked; each is answered by one Reply.
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

// What a command comes to.
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
    enum class Junk : std::uint8_t { no, yes }; // yes: it moves no mail, and a client may send only so many of them
    std::string_view name;
    Verb verb;
    Needs needs;
    Tls tls;
    Junk junk;
    CommandResult (*check)(const CommandContext& context, std::string_view argument); // null: BDAT
};

// The line's first word, and what follows it without the blanks around it.
std::pair<std::string_view, std::string_view> split_command(std::string_view line);
// Null: there is none of that name.
const Command* find_command(std::string_view name);
// What a web browser, a proxy or its scanner sends first.
bool is_http_method(std::string_view name);
// Not for BDAT.
CommandResult check_command(const Command& command, const CommandContext& context, std::string_view argument);

// Whatever is wrong with BDAT, its bytes must not be taken for commands: refused, a chunk is read nonetheless.
struct Chunk {
    std::uint64_t size = 0;
    bool last = false;
};
// The argument of BDAT; none: it is not one, and nobody knows where the chunk ends.
std::optional<Chunk> parse_chunk(std::string_view argument);
// `received`: bytes of the message so far.
std::optional<Reply> refusal_of_chunk(const CommandContext& context, const Chunk& chunk, std::uint64_t received);

} // namespace smtp

// The MTA's side of a conversation with one milter (protocol version 6), as a value: it gets the
// events of the mail session and the filter's bytes, and returns the filter's response. Modifications
// are collected and returned with the final response to a message, never before. No socket, no clock.
#pragma once
#include "daemons/common/filters/milter/packet.h"
#include "libsmtp/protocol/reply.h"
#include <utility>

namespace milter {

using Macros = std::vector<std::pair<std::string, std::string>>; // {"i", queue id}, {"{auth_type}", …}

struct HeaderChange {
    enum class What : std::uint8_t { add, insert, change };
    What what = What::add;
    std::uint32_t index = 0; // insert: the place; change: which one of that name, from 1
    std::string name, value; // change with an empty value: the field goes
};

struct AddedRecipient {
    std::string path;       // "<a@b>"
    std::string parameters; // "NOTIFY=NEVER ORCPT=rfc822;c@d", as of RCPT; may be empty
    bool operator==(const AddedRecipient&) const = default;
};

struct Modifications {
    std::vector<HeaderChange> headers;
    std::optional<std::string> body;
    std::vector<AddedRecipient> added;
    std::vector<std::string> removed;  // recipients
    std::optional<std::string> sender; // "" the null one
    std::string quarantine;            // why, if not empty
    std::size_t size = 0;              // bytes the filter sent for them
};

// A filter's response.
struct Response {
    enum class What : std::uint8_t { proceed, accept, discard, refuse, skip, progress };
    What what = What::proceed;
    smtp::Reply reply;     // refuse
    Modifications changes; // to the end of a message
};

class Session {
public:
    explicit Session(std::uint64_t largest_modification = 64 * 1024 * 1024) : limit_(largest_modification) {}

    // Each queues what is to be sent; true: a response of the filter follows, and nothing may be sent before it.
    bool negotiate();
    bool connect(const std::string& name, const std::string& address, std::uint16_t port, const Macros& macros);
    bool helo(const std::string& name, const Macros& macros);
    bool mail(const std::string& path, const Macros& macros); // "<a@b>"
    bool rcpt(const std::string& path, const Macros& macros);
    bool data(const Macros& macros);
    bool unknown(const std::string& line);                      // an unknown command
    bool header(std::string_view name, std::string_view value); // value with what follows the colon
    bool end_of_header(const Macros& macros);
    bool body(std::string_view chunk); // at most 65,535 bytes
    bool end_of_message(const Macros& macros);
    void abort();
    void quit();

    bool wants_body() const { return !skipped(no_body); }
    std::string output() { return std::exchange(output_, {}); }
    void feed(std::string_view bytes) { reader_.feed(bytes); }
    // The response waited for; none: more input is needed. Malformed: the filter cannot be trusted. That includes a
    // filter that sends more than it was asked for, because the rest would be taken for the answer to the next request.
    std::expected<std::optional<Response>, smtp::Malformed> next();

private:
    enum Step : std::uint32_t {
        no_connect = 0x1,
        no_helo = 0x2,
        no_mail = 0x4,
        no_rcpt = 0x8,
        no_body = 0x10,
        no_header = 0x20,
        no_end_of_header = 0x40,
        no_reply_header = 0x80,
        no_unknown = 0x100,
        no_data = 0x200,
        may_skip = 0x400,
        no_reply_connect = 0x1000,
        no_reply_helo = 0x2000,
        no_reply_mail = 0x4000,
        no_reply_rcpt = 0x8000,
        no_reply_data = 0x10000,
        no_reply_unknown = 0x20000,
        no_reply_end_of_header = 0x40000,
        no_reply_body = 0x80000,
        leading_space = 0x100000,
    };
    bool skipped(Step step) const { return (steps_ & step) != 0; }
    bool tell(char command, std::string_view data, const Macros& macros, Step skip, Step silent);
    bool wait_for(bool word) {
        waiting_ = word;
        return word;
    }
    std::expected<std::optional<Response>, smtp::Malformed> negotiated(const Packet& packet);
    std::expected<std::optional<Response>, smtp::Malformed> on_response(Response word);
    std::expected<void, smtp::Malformed> modified(const Packet& packet);

    PacketReader reader_;
    std::string output_;
    std::uint32_t steps_ = 0, actions_ = 0;
    std::uint64_t limit_;
    bool waiting_ = false, negotiating_ = false, at_end_ = false;
    Modifications changes_;
};

} // namespace milter

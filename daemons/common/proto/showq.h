// The queue listing as Postfix's showq(8) serves it on a socket, so that mailq, postqueue and exporters
// written for it work here: attribute lists of NUL-terminated strings, name and value alternating, each
// list ended by an empty name. Served by the queue-manager on run/showq. Knows the bytes; opens nothing.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace proto::showq {

struct Recipient {
    std::string address;
    std::string reason; // why it still waits; "" when it was never tried
    bool operator==(const Recipient&) const = default;
};

struct Entry {
    std::string queue = "deferred"; // incoming, active, deferred, hold
    std::string queue_id;
    std::int64_t arrived = 0; // seconds since 1970
    std::uint64_t size = 0;   // bytes of content
    bool forced_expire = false;
    std::string sender; // "MAILER-DAEMON": the null reverse-path
    std::vector<Recipient> recipients;
    bool operator==(const Entry&) const = default;
};

// What precedes the first entry, and what follows the last.
void append_start(std::string& wire);
void append(const Entry& entry, std::string& wire);
void append_end(std::string& wire);

// The other direction, for bytes as they arrive.
class Decoder {
public:
    explicit Decoder(std::function<void(Entry&&)> on_entry) : on_entry_(std::move(on_entry)) {}
    enum class Progress { more, end, malformed };
    // After it has returned end or malformed, further bytes are ignored.
    Progress feed(std::string_view bytes);

private:
    static constexpr std::size_t max_word = 64 * 1024, max_recipients = 200'000;
    Progress word(std::string_view word);
    Progress end_of_list();
    bool attribute(std::string_view name, std::string_view value);

    std::function<void(Entry&&)> on_entry_;
    std::string rest_, name_;
    Entry entry_;
    bool have_name_ = false, greeted_ = false, begun_ = false;
    Progress progress_ = Progress::more;
};

} // namespace proto::showq

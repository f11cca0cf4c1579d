// What a mail log says, put together: which mail came when and what became of it, and how each host and domain behaved
// while it was tried. Reads line by line; knows neither the scenario that is made of it nor the simulation. Whatever the
// log holds, it keeps a bounded part of it and counts the rest. Pure.
#pragma once
#include "daemons/postrider/simulate/from_log/failing.h"
#include "daemons/postrider/simulate/from_log/log_line.h"
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace postrider::simulate::from_log {

// One recipient of one message.
struct Recipient {
    enum class State : std::uint8_t { waiting, delivered, returned, passed_on }; // passed_on: queued again, under another id
    State state = State::waiting;
    std::uint32_t domain = 0, message = 0; // in domains(), messages()
    std::uint32_t next = none;             // of the same message, in recipients()
    static constexpr std::uint32_t none = 0xffffffff;
    smtp::Duration arrival{};
    smtp::Duration first_try{-1}, put_off{-1}; // put_off: by greylisting, last
    smtp::Duration delay{};                    // delivered: since its arrival
};

struct Message {
    std::string sender;
    std::uint64_t size = 0; // 0: the log does not say
    smtp::Duration queued{-1};
    std::uint32_t first = Recipient::none; // of its recipients
    bool sender_known = false, ours = false; // ours: a report or notice that this system made
};

// A try at a host: what came of it.
struct Attempt {
    static constexpr std::uint16_t passed = 0xffff;
    smtp::Duration at{};
    std::uint16_t kind = passed; // in Conduct::kinds
};

// How a host, or the look-up of a domain, behaved.
struct Conduct {
    std::vector<Failing> kinds; // of failures; each once
    std::vector<Attempt> attempts;
    std::vector<float> connects, transmissions; // seconds
    std::uint64_t recipients = 0, unknown_users = 0; // of those, refused for good as such
    // Greylisting: the longest wait after which one was put off again, the shortest after which one was taken.
    smtp::Duration put_off_at_most{}, taken_after_at_least{};
};

struct Domain {
    std::string name;
    std::uint64_t recipients = 0;
    std::map<std::string, std::uint64_t, std::less<>> hosts; // that its mail was taken to, as in hosts()
    Conduct lookups;
};

class MailLog {
public:
    struct Limits {
        std::size_t recipients = 2'000'000, hosts = 50'000, attempts = 10'000'000, samples = 10'000, kinds = 24, of_a_domain = 16;
    };
    // `today`: for lines that name no year.
    MailLog(std::chrono::year_month_day today, const Limits& limits);
    explicit MailLog(std::chrono::year_month_day today) : MailLog(today, Limits()) {}

    void take(std::string_view line);
    void end(); // no more lines

    struct Counts {
        std::uint64_t lines = 0, told = 0; // told: that say something of mail
        std::uint64_t beyond = 0;          // of them, about recipients beyond the limit
        std::uint64_t older = 0;           // recipients whose mail came before the log's first line
        std::uint64_t unexplained = 0;     // failures that no trouble of a scenario can stand for
        std::string unexplained_text;      // the first
    };
    const Counts& counts() const { return counts_; }
    // Since the midnight before the first line.
    smtp::Duration first() const { return first_; }
    smtp::Duration last() const { return last_; }
    // The day that begins then, as the first line writes it: "Nov 23".
    std::string day() const;

    const std::vector<Recipient>& recipients() const { return recipients_; }
    const std::vector<Message>& messages() const { return messages_; }
    const std::vector<Domain>& domains() const { return domains_; }
    const std::map<std::string, Conduct, std::less<>>& hosts() const { return hosts_; } // "mx.example.org", "[192.0.2.1]:2525"

private:
    std::optional<smtp::Duration> time_of(const LogTime& when);
    std::uint32_t message_of(std::string_view id);
    std::uint32_t domain_of(std::string_view address);
    Recipient* recipient_of(std::uint32_t message, std::string_view address, smtp::Duration arrival);
    Conduct* host(const Relay& relay, std::string* name = nullptr);
    void delivery(std::string_view id, const Delivery& what, smtp::Duration at);
    void attempted(const Delivery& what, Recipient& of, smtp::Duration at);
    void attempt(Conduct& conduct, const Failing* failing, smtp::Duration at);

    const std::chrono::year_month_day today_;
    const Limits limits_;
    Counts counts_;
    bool begun_ = false;
    int year_ = 0;          // of lines that name none
    unsigned month_ = 0;    // of the last of them
    std::chrono::sys_days day_{};
    smtp::Duration zone_{}, first_{}, last_{};
    std::size_t attempts_ = 0;
    std::vector<Recipient> recipients_;
    std::vector<Message> messages_;
    std::vector<Domain> domains_;
    std::map<std::string, Conduct, std::less<>> hosts_;
    std::unordered_map<std::string, std::uint32_t> by_id_, by_domain_;
    std::unordered_map<std::string, std::uint16_t> ports_; // of hosts, by name: the last that was said
    std::unordered_map<std::uint64_t, std::uint32_t> by_address_; // of message and address
    std::vector<std::pair<std::uint32_t, std::string>> onward_;   // recipients, and the id under which they were queued again
};

} // namespace postrider::simulate::from_log

// Programs that mail is delivered to: one [command.<name>]. Part of Config.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace config {

struct MailCommand {
    static constexpr std::size_t longest_name = 32, most_words = 64, longest_word = 1024;
    std::string name;
    std::vector<std::string> run; // the program, by its absolute path, and its arguments, with {user} …
    std::string user;             // as whom it runs; "" only in single-user mode: as this process
    std::chrono::microseconds timeout = std::chrono::seconds(1000);
    bool from_line = false;                    // before the message, as in an mbox
    std::string null_sender = "MAILER-DAEMON"; // what {sender} is for reports
    bool operator==(const MailCommand&) const = default;
};

} // namespace config

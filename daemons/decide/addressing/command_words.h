// The words of a program that mail is delivered to, with what is known of the message in the places of {user} and the
// like. No shell reads them, so any character may be in them; a value that the program would take for an option is
// refused. Pure.
#pragma once
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

// "command:NAME", as transport tables and virtual_mailbox.deliver name a program, and as the spool records it. "": it
// is none.
std::string_view name_of_command(std::string_view target);
std::string command_target(std::string_view name);

struct CommandFacts {
    std::string_view recipient;          // {recipient}, and {local}, {user}, {extension}, {domain} of it
    std::string_view original_recipient; // as the sender gave it
    std::string_view sender;             // never ""
    char delimiter = 0;                  // of {extension}; 0: there is none
    std::string_view queue_id;
    std::uint64_t size = 0; // bytes of the content
};

// The first {…} in a word that has no meaning; nothing: all have one.
std::optional<std::string> unknown_place(std::string_view word);
// What is wrong otherwise: a value at the beginning of a word begins with "-", or has a NUL.
std::expected<std::vector<std::string>, std::string> command_words(const std::vector<std::string>& words,
                                                                   const CommandFacts& facts);

} // namespace decide

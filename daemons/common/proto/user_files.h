// categorizer ↔ local: what does a user's file (.forward, or one that an :include: in it
// names) contain? local has it read by a process that runs as that user. The categorizer
// connects and asks; answers come in any order. No state is kept between them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace proto::user_files {

inline constexpr std::string_view conversation = "user_files";

inline constexpr std::size_t largest_file = 512 * 1024; // bytes; a larger one is refused

struct Read { // categorizer → local
    std::uint64_t request = 0;
    std::string user;      // with whose rights: a name of this system
    std::string path;      // absolute; "": the user's .forward, wherever local.forward says it lies
    std::string extension; // "lists" of ann+lists, for ~/.forward+lists; "" none
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("user", m.user);
        f("path", m.path);
        f("extension", m.extension);
    }
};

enum class Status : std::uint8_t {
    none,       // there is no such file
    found,      // text
    refused,    // not trusted (links, writable for others …) until the file is fixed
    unreadable, // for now (input/output error, users cannot be looked up …): ask again later
    last_ = unreadable,
};

struct Answer { // local → categorizer
    std::uint64_t request = 0;
    Status status = Status::none;
    std::string path; // of the file that was found or is in the way
    std::string text; // found: its content, unchanged; no NUL, at most largest_file
    std::string why;  // refused, unreadable: one line, with the path
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("said", m.status);
        f("path", m.path);
        f("text", m.text);
        f("why", m.why);
    }
};

using Message = std::variant<Read, Answer>;

} // namespace proto::user_files

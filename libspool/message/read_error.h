// Why a message cannot be read: the system (open, read), or the file itself.
#pragma once
#include "libspool/disk/result.h"
#include <cerrno>
#include <cstdint>
#include <expected>
#include <string>
#include <variant>

namespace spool {

// The file is there and is no whole message.
struct Damaged {
    enum class How : std::uint8_t {
        unsealed, // never finished by its writer, or cut off: was never acknowledged
        damaged,  // magic, checksum or structure is wrong
        newer,    // written by a later version that says this one must not read it
        forged,   // whole, and says what its writer has no say in (writers.h)
    };
    How how = How::damaged;
    std::string what; // "content: checksum is 0x…, should be 0x…"
};

using ReadError = std::variant<Error, Damaged>;
std::string text_of(const ReadError& error);
// There is no such file.
inline bool is_gone(const ReadError& error) {
    const auto* of_system = std::get_if<Error>(&error);
    return of_system != nullptr && of_system->code == ENOENT;
}
template <class T = void> using ReadResult = std::expected<T, ReadError>;

} // namespace spool

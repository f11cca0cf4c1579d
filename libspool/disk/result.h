// Result<T>: a value, or the failure of a system call. For failures of disk, network and kernel only: errors of a peer
// are values of their own (Reply, Malformed), our own errors are asserts.
#pragma once
#include <cerrno>
#include <cstring>
#include <expected>
#include <string>
#include <utility>

namespace spool {

// What failed, in words that an operator understands, and the errno it failed with (0: none).
struct Error {
    int code = 0;
    std::string what; // "open /var/spool/postrider/run: Permission denied"

    // "<action>: <strerror(errno)>"
    static Error from_errno(std::string action, int code = errno) {
        return Error{code, std::move(action) + ": " + std::strerror(code)};
    }
    bool operator==(const Error&) const = default;
};

// This host lacks descriptors, ports or memory: a local problem, not a failure of a peer or a message.
inline bool is_resource_exhaustion(const Error& error) {
    return error.code == EMFILE || error.code == ENFILE || error.code == ENOMEM || error.code == ENOBUFS ||
           error.code == EADDRNOTAVAIL;
}

template <class T = void> using Result = std::expected<T, Error>;

} // namespace spool

// TRY(expr): the value of a Result, or return its error from the enclosing function.
#define TRY(...)                                                                                                       \
    __extension__({                                                                                                    \
        auto try_result_ = (__VA_ARGS__);                                                                              \
        if (!try_result_) [[unlikely]]                                                                                 \
            return std::unexpected(std::move(try_result_).error());                                                    \
        *std::move(try_result_);                                                                                       \
    })

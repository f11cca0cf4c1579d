// Objects other than a regular file that may be found in place of a message's file.
#pragma once
#include "libspool/disk/result.h"
#include <cerrno>

namespace spool {

// Under that name is a pipe, a socket, a directory, a link …: opened without waiting, it cannot be read. No message.
inline bool is_not_a_file(const Error& error) {
    return error.code == ESPIPE || error.code == EISDIR || error.code == ENXIO || error.code == ENODEV ||
           error.code == ELOOP;
}

} // namespace spool

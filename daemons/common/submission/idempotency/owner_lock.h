// Whether the process that has reserved a key is still running: each writer
// holds a lock on a file of its slot for its lifetime, and the file identifies
// this process. The kernel releases the lock however a process ends.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/decide/message/idempotency.h"
#include "libspool/disk/result.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace common::idempotency {

class OwnerLock {
public:
    // For this process, in `directory`, as the writer of that slot. EAGAIN: another process has it.
    static spool::Result<OwnerLock> take(const std::string& directory, std::uint8_t slot);
    // "10:8f3a…": the slot and the life.
    const std::string& name() const { return name_; }

    // Of that name. What is no such name is dead; if it cannot be found out, alive.
    static decide::idempotency::Owner state_of(const std::string& directory, std::string_view name);

private:
    OwnerLock(Fd file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
    Fd file_;
    std::string name_;
};

} // namespace common::idempotency

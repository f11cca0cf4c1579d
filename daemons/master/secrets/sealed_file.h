// A text as a file in memory that cannot be changed, to be passed to a child process. Knows nothing about its
// content.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "libspool/disk/result.h"
#include <string>

namespace master {

spool::Result<common::Fd> sealed(const std::string& text);

} // namespace master

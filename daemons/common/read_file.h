// A small file's text at once: configurations, certificates, passwords. Not for mail, nor on the way of mail.
#pragma once
#include "libspool/result.h"
#include <string>

namespace common {

spool::Result<std::string> read_file(const std::string& path); // the error says "read PATH: No such file …"

} // namespace common

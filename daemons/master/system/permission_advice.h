// What to do when a place on the disk does not let us in (the spool, the log): said behind the kernel's words.
#pragma once
#include "daemons/common/process/privileges.h"
#include "libspool/disk/result.h"
#include <optional>
#include <string>

namespace master {

// The same error with the spool's name, whose the directory is, and a command that mends it, where we know one.
// `service`: whom the daemons run as; nothing: whoever we are.
spool::Error advise_on_spool(spool::Error error, const std::string& directory,
                             const std::optional<common::Identity>& service);

// The same error with what may be done about log.file.
spool::Error advise_on_log(spool::Error error, const std::string& file);

// "Postfix", "Exim" …, if that directory is the queue of another mail system; "" else.
std::string other_mail_system_of(const std::string& directory);

} // namespace master

// What to do when a path on the disk is not accessible (the spool, the log): appended to the kernel's error text.
#pragma once
#include "daemons/common/process/privileges.h"
#include "libspool/disk/result.h"
#include <optional>
#include <string>

namespace master {

// The same error with the spool's name, the directory's owner, and a command that fixes it, if we know one.
// `service`: the user the daemons run as; nothing: the current user.
spool::Error advise_on_spool(spool::Error error, const std::string& directory,
                             const std::optional<common::Identity>& service);

// The same error with what can be done about log.file.
spool::Error advise_on_log(spool::Error error, const std::string& file);

// "Postfix", "Exim" …, if that directory is the queue of another mail system; "" else.
std::string other_mail_system_of(const std::string& directory);

} // namespace master

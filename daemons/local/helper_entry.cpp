#include "daemons/local/helper_entry.h"
#include "daemons/local/as_user/user_file.h"
#include "daemons/local/as_user/user_process.h"
#include "daemons/local/command/command.h"

namespace local {

int run_as_user(std::string_view work) {
    if (work == "mailbox") return write_mailbox_as_user();
    if (work == "command") return run_command_as_user();
    if (work == "file") return read_file_as_user();
    return 1;
}

} // namespace local

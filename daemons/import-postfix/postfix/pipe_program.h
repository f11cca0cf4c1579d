// What a pipe(8) service of master.cf runs, with {user} and the like for pipe(8)'s macros, as [command.<name>] has
// them. Pure text; knows nothing of who uses the service.
#pragma once
#include "daemons/import-postfix/postfix/files.h"
#include <string>
#include <vector>

namespace postrider::postfix {

struct PipeProgram {
    std::vector<std::string> run; // our words; empty: it cannot be carried over, `problem` says why
    std::string user;
    bool from_line = false;
    std::string null_sender = "MAILER-DAEMON";
    std::vector<std::string> remarks; // what is different
    std::string problem;
};
PipeProgram pipe_program(const Service& service);

} // namespace postrider::postfix

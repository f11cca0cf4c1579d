// The pipe(8) services of master.cf as [command.<name>]: which are used, and what each becomes. Knows both ways to
// write a program's words; nothing of listeners.
#pragma once
#include "daemons/import-postfix/conversion/import.h"
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

// The service is named where transports are named, in main.cf or in a transport table.
bool is_used_transport(Import& import, const postfix::Service& service);

// What a pipe(8) service runs.
struct PipeProgram {
    std::vector<std::string> run; // our words; empty: it cannot be carried over, `problem` says why
    std::string user;
    bool from_line = false;
    std::string null_sender = "MAILER-DAEMON";
    std::vector<std::string> remarks; // what is different
    std::string problem;
};
PipeProgram pipe_program(const postfix::Service& service);

// The services that become [command.<name>], by name: those that are used, and can be carried over.
std::vector<std::string> imported_programs(Import& import);
// "NAME:…", as transports are named: the name of such a service; "" it is none.
std::string program_of_transport(Import& import, std::string_view transport);

// Writes the section of a service, and its result.
void import_program(Import& import, const postfix::Service& service);

} // namespace postrider

// local: delivers into the mailboxes of this host. See postrider-local(8).
#include "daemons/local/local.h"
#include "daemons/local/user_process.h"
#include <string_view>

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == local::as_user_option) return local::run_as_user();
    constexpr unsigned deliveries_at_a_time = 16;
    return common::run_daemon<local::Local>(proto::Role::local, "local", deliveries_at_a_time);
}

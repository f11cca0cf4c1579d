// local: delivers into the mailboxes of this host. See postrider-local(8).
#include "daemons/local/as_user/as_user.h"
#include "daemons/local/helper_entry.h"
#include "daemons/local/local.h"

int main(int argc, char** argv) {
    if (argc == 3 && argv[1] == local::as_user::option) return local::run_as_user(argv[2]);
    return common::run_daemon<local::Local>(proto::Role::local, "local");
}

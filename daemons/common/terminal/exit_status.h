// The exit status of a command.
#pragma once

namespace postrider {

// sysexits(3), and below them: the named object does not exist, or what was checked is not as it should be; already in
// that state; not running (as in LSB).
enum Exit : int {
    ok = 0,
    not_found = 1,
    unhealthy = 1,
    unfit = 1,
    already_so = 2,
    not_running = 3,
    usage = 64,
    data_error = 65,
    no_input = 66,
    refused = 67, // of a try: mail would be returned
    unavailable = 69,
    software = 70,
    system_error = 71,
    cannot_create = 73,
    disk_error = 74,
    try_again = 75,
    no_permission = 77,
    bad_config = 78,
};

} // namespace postrider

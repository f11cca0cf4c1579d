#include "daemons/categorizer/lookup/users.h"
#include <doctest/doctest.h>

using categorizer::look_up_system_user;
using decide::UserAnswer;

TEST_CASE("who is a user, and who of them has a mailbox") {
    struct Row {
        const char* name;
        categorizer::ReservedIds reserved;
        UserAnswer answer;
    };
    const Row rows[] = {
        {"root", {.switching = true, .minimum_uid = 1, .service_uid = 99}, UserAnswer::no_mailbox},
        {"root", {.switching = false, .minimum_uid = 1000, .service_uid = 0}, UserAnswer::known},
        {"daemon",
         {.switching = true, .minimum_uid = 1, .service_uid = 99},
         UserAnswer::known}, // user 1 of base-passwd
        {"daemon", {.switching = true, .minimum_uid = 2, .service_uid = 99}, UserAnswer::no_mailbox},
        {"daemon", {.switching = true, .minimum_uid = 1, .service_uid = 1}, UserAnswer::no_mailbox},
        {"daemon", {.switching = false, .minimum_uid = 2, .service_uid = 1}, UserAnswer::known},
        {"nobody-of-that-name", {.switching = true, .minimum_uid = 1, .service_uid = 0}, UserAnswer::unknown},
    };
    for (const auto& [name, reserved, answer] : rows)
        CHECK_MESSAGE(look_up_system_user(name, reserved) == answer, name);
}

#include "daemons/common/ipc/operators.h"
#include <doctest/doctest.h>

using common::Operators;

TEST_CASE("root and members of the group of operators give orders, and the service user never does") {
    const Operators operators{.service = 100, .single_user = false, .group = 200};
    CHECK(operators.includes({.uid = 0, .gid = 0}));
    CHECK(operators.includes({.uid = 1000, .gid = 200}));
    CHECK(operators.includes({.uid = 1000, .gid = 1000, .groups = {1000, 200}}));
    CHECK_FALSE(operators.includes({.uid = 1000, .gid = 1000, .groups = {1000}}));
    CHECK_FALSE(operators.includes({.uid = 100, .gid = 100}));
    CHECK_FALSE(operators.includes({.uid = 100, .gid = 200, .groups = {200}})); // whatever group it is in
    CHECK_FALSE(operators.includes({}));                                        // not known
}

TEST_CASE("without a group of operators there is root") {
    const Operators operators{.service = 100, .single_user = false, .group = {}};
    CHECK(operators.includes({.uid = 0, .gid = 0}));
    CHECK_FALSE(operators.includes({.uid = 1000, .gid = 0, .groups = {0}}));
}

TEST_CASE("where everything runs as one user, that user gives orders, and root") {
    const Operators operators{.service = 1000, .single_user = true, .group = {}};
    CHECK(operators.includes({.uid = 1000, .gid = 1000}));
    CHECK(operators.includes({.uid = 0, .gid = 0}));
    CHECK_FALSE(operators.includes({.uid = 1001, .gid = 1000}));
}

// Lets go of an object whose callback may be running: it is destroyed at the end of the loop's turn.
#pragma once
#include "daemons/common/runtime/loop.h"
#include <memory>
#include <utility>

namespace common {

// `owner`: a unique_ptr, a shared_ptr or a container of them.
template <class Owner> void destroy_later(Loop& loop, Owner owner) {
    loop.defer([kept = std::make_shared<Owner>(std::move(owner))] { static_cast<void>(kept); });
}

} // namespace common

// One function object of several lambdas, for std::visit over the kinds of a key's value.
#pragma once

namespace config {

template <class... F> struct Overloaded : F... {
    using F::operator()...;
};

} // namespace config

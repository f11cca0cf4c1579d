// One function object made of several lambdas, for std::visit over the types of a key's value.
#pragma once

namespace config {

template <class... F> struct Overloaded : F... {
    using F::operator()...;
};

} // namespace config

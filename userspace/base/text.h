// Text from outside, for people.
#pragma once

#include <string>
#include <string_view>

namespace fairswitch {

// Bytes that could harm a terminal become '?'.
inline std::string printable(std::string_view bytes) {
    std::string out(bytes);
    for (char& c : out) {
        if (c < 0x20 || c > 0x7e) c = '?';
    }
    return out;
}

}  // namespace fairswitch

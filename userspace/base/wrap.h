// Text for a screen of 100 columns, or a mail of 80.
#pragma once

#include <sstream>
#include <string>

namespace fairswitch {

inline constexpr std::size_t kScreenColumns = 100;
inline constexpr std::size_t kMailColumns = 80;

// Breaks `text` between words so that, beginning at column `indent`, no line passes the edge;
// further lines are indented as far. A word longer than that stays whole.
inline std::string wrapped(const std::string& text, std::size_t indent,
                           std::size_t columns = kScreenColumns) {
    std::string result;
    std::istringstream words(text);
    std::size_t column = indent;
    for (std::string word; words >> word;) {
        if (column > indent && column + 1 + word.size() > columns) {
            result += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            result += ' ';
            ++column;
        }
        result += word;
        column += word.size();
    }
    return result;
}

}  // namespace fairswitch

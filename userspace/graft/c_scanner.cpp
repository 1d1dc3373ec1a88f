#include "userspace/graft/c_scanner.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace fairswitch {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Position of the bracket that closes the one at `open`; npos if none.
size_t closing(std::string_view text, size_t open, char opener, char closer) {
    int depth = 0;
    for (size_t at = open; at < text.size(); ++at) {
        if (text[at] == opener) ++depth;
        if (text[at] == closer && --depth == 0) return at;
    }
    return std::string_view::npos;
}

size_t skip_space(std::string_view text, size_t at) {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
    return at;
}

struct Body {
    std::string function;
    size_t definition;  // where its first word stands
    size_t begin;
    size_t end;
};

// Function bodies in order: NAME ( ... ) { ... } where NAME stands outside of all braces.
// Preprocessor lines are not followed: both branches of an #if are seen, as Coccinelle sees them.
class BodyScanner {
  public:
    explicit BodyScanner(std::string_view text) : text_(text) {}

    std::vector<Body> scan() {
        std::vector<Body> bodies;
        for (size_t at = 0; at < text_.size();) {
            if (text_[at] == '#') {
                at = statement_ = end_of_directive(at);
            } else if (text_[at] == '{') {
                at = after(closing(text_, at, '{', '}'), at);
            } else if (text_[at] == ';') {
                statement_ = ++at;
            } else if (is_word(text_[at])) {
                at = word(at, bodies);
            } else {
                ++at;
            }
        }
        return bodies;
    }

  private:
    static size_t after(size_t found, size_t at) {
        return found == std::string_view::npos ? at + 1 : found + 1;
    }

    size_t end_of_directive(size_t at) const {
        while (at < text_.size() && (text_[at] != '\n' || text_[at - 1] == '\\')) ++at;
        return at;
    }

    size_t word(size_t at, std::vector<Body>& bodies) {
        const size_t start = at;
        while (at < text_.size() && is_word(text_[at])) ++at;
        const size_t open = skip_space(text_, at);
        if (open >= text_.size() || text_[open] != '(') return at;
        const size_t close = closing(text_, open, '(', ')');
        if (close == std::string_view::npos) return at;
        const size_t brace = skip_space(text_, close + 1);
        if (brace >= text_.size() || text_[brace] != '{') return close + 1;
        const size_t end = closing(text_, brace, '{', '}');
        if (end == std::string_view::npos) return close + 1;
        bodies.push_back({std::string(text_.substr(start, at - start)),
                          skip_space(text_, statement_), brace, end});
        return statement_ = end + 1;
    }

    std::string_view text_;
    size_t statement_ = 0;  // behind the end of the last one
};

}  // namespace

std::string blank_comments_and_strings(std::string_view source) {
    std::string text(source);
    const auto blank = [&text](size_t from, size_t to) {
        for (size_t i = from; i < std::min(to, text.size()); ++i) {
            if (text[i] != '\n') text[i] = ' ';
        }
    };
    for (size_t at = 0; at < text.size(); ++at) {
        if (text.compare(at, 2, "/*") == 0) {
            const size_t end = text.find("*/", at + 2);
            const size_t next = end == std::string::npos ? text.size() : end + 2;
            blank(at, next);
            at = next - 1;
        } else if (text.compare(at, 2, "//") == 0) {
            const size_t next = std::min(text.find('\n', at), text.size());
            blank(at, next);
            at = next - 1;
        } else if (text[at] == '"' || (text[at] == '\'' && (at == 0 || !is_word(text[at - 1])))) {
            size_t end = at + 1;
            while (end < text.size() && text[end] != text[at] && text[end] != '\n') {
                end += text[end] == '\\' ? 2 : 1;
            }
            blank(at + 1, end);
            at = end;
        }
    }
    return text;
}

std::vector<CCall> find_calls(std::string_view source, std::string_view prefix) {
    const std::string text = blank_comments_and_strings(source);
    const auto bodies = BodyScanner(text).scan();
    std::vector<CCall> calls;
    for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + 1)) {
        if (at > 0 && is_word(text[at - 1])) continue;
        size_t end = at;
        while (end < text.size() && is_word(text[end])) ++end;
        const size_t open = skip_space(text, end);
        if (open >= text.size() || text[open] != '(') continue;
        const size_t close = closing(text, open, '(', ')');
        if (close == std::string::npos) continue;
        const auto body = std::find_if(bodies.begin(), bodies.end(), [at](const Body& one) {
            return one.begin < at && at < one.end;
        });
        calls.push_back({body == bodies.end() ? std::string() : body->function,
                         text.substr(at, end - at), text.substr(open + 1, close - open - 1)});
    }
    return calls;
}

std::vector<CFunction> find_functions(std::string_view source) {
    const std::string text = blank_comments_and_strings(source);
    std::vector<CFunction> functions;
    for (const auto& body : BodyScanner(text).scan()) {
        functions.push_back({body.function, body.definition, body.end + 1});
    }
    return functions;
}

bool defines_function(std::string_view source, std::string_view name) {
    const auto functions = find_functions(source);
    return std::any_of(functions.begin(), functions.end(),
                       [name](const CFunction& one) { return one.name == name; });
}

}  // namespace fairswitch
